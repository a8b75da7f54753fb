/** The snapshot process: started by the server when there is work, writes files, says what it wrote, ends. */
import { mkdirSync, writeSync } from 'node:fs'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { prepareDuckDB } from '../storage/duckdb-native.ts'
import type { FileRow } from '../storage/event-log.ts'
import { openReader } from '../storage/sqlite.ts'
import type { WriteOptions } from './write.ts'

/** What the server tells the snapshot process on its command line, as one JSON text. */
export type SnapshotOptions = WriteOptions & {
  readonly memory_mb: number
  readonly threads: number
}

/** One line of its standard output. `done` is the last one: every event of the range is in the files before it. */
export type SnapshotLine =
  | { readonly kind: 'file'; readonly file: FileRow }
  | { readonly kind: 'done' }

/** Questions and ingestion go first. */
const NICENESS = 5

/** Ends with exit code 0 after `done`; otherwise nothing of what it wrote may be believed. */
export async function runSnapshotProcess(args: readonly string[]): Promise<never> {
  const options = JSON.parse(args[0] ?? '') as SnapshotOptions
  setPriority(NICENESS)
  void endWithServer()
  prepareDuckDB(options.data_dir)
  const { openInstance } = await import('../storage/duckdb.ts')
  const { writeFiles } = await import('./write.ts')
  mkdirSync(options.work_dir, { recursive: true })

  const db = openReader(join(options.data_dir, 'events.db'))
  const spill_dir = join(options.work_dir, 'spill')
  const instance = await openInstance({ ...options, spill_dir })
  const connection = await instance.connect()
  db.run('begin')
  for await (const file of writeFiles(db, connection, options)) say({ kind: 'file', file })
  say({ kind: 'done' })
  process.exit(0)
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
