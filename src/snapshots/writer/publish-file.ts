/** STEPS: publishes a file on disk: write → read back → fsync → rename → fsync of the folder. */

import { chmodSync, mkdirSync, renameSync, statSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { MIB } from '../../bytes.ts'
import { textLiteral } from '../../storage/duckdb/duckdb-text.ts'
import { writeEncodings } from '../../storage/files/column-encodings.ts'
import { filePath, projectFolder, sha256Of, syncPath } from '../../storage/files/parquet.ts'
import { type FileColumn, sortColumns, writeColumns } from '../../storage/files/property-columns.ts'
import type { FileRow } from '../../storage/log/event-log.ts'
import { type FaultPoint, reachFaultPoint } from '../fault-injection.ts'
import { type FileContent, FORGET_CONTENT, layoutOf, prepareContent } from './content.ts'
import { chooseEncoding, type FileEncoding, orderRows } from './row-order.ts'

/** Maximum of unsynced bytes. The log's syncs wait behind them, so a disk must write them in some milliseconds. */
const UNSYNCED_BYTES_MAX = 4 * MIB
/** Interval of checking the file's size. */
const LOOK_EVERY_MS = 20

/** Runs `write` and syncs the file under `path` as it grows. Resolves to the number of synced bytes; the end is not synced. */
export async function syncWhileWritten(path: string, write: () => Promise<void>): Promise<number> {
  const writing = write()
  try {
    return await syncUntil(writing.then(ignore, ignore), path)
  } finally {
    // A failure is reported only after the writer has stopped.
    await writing
  }
}

async function syncUntil(ended: Promise<void>, path: string): Promise<number> {
  let file: FileHandle | null = null
  let synced = 0
  try {
    while (!(await hasEndedWithin(LOOK_EVERY_MS, ended))) {
      file ??= await openOnceThere(path)
      const size = file === null ? 0 : (await file.stat()).size
      if (size - synced < UNSYNCED_BYTES_MAX) continue
      // The kernel reports a failure once, here: the sync at the end would succeed.
      await file?.datasync()
      synced = size
    }
  } finally {
    await file?.close()
  }
  return synced
}

async function hasEndedWithin(milliseconds: number, ended: Promise<void>): Promise<boolean> {
  return Promise.race([ended.then(() => true), Bun.sleep(milliseconds).then(() => false)])
}

async function openOnceThere(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, 'r')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}

function ignore(): void {}

/** The options of every piece of work that writes files. */
export type PublishOptions = {
  readonly data_dir: string
  /** A folder of this process, on the same file system as the files. */
  readonly work_dir: string
  readonly fault: FaultPoint | null
}

/** Writes a file at the path, and throws when it does not read back correctly. */
type FileWriter = {
  readonly project_id: number
  readonly write: (path: string) => Promise<void>
  readonly readBack: (path: string) => Promise<void>
}

/** A published file. */
type PublishedFile = {
  readonly id: string
  readonly byte_count: number
  readonly sha256: string
}

type UnpublishedFile = FileWriter & { readonly temporary: string; readonly path: string }

type PublishStep = {
  readonly reached: FaultPoint
  readonly run: (draft: UnpublishedFile) => Promise<void>
}

/** Each step may be the last one before a crash; none leaves an incomplete file under its final name. */
const STEPS: readonly PublishStep[] = [
  { reached: 'copied', run: copy },
  { reached: 'read_back', run: ({ readBack, temporary }) => readBack(temporary) },
  { reached: 'synced', run: async ({ temporary }) => syncPath(temporary) },
  { reached: 'renamed', run: giveName },
  { reached: 'folder_synced', run: async ({ path }) => syncPath(dirname(path)) },
]

/** Publishes a file; resolves when it is durable under its name. No manifest names it yet. */
export async function publishFile(
  writer: FileWriter,
  { data_dir, work_dir, fault }: PublishOptions,
): Promise<PublishedFile> {
  const id = Bun.randomUUIDv7()
  const temporary = join(work_dir, `${id}.parquet`)
  const path = filePath(data_dir, { project_id: writer.project_id, id })
  const folder = projectFolder(data_dir, writer.project_id)
  if (mkdirSync(folder, { recursive: true }) !== undefined) syncPath(dirname(folder))
  for (const step of STEPS) {
    await step.run({ ...writer, temporary, path })
    reachFaultPoint(step.reached, fault)
  }
  return { id, byte_count: statSync(path).size, sha256: await sha256Of(path) }
}

async function copy({ write, temporary }: UnpublishedFile): Promise<void> {
  await syncWhileWritten(temporary, () => write(temporary))
}

async function giveName({ temporary, path }: UnpublishedFile): Promise<void> {
  // Read-only: published files never change.
  chmodSync(temporary, 0o400)
  renameSync(temporary, path)
}

/** The content of one file. Its times are rounded outwards to seconds, which are exact numbers in any year. */
export type FilePart = Pick<
  FileRow,
  | 'created_at'
  | 'first_seq'
  | 'last_seq'
  | 'max_timestamp'
  | 'min_timestamp'
  | 'month'
  | 'project_id'
  | 'row_count'
>

/** Writes a file of events; resolves when it is durable under its name. No manifest names it yet. */
export async function publishRows(
  part: FilePart,
  sent: FileContent,
  connection: DuckDBConnection,
  options: PublishOptions,
): Promise<FileRow> {
  const content = { ...sent, columns: sortColumns(sent.columns) }
  const encoding = await chooseEncoding(content.source, connection)
  let columns: readonly FileColumn[] = []
  const placed = await publishFile(
    {
      project_id: part.project_id,
      write: async (path) => {
        columns = await copyContent(content, encoding, connection, path)
      },
      readBack: (path) => readBackRows(part, connection, path),
    },
    options,
  )
  return {
    ...part,
    ...placed,
    columns: writeColumns(columns),
    layout: layoutOf(content),
    own: writeEncodings(encoding.own),
  }
}

/**
 * Parquet v2 encodings take less space and less time: numbers and times as differences, texts with their lengths apart.
 * Bloom filters have one false positive in ten instead of a hundred: that saves a byte per row.
 */
const formatOf = (compression: 'uncompressed' | 'zstd'): string =>
  `format parquet, parquet_version v2, compression ${compression}, bloom_filter_false_positive_ratio 0.1`

export const FILE_FORMAT = formatOf('zstd')

/** Writes the content, and returns the columns as the file has them. */
async function copyContent(
  content: FileContent,
  encoding: FileEncoding,
  connection: DuckDBConnection,
  path: string,
): Promise<readonly FileColumn[]> {
  const { select, columns } = await prepareContent(content, connection)
  const rows = orderRows(select, content.source, encoding)
  const format = formatOf(content.is_compressed === false ? 'uncompressed' : 'zstd')
  await connection.run(`copy (${rows}) to ${textLiteral(path)} (${format})`)
  await connection.run(FORGET_CONTENT)
  return columns
}

/** Compares the written file with its rows; a file that differs is never published. */
async function readBackRows(
  part: FilePart,
  connection: DuckDBConnection,
  path: string,
): Promise<void> {
  const reader = await connection.runAndReadAll(
    `select count(*), min(seq), max(seq) from read_parquet(${textLiteral(path)})`,
  )
  const found = (reader.getRows()[0] ?? []).map(Number)
  const meant = [part.row_count, part.first_seq, part.last_seq]
  if (meant.every((number, index) => number === found[index])) return
  throw new Error(
    `a snapshot file reads back as ${found.join(', ')} instead of ${meant.join(', ')}`,
  )
}
