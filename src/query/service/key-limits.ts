/** Limits per personal API key: queries at a time, and token buckets per minute and per hour. */

import { Refusal } from '../../errors.ts'
import { HOUR_MS, MINUTE_MS } from '../../time.ts'

/** Zero means no limit. */
type KeyLimitSettings = {
  readonly running_max: number
  readonly per_minute: number
  readonly per_hour: number
}

type RateBucket = { tokens: number; filled_ms: number }
type KeyState = { running: number; readonly buckets: readonly RateBucket[] }

type Rate = { readonly tokens_max: number; readonly window_ms: number }

const RETRY_AFTER_S = 1
/** Sums of fractions may be a little below the whole number. */
const ALMOST_ONE = 1 - 1e-6
/** Beyond this number, idle keys (nothing running, buckets full) are removed. */
const KEYS_MAX = 10_000

export class KeyLimits {
  readonly #running_max: number
  readonly #rates: readonly Rate[]
  readonly #now: () => Date
  readonly #keys = new Map<string, KeyState>()

  constructor(settings: KeyLimitSettings, now: () => Date) {
    this.#running_max = settings.running_max
    this.#rates = [
      { tokens_max: settings.per_minute, window_ms: MINUTE_MS },
      { tokens_max: settings.per_hour, window_ms: HOUR_MS },
    ].filter(({ tokens_max }) => tokens_max > 0)
    this.#now = now
  }

  /**
   * Counts a query, and returns the function to call at its end. Refuses a query beyond the key's limits with
   * `throttled` and a time to retry after.
   */
  enter(key_id: string): () => void {
    const now_ms = this.#now().getTime()
    const key = this.#stateOf(key_id, now_ms)
    if (this.#running_max > 0 && key.running >= this.#running_max) {
      const detail = `This API key may run ${this.#running_max} queries at a time.`
      throw new Refusal('throttled', detail, { retry_after_s: RETRY_AFTER_S })
    }
    const wait_ms = this.#refill(key, now_ms)
    if (wait_ms > 0) {
      const wait_s = Math.ceil(Math.floor(wait_ms) / 1000)
      const detail = `Request was throttled. Expected available in ${wait_s} seconds.`
      throw new Refusal('throttled', detail, { retry_after_s: wait_s })
    }
    for (const bucket of key.buckets) bucket.tokens -= 1
    key.running += 1
    let is_over = false
    return () => {
      if (!is_over) key.running -= 1
      is_over = true
    }
  }

  /** Refills the buckets, and returns the milliseconds until each of them has a token. */
  #refill(key: KeyState, now_ms: number): number {
    const waits = this.#rates.map(({ tokens_max, window_ms }, index) => {
      const bucket = key.buckets[index]
      if (bucket === undefined) return 0
      const gained = ((now_ms - bucket.filled_ms) * tokens_max) / window_ms
      bucket.tokens = Math.min(tokens_max, bucket.tokens + Math.max(0, gained))
      bucket.filled_ms = now_ms
      return bucket.tokens > ALMOST_ONE ? 0 : ((1 - bucket.tokens) * window_ms) / tokens_max
    })
    return Math.max(0, ...waits)
  }

  #stateOf(key_id: string, now_ms: number): KeyState {
    const existing = this.#keys.get(key_id)
    if (existing !== undefined) return existing
    if (this.#keys.size >= KEYS_MAX) this.#removeIdle(now_ms)
    const buckets = this.#rates.map(({ tokens_max }) => ({ tokens: tokens_max, filled_ms: now_ms }))
    const key = { running: 0, buckets }
    this.#keys.set(key_id, key)
    return key
  }

  #removeIdle(now_ms: number): void {
    for (const [key_id, key] of this.#keys) {
      this.#refill(key, now_ms)
      const is_full = key.buckets.every(
        ({ tokens }, index) => tokens >= (this.#rates[index]?.tokens_max ?? 0),
      )
      if (key.running === 0 && is_full) this.#keys.delete(key_id)
    }
  }
}
