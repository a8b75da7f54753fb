/** The window of exactly-once: old uuids go, young ones stay, whatever the size of a step. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type DedupPosition,
  deleteUuids,
  firstDay,
} from '../../../src/ingest/write/dedup-window.ts'
import { EventLog } from '../../../src/storage/log/event-log.ts'

let folder: string
let log: EventLog
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-window-'))
  log = new EventLog(folder)
})
afterEach(() => {
  log.close()
  rmSync(folder, { recursive: true })
})

test('firstDay is so many days before today', () => {
  expect(firstDay(Date.parse('1970-02-15T23:59:59Z') * 1000, 30)).toBe(15)
})

test.each([1, 3, 7, 1000])(
  'forgetUuids in steps of %i rows deletes what is older, in all projects',
  (rows) => {
    const uuids = Array.from({ length: 50 }, () => crypto.getRandomValues(new Uint8Array(16)))
    for (const [index, uuid] of uuids.entries()) log.claimUuid((index % 3) + 1, uuid, index)
    let after: DedupPosition | null = null
    let steps = 0
    do {
      after = deleteUuids(log, { after, received_before: 20, rows })
      steps += 1
    } while (after !== null)
    expect(steps).toBeGreaterThanOrEqual(Math.floor(50 / rows))
    const again = uuids.map((uuid, index) => log.claimUuid((index % 3) + 1, uuid, 60))
    expect(again).toEqual(uuids.map((_, index) => index < 20))
  },
)

test('forgetUuids on an empty log is at the end at once', () => {
  expect(deleteUuids(log, { after: null, received_before: 20, rows: 10 })).toBeNull()
})
