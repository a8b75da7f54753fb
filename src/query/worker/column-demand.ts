/** What is offered to queries: what they need now, and some of what they needed lately. */

export type ColumnDemandOptions<Thing> = {
  /** Things of one name are one; what has none is never offered. */
  readonly nameOf: (thing: Thing) => string | undefined
  /** One when left out. */
  readonly weightOf?: (thing: Thing) => number
  /** What may stay for queries to come: each costs a little. */
  readonly weight_max: number
}

type DemandedItem<Thing> = {
  readonly thing: Thing
  readonly weight: number
  /** The naming it was named with last. */
  naming: number
  /** Queries that read it or are about to. */
  users: number
}

export class ColumnDemand<Thing> {
  readonly #options: ColumnDemandOptions<Thing>
  /** In the order in which they were named last. */
  readonly #named = new Map<string, DemandedItem<Thing>>()
  #weight = 0
  #version = 0
  #naming = 0

  constructor(options: ColumnDemandOptions<Thing>) {
    this.#options = options
  }

  /** Changes whenever the list does. */
  get version(): number {
    return this.#version
  }

  /** Counts who named something, whether or not it was new. */
  get naming(): number {
    return this.#naming
  }

  /** Takes in what one query needs; to be called when it is over, what comes back lets it go. */
  want(things: readonly Thing[]): () => void {
    this.#naming += 1
    const wanted = things.map((thing) => this.#name(thing)).filter((named) => named !== null)
    for (const named of wanted) named.users += 1
    this.#forgetOldest()
    return () => {
      for (const named of wanted.splice(0)) named.users -= 1
      this.#forgetOldest()
    }
  }

  /** All that are offered. */
  list(): readonly Thing[] {
    return [...this.#named.values()].map(({ thing }) => thing)
  }

  /**
   * Forgets those that could not be offered, whoever wanted them; what was `offered` before stays, and so does what
   * somebody named after `naming`: they will find out themselves.
   */
  drop(tried: readonly Thing[], offered: readonly Thing[], naming: number): void {
    const { nameOf } = this.#options
    const good = new Set(offered.map(nameOf))
    for (const name of tried.map(nameOf)) {
      if (name === undefined || good.has(name)) continue
      if ((this.#named.get(name)?.naming ?? 0) <= naming) this.#forget(name)
    }
  }

  #name(thing: Thing): DemandedItem<Thing> | null {
    const name = this.#options.nameOf(thing)
    if (name === undefined) return null
    const known = this.#named.get(name)
    const weight = this.#options.weightOf?.(thing) ?? 1
    const named = known ?? { thing, weight, naming: 0, users: 0 }
    named.naming = this.#naming
    this.#named.delete(name)
    this.#named.set(name, named)
    if (known !== undefined) return named
    this.#weight += weight
    this.#version += 1
    return named
  }

  #forgetOldest(): void {
    for (const [name, { users }] of this.#named) {
      if (this.#weight <= this.#options.weight_max) break
      if (users === 0) this.#forget(name)
    }
  }

  #forget(name: string): void {
    const named = this.#named.get(name)
    if (named === undefined) return
    this.#named.delete(name)
    this.#weight -= named.weight
    this.#version += 1
  }
}
