/** Makes the data set that everything is measured on, once per folder: sessions of 200,000 persons over 18 months, 40 properties. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { createFirstThings } from '../../../src/projects/bootstrap.ts'
import { planCompaction } from '../../../src/snapshots/plan-compaction.ts'
import { compactFiles } from '../../../src/snapshots/writer/compact.ts'
import type { PublishOptions } from '../../../src/snapshots/writer/publish-file.ts'
import { writeLogTable } from '../../../src/snapshots/writer/write.ts'
import { openControl } from '../../../src/storage/control/control-db.ts'
import { openInstance } from '../../../src/storage/duckdb/duckdb.ts'
import { listAllFiles } from '../../../src/storage/files/manifest.ts'
import { filePath } from '../../../src/storage/files/parquet.ts'
import { EventLog, type FileRow } from '../../../src/storage/log/event-log.ts'
import { EVENTS_PER_BLOCK, type Extent, selectEvents } from './events.ts'
import { writeDefinitions, writeGroups, writePersons } from './people.ts'

/** Another number makes folders that were made before useless. */
const VERSION = 2
/** Events that become files together; more need more memory. */
const SLICE = EVENTS_PER_BLOCK * 15_000
const SAMPLE = 5000
const COLUMNS_MAX = 60
const DAY_US = 86_400_000_000

/** The first moment of the data: May 2025, eighteen months before the queries are asked. */
export const DATASET_FIRST_US = Date.UTC(2025, 4, 1) * 1000
/** The moment after the last one; queries about "today" ask as of then. */
export const DATASET_END_US = Date.UTC(2026, 10, 1) * 1000

/** The keys of the data set's project 1, for those who serve its folder. */
export const DATASET_KEYS = {
  api_token: 'phc_dataset0000000000000000000000000000000000000',
  personal_api_key: 'phx_dataset0000000000000000000000000000000000000',
} as const

export type Dataset = { readonly data_dir: string; readonly extent: Extent }

type Made = { readonly version: number; readonly events: number }

/**
 * The data set of a number of events in `data_dir`, which is made when it is not there and left as it is when it is.
 * Deterministic; about 40,000 events/s. Throws when the folder holds anything else.
 */
export async function ensureDataset(
  data_dir: string,
  events: number,
  tell: (text: string) => void = () => undefined,
): Promise<Dataset> {
  const extent = {
    events,
    persons: Math.max(100, Math.min(200_000, Math.floor(events / 50))),
    first_us: DATASET_FIRST_US,
    span_us: DATASET_END_US - DATASET_FIRST_US - DAY_US,
  }
  const mark = join(data_dir, 'dataset.json')
  if (existsSync(mark)) {
    const made = JSON.parse(readFileSync(mark, 'utf8')) as Made
    if (made.version === VERSION && made.events === events) {
      // Made by an older program it may lack tables.
      new EventLog(data_dir).close()
      openControl(data_dir).close()
      return { data_dir, extent }
    }
    throw new Error(`${data_dir} holds another data set: remove it, or name another folder`)
  }
  if (existsSync(join(data_dir, 'events.db'))) {
    throw new Error(`${data_dir} holds something else, or a data set that was cut off`)
  }
  await makeDataset(data_dir, extent, tell)
  writeFileSync(mark, JSON.stringify({ version: VERSION, events } satisfies Made))
  return { data_dir, extent }
}

async function makeDataset(
  data_dir: string,
  extent: Extent,
  tell: (text: string) => void,
): Promise<void> {
  await fillFolder(data_dir, {
    event_count: extent.events,
    slice: SLICE,
    selectSlice: (from, to) => selectEvents(extent, from, to),
    writeOthers(log) {
      writePersons(log, extent)
      writeGroups(log, extent)
    },
    tell,
  })
}

/** What a folder is filled with. */
export type Filling = {
  readonly event_count: number
  /** Events that become files together. */
  readonly slice: number
  /** The events numbered `from` up to `to` (exclusive), as the table `log` of a snapshot has them. */
  readonly selectSlice: (from: number, to: number) => string
  /** Writes persons, groups and the like. */
  readonly writeOthers: (log: EventLog) => Promise<void> | void
  readonly tell: (text: string) => void
}

/** Makes project 1 in a new folder, as if its events had gone through the log and lain there for two days. */
export async function fillFolder(data_dir: string, filling: Filling): Promise<void> {
  const { event_count, slice, selectSlice, writeOthers, tell } = filling
  const work_dir = join(data_dir, 'tmp', 'dataset')
  for (const folder of [join(data_dir, 'files'), work_dir]) mkdirSync(folder, { recursive: true })
  const control = openControl(data_dir)
  createFirstThings(control.db, DATASET_KEYS, new Date(DATASET_FIRST_US / 1000))
  control.close()
  const log = new EventLog(data_dir)
  await writeOthers(log)
  const spill_dir = join(work_dir, 'spill')
  const instance = await openInstance({ memory_mb: 3072, threads: 2, spill_dir })
  const connection = await instance.connect()
  const options = { data_dir, work_dir, columns_max: COLUMNS_MAX, fault: null }
  for (let from = 0; from < event_count; from += slice) {
    const to = Math.min(event_count, from + slice)
    const started_at = performance.now()
    await connection.run(`create or replace table log as ${selectSlice(from, to)}`)
    if (from === 0) await noteDefinitions(connection, log)
    const made_at = performance.now()
    const added: FileRow[] = []
    await writeLogTable(log.db, connection, options, (file) => added.push(file))
    commitSlice(log, added, to)
    const [made_s, placed_s] = [made_at - started_at, performance.now() - made_at].map((ms) =>
      (ms / 1000).toFixed(1),
    )
    tell(`${to} events: made in ${made_s} s, in ${added.length} files after ${placed_s} s`)
  }
  await compactAsLater(log, connection, options)
  connection.closeSync()
  instance.closeSync()
  log.close()
  rmSync(work_dir, { recursive: true, force: true })
}

/** The clock and the manifest as if the events had gone through the log and been trimmed. */
function commitSlice(log: EventLog, added: readonly FileRow[], last_seq: number): void {
  log.db.run('update clock set seq = ?', [last_seq])
  log.readClock()
  log.commitFiles({ flushed_seq: last_seq, added, removed: [] })
  log.db.run('update manifest set trimmed_seq = ?', [last_seq])
}

/** Merges the files as a server has done two days later: small months that are over share a file. */
async function compactAsLater(
  log: EventLog,
  connection: DuckDBConnection,
  options: PublishOptions & { readonly columns_max: number },
): Promise<void> {
  const later_us = Date.now() * 1000 + 2 * DAY_US
  for (;;) {
    const files = planCompaction(listAllFiles(log.db), later_us)
    if (files === null) return
    const added: FileRow[] = []
    await compactFiles(
      log.db,
      connection,
      { ...options, files, is_by_month: false, created_at: Date.now() * 1000 },
      (file) => added.push(file),
    )
    log.commitFiles({ flushed_seq: null, added, removed: files.map(({ id }) => id) })
    for (const file of files) rmSync(filePath(options.data_dir, file))
  }
}

async function noteDefinitions(connection: DuckDBConnection, log: EventLog): Promise<void> {
  const rows = await connection.runAndReadAll(
    `select event, properties from log order by seq limit ${SAMPLE}`,
  )
  const events = rows.getRows().map(([event, properties]) => ({
    event: String(event),
    properties: JSON.parse(String(properties)),
  }))
  writeDefinitions(log, events, DATASET_FIRST_US)
}

if (import.meta.main) {
  const [data_dir, events = '1e5'] = process.argv.slice(2)
  if (data_dir === undefined)
    throw new Error('usage: bun test/bench/dataset/dataset.ts FOLDER [EVENTS]')
  const say = (text: string): void => void process.stdout.write(`${text}\n`)
  await ensureDataset(data_dir, Number(events), say)
  say(`${data_dir} holds the data set; project 1, keys ${JSON.stringify(DATASET_KEYS)}`)
  process.exit(0)
}
