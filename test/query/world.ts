/** A data folder for tests of what reads it: events written as the data thread would, and an engine that is asked. */

import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  finishRemoval,
  type RemovalPosition,
  removeSlice,
} from '../../src/ingest/write/event-removal.ts'
import {
  type EngineOptions,
  QueryEngine,
  type QuerySettings,
} from '../../src/query/engine/engine.ts'
import type { WorkerQuery, WorkerValue } from '../../src/query/engine/protocol.ts'
import { gatheredFolder } from '../../src/storage/files/parquet.ts'
import { EventLog, type EventRow } from '../../src/storage/log/event-log.ts'
import { copyFreshDatabase } from '../fresh-databases.ts'
import { limitOf } from '../long-tests.ts'
import { handwritten } from './handwritten-sql.ts'

/** 2024-03-01T00:00:00Z in microseconds. */
export const MARCH_US = Date.UTC(2024, 2, 1) * 1000

const SETTINGS: QuerySettings = {
  memory_mb: 512,
  spill_mb: 2048,
  threads: 2,
  result_bytes_max: 8_000_000,
  running_max: 4,
  waiting_max: 16,
}

const NO_LOG = { info: () => undefined, warn: () => undefined, error: () => undefined }

/** The milliseconds a query may take where the time does not matter; two that spill took 91 s on a machine with much else to do. */
const AMPLE_MS = limitOf(90_000)

export class World implements AsyncDisposable {
  readonly data_dir = mkdtempSync(join(tmpdir(), 'tidemark-test-'))
  readonly log: EventLog
  readonly #engines: QueryEngine[] = []

  /** An empty folder, or a copy of what is in another world's while nobody writes there. */
  constructor(other: World | null = null) {
    if (other === null) copyFreshDatabase('events', this.data_dir)
    else copyFolder(other, this.data_dir)
    mkdirSync(join(this.data_dir, 'files'), { recursive: true })
    mkdirSync(join(this.data_dir, 'tmp'), { recursive: true })
    this.log = new EventLog(this.data_dir)
  }

  /** Appends and commits events; missing members get ordinary values. */
  send(...events: readonly Partial<EventRow>[]): void {
    this.log.transact(() => events.forEach((event) => this.log.append(eventRow(event))))
  }

  /** An engine that may read what ClickHouse gathers, which is not so without ClickHouse. */
  openFoldingEngine(): QueryEngine {
    mkdirSync(gatheredFolder(this.data_dir), { recursive: true })
    return this.openEngine()
  }

  openEngine(
    settings: Partial<QuerySettings> = {},
    options: Pick<EngineOptions, 'idle_ms' | 'spare_slots' | 'spares_kept_ms'> = {},
  ): QueryEngine {
    const engine = new QueryEngine({
      data_dir: this.data_dir,
      settings: { ...SETTINGS, ...settings },
      log: NO_LOG,
      ...options,
    })
    this.#engines.push(engine)
    return engine
  }

  /** What the data thread offers the snapshot job, on this thread. */
  get capture() {
    return {
      commitFiles: async (files: Parameters<EventLog['commitFiles']>[0]) =>
        this.log.commitFiles(files),
      trim: async (up_to_seq: number) => {
        while (!this.log.trim(up_to_seq, 1000));
      },
      removeEvents: async (removal_id: number) => {
        const goOn = (place: RemovalPosition): void => {
          let next: RemovalPosition | null = null
          this.log.transact(() => {
            next = removeSlice(this.log.db, place, 100)
          })
          if (next !== null) goOn(next)
        }
        goOn({ removal_id, after_seq: 0 })
      },
      finishRemoval: async (removal_id: number) =>
        this.log.transact(() => finishRemoval(this.log.db, removal_id)),
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const engine of this.#engines) await engine.close()
    this.log.close()
    rmSync(this.data_dir, { recursive: true, force: true })
  }
}

/** What its engines have unpacked or linked for themselves stays behind. */
function copyFolder({ data_dir, log }: World, to: string): void {
  log.db.run('pragma wal_checkpoint(truncate)')
  const own = new Set([join(data_dir, 'tmp'), join(data_dir, 'native')])
  const isCopied = (path: string): boolean => !own.has(path) && !path.endsWith('-shm')
  cpSync(data_dir, to, { recursive: true, filter: isCopied })
}

/** A query about project 1, whose id is `$1`. */
export function query(text: string, more: Partial<WorkerQuery> = {}): WorkerQuery {
  const { sql, reads } = handwritten(text)
  const project: WorkerValue = { type: 'BIGINT', text: String(more.project_id ?? 1) }
  return {
    project_id: 1,
    sql,
    types: [],
    reads,
    timezone: 'UTC',
    rows_max: 50_000,
    more_is_too_many: true,
    ...more,
    values: [project, ...(more.values ?? [])],
  }
}

/** The rows of an answer. */
export async function ask(
  engine: QueryEngine,
  sql: string,
  more: Partial<WorkerQuery> = {},
): Promise<unknown[][]> {
  const answer = await engine.run(query(sql, more), { timeout_ms: AMPLE_MS })
  return JSON.parse(Buffer.from(answer.rows_json).toString())
}

/**
 * A query that hears no interrupt, and takes no processor time: it opens a pipe that nobody writes into. Its engine is one
 * of `openFoldingEngine`, which may read the pipe's folder.
 */
export function deafQuery({ data_dir }: Pick<World, 'data_dir'>): string {
  const folder = gatheredFolder(data_dir, 1)
  const pipe = join(folder, 'pipe')
  mkdirSync(folder, { recursive: true })
  if (!existsSync(pipe)) Bun.spawnSync(['mkfifo', pipe])
  return `select length(content), $1 from read_text('${pipe}')`
}

/** What is refused, as `code: detail`. */
export function refusal(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'answered',
    (error) => `${error.code}: ${error.detail}`,
  )
}

export function eventRow(event: Partial<EventRow>): EventRow {
  return {
    project_id: 1,
    uuid: eventId(),
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

/** Most clients make them of the time, some of nothing but chance: files keep both, in other ways. */
function eventId(): Uint8Array {
  return Math.random() < 0.25 ? newId() : Bun.randomUUIDv7('buffer')
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
