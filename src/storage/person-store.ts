/** Persons and their distinct ids in events.db, with what was used lately kept in memory. */
import type { Statement } from 'bun:sqlite'
import type { EventLog } from './event-log.ts'
import { type FlagRows, moveFlagRows, readFlagRows, writeFlagRows } from './flag-rows.ts'
import { IdOwners } from './id-owners.ts'
import { MergeLog } from './merge-log.ts'
import { PersonCache } from './person-cache.ts'
import { PersonlessIds } from './personless-ids.ts'

export type Properties = Record<string, unknown>

/** A person as stored. Changed in place, then handed to `PersonStore.save`. */
export type Person = {
  readonly project_id: number
  readonly id: Uint8Array
  /** Names the person in memory: project and id. */
  readonly key: string
  created_at: number
  /** The properties as JSON text, which is all that memory keeps of most; null while `properties` are newer. */
  properties_text: string | null
  /** Null unless they are open, or changed since they were written. */
  properties: Properties | null
  is_identified: boolean
  is_deleted: boolean
  version: number
  /** Not less than the bytes of the properties as JSON; null until they are measured. */
  properties_bytes: number | null
  /** How many properties there are; null until they are counted. */
  properties_count: number | null
  /** Which automatic properties it has, as identity marks them; -1 until somebody looked, and after each change. */
  marks_low: number
  marks_high: number
  /** True once it was noted that this identified person was claimed to be one again. */
  is_confirmed: boolean
  /** False for an object that is out of date: another one has taken its place, or none. */
  is_cached: boolean
  was_used: boolean
}

/** How much properties take up. */
export type PropertiesSize = { readonly bytes: number; readonly count: number }

/** What only memory knows of a person, at first. */
const UNSEEN = {
  properties_bytes: null,
  properties_count: null,
  marks_low: -1,
  marks_high: -1,
  is_confirmed: false,
  is_cached: false,
  was_used: false,
}

/** What a person is created with. */
export type NewPerson = Pick<Person, 'project_id' | 'id' | 'created_at' | 'is_identified'> & {
  readonly properties: Properties
}

type PersonRow = {
  id: Uint8Array
  created_at: number
  properties: string
  is_identified: number
  is_deleted: number
  version: number
}

/** By how much a deletion counts on. */
const DELETED_VERSIONS = 100

/** Changed persons that wait for the end of their transaction. */
const UNSAVED_MAX = 5000
/** Bytes of properties that wait for it, or are open until it; writing this much takes some 30 ms. */
const UNSAVED_BYTES_MAX = 4 * 1024 * 1024

const SELECT_PERSON =
  'select id, created_at, properties, is_identified, is_deleted, version from persons where project_id = ? and id = ?'

/** Not a join, which takes SQLite ten times as long. */
const SELECT_OWNER = `
select id, created_at, properties, is_identified, is_deleted, version
from persons
where project_id = ?1
  and id = (select person_id from distinct_ids where project_id = ?1 and distinct_id = ?2)`

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

/** Reads and writes persons inside the data thread's transactions. Saved persons are written by `flush`. */
export class PersonStore {
  readonly #log: EventLog
  readonly owners: IdOwners
  readonly merges: MergeLog
  readonly cache: PersonCache
  readonly personless: PersonlessIds
  readonly #unsaved = new Map<string, Person>()
  #unsaved_bytes = 0
  /** Persons whose properties were parsed since the last flush. */
  readonly #open = new Set<Person>()
  #open_length = 0
  readonly #select_person: Statement<PersonRow, [number, Uint8Array]>
  readonly #select_owner: Statement<PersonRow, [number, string]>
  readonly #upsert_person: Statement

  constructor(log: EventLog, cache = new PersonCache()) {
    this.#log = log
    this.cache = cache
    this.owners = new IdOwners(log)
    this.merges = new MergeLog(log)
    this.#select_person = this.#log.db.prepare(SELECT_PERSON)
    this.#select_owner = this.#log.db.prepare(SELECT_OWNER)
    this.#upsert_person = this.#log.db.prepare(UPSERT_PERSON)
    this.personless = new PersonlessIds(log.db)
  }

  /** The person a distinct id belongs to, or null. Who has the id's key at hand saves making it. */
  find(
    project_id: number,
    distinct_id: string,
    id_key: string = `${project_id}:${distinct_id}`,
  ): Person | null {
    const cached = this.cache.findById(id_key)
    if (cached !== undefined) return cached
    const row = this.#select_owner.get(project_id, distinct_id)
    // A person made in this transaction may not have been written yet.
    const id = row?.id ?? this.#unwrittenOwner(project_id, distinct_id)
    if (id === null) return null
    const person = this.get(project_id, id, row)
    if (person === null) throw new Error(`distinct id without a person: ${id_key}`)
    this.cache.bind(id_key, person)
    return person
  }

  #unwrittenOwner(project_id: number, distinct_id: string): Uint8Array | null {
    return this.#unsaved.size === 0 ? null : this.owners.find(project_id, distinct_id)
  }

  /** The living person of an id, or null. Who has its row at hand saves reading it. */
  get(project_id: number, id: Uint8Array, row: PersonRow | null = null): Person | null {
    const key = personKey(project_id, id)
    // One of the person's distinct ids may have brought it in before; there must be one copy only.
    const known = this.cache.findByKey(key) ?? this.#unsaved.get(key)
    const name = { project_id, id, key }
    const person = known ?? (row === null ? this.#read(name) : personOf(name, row))
    if (person === null || person.is_deleted) return null
    if (!person.is_cached) this.cache.add(person)
    return person
  }

  #read(name: Pick<Person, 'project_id' | 'id' | 'key'>): Person | null {
    const row = this.#select_person.get(name.project_id, name.id)
    return row && personOf(name, row)
  }

  /**
   * Adds a new person. An id that was a person's before (deleted since) is a person again; one that somebody has, since
   * a split gave it away, or had before a merge that can be undone, is replaced by a fresh one.
   */
  create(person: NewPerson): Person {
    const { project_id } = person
    let name = { project_id, id: person.id, key: personKey(project_id, person.id) }
    const before = this.#unsaved.get(name.key) ?? this.#read(name)
    const is_taken =
      before !== null &&
      (!before.is_deleted || this.merges.findAway(project_id, before.id) !== null)
    if (is_taken) {
      const id = new Uint8Array(Bun.randomUUIDv7('buffer'))
      name = { project_id, id, key: personKey(project_id, id) }
    }
    const buried = is_taken ? null : before
    const created: Person = {
      ...person,
      ...name,
      properties_text: null,
      is_deleted: false,
      version: buried === null ? 0 : buried.version + 1,
      ...UNSEEN,
    }
    // Who was merged away, or sent events without a profile, is led to somebody: the new one's events are its own.
    this.owners.endOverride(project_id, created.id)
    this.cache.add(created)
    this.#keep(created)
    return created
  }

  /**
   * A person's properties, parsed once until the next flush however many events are about them. They must not be
   * changed in place but by `change`.
   */
  open(person: Person): Properties {
    if (person.properties !== null) return person.properties
    const text = person.properties_text ?? '{}'
    if (this.#open_length + text.length > UNSAVED_BYTES_MAX) this.#close()
    const properties = JSON.parse(text) as Properties
    person.properties = properties
    this.#open.add(person)
    this.#open_length += text.length
    return properties
  }

  /** How large a person is. Its properties must be open. */
  sizeOf(person: Person, properties: Properties): PropertiesSize {
    if (person.properties_bytes === null || person.properties_count === null) {
      const { bytes, count } = measure(properties, person.properties_text)
      person.properties_bytes = bytes
      person.properties_count = count
    }
    return { bytes: person.properties_bytes, count: person.properties_count }
  }

  /**
   * Changes a person's open properties in place, at a cost that does not grow with their number, and saves it. `size`
   * is that of the person afterwards.
   */
  change(
    person: Person,
    properties: Properties,
    change: {
      readonly set: Properties
      readonly gone: Iterable<string>
      readonly size: PropertiesSize
    },
  ): void {
    for (const name of Object.keys(change.set)) setOwn(properties, name, change.set[name])
    for (const name of change.gone) delete properties[name]
    setProperties(person, properties, change.size.bytes)
    person.properties_count = change.size.count
    this.save(person)
  }

  /** What was parsed and not changed is kept as text again. */
  #close(): void {
    for (const person of this.#open) {
      if (person.properties_text !== null) person.properties = null
    }
    this.#open.clear()
    this.#open_length = 0
  }

  /** Marks a changed person for writing; `flush` writes it once, however often it changed. */
  save(person: Person): void {
    person.version += 1
    person.marks_low = -1
    this.#keep(person)
  }

  /** Gives a distinct id to a person, taking it from whoever had it. */
  attach(person: Person, distinct_id: string): void {
    this.owners.attach(person.project_id, distinct_id, person.id)
    this.cache.bind(`${person.project_id}:${distinct_id}`, person)
  }

  /** Gives an id back to a person, and all events of that id with it, past ones included. */
  giveBack(person: Person, distinct_id: string): void {
    this.owners.giveBack(person.project_id, distinct_id, person.id)
    this.cache.bind(`${person.project_id}:${distinct_id}`, person)
  }

  /** Gives all distinct ids of `other` to `into`, and leaves a tombstone of `other`. */
  absorb(other: Person, into: Person): void {
    this.owners.moveAll(other.project_id, other.id, into.id)
    moveFlagRows(this.#log.db, other.project_id, other.id, into.id)
    this.#bury(other)
  }

  /** Deletes a person: its ids are nobody's, its past events keep its id. */
  remove(person: Person): void {
    this.owners.releaseAll(person.project_id, person.id)
    writeFlagRows(this.#log.db, ownerOf(person), { flags: {}, cohorts: {} })
    // Whoever follows versions elsewhere must never take an older one for newer.
    person.version += DELETED_VERSIONS
    this.#bury(person)
  }

  #bury(person: Person): void {
    setProperties(person, {}, null)
    person.is_deleted = true
    this.save(person)
    // Its ids are looked up again when they are next met.
    this.cache.remove(person)
  }

  /** What flags keep of a person. */
  flagRows(person: Person): FlagRows {
    return readFlagRows(this.#log.db, person.project_id, person.id)
  }

  setFlagRows(person: Person, rows: FlagRows): void {
    writeFlagRows(this.#log.db, ownerOf(person), rows)
  }

  /** Writes every changed person. Called inside the transaction, before its commit. */
  flush(): void {
    for (const person of this.#unsaved.values()) {
      person.properties_text ??= JSON.stringify(person.properties)
      person.properties = null
      this.#upsert_person.run(
        person.project_id,
        person.id,
        person.created_at,
        person.properties_text,
        person.is_identified ? 1 : 0,
        person.version,
        person.is_deleted ? 1 : 0,
        this.#log.nextChange(),
      )
    }
    this.#unsaved.clear()
    this.#unsaved_bytes = 0
    this.#close()
  }

  #keep(person: Person): void {
    this.cache.distrust(person)
    if (!this.#unsaved.has(person.key)) this.#unsaved_bytes += person.properties_bytes ?? 0
    this.#unsaved.set(person.key, person)
    const is_full = this.#unsaved.size >= UNSAVED_MAX || this.#unsaved_bytes >= UNSAVED_BYTES_MAX
    if (is_full) this.flush()
  }

  /** Forgets everything in memory: after a rollback it may be wrong. */
  forget(): void {
    this.cache.clear()
    this.personless.forget()
    this.#unsaved.clear()
    this.#unsaved_bytes = 0
    this.#open.clear()
    this.#open_length = 0
  }
}

/** A person's properties as they are now. They must not be changed in place. */
export function propertiesOf({ properties, properties_text }: Person): Properties {
  return properties ?? (JSON.parse(properties_text ?? '{}') as Properties)
}

/** Gives a person other properties; it is to be saved then. `bytes` as `properties_bytes` says. */
export function setProperties(person: Person, properties: Properties, bytes: number | null): void {
  person.properties = properties
  person.properties_text = null
  person.properties_bytes = bytes
  person.properties_count = null
}

/** Gives an object a member of its own; plain assignment would take `__proto__` for something else. */
export function setOwn(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value
  else
    Object.defineProperty(object, name, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    })
}

/** Measures properties, whose JSON may be at hand. */
export function measure(properties: Properties, text: string | null): PropertiesSize {
  let count = 0
  for (const _ in properties) count += 1
  return { bytes: Buffer.byteLength(text ?? JSON.stringify(properties)), count }
}

function personKey(project_id: number, id: Uint8Array): string {
  return `${project_id}:${id.toHex()}`
}

function ownerOf(person: Person): { project_id: number; person_id: Uint8Array } {
  return { project_id: person.project_id, person_id: person.id }
}

function personOf(name: Pick<Person, 'project_id' | 'id' | 'key'>, row: PersonRow): Person {
  return {
    ...name,
    created_at: row.created_at,
    properties_text: row.properties,
    properties: null,
    is_identified: row.is_identified === 1,
    is_deleted: row.is_deleted === 1,
    version: row.version,
    ...UNSEEN,
  }
}
