/** Persons, merges and undone merges as a plain list that is read through from the start each time: what a log of merges must agree with. */

export type Values = Record<string, unknown>

export type ModelPerson = {
  readonly properties: Values
  readonly flags: Values
  readonly cohorts: Values
  created_at: number
  is_identified: boolean
}

type Entry =
  | {
      readonly kind: 'set'
      readonly person: string
      readonly name: string
      readonly value: unknown
    }
  | {
      readonly kind: 'merge'
      readonly number: number
      readonly into: string
      readonly other: string
    }
  | { readonly kind: 'claim'; readonly person: string }

/** Persons go by the id that made them. */
export class PeopleModel {
  readonly #born = new Map<string, ModelPerson>()
  #entries: Entry[] = []
  #merges = 0

  bear(id: string, person: ModelPerson): void {
    this.#born.set(id, person)
  }

  set(id: string, name: string, value: unknown): void {
    this.#entries.push({ kind: 'set', person: this.ownerOf(id), name, value })
  }

  /** As `$merge_dangerously`: whoever has `other` becomes whoever has `id`. */
  merge(id: string, other: string): void {
    const [into, away] = [this.ownerOf(id), this.ownerOf(other)]
    if (into === away) this.#entries.push({ kind: 'claim', person: into })
    else {
      this.#merges += 1
      this.#entries.push({ kind: 'merge', number: this.#merges, into, other: away })
    }
  }

  /** The merges that are not undone, oldest first. */
  get merges(): readonly number[] {
    return this.#entries.flatMap((entry) => (entry.kind === 'merge' ? entry.number : []))
  }

  undo(number: number): void {
    this.#entries = this.#entries.filter(
      (entry) => entry.kind !== 'merge' || entry.number !== number,
    )
  }

  /** Undoes every merge that made a person what it is. */
  split(id: string): void {
    const root = this.ownerOf(id)
    for (const number of this.merges) {
      const entry = this.#entries.find((one) => one.kind === 'merge' && one.number === number)
      if (entry?.kind === 'merge' && this.#rootOf(entry.into) === root) this.undo(number)
    }
  }

  ownerOf(id: string): string {
    return this.#rootOf(id)
  }

  #rootOf(person: string): string {
    const away = this.#entries.find((entry) => entry.kind === 'merge' && entry.other === person)
    return away?.kind === 'merge' ? this.#rootOf(away.into) : person
  }

  /** Who is there now, by the id that made the person. */
  people(): Readonly<Record<string, ModelPerson>> {
    const all = new Map([...this.#born].map(([id, person]) => [id, structuredClone(person)]))
    const get = (id: string): ModelPerson => {
      const person = all.get(id)
      if (person === undefined) throw new Error(`no person ${id}`)
      return person
    }
    for (const entry of this.#entries) {
      if (entry.kind === 'set') get(entry.person).properties[entry.name] = entry.value
      else if (entry.kind === 'claim') get(entry.person).is_identified = true
      else absorb(get(entry.into), get(entry.other))
    }
    return Object.fromEntries([...all].filter(([id]) => this.#rootOf(id) === id))
  }
}

function absorb(into: ModelPerson, other: ModelPerson): void {
  for (const part of ['properties', 'flags', 'cohorts'] as const) {
    for (const [name, value] of Object.entries(other[part])) {
      if (!Object.hasOwn(into[part], name)) into[part][name] = structuredClone(value)
    }
  }
  into.created_at = Math.min(into.created_at, other.created_at)
  into.is_identified = true
}
