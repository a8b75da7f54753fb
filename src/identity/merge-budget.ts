/** A token bucket per project for the rows that its merges move. */
import { ClockCache } from '../storage/clock-cache.ts'

/** Capacity: rows that merges of a project may move at once, about 50 ms of the data thread. */
const ROWS_MAX = 5000
/** Refill rate: rows per second. */
const ROWS_PER_S = 1000
/** Merges of at most this many rows cost little more than their events and are free. */
const ROWS_FREE = 10
/** Counting this many rows costs as much as moving one. */
const COUNTED_PER_MOVED = 10
/** Buckets in memory; an evicted one starts full. */
const PROJECTS_MAX = 10_000

type MergeBudgetBucket = { rows: number; filled_at: number }

/**
 * Bounds the work of merges: every distinct id of the absorbed person moves. Without it, a client that merges a large
 * person from one small person into the next moves all of its ids with every event.
 */
export class MergeBudget {
  readonly #buckets = new ClockCache<MergeBudgetBucket>(PROJECTS_MAX)

  /** The rows that a project's next merge may move. `now` in µs. */
  roomOf(project_id: number, now: number): number {
    const bucket = this.#bucketOf(project_id, now)
    // Times of receipt are not monotonic.
    const seconds = Math.max(0, now - bucket.filled_at) / 1_000_000
    bucket.rows = Math.min(ROWS_MAX, bucket.rows + seconds * ROWS_PER_S)
    bucket.filled_at = Math.max(now, bucket.filled_at)
    return Math.max(ROWS_FREE, Math.floor(bucket.rows))
  }

  /** Takes a merge's rows from its project's bucket; false if it has too few tokens. */
  take(project_id: number, rows: number, now: number): boolean {
    if (rows <= ROWS_FREE) return true
    const is_allowed = rows <= this.roomOf(project_id, now)
    const bucket = this.#bucketOf(project_id, now)
    // The rows of a refused merge were counted, which costs time too.
    bucket.rows = Math.max(0, bucket.rows - (is_allowed ? rows : rows / COUNTED_PER_MOVED))
    return is_allowed
  }

  #bucketOf(project_id: number, now: number): MergeBudgetBucket {
    const key = String(project_id)
    const stored = this.#buckets.get(key)
    if (stored !== undefined) return stored
    const bucket = { rows: ROWS_MAX, filled_at: now }
    this.#buckets.set(key, bucket)
    return bucket
  }
}
