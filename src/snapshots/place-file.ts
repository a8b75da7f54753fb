/** One Parquet file, from rows to its name on disk: written, read back, forced to disk, renamed (contract C6). */
import { chmodSync, mkdirSync, renameSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { textLiteral } from '../storage/duckdb-text.ts'
import type { FileRow } from '../storage/event-log.ts'
import { filePath, projectFolder, sha256Of, syncPath } from '../storage/parquet.ts'
import { inOrder, writeColumns } from '../storage/property-columns.ts'
import { arrange } from './arrange.ts'
import { type Content, FORGET_CONTENT, layoutOf, prepareContent } from './content.ts'
import { type FaultPoint, reach } from './faults.ts'

/** What every piece of work that writes files is told. */
export type PlaceOptions = {
  readonly data_dir: string
  /** A folder of this process alone, on the same file system as the files. */
  readonly work_dir: string
  readonly fault: FaultPoint | null
}

/** What one file is to hold. Its times are widened to whole seconds, which are exact numbers also far from now. */
export type Part = Pick<
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
  readonly content: Content
  readonly id: string
  readonly temporary: string
  readonly path: string
}

type Step = {
  readonly reached: FaultPoint
  readonly run: (draft: Draft, connection: DuckDBConnection, options: PlaceOptions) => Promise<void>
}

/** Every step may be the last one; none leaves a file under its name that is not whole. */
const STEPS: readonly Step[] = [
  { reached: 'copied', run: copyContent },
  { reached: 'read_back', run: readBack },
  { reached: 'synced', run: async ({ temporary }) => syncPath(temporary) },
  { reached: 'renamed', run: giveName },
  { reached: 'folder_synced', run: async ({ path }) => syncPath(dirname(path)) },
]

/** Resolves when the file is whole and under its name on disk; no manifest names it yet. */
export async function placeFile(
  part: Part,
  sent: Content,
  connection: DuckDBConnection,
  options: PlaceOptions,
): Promise<FileRow> {
  const content = { ...sent, columns: inOrder(sent.columns) }
  const id = Bun.randomUUIDv7()
  const temporary = join(options.work_dir, `${id}.parquet`)
  const path = filePath(options.data_dir, { project_id: part.project_id, id })
  const draft = { part, content, id, temporary, path }
  for (const step of STEPS) {
    await step.run(draft, connection, options)
    reach(step.reached, options.fault)
  }
  return {
    ...part,
    id,
    byte_count: statSync(path).size,
    sha256: await sha256Of(path),
    created_at: Date.now() * 1000,
    columns: writeColumns(content.columns),
    layout: layoutOf(content),
  }
}

/** Newer encodings take less space and less time: numbers and times as differences, texts with their lengths apart. */
const FORMAT = 'format parquet, parquet_version v2, compression zstd'

async function copyContent({ content, temporary }: Draft, connection: DuckDBConnection) {
  const select = await prepareContent(content, connection)
  const rows = await arrange(select, content.source, connection)
  await connection.run(`copy (${rows}) to ${textLiteral(temporary)} (${FORMAT})`)
  await connection.run(FORGET_CONTENT)
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
  { data_dir }: PlaceOptions,
): Promise<void> {
  const folder = projectFolder(data_dir, part.project_id)
  if (mkdirSync(folder, { recursive: true }) !== undefined) syncPath(dirname(folder))
  // Never changed again, by anybody.
  chmodSync(temporary, 0o440)
  renameSync(temporary, path)
}
