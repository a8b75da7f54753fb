/** The loop of background work: snapshots first, then other tasks in order of importance, one at a time. */
import { readLogState } from '../storage/files/manifest.ts'
import type { BackgroundTask } from './background-task.ts'
import { type JobContext, trimmableOf } from './dependencies.ts'

const LOOK_MS = 1000
/** Pause after a failed snapshot, for example on a full disk. */
const RETRY_MS = 30_000

type BackgroundParts = {
  /** Serializes all work in the snapshot process. */
  readonly inTurn: (work: () => Promise<void>) => Promise<void>
  readonly snapshot: () => Promise<void>
  /** In order of importance. */
  readonly tasks: readonly BackgroundTask[]
}

type BackgroundLoop = { start(): void; stop(): void }

/** Checks every second, less often after a failure. */
export function createBackground(
  context: JobContext,
  { inTurn, snapshot, tasks }: BackgroundParts,
): BackgroundLoop {
  let timer: Timer | null = null
  let snapshot_at_ms = Number.NEGATIVE_INFINITY
  // Events of an edge are as old as its clock says: each second would get a file, and other work no turn.
  const mayBeOld = (): boolean =>
    performance.now() - snapshot_at_ms >= context.settings.age_s * 1000
  const look = async (): Promise<void> => {
    let pause_ms = LOOK_MS
    try {
      if (isLong(context) || (mayBeOld() && isOld(context))) {
        const started_at_ms = performance.now()
        await inTurn(snapshot)
        snapshot_at_ms = started_at_ms
      } else {
        if (isTrimmable(context)) await inTurn(() => trimLog(context))
        await inTurn(async () => tasks.find((task) => task.isDue())?.tryStep())
      }
    } catch (error) {
      if (!context.children.is_killed) context.log.error({ err: error }, 'snapshot failed')
      pause_ms = RETRY_MS
    }
    if (!context.children.is_killed) timer = setTimeout(() => void look(), pause_ms)
  }
  return {
    start: () => void look(),
    stop() {
      if (timer !== null) clearTimeout(timer)
    },
  }
}

function isLong({ db, settings }: JobContext): boolean {
  const { seq, flushed_seq } = readLogState(db)
  return seq - flushed_seq >= settings.rows
}

function isOld({ db, settings }: JobContext): boolean {
  const { flushed_seq } = readLogState(db)
  const oldest = db
    .query<{ created_at: number }, [number]>(
      'select created_at from events where seq > ? order by seq limit 1',
    )
    .get(flushed_seq)
  // After the clock was set back, an event from the future counts as old.
  return oldest !== null && Math.abs(Date.now() - oldest.created_at / 1000) >= settings.age_s * 1000
}

/** Whether files contain events that may leave the log: a destination has them now, or a stop came between commit and trim. */
function isTrimmable(context: JobContext): boolean {
  const { flushed_seq, trimmed_seq } = readLogState(context.db)
  return trimmed_seq < trimmableOf(context, flushed_seq)
}

/** Trims the log as far as it may be, once readers have the files of these events. */
export async function trimLog(context: JobContext): Promise<void> {
  const { flushed_seq } = readLogState(context.db)
  await context.readers.adoptManifest()
  await context.capture.trim(trimmableOf(context, flushed_seq))
}
