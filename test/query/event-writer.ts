/** Writes rows into events.db as the data thread would, for tests of what reads them. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EventLog, type EventRow } from '../../src/storage/event-log.ts'

/** 2024-03-01T00:00:00Z in microseconds. */
export const MARCH_US = Date.UTC(2024, 2, 1) * 1000

export type World = {
  readonly data_dir: string
  readonly log: EventLog
  /** Appends and commits events; missing members get ordinary values. */
  readonly send: (events: readonly Partial<EventRow>[]) => void
  readonly close: () => void
}

export function createWorld(): World {
  const data_dir = mkdtempSync(join(tmpdir(), 'tidemark-test-'))
  mkdirSync(join(data_dir, 'files'))
  mkdirSync(join(data_dir, 'tmp'))
  const log = new EventLog(data_dir)
  return {
    data_dir,
    log,
    send: (events) => log.transact(() => events.forEach((event) => log.append(eventRow(event)))),
    close: () => {
      log.close()
      rmSync(data_dir, { recursive: true, force: true })
    },
  }
}

export function eventRow(event: Partial<EventRow>): EventRow {
  return {
    project_id: 1,
    uuid: newId(),
    event: 'pageview',
    distinct_id: 'ann',
    person_id: idOf(1),
    person_mode: 'full',
    timestamp: MARCH_US,
    created_at: MARCH_US,
    properties: '{}',
    elements_chain: '',
    groups: [null, null, null, null, null],
    ...event,
  }
}

/** A random 16-byte id. */
export function newId(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(16))
}

/** The 16-byte id whose last four bytes are the number. */
export function idOf(number: number): Uint8Array {
  const id = new Uint8Array(16)
  new DataView(id.buffer).setUint32(12, number)
  return id
}
