/** Removes the events of deleted persons for good, file by file; every step may be the last one before a crash. */
import { rmSync } from 'node:fs'
import { listFiles } from '../storage/files/manifest.ts'
import { filePath } from '../storage/files/parquet.ts'
import type { FileRow } from '../storage/log/event-log.ts'
import type { EventRemoval } from '../storage/log/event-removals.ts'
import { listPendingRemovals } from '../storage/log/pending-removals.ts'
import { type BackgroundTask, createBackgroundTask } from './background-task.ts'
import { type JobContext, workOptions } from './dependencies.ts'
import { runWithCleanup } from './run-with-cleanup.ts'

/** The state of the running removal; computed again after a restart. */
type RemovalProgress = {
  readonly removal: EventRemoval
  /** Files with events to remove. */
  readonly left: readonly FileRow[]
  readonly files_written: number
  readonly rows_removed: number
}

/** Executes `event_removals`. Queries exclude these events from the commit of the row on. */
export function createRemover(context: JobContext): BackgroundTask {
  let progress: RemovalProgress | null = null
  let failed_id = 0
  const step = async (): Promise<boolean> => {
    const pending = listPendingRemovals(context.db)
    // A removal that fails, since a file of its project is damaged, must not block the others.
    const removal = pending.find(({ id }) => id > failed_id) ?? pending[0]
    if (removal === undefined) return false
    failed_id = removal.id
    if (progress?.removal.id !== removal.id) progress = await begin(context, removal)
    progress =
      progress.left.length > 0 ? await writeOne(context, progress) : await finish(context, progress)
    failed_id = removal.id - 1
    return true
  }
  return createBackgroundTask(step, {
    what: 'removal of events',
    context,
    times: context.timings?.with('removal'),
  })
}

/**
 * Removes the events from the log first, so that no new file gets them. The readers forget them before the removal is
 * finished, since its record is deleted then.
 */
async function begin(context: JobContext, removal: EventRemoval): Promise<RemovalProgress> {
  await context.capture.removeEvents(removal.id)
  await context.readers.adoptManifest()
  const left = await findFiles(context, removal)
  return { removal, left, files_written: 0, rows_removed: 0 }
}

async function findFiles(
  context: JobContext,
  { project_id, up_to_seq }: EventRemoval,
): Promise<readonly FileRow[]> {
  const files = listFiles(context.db, project_id).filter(({ first_seq }) => first_seq <= up_to_seq)
  if (files.length === 0) return []
  const found = await runWithCleanup(context, {
    kind: 'find_removed',
    files,
    ...workOptions(context),
  })
  return found.files
}

/** Rewrites one file per step, so that a due snapshot need not wait for all of them. */
async function writeOne(context: JobContext, progress: RemovalProgress): Promise<RemovalProgress> {
  const [file, ...left] = progress.left
  // A compaction may have merged the file since: the final check finds the new one.
  const is_named = listFiles(context.db, progress.removal.project_id).some(
    ({ id }) => id === file?.id,
  )
  if (file === undefined || !is_named) return { ...progress, left }
  const { files: added } = await runWithCleanup(context, {
    kind: 'remove',
    files: [file],
    ...workOptions(context),
  })
  await context.capture.commitFiles({ flushed_seq: null, added, removed: [file.id] })
  await context.readers.adoptManifest()
  rmSync(filePath(context.data_dir, file), { force: true })
  const rows_removed = progress.rows_removed + file.row_count - (added[0]?.row_count ?? 0)
  const files_written = progress.files_written + 1
  const { removal } = progress
  context.log.info(
    { project_id: removal.project_id, rows_removed, files_written, files_left: left.length },
    'events of deleted persons are being removed',
  )
  return { ...progress, left, files_written, rows_removed }
}

/** Finishes the removal when no file has events of it. */
async function finish(
  context: JobContext,
  progress: RemovalProgress,
): Promise<RemovalProgress | null> {
  const { removal, rows_removed } = progress
  const left = await findFiles(context, removal)
  if (left.length > 0) return { ...progress, left }
  await context.capture.finishRemoval(removal.id)
  const { project_id, id } = removal
  context.log.info(
    { project_id, removal: id, rows_removed },
    'events of deleted persons are removed',
  )
  return null
}
