/** Makes a standby's folder a server's: STEPS of which each may be the last one before a crash, and be done again. */
import { existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { syncPath } from '../storage/files/parquet.ts'
import { beginLogId } from '../storage/log/shipments.ts'
import { SHIPPED_DATABASES } from '../storage/sqlite/log-shipping.ts'
import { applyLog } from './database-copy.ts'
import { copiesFolder, copyPath, findState, writeState } from './state.ts'

/** The folder cannot be taken over. */
class TakeoverRefused extends Error {
  override readonly name = 'TakeoverRefused'
}

export type Takeover = { readonly equal_at: string | null }

/**
 * Takes over a folder whose standby follows no more. Everything that the primary had committed at `equal_at` is there.
 * Throws in a folder without a whole copy.
 */
export function takeOver(data_dir: string): Takeover {
  const state = findState(data_dir)
  if (state === null) throw new TakeoverRefused(`${data_dir} is no standby's`)
  if (state.phase === 'taken_over') throw new TakeoverRefused(`${data_dir} is taken over already`)
  const { copies, equal_at } = state
  if (copies === null) {
    throw new TakeoverRefused(
      `${data_dir} has no whole copy of its primary yet: it cannot take over`,
    )
  }
  if (state.phase === 'following') writeState(data_dir, { ...state, phase: 'taking_over' })
  for (const database of SHIPPED_DATABASES) {
    const { number, runs } = copies[database]
    const copy = copyPath(data_dir, database, number)
    // Without a copy it was moved before a crash.
    if (!existsSync(copy)) continue
    for (const run of runs) applyLog(copy, run)
    const own = join(data_dir, `${database}.db`)
    for (const suffix of ['-wal', '-shm']) rmSync(own + suffix, { force: true })
    renameSync(copy, own)
  }
  syncPath(data_dir)
  // Numbers that the primary gave out after `equal_at` are given out again.
  beginLogId(data_dir)
  writeState(data_dir, { ...state, phase: 'taken_over' })
  rmSync(copiesFolder(data_dir), { recursive: true, force: true })
  return { equal_at }
}
