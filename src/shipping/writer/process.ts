/** The shipping process's entry point: reads pieces of work, writes a file for each, and answers, until its input ends. */

import { mkdirSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { nativeFolder, prepareDuckDB, unpackDuckDB } from '../../storage/duckdb/duckdb-native.ts'
import { filesFolder, temporaryFolder } from '../../storage/files/parquet.ts'
import { readConfinedArgument, restartConfined } from '../../storage/process/confinement/confine.ts'
import type { PathRule, Right } from '../../storage/process/confinement/landlock.ts'
import { lowerPriority } from '../../storage/process/lower-priority.ts'
import { openReader } from '../../storage/sqlite/sqlite.ts'
import { linesOf } from '../lines.ts'
import type { ShippingAnswer, ShippingWork } from '../protocol.ts'
import { shipmentsFolder } from '../shipment-files.ts'

const MEMORY_MB = 512

const READ: readonly Right[] = ['read_file', 'read_dir']
const WRITE: readonly Right[] = ['truncate', 'write_file']
const CHANGE_ENTRIES: readonly Right[] = ['make_dir', 'make_reg', 'remove_dir', 'remove_file']

/** Gives up all files but those of its work first, and the network where Landlock guards it. */
export async function runShippingProcess(args: readonly string[]): Promise<never> {
  const [data_dir = '', confinement] = args
  lowerPriority()
  if (confinement === 'confined' && readConfinedArgument(args) === null) {
    await unpackDuckDB(data_dir)
    restartConfined('shipping-process', args, pathRules(data_dir))
  }
  prepareDuckDB(data_dir)
  const db = openReader(join(data_dir, 'events.db'))
  const connection = await openConnection(data_dir)
  const { runShippingWork } = await import('./work.ts')
  let turn = Promise.resolve()
  for await (const line of linesOf(Bun.stdin.stream()))
    turn = turn.then(async () => send(await answerWork(JSON.parse(line) as ShippingWork)))
  // The pipe closes when the server is gone: a file that is still being written would be in the way of the next one.
  process.kill(process.pid, 'SIGKILL')
  throw new Error('killed')

  async function answerWork(work: ShippingWork): Promise<ShippingAnswer> {
    try {
      return await runShippingWork(work, db, connection, data_dir)
    } catch (error) {
      return { kind: 'failed', message: error instanceof Error ? error.message : String(error) }
    }
  }
}

async function openConnection(data_dir: string): Promise<DuckDBConnection> {
  const { openInstance } = await import('../../storage/duckdb/duckdb.ts')
  const spill_dir = join(temporaryFolder(data_dir), 'shipping')
  mkdirSync(spill_dir, { recursive: true })
  const instance = await openInstance({ memory_mb: MEMORY_MB, threads: 1, spill_dir })
  return instance.connect()
}

/** Writes synchronously, because an exit does not wait for a stream. */
function send(line: ShippingAnswer): void {
  writeSync(1, `${JSON.stringify(line)}\n`)
}

function pathRules(data_dir: string): readonly PathRule[] {
  const log = join(data_dir, 'events.db')
  const folders = [shipmentsFolder(data_dir), temporaryFolder(data_dir)]
  for (const folder of [...folders, filesFolder(data_dir)])
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  return [
    { path: log, rights: READ },
    { path: `${log}-wal`, rights: READ },
    // A SQLite reader writes its read mark there, so that a checkpoint waits for it.
    { path: `${log}-shm`, rights: [...READ, ...WRITE] },
    { path: nativeFolder(data_dir), rights: READ },
    { path: filesFolder(data_dir), rights: READ },
    ...folders.map((path) => ({ path, rights: [...READ, ...WRITE, ...CHANGE_ENTRIES] })),
  ]
}
