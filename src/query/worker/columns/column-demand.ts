/** An LRU of the columns and macros that queries need: entries in use stay, unused ones stay up to a weight. */

type ColumnDemandOptions<Need> = {
  /** Identifies a need; needs without a name are ignored. */
  readonly nameOf: (need: Need) => string | undefined
  /** By default 1. */
  readonly weightOf?: (need: Need) => number
  /** Weight of the entries kept for later queries; each costs a little. */
  readonly weight_max: number
}

type DemandEntry<Need> = {
  readonly need: Need
  readonly weight: number
  /** The number of the request that named it last. */
  request: number
  /** Number of queries that use it. */
  users: number
}

export class ColumnDemand<Need> {
  readonly #options: ColumnDemandOptions<Need>
  /** In the order of the last request. */
  readonly #entries = new Map<string, DemandEntry<Need>>()
  #weight = 0
  #version = 0
  #request = 0

  constructor(options: ColumnDemandOptions<Need>) {
    this.#options = options
  }

  /** Changes whenever the list does. */
  get version(): number {
    return this.#version
  }

  /** The number of the last request. */
  get request(): number {
    return this.#request
  }

  /** Registers the needs of one query; call the returned function at its end. */
  acquire(needs: readonly Need[]): () => void {
    this.#request += 1
    const entries = needs.map((need) => this.#touch(need)).filter((entry) => entry !== null)
    for (const entry of entries) entry.users += 1
    this.#evict()
    return () => {
      for (const entry of entries.splice(0)) entry.users -= 1
      this.#evict()
    }
  }

  /** All entries. */
  list(): readonly Need[] {
    return [...this.#entries.values()].map(({ need }) => need)
  }

  /**
   * Removes entries whose creation failed. Those in `created` stay, and so do those requested after `request`, which
   * will be tried again.
   */
  drop(tried: readonly Need[], created: readonly Need[], request: number): void {
    const { nameOf } = this.#options
    const created_names = new Set(created.map(nameOf))
    for (const name of tried.map(nameOf)) {
      if (name === undefined || created_names.has(name)) continue
      if ((this.#entries.get(name)?.request ?? 0) <= request) this.#remove(name)
    }
  }

  #touch(need: Need): DemandEntry<Need> | null {
    const name = this.#options.nameOf(need)
    if (name === undefined) return null
    const existing = this.#entries.get(name)
    const weight = this.#options.weightOf?.(need) ?? 1
    const entry = existing ?? { need, weight, request: 0, users: 0 }
    entry.request = this.#request
    this.#entries.delete(name)
    this.#entries.set(name, entry)
    if (existing !== undefined) return entry
    this.#weight += weight
    this.#version += 1
    return entry
  }

  #evict(): void {
    for (const [name, { users }] of this.#entries) {
      if (this.#weight <= this.#options.weight_max) break
      if (users === 0) this.#remove(name)
    }
  }

  #remove(name: string): void {
    const entry = this.#entries.get(name)
    if (entry === undefined) return
    this.#entries.delete(name)
    this.#weight -= entry.weight
    this.#version += 1
  }
}
