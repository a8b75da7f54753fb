/** Token buckets that failures empty: of networks that try keys, of addresses that passwords are tried for. */

/** Capacity of each bucket, and the time in which an empty one is full again. */
type FailureRate = { readonly tokens_max: number; readonly window_ms: number }

type FailureBucket = { tokens: number; filled_ms: number }

/** The most buckets in memory; the least recently charged one is evicted. */
const BUCKETS_MAX = 10_000

export class FailureBuckets {
  readonly #rate: FailureRate
  readonly #now: () => Date
  readonly #buckets = new Map<string, FailureBucket>()

  constructor(rate: FailureRate, now: () => Date) {
    this.#rate = rate
    this.#now = now
  }

  /** The number of buckets in memory. */
  get size(): number {
    return this.#buckets.size
  }

  /** Seconds until the bucket has a token; 0 if it has one. */
  waitOf(name: string): number {
    const bucket = this.#buckets.get(name)
    if (bucket === undefined) return 0
    const tokens = this.#refill(bucket)
    const { tokens_max, window_ms } = this.#rate
    return tokens >= 1 ? 0 : Math.ceil(((1 - tokens) * window_ms) / tokens_max / 1000)
  }

  /** Takes a token. */
  charge(name: string): void {
    const { tokens_max } = this.#rate
    const bucket = this.#buckets.get(name) ?? {
      tokens: tokens_max,
      filled_ms: this.#now().getTime(),
    }
    bucket.tokens = Math.max(0, this.#refill(bucket) - 1)
    // Deleting and inserting moves it to the end of the eviction order.
    this.#buckets.delete(name)
    this.#buckets.set(name, bucket)
    if (this.#buckets.size <= BUCKETS_MAX) return
    for (const [oldest] of this.#buckets) {
      this.#buckets.delete(oldest)
      return
    }
  }

  /** Gives a token back. */
  refund(name: string): void {
    const bucket = this.#buckets.get(name)
    if (bucket === undefined) return
    bucket.tokens = Math.min(this.#rate.tokens_max, this.#refill(bucket) + 1)
  }

  #refill(bucket: FailureBucket): number {
    const now_ms = this.#now().getTime()
    const { tokens_max, window_ms } = this.#rate
    const gained = (Math.max(0, now_ms - bucket.filled_ms) * tokens_max) / window_ms
    bucket.tokens = Math.min(tokens_max, bucket.tokens + gained)
    bucket.filled_ms = now_ms
    return bucket.tokens
  }
}
