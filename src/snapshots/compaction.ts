/** One step of compaction: plan → write the new file → commit the manifest → delete the replaced files. */
import type { Database } from 'bun:sqlite'
import { rmSync } from 'node:fs'
import { listAllFiles } from '../storage/files/manifest.ts'
import { filePath, findDamage } from '../storage/files/parquet.ts'
import type { FileRow } from '../storage/log/event-log.ts'
import { type BackgroundTask, createStepper } from './background-task.ts'
import type { SnapshotChildren } from './child.ts'
import { type SnapshotContext, workOptions } from './dependencies.ts'
import { COMPACTION_RULE, planCompaction } from './plan-compaction.ts'
import { withCleanup } from './with-cleanup.ts'

/** Executes the plans of plan-compaction.ts. */
export function createCompactor(
  db: Database,
  children: SnapshotChildren,
  context: SnapshotContext,
): BackgroundTask {
  const step = (): Promise<boolean> => compactOnce(db, children, context)
  return createStepper(step, {
    what: 'compaction',
    children,
    log: context.log,
    times: context.timings?.with('compaction'),
  })
}

/** Resolves to false without work. Rejects on failure; the files are then unchanged. */
async function compactOnce(
  db: Database,
  children: SnapshotChildren,
  context: SnapshotContext,
): Promise<boolean> {
  const { capture, data_dir, log, readers, settings } = context
  const rule = settings.compaction ?? COMPACTION_RULE
  const areApart = (project_id: number): boolean =>
    (context.monthsKept?.(project_id) ?? null) !== null
  const files = planCompaction(wholeFiles(db, data_dir), Date.now() * 1000, rule, areApart)
  const project_id = files?.[0]?.project_id
  if (files === null || project_id === undefined) return false
  const is_by_month = areApart(project_id)
  const started_at = performance.now()
  const { files: added } = await withCleanup(context, () =>
    children.run({ kind: 'compact', files, is_by_month, ...workOptions(context) }),
  )
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

/** Marks a damaged file, which is never an input. */
function wholeFiles(db: Database, data_dir: string): readonly FileRow[] {
  return listAllFiles(db).filter(
    (file) => findDamage(filePath(data_dir, file), file.byte_count) === null,
  )
}

function sum(files: readonly FileRow[], measure: (file: FileRow) => number): number {
  return files.reduce((total, file) => total + measure(file), 0)
}
