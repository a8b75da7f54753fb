/** One step of compaction: plan → write the new file → commit the manifest → delete the replaced files. */
import { rmSync } from 'node:fs'
import { listFiles, listProjectsWithFiles } from '../storage/files/manifest.ts'
import { filePath, findDamage } from '../storage/files/parquet.ts'
import { newestProven } from '../storage/files/proven-time.ts'
import type { FileRow } from '../storage/log/event-log.ts'
import { Slices } from '../threads/slices.ts'
import { type BackgroundTask, createBackgroundTask } from './background-task.ts'
import { type JobContext, workOptions } from './dependencies.ts'
import { COMPACTION_RULE, planCompaction } from './plan-compaction.ts'
import { runWithCleanup } from './run-with-cleanup.ts'

/** Executes the plans of plan-compaction.ts. */
export function createCompactor(context: JobContext): BackgroundTask {
  const step = (): Promise<boolean> => compactOnce(context)
  return createBackgroundTask(step, {
    what: 'compaction',
    context,
    times: context.timings?.with('compaction'),
  })
}

/** Resolves to false without work. Rejects on failure; the files are then unchanged. */
async function compactOnce(context: JobContext): Promise<boolean> {
  const { capture, data_dir, log, readers } = context
  const files = await findPlan(context)
  const project_id = files?.[0]?.project_id
  if (files === null || project_id === undefined) return false
  const is_by_month = areMonthsApart(context, project_id)
  // Retention trusts the clock by the times of files: a clock that is set wrong must not renew all of them.
  const created_at = newestProven(files)
  const started_at = performance.now()
  const { files: added } = await runWithCleanup(context, {
    kind: 'compact',
    files,
    is_by_month,
    created_at,
    ...workOptions(context),
  })
  await capture.commitFiles({ flushed_seq: null, added, removed: files.map(({ id }) => id) })
  await readers.adoptManifest()
  // Running queries have hard links. After a crash here, the next start deletes the rest.
  for (const file of files) rmSync(filePath(data_dir, file), { force: true })
  const rows = sum(added, ({ row_count }) => row_count)
  log.info(
    {
      project_id,
      months: added.map(({ month }) => month),
      files: files.length,
      rows,
      rows_repeated: sum(files, ({ row_count }) => row_count) - rows,
      bytes_before: sum(files, ({ byte_count }) => byte_count),
      bytes: sum(added, ({ byte_count }) => byte_count),
      ms: Math.round(performance.now() - started_at),
    },
    'files put together',
  )
  return true
}

/**
 * Finds the files to put together next, in slices, a project at a time: the list of 20,000 files, each opened for its footer
 * every five seconds, held the main thread for a second. A damaged file is never an input.
 */
async function findPlan(context: JobContext): Promise<readonly FileRow[] | null> {
  const { data_dir, db, settings } = context
  const rule = settings.compaction ?? COMPACTION_RULE
  const plan = (files: readonly FileRow[]): readonly FileRow[] | null =>
    planCompaction(files, Date.now() * 1000, rule, (id) => areMonthsApart(context, id))
  const slices = new Slices()
  for (const project_id of listProjectsWithFiles(db)) {
    const files = listFiles(db, project_id)
    if (plan(files) !== null) {
      const whole = plan(
        files.filter((file) => findDamage(filePath(data_dir, file), file.byte_count) === null),
      )
      if (whole !== null) return whole
    }
    if (slices.isOver()) await slices.end()
  }
  return null
}

const areMonthsApart = ({ monthsKept }: JobContext, project_id: number): boolean =>
  (monthsKept?.(project_id) ?? null) !== null

function sum(files: readonly FileRow[], measure: (file: FileRow) => number): number {
  return files.reduce((total, file) => total + measure(file), 0)
}
