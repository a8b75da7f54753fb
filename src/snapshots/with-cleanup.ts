/** Cleans up after work in the snapshot process: deletes its folder, and files that no manifest row names. */
import { rmSync } from 'node:fs'
import { type SnapshotContext, workOptions } from './dependencies.ts'
import { sweepFiles } from './sweep.ts'

/** Runs one piece of work in the snapshot process; only one may run at a time in a data folder. */
export async function withCleanup<Result>(
  context: SnapshotContext,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    sweepFiles(context.data_dir)
    throw error
  } finally {
    rmSync(workOptions(context).work_dir, { recursive: true, force: true })
  }
}
