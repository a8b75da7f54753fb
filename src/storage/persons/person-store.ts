/** Persons and their distinct ids in events.db, with write-back caches in memory. */

import type { Statement } from 'bun:sqlite'
import { ClockCache } from '../clock-cache.ts'
import type { EventLog } from '../log/event-log.ts'
import { DELETED_VERSIONS, DistinctIdStore } from './distinct-id-store.ts'
import { type FlagRows, moveFlagRows, readFlagRows, writeFlagRows } from './flag-rows.ts'
import { MergeLog } from './merge-log.ts'
import { PersonlessIds } from './personless-ids.ts'
import { type CachedSender, SenderCache } from './sender-cache.ts'

/** Cached persons, about 1 kB each. */
const PERSONS_MAX = 20_000
/** Cached distinct ids, about 200 B each, plus persons that only they refer to. */
const DISTINCT_IDS_MAX = 50_000
/** Cached distinct ids without a person, about 300 B each. */
const STRANGERS_MAX = 50_000

/**
 * One object per person, or changes would be lost: `is_cached` is false for an object that was replaced. A hit by
 * distinct id touches only that object, since cache misses of the processor dominate the cost. A *sender* is a distinct id
 * with a person, a *stranger* one without.
 */
export class PersonCache {
  readonly #ids = new ClockCache<StoredPerson>(DISTINCT_IDS_MAX)
  readonly #persons = new Map<string, StoredPerson>()
  readonly #senders = new SenderCache()
  readonly #strangers = new ClockCache<Uint8Array>(STRANGERS_MAX)
  readonly #persons_max: number
  #hand = this.#persons.values()

  constructor(persons_max = PERSONS_MAX) {
    this.#persons_max = persons_max
  }

  /** Finds a sender's entry, also when its person is no longer cached. */
  findSender(id_key: string): CachedSender | null {
    return this.#senders.find(id_key)
  }

  /** Stores a sender's entry, once there are more persons than the cache can have. */
  noteSender(id_key: string, person: StoredPerson): void {
    if (person.is_cached && this.#persons.size >= this.#persons_max) {
      this.#senders.note(id_key, person)
    }
  }

  /** Finds the person id under which events of a distinct id without a person are stored; null when it may have one. */
  findStranger(id_key: string): Uint8Array | null {
    return this.#strangers.get(id_key) ?? null
  }

  /** Stores that a distinct id has no person. */
  noteStranger(id_key: string, stored_under: Uint8Array): void {
    this.#strangers.set(id_key, stored_under)
  }

  /** Invalidates the sender entries of a person that changes. */
  invalidate(person: StoredPerson): void {
    this.#senders.invalidate(person.id)
  }

  /** `id_key` is `project:distinct id`. */
  findById(id_key: string): StoredPerson | undefined {
    const person = this.#ids.get(id_key)
    if (person === undefined || !person.is_cached) return undefined
    person.was_used = true
    return person
  }

  findByKey(key: string): StoredPerson | undefined {
    return this.#persons.get(key)
  }

  add(person: StoredPerson): void {
    if (!this.#persons.has(person.key) && this.#persons.size >= this.#persons_max) this.#evict()
    const before = this.#persons.get(person.key)
    if (before !== undefined && before !== person) before.is_cached = false
    this.#persons.set(person.key, person)
    person.is_cached = true
    // The person is about to be changed: the next one added must not evict it.
    person.was_used = true
  }

  /** Binds a distinct id to a person, which must have been added. */
  bind(id_key: string, person: StoredPerson): void {
    this.#ids.set(id_key, person)
    this.#senders.forget(id_key)
    this.#strangers.delete(id_key)
  }

  /** Forgets whose a distinct id is. */
  unbind(id_key: string): void {
    this.#ids.delete(id_key)
    this.#senders.forget(id_key)
  }

  remove(person: StoredPerson): void {
    person.is_cached = false
    this.#persons.delete(person.key)
  }

  clear(): void {
    for (const person of this.#persons.values()) person.is_cached = false
    this.#persons.clear()
    this.#ids.clear()
    this.#senders.clear()
    this.#strangers.clear()
    this.#hand = this.#persons.values()
  }

  /** CLOCK eviction of one person. Ends within two rounds. */
  #evict(): void {
    for (;;) {
      const next = this.#hand.next()
      if (next.done === true) {
        this.#hand = this.#persons.values()
        continue
      }
      const person = next.value
      if (!person.was_used) {
        this.remove(person)
        return
      }
      person.was_used = false
    }
  }
}

export type PersonProperties = Record<string, unknown>

/** A person as stored. Changed in place, then handed to `PersonStore.save`. */
export type StoredPerson = {
  readonly project_id: number
  readonly id: Uint8Array
  /** The person's key in memory: project and id. */
  readonly key: string
  created_at: number
  /** The properties as JSON text; null while `properties` are newer. */
  properties_text: string | null
  /** The parsed properties; null unless they were parsed since the last flush, or changed since they were written. */
  properties: PersonProperties | null
  is_identified: boolean
  is_deleted: boolean
  version: number
  /** Not less than the bytes of the properties as JSON; null until they are measured. */
  properties_bytes: number | null
  /** The number of properties; null until they are counted. */
  properties_count: number | null
  /** A bit set of its automatic properties, computed by identity; `marks_low` is -1 before that, and after each change. */
  marks_low: number
  marks_high: number
  /** The hash of the lasting automatic properties that were last found to be its own; 0 after each change. */
  lasting_hash: number
  /** True once it is stored that this identified person was identified again. */
  is_confirmed: boolean
  /** False for an object that was replaced or evicted. */
  is_cached: boolean
  was_used: boolean
}

/** The size of properties. */
export type PropertiesSize = { readonly bytes: number; readonly count: number }

/** Initial values of the members that are not stored. */
const UNSEEN = {
  properties_bytes: null,
  properties_count: null,
  marks_low: -1,
  marks_high: -1,
  lasting_hash: 0,
  is_confirmed: false,
  is_cached: false,
  was_used: false,
}

/** The values of a new person. */
type NewPerson = Pick<StoredPerson, 'project_id' | 'id' | 'created_at' | 'is_identified'> & {
  readonly properties: PersonProperties
}

type StoredPersonRow = {
  id: Uint8Array
  created_at: number
  properties: string
  is_identified: number
  is_deleted: number
  version: number
}

/** Maximum number of changed persons before they are written. */
const UNSAVED_MAX = 5000
/** Maximum bytes of their properties, and of parsed ones; writing this much takes about 30 ms. */
const UNSAVED_BYTES_MAX = 4 * 1024 * 1024

const SELECT_PERSON =
  'select id, created_at, properties, is_identified, is_deleted, version from persons where project_id = ? and id = ?'

/** A subquery, because a join takes SQLite ten times as long. */
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
  readonly owners: DistinctIdStore
  readonly merges: MergeLog
  readonly cache: PersonCache
  readonly personless: PersonlessIds
  readonly #unsaved = new Map<string, StoredPerson>()
  #unsaved_bytes = 0
  /** Persons whose properties were parsed since the last flush. */
  readonly #parsed = new Set<StoredPerson>()
  #parsed_length = 0
  readonly #select_person: Statement<StoredPersonRow, [number, Uint8Array]>
  readonly #select_owner: Statement<StoredPersonRow, [number, string]>
  readonly #upsert_person: Statement

  constructor(log: EventLog, cache = new PersonCache()) {
    this.#log = log
    this.cache = cache
    this.owners = new DistinctIdStore(log)
    this.merges = new MergeLog(log)
    this.#select_person = this.#log.db.prepare(SELECT_PERSON)
    this.#select_owner = this.#log.db.prepare(SELECT_OWNER)
    this.#upsert_person = this.#log.db.prepare(UPSERT_PERSON)
    this.personless = new PersonlessIds(log.db)
  }

  /** Finds the person of a distinct id, or null. Pass `id_key` if it is already computed. */
  find(
    project_id: number,
    distinct_id: string,
    id_key: string = `${project_id}:${distinct_id}`,
  ): StoredPerson | null {
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

  /** Finds a person that is not deleted, or null. Pass `row` if it is already read. */
  get(project_id: number, id: Uint8Array, row: StoredPersonRow | null = null): StoredPerson | null {
    const key = personKey(project_id, id)
    // The person may be cached already, through another distinct id; there must be one object only.
    const known = this.cache.findByKey(key) ?? this.#unsaved.get(key)
    const name = { project_id, id, key }
    const person = known ?? (row === null ? this.#read(name) : personOf(name, row))
    if (person === null || person.is_deleted) return null
    if (!person.is_cached) this.cache.add(person)
    return person
  }

  #read(name: Pick<StoredPerson, 'project_id' | 'id' | 'key'>): StoredPerson | null {
    const row = this.#select_person.get(name.project_id, name.id)
    return row && personOf(name, row)
  }

  /**
   * Adds a new person. The id of a deleted person is used again. An id that another person has after a split, or had
   * before a merge that can be undone, is replaced by a new one.
   */
  create(person: NewPerson): StoredPerson {
    const { project_id } = person
    let name = { project_id, id: person.id, key: personKey(project_id, person.id) }
    const before = this.#unsaved.get(name.key) ?? this.#read(name)
    const is_taken =
      before !== null &&
      (!before.is_deleted || this.merges.findMergeOf(project_id, before.id) !== null)
    if (is_taken) {
      const id = new Uint8Array(Bun.randomUUIDv7('buffer'))
      name = { project_id, id, key: personKey(project_id, id) }
    }
    const deleted_before = is_taken ? null : before
    const created: StoredPerson = {
      ...person,
      ...name,
      properties_text: null,
      is_deleted: false,
      version: deleted_before === null ? 0 : deleted_before.version + 1,
      ...UNSEEN,
    }
    // Events stored under this id may be assigned to another person, by a merge: they belong to the new person.
    this.owners.endOverride(project_id, created.id)
    this.cache.add(created)
    this.#addUnsaved(created)
    return created
  }

  /**
   * A person's properties, parsed once until the next flush however many events are about them. They must not be
   * changed in place but by `change`.
   */
  parse(person: StoredPerson): PersonProperties {
    if (person.properties !== null) return person.properties
    const text = person.properties_text ?? '{}'
    if (this.#parsed_length + text.length > UNSAVED_BYTES_MAX) this.#dropParsed()
    const properties = JSON.parse(text) as PersonProperties
    person.properties = properties
    this.#parsed.add(person)
    this.#parsed_length += text.length
    return properties
  }

  /** The size of a person's parsed properties. */
  sizeOf(person: StoredPerson, properties: PersonProperties): PropertiesSize {
    if (person.properties_bytes === null || person.properties_count === null) {
      const { bytes, count } = measure(properties, person.properties_text)
      person.properties_bytes = bytes
      person.properties_count = count
    }
    return { bytes: person.properties_bytes, count: person.properties_count }
  }

  /**
   * Changes a person's parsed properties in place, at a cost that does not grow with their number, and saves it. `size`
   * is that of the person afterwards.
   */
  change(
    person: StoredPerson,
    properties: PersonProperties,
    change: {
      readonly set: PersonProperties
      readonly unset: Iterable<string>
      readonly size: PropertiesSize
    },
  ): void {
    for (const name of Object.keys(change.set)) setOwn(properties, name, change.set[name])
    for (const name of change.unset) delete properties[name]
    setProperties(person, properties, change.size.bytes)
    person.properties_count = change.size.count
    this.save(person)
  }

  /** Drops parsed properties of unchanged persons. */
  #dropParsed(): void {
    for (const person of this.#parsed) {
      if (person.properties_text !== null) person.properties = null
    }
    this.#parsed.clear()
    this.#parsed_length = 0
  }

  /** Marks a changed person for writing; `flush` writes it once, however often it changed. */
  save(person: StoredPerson): void {
    person.version += 1
    person.marks_low = -1
    person.lasting_hash = 0
    this.#addUnsaved(person)
  }

  /** Gives a distinct id to a person, taking it from its owner. */
  attach(person: StoredPerson, distinct_id: string): void {
    this.owners.attach(person.project_id, distinct_id, person.id)
    this.cache.bind(`${person.project_id}:${distinct_id}`, person)
  }

  /** Gives an id back to a person, and all events of that id with it, past ones included. */
  giveBack(person: StoredPerson, distinct_id: string): void {
    this.owners.giveBack(person.project_id, distinct_id, person.id)
    this.cache.bind(`${person.project_id}:${distinct_id}`, person)
  }

  /** Gives all distinct ids of `other` to `into`, and leaves a tombstone of `other`. */
  absorb(other: StoredPerson, into: StoredPerson): void {
    this.owners.moveAll(other.project_id, other.id, into.id)
    moveFlagRows(this.#log.db, other.project_id, other.id, into.id)
    this.#markDeleted(other)
  }

  /** Takes up to `ids_max` distinct ids from a person, so that they have no owner. Returns how many it took. */
  release(project_id: number, person_id: Uint8Array, ids_max: number): number {
    const ids = this.owners.releaseSome(project_id, person_id, ids_max)
    for (const id of ids) this.cache.unbind(`${project_id}:${id}`)
    return ids.length
  }

  /** Deletes a person whose distinct ids have been released. Its past events keep its id. */
  remove(person: StoredPerson): void {
    writeFlagRows(this.#log.db, ownerOf(person), { flags: {}, cohorts: {} })
    person.version += DELETED_VERSIONS
    this.#markDeleted(person)
  }

  #markDeleted(person: StoredPerson): void {
    setProperties(person, {}, null)
    person.is_deleted = true
    this.save(person)
    // Its distinct ids are looked up again at their next use.
    this.cache.remove(person)
  }

  /** Reads the flag rows of a person. */
  flagRows(person: StoredPerson): FlagRows {
    return readFlagRows(this.#log.db, person.project_id, person.id)
  }

  setFlagRows(person: StoredPerson, rows: FlagRows): void {
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
    this.#dropParsed()
  }

  #addUnsaved(person: StoredPerson): void {
    this.cache.invalidate(person)
    if (!this.#unsaved.has(person.key)) {
      const bytes = person.properties_bytes ?? 0
      this.#unsaved_bytes += bytes
      this.#log.noteWrite(1, bytes)
    }
    this.#unsaved.set(person.key, person)
    const is_full = this.#unsaved.size >= UNSAVED_MAX || this.#unsaved_bytes >= UNSAVED_BYTES_MAX
    if (is_full) this.flush()
  }

  /** Drops everything in memory, after a rollback. */
  forget(): void {
    this.cache.clear()
    this.personless.forget()
    this.#unsaved.clear()
    this.#unsaved_bytes = 0
    this.#parsed.clear()
    this.#parsed_length = 0
  }
}

/** Returns a person's current properties. They must not be changed in place. */
export function propertiesOf({ properties, properties_text }: StoredPerson): PersonProperties {
  return properties ?? (JSON.parse(properties_text ?? '{}') as PersonProperties)
}

/** Replaces a person's properties; call `save` after it. `bytes` is the new `properties_bytes`. */
export function setProperties(
  person: StoredPerson,
  properties: PersonProperties,
  bytes: number | null,
): void {
  person.properties = properties
  person.properties_text = null
  person.properties_bytes = bytes
  person.properties_count = null
}

/** Sets an own member of an object; a plain assignment to `__proto__` would set its prototype. */
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

/** Measures properties; pass their JSON if it is already computed. */
export function measure(properties: PersonProperties, text: string | null): PropertiesSize {
  let count = 0
  for (const _ in properties) count += 1
  return { bytes: Buffer.byteLength(text ?? JSON.stringify(properties)), count }
}

function personKey(project_id: number, id: Uint8Array): string {
  return `${project_id}:${id.toHex()}`
}

function ownerOf(person: StoredPerson): { project_id: number; person_id: Uint8Array } {
  return { project_id: person.project_id, person_id: person.id }
}

function personOf(
  name: Pick<StoredPerson, 'project_id' | 'id' | 'key'>,
  row: StoredPersonRow,
): StoredPerson {
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
