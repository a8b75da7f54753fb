/** Writes the events of a range of the log into Parquet files, one per project and month (contract C6, up to the manifest). */
import type { Database } from 'bun:sqlite'
import { chmodSync, mkdirSync, renameSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { copyRows } from '../storage/copy.ts'
import { CREATE_STAGED, EVENT_COLUMNS, LOG } from '../storage/copy-sources.ts'
import { textLiteral, Writer } from '../storage/duckdb.ts'
import type { FileRow } from '../storage/event-log.ts'
import { filePath, projectFolder, sha256Of, syncPath } from '../storage/parquet.ts'
import { type FaultPoint, reach } from './faults.ts'

export type WriteOptions = {
  readonly data_dir: string
  /** A folder of this process alone, on the same file system as the files. */
  readonly work_dir: string
  /** Events after this one … */
  readonly after_seq: number
  /** … up to this one are written, or fewer when they are large. */
  readonly up_to_seq: number
  /** Characters of text that are written at a time. */
  readonly length_max: number
  readonly fault: FaultPoint | null
}

/** What one file is to hold. Its times are widened to whole seconds, which are exact numbers also far from now. */
type Part = Pick<
  FileRow,
  | 'first_seq'
  | 'last_seq'
  | 'max_timestamp'
  | 'min_timestamp'
  | 'month'
  | 'project_id'
  | 'row_count'
>

/** A file on its way: the steps below move it from nothing to its name. */
type Draft = {
  readonly part: Part
  readonly id: string
  readonly temporary: string
  readonly path: string
}

type Step = {
  readonly reached: FaultPoint
  readonly run: (draft: Draft, connection: DuckDBConnection, options: WriteOptions) => Promise<void>
}

/** Every step may be the last one; none leaves a file under its name that is not whole. */
const STEPS: readonly Step[] = [
  { reached: 'copied', run: copyPart },
  { reached: 'read_back', run: readBack },
  { reached: 'synced', run: async ({ temporary }) => syncPath(temporary) },
  { reached: 'renamed', run: giveName },
  { reached: 'folder_synced', run: async ({ path }) => syncPath(dirname(path)) },
]

/**
 * Tells of each file when it is whole and under its name on disk; no manifest names it yet.
 * Returns the last event that is in the files.
 */
export async function writeFiles(
  db: Database,
  connection: DuckDBConnection,
  options: WriteOptions,
  tell: (file: FileRow) => void,
): Promise<number> {
  const { after_seq, up_to_seq, length_max, fault } = options
  reach('begun', fault)
  await connection.run(CREATE_STAGED)
  await connection.run(LOG.create)
  const range = { after: after_seq, up_to: up_to_seq, length_max }
  const last_seq = await copyRows(db, new Writer(connection), LOG, range)
  for (const part of await listParts(connection)) {
    const draft = startDraft(part, options)
    for (const step of STEPS) {
      await step.run(draft, connection, options)
      reach(step.reached, fault)
    }
    tell(await describe(draft))
    reach('told', fault)
  }
  return last_seq
}

async function listParts(connection: DuckDBConnection): Promise<readonly Part[]> {
  const reader = await connection.runAndReadAll(`
select
  project_id, month, count(*) as row_count,
  min(seq) as first_seq, max(seq) as last_seq,
  epoch_us(date_trunc('second', min("timestamp"))) as min_timestamp,
  epoch_us(date_trunc('second', max("timestamp"))) + 1000000 as max_timestamp
from log
group by all
order by project_id, month`)
  return reader.getRowObjects().map((row) => ({
    project_id: Number(row['project_id']),
    month: String(row['month']),
    row_count: Number(row['row_count']),
    first_seq: Number(row['first_seq']),
    last_seq: Number(row['last_seq']),
    min_timestamp: Number(row['min_timestamp']),
    max_timestamp: Number(row['max_timestamp']),
  }))
}

function startDraft(part: Part, { data_dir, work_dir }: WriteOptions): Draft {
  const id = Bun.randomUUIDv7()
  const path = filePath(data_dir, { project_id: part.project_id, id })
  return { part, id, temporary: join(work_dir, `${id}.parquet`), path }
}

/** Sorted by time, so that a range of time reads few row groups. */
async function copyPart(
  { part, temporary }: Draft,
  connection: DuckDBConnection,
  _options: WriteOptions,
): Promise<void> {
  const columns = EVENT_COLUMNS.map(([name]) => `"${name}"`).join(', ')
  await connection.run(`
copy (
  select ${columns}
  from log
  where project_id = ${part.project_id} and month = ${textLiteral(part.month)}
  order by "timestamp", seq
)
to ${textLiteral(temporary)} (format parquet, compression zstd)`)
}

/** What was written must be what was meant; a file that is not is never given a name. */
async function readBack({ part, temporary }: Draft, connection: DuckDBConnection): Promise<void> {
  const reader = await connection.runAndReadAll(
    `select count(*), min(seq), max(seq) from read_parquet(${textLiteral(temporary)})`,
  )
  const found = (reader.getRows()[0] ?? []).map(Number)
  const meant = [part.row_count, part.first_seq, part.last_seq]
  if (meant.every((number, index) => number === found[index])) return
  throw new Error(
    `a snapshot file reads back as ${found.join(', ')} instead of ${meant.join(', ')}`,
  )
}

async function giveName(
  { part, temporary, path }: Draft,
  _connection: DuckDBConnection,
  { data_dir }: WriteOptions,
): Promise<void> {
  const folder = projectFolder(data_dir, part.project_id)
  if (mkdirSync(folder, { recursive: true }) !== undefined) syncPath(dirname(folder))
  // Never changed again, by anybody.
  chmodSync(temporary, 0o440)
  renameSync(temporary, path)
}

async function describe({ part, id, path }: Draft): Promise<FileRow> {
  return {
    ...part,
    id,
    byte_count: statSync(path).size,
    sha256: await sha256Of(path),
    created_at: Date.now() * 1000,
  }
}
