/** The snapshot process: started by the server when there is work, writes files, says what it wrote, ends. */
import type { Database } from 'bun:sqlite'
import { mkdirSync, writeSync } from 'node:fs'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { prepareDuckDB } from '../storage/duckdb-native.ts'
import type { FileRow } from '../storage/event-log.ts'
import { openReader } from '../storage/sqlite.ts'
import type { CompactOptions } from './compact.ts'
import { verifyFiles } from './verify.ts'
import type { WriteOptions } from './write.ts'

/** What the server tells the snapshot process on its command line, as one JSON text. */
export type SnapshotWork =
  | (WriteOptions & {
      readonly kind: 'write'
      readonly memory_mb: number
      readonly threads: number
    })
  | (CompactOptions & {
      readonly kind: 'compact'
      readonly memory_mb: number
      readonly threads: number
    })
  | { readonly kind: 'verify'; readonly data_dir: string }

/** One line of its standard output: a file that was written, or one found damaged. `done` comes last, with the last event written. */
export type SnapshotLine =
  | { readonly kind: 'file'; readonly file: FileRow }
  | { readonly kind: 'done'; readonly last_seq: number }

/** Questions and ingestion go first. */
const NICENESS = 5

/** Ends with exit code 0 after `done`; otherwise nothing of what it said may be believed. */
export async function runSnapshotProcess(args: readonly string[]): Promise<never> {
  const work = JSON.parse(args[0] ?? '') as SnapshotWork
  setPriority(NICENESS)
  void endWithServer()
  const db = openReader(join(work.data_dir, 'events.db'))
  const last_seq = await workOn(work, db, (file) => say({ kind: 'file', file }))
  say({ kind: 'done', last_seq })
  process.exit(0)
}

async function workOn(
  work: SnapshotWork,
  db: Database,
  tell: (file: FileRow) => void,
): Promise<number> {
  if (work.kind === 'verify') {
    await verifyFiles(db, work.data_dir, tell)
    return 0
  }
  prepareDuckDB(work.data_dir)
  const { openInstance } = await import('../storage/duckdb.ts')
  mkdirSync(work.work_dir, { recursive: true })
  const instance = await openInstance({ ...work, spill_dir: join(work.work_dir, 'spill') })
  const connection = await instance.connect()
  db.run('begin')
  if (work.kind === 'write') {
    const { writeFiles } = await import('./write.ts')
    return writeFiles(db, connection, work, tell)
  }
  const { compactFiles } = await import('./compact.ts')
  await compactFiles(db, connection, work, tell)
  return 0
}

/** Written before we go on: an exit does not wait for a stream. */
function say(line: SnapshotLine): void {
  writeSync(1, `${JSON.stringify(line)}\n`)
}

/** The pipe closes when the server dies; nobody would hear what we say. */
async function endWithServer(): Promise<void> {
  for await (const _ of Bun.stdin.stream());
  process.kill(process.pid, 'SIGKILL')
}
