/**
 * Rate limit: a token bucket per project and distinct id. It demotes a request to a slower lane and never rejects it.
 */
import { ClockCache } from '../../storage/clock-cache.ts'
import type { Warning } from '../notes/warnings.ts'
import type { PreparedEvent } from '../threads/prepared-request.ts'

/** Refill rate: events per second of one distinct id. */
const RATE_PER_S = 100
/** Capacity of a bucket: events that one distinct id may send at once. */
const BURST = 1000
/** Buckets in memory; an evicted one starts full again. */
const BUCKETS_MAX = 50_000

type TokenBucket = { tokens: number; filled_at_ms: number }

/** Finds distinct ids beyond the rate limit. */
export class OverflowLimiter {
  readonly #buckets = new ClockCache<TokenBucket>(BUCKETS_MAX)

  /**
   * Takes a token per event. Returns a warning about a distinct id beyond its limit, or null. `now_ms` is monotonic.
   */
  findOverLimit(events: readonly PreparedEvent[], now_ms: number): Warning | null {
    let limited_id: string | null = null
    for (const { id_key, distinct_id } of events) {
      if (!this.#allow(id_key, now_ms)) limited_id = distinct_id
    }
    if (limited_id === null) return null
    return {
      type: 'ingestion_capacity_overflow',
      key: limited_id,
      details: { distinct_id: limited_id },
    }
  }

  #allow(key: string, now_ms: number): boolean {
    const bucket = this.#buckets.get(key)
    if (bucket === undefined) {
      this.#buckets.set(key, { tokens: BURST - 1, filled_at_ms: now_ms })
      return true
    }
    const earned = ((now_ms - bucket.filled_at_ms) / 1000) * RATE_PER_S
    bucket.tokens = Math.min(BURST, bucket.tokens + earned)
    bucket.filled_at_ms = now_ms
    if (bucket.tokens < 1) return false
    bucket.tokens -= 1
    return true
  }
}
