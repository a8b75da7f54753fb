/** What is looked after while the server runs: the log first, then whatever else is due, one after the other. */
import type { Database } from 'bun:sqlite'
import { readLogState } from '../storage/manifest.ts'
import { type SnapshotNeeds, trimmableOf } from './needs.ts'
import type { Stepper } from './stepper.ts'

const LOOK_MS = 1000
/** After a snapshot that failed (a full disk, say), the next is tried after this. */
const RETRY_MS = 30_000

export type BackgroundParts = {
  /** Runs one piece of work after the other, whoever asks. */
  readonly inTurn: (work: () => Promise<void>) => Promise<void>
  readonly snapshot: () => Promise<void>
  /** In order of importance. */
  readonly steppers: readonly Stepper[]
  readonly isClosed: () => boolean
}

export type Background = { start(): void; stop(): void }

/** Looks every second, and less often after a failure. */
export function createBackground(
  db: Database,
  needs: SnapshotNeeds,
  { inTurn, snapshot, steppers, isClosed }: BackgroundParts,
): Background {
  let timer: Timer | null = null
  const look = async (): Promise<void> => {
    let pause_ms = LOOK_MS
    try {
      if (isDue(db, needs)) await inTurn(snapshot)
      else await inTurn(async () => steppers.find((stepper) => stepper.isDue())?.tryStep())
    } catch (error) {
      if (!isClosed()) needs.log.error({ err: error }, 'snapshot failed')
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

/** Also when files hold events that the log still has: a stop came between the two. */
function isDue(db: Database, needs: SnapshotNeeds): boolean {
  const { settings } = needs
  const { seq, flushed_seq, trimmed_seq } = readLogState(db)
  if (trimmed_seq < trimmableOf(needs, flushed_seq) || seq - flushed_seq >= settings.rows)
    return true
  const oldest = db
    .query<{ created_at: number }, [number]>(
      'select created_at from events where seq > ? order by seq limit 1',
    )
    .get(flushed_seq)
  // A clock that was put back makes an event old as well.
  return oldest !== null && Math.abs(Date.now() - oldest.created_at / 1000) >= settings.age_s * 1000
}
