/** The loop of background work: snapshots first, then other tasks in order of importance, one at a time. */
import type { Database } from 'bun:sqlite'
import { readLogState } from '../storage/files/manifest.ts'
import type { BackgroundTask } from './background-task.ts'
import { type SnapshotContext, trimmableOf } from './dependencies.ts'

const LOOK_MS = 1000
/** Pause after a failed snapshot, for example on a full disk. */
const RETRY_MS = 30_000

type BackgroundParts = {
  /** Serializes all work in the snapshot process. */
  readonly inTurn: (work: () => Promise<void>) => Promise<void>
  readonly snapshot: () => Promise<void>
  /** In order of importance. */
  readonly steppers: readonly BackgroundTask[]
  readonly isClosed: () => boolean
}

type BackgroundLoop = { start(): void; stop(): void }

/** Checks every second, less often after a failure. */
export function createBackground(
  db: Database,
  context: SnapshotContext,
  { inTurn, snapshot, steppers, isClosed }: BackgroundParts,
): BackgroundLoop {
  let timer: Timer | null = null
  const look = async (): Promise<void> => {
    let pause_ms = LOOK_MS
    try {
      if (isDue(db, context)) await inTurn(snapshot)
      else await inTurn(async () => steppers.find((stepper) => stepper.isDue())?.tryStep())
    } catch (error) {
      if (!isClosed()) context.log.error({ err: error }, 'snapshot failed')
      pause_ms = RETRY_MS
    }
    if (!isClosed()) timer = setTimeout(() => void look(), pause_ms)
  }
  return {
    start: () => void look(),
    stop() {
      if (timer !== null) clearTimeout(timer)
    },
  }
}

/** True also when files contain events that the log still has, after a stop between commit and trim. */
function isDue(db: Database, context: SnapshotContext): boolean {
  const { settings } = context
  const { seq, flushed_seq, trimmed_seq } = readLogState(db)
  if (trimmed_seq < trimmableOf(context, flushed_seq) || seq - flushed_seq >= settings.rows)
    return true
  const oldest = db
    .query<{ created_at: number }, [number]>(
      'select created_at from events where seq > ? order by seq limit 1',
    )
    .get(flushed_seq)
  // After the clock was set back, an event from the future counts as old.
  return oldest !== null && Math.abs(Date.now() - oldest.created_at / 1000) >= settings.age_s * 1000
}
