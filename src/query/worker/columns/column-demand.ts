/** An LRU of the columns and macros that queries need: entries in use stay, unused ones stay up to a weight. */

type ColumnDemandOptions<Thing> = {
  /** Identifies a thing; things without a name are ignored. */
  readonly nameOf: (thing: Thing) => string | undefined
  /** By default 1. */
  readonly weightOf?: (thing: Thing) => number
  /** Weight of the entries kept for later queries; each costs a little. */
  readonly weight_max: number
}

type DemandEntry<Thing> = {
  readonly thing: Thing
  readonly weight: number
  /** The number of the request that named it last. */
  request: number
  /** Number of queries that use it. */
  users: number
}

export class ColumnDemand<Thing> {
  readonly #options: ColumnDemandOptions<Thing>
  /** In the order of the last request. */
  readonly #entries = new Map<string, DemandEntry<Thing>>()
  #weight = 0
  #version = 0
  #request = 0

  constructor(options: ColumnDemandOptions<Thing>) {
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
  acquire(things: readonly Thing[]): () => void {
    this.#request += 1
    const entries = things.map((thing) => this.#touch(thing)).filter((entry) => entry !== null)
    for (const entry of entries) entry.users += 1
    this.#evict()
    return () => {
      for (const entry of entries.splice(0)) entry.users -= 1
      this.#evict()
    }
  }

  /** All entries. */
  list(): readonly Thing[] {
    return [...this.#entries.values()].map(({ thing }) => thing)
  }

  /**
   * Removes entries whose creation failed. Those in `created` stay, and so do those requested after `request`, which
   * will be tried again.
   */
  drop(tried: readonly Thing[], created: readonly Thing[], request: number): void {
    const { nameOf } = this.#options
    const created_names = new Set(created.map(nameOf))
    for (const name of tried.map(nameOf)) {
      if (name === undefined || created_names.has(name)) continue
      if ((this.#entries.get(name)?.request ?? 0) <= request) this.#remove(name)
    }
  }

  #touch(thing: Thing): DemandEntry<Thing> | null {
    const name = this.#options.nameOf(thing)
    if (name === undefined) return null
    const existing = this.#entries.get(name)
    const weight = this.#options.weightOf?.(thing) ?? 1
    const entry = existing ?? { thing, weight, request: 0, users: 0 }
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
