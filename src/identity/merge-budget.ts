/** A token bucket per project: how many rows of absorbed persons its merges may move. */
import { ClockCache } from '../storage/clock-cache.ts'

/** Rows that merges of one project may move at once: some 50 ms of the only writer's time. */
const ROWS_MAX = 5000
/** Rows per second that a project's merges may move for ever. */
const ROWS_PER_S = 1000
/** Merges of persons with so few rows cost little more than their events, and are not counted. */
const ROWS_FREE = 10
/** How many rows cost as much to count as one to move. */
const COUNTED_PER_MOVED = 10
/** Projects whose buckets are kept; a forgotten one starts full. */
const PROJECTS_MAX = 10_000

type MergeBudgetBucket = { rows: number; filled_at: number }

/**
 * Bounds the work of merges, in which every distinct id of the absorbed person moves. Without it, a large person that is
 * led from one small person into the next costs its ids at each event.
 */
export class MergeBudget {
  readonly #buckets = new ClockCache<MergeBudgetBucket>(PROJECTS_MAX)

  /** The rows that a project's next merge may move. `now` in µs. */
  roomOf(project_id: number, now: number): number {
    const bucket = this.#bucketOf(project_id, now)
    // Clocks of requests may go back.
    const seconds = Math.max(0, now - bucket.filled_at) / 1_000_000
    bucket.rows = Math.min(ROWS_MAX, bucket.rows + seconds * ROWS_PER_S)
    bucket.filled_at = Math.max(now, bucket.filled_at)
    return Math.max(ROWS_FREE, Math.floor(bucket.rows))
  }

  /** Takes a merge's rows from its project's bucket; false when there is no room for them. */
  take(project_id: number, rows: number, now: number): boolean {
    if (rows <= ROWS_FREE) return true
    const is_allowed = rows <= this.roomOf(project_id, now)
    const bucket = this.#bucketOf(project_id, now)
    // What is refused has been counted, which costs something too.
    bucket.rows = Math.max(0, bucket.rows - (is_allowed ? rows : rows / COUNTED_PER_MOVED))
    return is_allowed
  }

  #bucketOf(project_id: number, now: number): MergeBudgetBucket {
    const key = String(project_id)
    const known = this.#buckets.get(key)
    if (known !== undefined) return known
    const bucket = { rows: ROWS_MAX, filled_at: now }
    this.#buckets.set(key, bucket)
    return bucket
  }
}
