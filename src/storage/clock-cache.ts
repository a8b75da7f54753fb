/** ClockCache: a bounded map with CLOCK eviction, nearly as fast as a plain map. */

type CacheEntry<V> = { value: V; was_used: boolean }

/**
 * Has at most `entries_max` entries. CLOCK eviction: the hand walks the entries in a circle, clears their flags, and
 * evicts the first one without a flag, so that a hit costs one look-up and one flag.
 */
export class ClockCache<V> {
  readonly #entries_max: number
  readonly #entries = new Map<string, CacheEntry<V>>()
  #hand: Iterator<[string, CacheEntry<V>]>

  constructor(entries_max: number) {
    this.#entries_max = entries_max
    this.#hand = this.#entries.entries()
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    entry.was_used = true
    return entry.value
  }

  set(key: string, value: V): void {
    const entry = this.#entries.get(key)
    if (entry !== undefined) {
      entry.value = value
      return
    }
    if (this.#entries.size >= this.#entries_max) this.#evict()
    this.#entries.set(key, { value, was_used: false })
  }

  delete(key: string): void {
    this.#entries.delete(key)
  }

  clear(): void {
    this.#entries.clear()
    this.#hand = this.#entries.entries()
  }

  get size(): number {
    return this.#entries.size
  }

  /** Evicts one entry. Ends within two rounds, since the first one clears every flag. */
  #evict(): void {
    for (;;) {
      const next = this.#hand.next()
      if (next.done === true) {
        this.#hand = this.#entries.entries()
        continue
      }
      const [key, entry] = next.value
      if (!entry.was_used) {
        this.#entries.delete(key)
        return
      }
      entry.was_used = false
    }
  }
}
