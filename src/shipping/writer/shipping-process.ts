/** The shipping process's entry point: reads pieces of work, writes a file for each, and answers, until its input ends. */

import { mkdirSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { errorMessage } from '../../error-message.ts'
import { prepareDuckDB } from '../../storage/duckdb/duckdb-native.ts'
import { temporaryFolder } from '../../storage/files/parquet.ts'
import { lowerPriority } from '../../storage/process/lower-priority.ts'
import { openReader } from '../../storage/sqlite/sqlite.ts'
import { linesOf } from '../lines.ts'
import type { ShippingAnswer, ShippingWork } from '../protocol.ts'

const MEMORY_MB = 512

/** Runs with low priority until the server closes the pipe or dies. */
export async function runShippingProcess(args: readonly string[]): Promise<never> {
  const [data_dir = ''] = args
  lowerPriority()
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
      return { kind: 'failed', message: errorMessage(error) }
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
