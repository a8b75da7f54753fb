/** A map with a limit that forgets what was not asked for lately, at the price of a plain map. */

/**
 * Keeps between half of `entries_max` and all of it. Two generations instead of a list in order of use:
 * a hit in the young one costs one look-up and writes nothing.
 */
export class GenerationCache<V extends object | string | number> {
  readonly #generation_max: number
  #young = new Map<string, V>()
  #old = new Map<string, V>()

  constructor(entries_max: number) {
    this.#generation_max = Math.ceil(entries_max / 2)
  }

  get(key: string): V | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const old = this.#old.get(key)
    if (old !== undefined) this.set(key, old)
    return old
  }

  set(key: string, value: V): void {
    if (this.#young.size >= this.#generation_max) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, value)
  }

  delete(key: string): void {
    this.#young.delete(key)
    this.#old.delete(key)
  }

  clear(): void {
    this.#young = new Map()
    this.#old = new Map()
  }
}
