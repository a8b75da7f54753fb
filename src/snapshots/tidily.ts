/** Leaves no trace of work that failed: its folder goes, and files that no manifest row names. */
import { rmSync } from 'node:fs'
import { type SnapshotNeeds, workOptions } from './needs.ts'
import { sweepFiles } from './sweep.ts'

/** Runs one piece of work in the snapshot process; only one at a time may run in a data folder. */
export async function workTidily<Result>(
  needs: SnapshotNeeds,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    sweepFiles(needs.data_dir)
    throw error
  } finally {
    rmSync(workOptions(needs).work_dir, { recursive: true, force: true })
  }
}
