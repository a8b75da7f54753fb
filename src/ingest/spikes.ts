/** Spike detection: a token bucket per project and distinct id (design.md 3). It demotes, it never rejects. */
import { RecentCache } from '../storage/recent-cache.ts'

/** Events per second that one distinct id may send for ever. */
const RATE_PER_S = 100
/** Events that one distinct id may send at once. */
const BURST = 1000
/** Distinct ids watched; a forgotten one starts with a full bucket again. */
const WATCHED_MAX = 50_000

type Bucket = { tokens: number; filled_at_ms: number }

/** Watches who sends more than others should wait for. */
export class Spikes {
  readonly #buckets = new RecentCache<Bucket>(WATCHED_MAX)

  /** True while the sender (project and distinct id) is within its rate. `now_ms` is monotonic: wall clocks jump. */
  allow(key: string, now_ms: number): boolean {
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
