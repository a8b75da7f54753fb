/** Persons and their distinct ids in events.db, with what was used lately kept in memory. */
import type { Database, Statement } from 'bun:sqlite'
import type { EventLog } from './event-log.ts'
import { moveFlagRows } from './flag-rows.ts'
import { PersonCache } from './person-cache.ts'
import { RecentCache } from './recent-cache.ts'

export type Properties = Record<string, unknown>

/** A person as stored. Changed in place, then handed to `PersonStore.save`. */
export type Person = {
  readonly project_id: number
  readonly id: Uint8Array
  /** Names the person in memory: project and id. */
  readonly key: string
  created_at: number
  properties: Properties
  is_identified: boolean
  is_deleted: boolean
  version: number
  /** Not less than the bytes of the properties as JSON; null until somebody asked. */
  properties_bytes: number | null
  /** Which automatic properties it has, as identity marks them; -1 until somebody looked, and after each change. */
  marks_low: number
  marks_high: number
  /** False for an object that is out of date: another one has taken its place, or none. */
  is_cached: boolean
  was_used: boolean
}

/** What only memory knows of a person, at first. */
const UNSEEN = { marks_low: -1, marks_high: -1, is_cached: false, was_used: false }

/** What a person is created with. */
export type NewPerson = Pick<
  Person,
  'project_id' | 'id' | 'created_at' | 'properties' | 'is_identified'
>

type PersonRow = {
  created_at: number
  properties: string
  is_identified: number
  version: number
}

/** Distinct ids without a person that are kept in memory. */
const PERSONLESS_CACHED_MAX = 100_000

/** Changed persons that wait for the end of their transaction. */
const UNSAVED_MAX = 5000

/** Two look-ups and not one join, which takes SQLite ten times as long. */
const SELECT_PERSON_ID =
  'select person_id from distinct_ids where project_id = ? and distinct_id = ?'
const SELECT_PERSON =
  'select created_at, properties, is_identified, version from persons where project_id = ? and id = ?'

const UPSERT_PERSON = `
insert into persons (project_id, id, created_at, properties, is_identified, version, is_deleted, change)
values (?, ?, ?, ?, ?, ?, ?, ?)
on conflict (project_id, id) do update set
  created_at = excluded.created_at,
  properties = excluded.properties,
  is_identified = excluded.is_identified,
  version = excluded.version,
  is_deleted = excluded.is_deleted,
  change = excluded.change`

const UPSERT_DISTINCT_ID = `
insert into distinct_ids (project_id, distinct_id, person_id, version, change)
values (?, ?, ?, ?, ?)
on conflict (project_id, distinct_id) do update set
  person_id = excluded.person_id,
  version = distinct_ids.version + 1,
  change = excluded.change`

const MOVE_DISTINCT_IDS = `
update distinct_ids
set person_id = ?, is_main = 0, version = version + 1, change = ?
where project_id = ? and person_id = ?`

const UPSERT_OVERRIDE = `
insert into person_overrides (project_id, old_person_id, person_id, change)
values (?, ?, ?, ?)
on conflict (project_id, old_person_id) do update set
  person_id = excluded.person_id,
  change = excluded.change`

/** Reads and writes persons inside the data thread's transactions. Saved persons are written by `flush`. */
export class PersonStore {
  readonly #log: EventLog
  readonly #cache = new PersonCache()
  readonly #personless = new RecentCache<number>(PERSONLESS_CACHED_MAX)
  readonly #unsaved = new Map<string, Person>()
  readonly #select_id: Statement<{ person_id: Uint8Array }, [number, string]>
  readonly #select_person: Statement<PersonRow, [number, Uint8Array]>
  readonly #upsert_person: Statement
  readonly #upsert_id: Statement
  readonly #move_ids: Statement
  readonly #upsert_override: Statement
  readonly #insert_personless: Statement
  readonly #db: Database

  constructor(log: EventLog) {
    this.#log = log
    this.#db = log.db
    this.#select_id = this.#db.prepare(SELECT_PERSON_ID)
    this.#select_person = this.#db.prepare(SELECT_PERSON)
    this.#upsert_person = this.#db.prepare(UPSERT_PERSON)
    this.#upsert_id = this.#db.prepare(UPSERT_DISTINCT_ID)
    this.#move_ids = this.#db.prepare(MOVE_DISTINCT_IDS)
    this.#upsert_override = this.#db.prepare(UPSERT_OVERRIDE)
    this.#insert_personless = this.#db.prepare(
      'insert or ignore into personless_ids (project_id, distinct_id) values (?, ?)',
    )
  }

  /** The person a distinct id belongs to, or null. Who has the id's key at hand saves making it. */
  find(
    project_id: number,
    distinct_id: string,
    id_key: string = `${project_id}:${distinct_id}`,
  ): Person | null {
    const cached = this.#cache.findById(id_key)
    if (cached !== undefined) return cached
    const id = this.#select_id.get(project_id, distinct_id)?.person_id
    if (id === undefined) return null
    const key = personKey(project_id, id)
    // Another of the person's ids may have brought it in before; there must be one copy only.
    const person =
      this.#cache.findByKey(key) ?? this.#unsaved.get(key) ?? this.#read({ project_id, id, key })
    if (!person.is_cached) this.#cache.add(person)
    this.#cache.bind(id_key, person)
    return person
  }

  #read(name: Pick<Person, 'project_id' | 'id' | 'key'>): Person {
    const row = this.#select_person.get(name.project_id, name.id)
    if (row === null) throw new Error(`distinct id without a person: ${name.key}`)
    return personOf(name, row)
  }

  /** Adds a new person. An id that was a person's before (merged away or deleted since) is a person again. */
  create(person: NewPerson): Person {
    const key = personKey(person.project_id, person.id)
    const before = this.#select_person.get(person.project_id, person.id)
    const buried = this.#unsaved.get(key)?.version ?? before?.version
    const created: Person = {
      ...person,
      key,
      is_deleted: false,
      version: buried === undefined ? 0 : buried + 1,
      properties_bytes: null,
      ...UNSEEN,
    }
    // Only a person that was merged away can have an override, and it would lead events of the new one astray.
    if (buried !== undefined) this.override(created.project_id, created.id, created.id)
    this.#cache.add(created)
    this.#keep(created)
    return created
  }

  /** Marks a changed person for writing; `flush` writes it once, however often it changed. */
  save(person: Person): void {
    person.version += 1
    person.marks_low = -1
    this.#keep(person)
  }

  /** Gives a distinct id to a person, taking it from whoever had it. */
  attach(person: Person, distinct_id: string): void {
    this.#upsert_id.run(person.project_id, distinct_id, person.id, 0, this.#log.nextChange())
    this.#cache.bind(`${person.project_id}:${distinct_id}`, person)
  }

  /** Gives all distinct ids of `other` to `into`, and leaves a tombstone of `other`. */
  absorb(other: Person, into: Person): void {
    this.#move_ids.run(into.id, this.#log.nextChange(), other.project_id, other.id)
    this.#db
      .query(
        'update person_overrides set person_id = ?, change = ? where project_id = ? and person_id = ?',
      )
      .run(into.id, this.#log.nextChange(), other.project_id, other.id)
    this.override(other.project_id, other.id, into.id)
    moveFlagRows(this.#db, other.project_id, other.id, into.id)
    other.properties = {}
    other.properties_bytes = null
    other.is_deleted = true
    this.save(other)
    // Its ids are looked up again when they are next met.
    this.#cache.remove(other)
  }

  /** Makes one of a person's ids the one its list begins with. */
  markMain(person: Person, distinct_id: string): void {
    this.#db
      .query(
        'update distinct_ids set is_main = 1 - is_main, change = ? where project_id = ? and person_id = ? and is_main != (distinct_id = ?)',
      )
      .run(this.#log.nextChange(), person.project_id, person.id, distinct_id)
  }

  /** Events that were stored under `old_id` count under `id` from now on. */
  override(project_id: number, old_id: Uint8Array, id: Uint8Array): void {
    this.#upsert_override.run(project_id, old_id, id, this.#log.nextChange())
  }

  /** Remembers that a distinct id was used without a person profile. */
  rememberPersonless(project_id: number, distinct_id: string): void {
    const key = `${project_id}:${distinct_id}`
    if (this.#personless.get(key) !== undefined) return
    this.#insert_personless.run(project_id, distinct_id)
    this.#personless.set(key, 1)
  }

  wasPersonless(project_id: number, distinct_id: string): boolean {
    if (this.#personless.get(`${project_id}:${distinct_id}`) !== undefined) return true
    return (
      this.#db
        .query('select 1 from personless_ids where project_id = ? and distinct_id = ?')
        .get(project_id, distinct_id) !== null
    )
  }

  /** Writes every changed person. Called inside the transaction, before its commit. */
  flush(): void {
    for (const person of this.#unsaved.values()) {
      this.#upsert_person.run(
        person.project_id,
        person.id,
        person.created_at,
        JSON.stringify(person.properties),
        person.is_identified ? 1 : 0,
        person.version,
        person.is_deleted ? 1 : 0,
        this.#log.nextChange(),
      )
    }
    this.#unsaved.clear()
  }

  #keep(person: Person): void {
    this.#unsaved.set(person.key, person)
    if (this.#unsaved.size >= UNSAVED_MAX) this.flush()
  }

  /** Forgets everything in memory: after a rollback it may be wrong. */
  forget(): void {
    this.#cache.clear()
    this.#personless.clear()
    this.#unsaved.clear()
  }
}

function personKey(project_id: number, id: Uint8Array): string {
  return `${project_id}:${id.toHex()}`
}

function personOf(name: Pick<Person, 'project_id' | 'id' | 'key'>, row: PersonRow): Person {
  return {
    ...name,
    created_at: row.created_at,
    properties: JSON.parse(row.properties) as Properties,
    is_identified: row.is_identified === 1,
    is_deleted: false,
    version: row.version,
    properties_bytes: Buffer.byteLength(row.properties),
    ...UNSEEN,
  }
}
