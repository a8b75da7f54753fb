/** Persons that were read lately, for as long as they are what is stored: change numbers tell who is not. */
import type { Database, Statement } from 'bun:sqlite'
import type { PersonProperties } from './person-store.ts'

/** A person as flags see it. */
export type PersonRead = { readonly id: Uint8Array; readonly properties: PersonProperties }

type PersonReadEntry = {
  readonly project_id: number
  readonly distinct_id: string
  /** Null for an id that nobody has. */
  readonly person: PersonRead | null
  /** What the count of the person's group was when it was read. */
  readonly count: number
}

/** Distinct ids kept, in one place each. A power of two. */
const PLACES = 2 ** 15
/** Who has more than this in properties (as JSON) and id is read each time: kept ones take some 30 MB at most. */
const CHARS_MAX = 1000
/** Of those who would take another one's place so many are sent away for each that is let in: who asks in turn finds some. */
const SENT_AWAY = 7
/** Persons whose changes are counted together. */
const GROUPS = 1 << 16
/** After more changes than this at once nobody is known. */
const CHANGES_MAX = 1000
const PROJECTS_MAX = 10_000

const CHANGED_PERSONS = `
select id from persons where project_id = ? and change > ? limit ${CHANGES_MAX + 1}`

const CHANGED_IDS = `
select distinct_id from distinct_ids where project_id = ? and change > ? limit ${CHANGES_MAX + 1}`

/** Belongs to one reader of events.db. `follow` comes before anything else in each of its transactions. */
export class PersonReadCache {
  readonly #changed_persons: Statement<{ id: Uint8Array }, [number, number]>
  readonly #changed_ids: Statement<{ distinct_id: string }, [number, number]>
  /** Made with the first project that asks. */
  #places: (PersonReadEntry | null)[] = []
  #counts = new Uint32Array(0)
  /** Up to which change number each project was followed. */
  readonly #followed = new Map<number, number>()
  #sent_away = 0

  constructor(db: Database) {
    this.#changed_persons = db.prepare(CHANGED_PERSONS)
    this.#changed_ids = db.prepare(CHANGED_IDS)
  }

  /** Forgets whom changes up to this number made another of a project. */
  follow(project_id: number, change: number): void {
    const followed = this.#followed.get(project_id)
    if (followed === change) return
    if (followed === undefined && this.#followed.size >= PROJECTS_MAX) this.#clear()
    this.#followed.set(project_id, change)
    if (followed === undefined) return
    const persons = this.#changed_persons.all(project_id, followed)
    const ids = this.#changed_ids.all(project_id, followed)
    if (persons.length > CHANGES_MAX || ids.length > CHANGES_MAX) {
      this.#clear()
      this.#followed.set(project_id, change)
      return
    }
    for (const { id } of persons) {
      const group = groupOf(id)
      this.#counts[group] = (this.#counts[group] ?? 0) + 1
    }
    for (const { distinct_id } of ids) {
      if (this.#entryAt(project_id, distinct_id) !== null) {
        this.#places[placeOf(project_id, distinct_id)] = null
      }
    }
  }

  /** The person of an id, null for an id that nobody has; undefined where it must be read. */
  find(project_id: number, distinct_id: string): PersonRead | null | undefined {
    const entry = this.#entryAt(project_id, distinct_id)
    if (entry === null || !this.#isCurrent(entry)) return undefined
    return entry.person
  }

  /** What was read of an id, in a transaction that was followed. */
  keep(project_id: number, distinct_id: string, person: PersonRead | null, chars: number): void {
    if (chars + distinct_id.length > CHARS_MAX) return
    if (this.#places.length === 0) this.#allocate()
    const place = placeOf(project_id, distinct_id)
    const before = this.#places[place] ?? null
    if (before !== null && before.distinct_id !== distinct_id && this.#isCurrent(before)) {
      this.#sent_away = (this.#sent_away + 1) % (SENT_AWAY + 1)
      if (this.#sent_away !== 0) return
    }
    const count = person === null ? 0 : (this.#counts[groupOf(person.id)] ?? 0)
    this.#places[place] = { project_id, distinct_id, person, count }
  }

  #entryAt(project_id: number, distinct_id: string): PersonReadEntry | null {
    const entry = this.#places[placeOf(project_id, distinct_id)] ?? null
    const is_its = entry?.distinct_id === distinct_id && entry.project_id === project_id
    return is_its ? entry : null
  }

  #isCurrent({ person, count }: PersonReadEntry): boolean {
    return person === null || this.#counts[groupOf(person.id)] === count
  }

  #allocate(): void {
    this.#places = Array.from({ length: PLACES }, () => null)
    this.#counts = new Uint32Array(GROUPS)
  }

  #clear(): void {
    this.#places.fill(null)
    this.#followed.clear()
  }
}

/** By FNV-1a, whose lower bits alone are the poorer ones. */
function placeOf(project_id: number, distinct_id: string): number {
  let hash = 0x811c9dc5 ^ project_id
  for (let index = 0; index < distinct_id.length; index += 1) {
    hash = Math.imul(hash ^ distinct_id.charCodeAt(index), 0x01000193)
  }
  return (hash ^ (hash >>> 15)) & (PLACES - 1)
}

/** The last bytes are the random ones in ids of every kind. */
function groupOf(person_id: Uint8Array): number {
  return ((person_id[14] ?? 0) << 8) | (person_id[15] ?? 0)
}
