/** Runs work in the snapshot process and cleans up after it: deletes its folder, and files that no manifest row names. */
import { rmSync } from 'node:fs'
import type { SnapshotReport } from './child.ts'
import { type JobContext, workOptions } from './dependencies.ts'
import type { SnapshotWork } from './protocol.ts'
import { sweepFiles } from './sweep.ts'

/** Runs one piece of work; only one may run at a time in a data folder. */
export async function runWithCleanup(
  context: JobContext,
  work: SnapshotWork,
): Promise<SnapshotReport> {
  try {
    return await context.children.run(work)
  } catch (error) {
    sweepFiles(context.data_dir)
    throw error
  } finally {
    rmSync(workOptions(context).work_dir, { recursive: true, force: true })
  }
}
