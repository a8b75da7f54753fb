/** A map with a limit that forgets what was not asked for lately, at nearly the price of a plain map. */

type CacheEntry<V> = { value: V; was_asked_for: boolean }

/**
 * Keeps at most `entries_max` entries. A hand goes round them in a circle when room is needed (the "clock" rule):
 * what was asked for since it last came by stays. So a hit costs one look-up and one flag.
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
    entry.was_asked_for = true
    return entry.value
  }

  set(key: string, value: V): void {
    const entry = this.#entries.get(key)
    if (entry !== undefined) {
      entry.value = value
      return
    }
    if (this.#entries.size >= this.#entries_max) this.#forgetOne()
    this.#entries.set(key, { value, was_asked_for: false })
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

  /** Ends within two rounds: the first one clears every flag. */
  #forgetOne(): void {
    for (;;) {
      const next = this.#hand.next()
      if (next.done === true) {
        this.#hand = this.#entries.entries()
        continue
      }
      const [key, entry] = next.value
      if (!entry.was_asked_for) {
        this.#entries.delete(key)
        return
      }
      entry.was_asked_for = false
    }
  }
}
