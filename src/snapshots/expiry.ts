/** Deletes months beyond their project's retention. */
import type { Database } from 'bun:sqlite'
import { rmSync } from 'node:fs'
import { monthsBefore } from '../storage/files/file-months.ts'
import { listAllFiles, listFileTimes } from '../storage/files/manifest.ts'
import { filePath } from '../storage/files/parquet.ts'
import { newestProven, PROVEN_MS, SILENCE_MAX_US } from '../storage/files/proven-time.ts'
import type { FileRow } from '../storage/log/event-log.ts'
import { type BackgroundTask, createBackgroundTask } from './background-task.ts'
import type { JobContext } from './dependencies.ts'

/** Time between two checks; retention is counted in months. */
const LOOK_MS = 3_600_000

/** Removes whole months, one manifest step each; late events are removed with their month. */
export function createExpirer(context: JobContext): BackgroundTask {
  const knownUs = createKnownTime(context.db)
  const step = (): Promise<boolean> =>
    expireOnce(context, Math.min(Date.now() * 1000, knownUs() + SILENCE_MAX_US))
  return createBackgroundTask(step, {
    what: 'expiry',
    context,
    times: context.timings?.with('expiry'),
    look_ms: LOOK_MS,
  })
}

/** A lower bound of the time, from files that are older than any clock error, and from the process's uptime. */
function createKnownTime(db: Database): () => number {
  const look = () => ({ us: newestProven(listFileTimes(db)), at_ms: performance.now() })
  let proven = look()
  let next = proven
  return () => {
    if (performance.now() - next.at_ms > PROVEN_MS) {
      proven = next
      next = look()
    }
    // Without files there is nothing to delete.
    const us = proven.us === 0 ? Date.now() * 1000 : proven.us
    return us + (performance.now() - proven.at_ms) * 1000
  }
}

const newestOf = (files: readonly FileRow[]): number =>
  files.reduce((latest, { created_at }) => Math.max(latest, created_at), 0)

async function expireOnce(context: JobContext, now_us: number): Promise<boolean> {
  const { capture, data_dir, db, log, readers, monthsKept = () => null } = context
  const expired = findExpired(listAllFiles(db), now_us, monthsKept)
  if (expired.length === 0) return false
  await capture.commitFiles({
    flushed_seq: null,
    added: [],
    removed: expired.map(({ id }) => id),
  })
  await readers.adoptManifest()
  for (const file of expired) rmSync(filePath(data_dir, file), { force: true })
  for (const [project_id, files] of Map.groupBy(expired, (file) => file.project_id)) {
    const months = [...new Set(files.map(({ month }) => month))]
    const rows = files.reduce((sum, { row_count }) => sum + row_count, 0)
    log.info({ project_id, months, files: files.length, rows }, 'expired months are deleted')
  }
  return true
}

/** The files whose months ended before their project's retention; none for unlimited retention. */
export function findExpired(
  files: readonly FileRow[],
  now_us: number,
  monthsKept: (project_id: number) => number | null,
): readonly FileRow[] {
  const believed_us = Math.min(now_us, newestOf(files) + SILENCE_MAX_US)
  return files.filter(({ project_id, month }) => {
    const months = monthsKept(project_id)
    return months !== null && month < monthsBefore(believed_us, months)
  })
}
