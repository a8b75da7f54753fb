/** Reads persons, groups and flag rows from events.db in the main thread, without waiting for the writer. */

import type { Database, Statement } from 'bun:sqlite'
import { join } from 'node:path'
import { openReader } from '../sqlite/sqlite.ts'
import { NO_PERSON } from './distinct-id-store.ts'
import { LISTED_IDS_MAX, MergedPersons } from './merged-persons.ts'
import { type PersonRead, PersonReadCache } from './person-read-cache.ts'
import type { PersonProperties } from './person-store.ts'

/** A person as lists show it. Times are microseconds since 1970 UTC. */
export type ListedPerson = PersonRead & {
  readonly created_at: number
  readonly is_identified: boolean
}

type GroupTypeRow = { readonly group_type: string; readonly group_type_index: number }

type ReadPersonRow = {
  readonly id: Uint8Array
  readonly properties: string
  readonly created_at: number
  readonly is_identified: number
}

/**
 * SQLite's page cache, in KiB. Persons are read in no order, and SQLite's default of 2 MB keeps the upper pages of a few
 * thousand of them; reading a page again from the system costs three times as much.
 */
const CACHE_KB = 8192

/** Sorts before every id: the start of a walk over persons. */
const BEFORE_ALL = new Uint8Array(0)

const SELECT_PERSONS = `
select id, properties, created_at, is_identified
from persons
where project_id = ? and id > ? and is_deleted = 0
order by id
limit ?`

const SELECT_PERSON = `
select id, properties, created_at, is_identified
from persons
where project_id = ? and id = ? and is_deleted = 0`

const SELECT_PERSON_SIZES = `
select octet_length(properties) as bytes
from persons
where project_id = ? and id > ? and is_deleted = 0
order by id
limit ?`

const SELECT_MEMBER_IDS = `
select person_id
from cohort_people
where project_id = ? and cohort_id = ? and person_id > ?
order by person_id
limit ? offset ?`

const SELECT_GROUP_SIZES = `
select octet_length(properties) as bytes
from groups
where project_id = ?1 and group_type_index = ?2 and (?3 is null or group_key > ?3) and is_deleted = 0
order by group_key
limit ?4`

/** The number of group types, and a sum over them: one of the two may be unchanged after some were deleted and others added. */
const SELECT_GROUP_TYPES_VERSION = `
select count(*) || ' ' || total(project_id * 8 + group_type_index) as version
from group_types`

const SELECT_GROUPS = `
select group_key, properties
from groups
where project_id = ?1 and group_type_index = ?2 and (?3 is null or group_key > ?3) and is_deleted = 0
order by group_key
limit ?4`

const SELECT_MAIN_ID = `
select distinct_id
from distinct_ids
where project_id = ? and person_id = ? and is_main = 1`
/** Reads an index that has the ids in this order: a person may have a million, of which few are read. */
const SELECT_OTHER_IDS = `
select distinct_id
from distinct_ids indexed by distinct_ids_by_person
where project_id = ? and person_id = ? and is_main = 0
order by distinct_id
limit ?`
/** Bytes of properties that a list reads at once: 10 ms. One person alone may have more. */
const LISTED_BYTES_MAX = 512 * 1024

/** Reads events.db, which the data thread has made and writes. */
export class PersonReader {
  readonly #db: Database
  readonly #begin: Statement
  readonly #commit: Statement
  readonly #person_id: Statement<{ person_id: Uint8Array }, [number, string]>
  readonly #properties: Statement<{ properties: string }, [number, Uint8Array]>
  readonly #group: Statement<{ properties: string }, [number, number, string]>
  readonly #group_types: Statement<GroupTypeRow, [number]>
  readonly #overrides: Statement<{ flag_key: string; hash_key: string }, [number, Uint8Array]>
  readonly #member: Statement<{ cohort_id: number }, [number, Uint8Array, number]>
  /** The merges of persons. */
  readonly merges: MergedPersons
  readonly #clock: Statement<{ change: number }, []>
  readonly #cache: PersonReadCache
  #is_reading = false
  /** The last change number that the current read sees. */
  #change = 0

  /** events.db must exist, with all of its tables. */
  constructor(data_dir: string) {
    this.#db = openReader(join(data_dir, 'events.db'))
    this.#db.run(`pragma cache_size = -${CACHE_KB}`)
    this.merges = new MergedPersons(this.#db)
    this.#begin = this.#db.prepare('begin')
    this.#commit = this.#db.prepare('commit')
    this.#clock = this.#db.prepare('select change from clock where id = 1')
    this.#cache = new PersonReadCache(this.#db)
    this.#person_id = this.#db.prepare(
      'select person_id from distinct_ids where project_id = ? and distinct_id = ?',
    )
    this.#properties = this.#db.prepare(
      'select properties from persons where project_id = ? and id = ?',
    )
    this.#group = this.#db.prepare(
      'select properties from groups where project_id = ? and group_type_index = ? and group_key = ? and is_deleted = 0',
    )
    this.#group_types = this.#db.prepare(
      'select group_type, group_type_index from group_types where project_id = ?',
    )
    this.#overrides = this.#db.prepare(
      'select flag_key, hash_key from flag_overrides where project_id = ? and person_id = ?',
    )
    this.#member = this.#db.prepare(
      'select cohort_id from cohort_people where project_id = ? and person_id = ? and cohort_id = ?',
    )
  }

  /** Finds the person of a distinct id, or null; from the cache unless it has changed. */
  findPerson(project_id: number, distinct_id: string): PersonRead | null {
    this.#ensureTransaction()
    this.#cache.follow(project_id, this.#change)
    const cached = this.#cache.find(project_id, distinct_id)
    if (cached !== undefined) return cached
    const id = this.#person_id.get(project_id, distinct_id)?.person_id ?? NO_PERSON
    const row = id.length === 0 ? null : this.#properties.get(project_id, id)
    const person = row && { id, properties: JSON.parse(row.properties) as PersonProperties }
    if (id.length === 0 || row !== null) {
      this.#cache.keep(project_id, distinct_id, person, row?.properties.length ?? 0)
    }
    return person
  }

  /** A group's properties; null when no such group is stored. */
  findGroup(
    project_id: number,
    group_type_index: number,
    group_key: string,
  ): PersonProperties | null {
    this.#ensureTransaction()
    const row = this.#group.get(project_id, group_type_index, group_key)
    return row && (JSON.parse(row.properties) as PersonProperties)
  }

  /** The group types a project has so far; it only ever gets more of them. */
  listGroupTypes(project_id: number): readonly GroupTypeRow[] {
    this.#ensureTransaction()
    return this.#group_types.all(project_id)
  }

  /** A text that changes with the group types of any project: more of them come, and those of a deleted project go. */
  groupTypesVersion(): string {
    this.#ensureTransaction()
    return this.#db.query<{ version: string }, []>(SELECT_GROUP_TYPES_VERSION).get()?.version ?? ''
  }

  /** The hash keys of a person, used instead of the distinct id, by flag key. */
  overridesOf(project_id: number, person_id: Uint8Array): ReadonlyMap<string, string> {
    this.#ensureTransaction()
    const rows = this.#overrides.all(project_id, person_id)
    return new Map(rows.map((row) => [row.flag_key, row.hash_key]))
  }

  isInCohort(project_id: number, person_id: Uint8Array, cohort_id: number): boolean {
    this.#ensureTransaction()
    return this.#member.get(project_id, person_id, cohort_id) !== null
  }

  /**
   * Up to `limit` persons after the given one, in the order of their ids; null begins with the first. Fewer where their
   * properties are large, but none only at the end.
   */
  listPersons(project_id: number, after: Uint8Array | null, limit: number): ListedPerson[] {
    const start = after ?? BEFORE_ALL
    const count = this.#countListed(SELECT_PERSON_SIZES, [project_id, start, limit])
    return this.#db
      .query<ReadPersonRow, [number, Uint8Array, number]>(SELECT_PERSONS)
      .all(project_id, start, count)
      .map(listedPerson)
  }

  /** Up to `limit` groups of a type after the given key, in the order of their keys; fewer as `listPersons` does. */
  listGroups(
    at: { readonly project_id: number; readonly group_type_index: number },
    after: string | null,
    limit: number,
  ): { readonly group_key: string; readonly properties: PersonProperties }[] {
    const { project_id, group_type_index } = at
    const values = [project_id, group_type_index, after, limit] as const
    const count = this.#countListed(SELECT_GROUP_SIZES, values)
    return this.#db
      .query<{ group_key: string; properties: string }, [number, number, string | null, number]>(
        SELECT_GROUPS,
      )
      .all(project_id, group_type_index, after, count)
      .map((row) => ({ ...row, properties: JSON.parse(row.properties) as PersonProperties }))
  }

  countMembers(project_id: number, cohort_id: number): number {
    return this.#count(
      'select count(*) as count from cohort_people where project_id = ? and cohort_id = ?',
      [project_id, cohort_id],
    )
  }

  /** Up to `limit` members' ids after the given one, without the first `offset` of them. */
  listMemberIds(
    at: { readonly project_id: number; readonly cohort_id: number },
    after: Uint8Array | null,
    limit: number,
    offset = 0,
  ): Uint8Array[] {
    return this.#db
      .query<{ person_id: Uint8Array }, [number, number, Uint8Array, number, number]>(
        SELECT_MEMBER_IDS,
      )
      .all(at.project_id, at.cohort_id, after ?? BEFORE_ALL, limit, offset)
      .map((row) => row.person_id)
  }

  /** A person by its id, or null. */
  findPersonById(project_id: number, person_id: Uint8Array): ListedPerson | null {
    const row = this.#db
      .query<ReadPersonRow, [number, Uint8Array]>(SELECT_PERSON)
      .get(project_id, person_id)
    return row && listedPerson(row)
  }

  /** The cohorts a person is in. */
  listCohortsOf(project_id: number, person_id: Uint8Array): number[] {
    return this.#db
      .query<{ cohort_id: number }, [number, Uint8Array]>(
        'select cohort_id from cohort_people where project_id = ? and person_id = ?',
      )
      .all(project_id, person_id)
      .map((row) => row.cohort_id)
  }

  /** True when a person with this id exists. */
  hasPerson(project_id: number, person_id: Uint8Array): boolean {
    return (
      this.#count(
        'select count(*) as count from persons where project_id = ? and id = ? and is_deleted = 0',
        [project_id, person_id],
      ) > 0
    )
  }

  /** Lists a person's distinct ids, the main one first, the others in order. */
  listDistinctIds(project_id: number, person_id: Uint8Array, limit = LISTED_IDS_MAX): string[] {
    const main = this.#db
      .query<{ distinct_id: string }, [number, Uint8Array]>(SELECT_MAIN_ID)
      .all(project_id, person_id)
    const others = this.#db
      .query<{ distinct_id: string }, [number, Uint8Array, number]>(SELECT_OTHER_IDS)
      .all(project_id, person_id, limit - main.length)
    return [...main, ...others].map((row) => row.distinct_id)
  }

  /** Ends the read transaction, so that the next read sees the caller's own write. */
  refresh(): void {
    // SQLite itself ends a transaction in which a file could not be read.
    if (this.#is_reading && this.#db.inTransaction) this.#commit.run()
    this.#is_reading = false
  }

  close(): void {
    this.refresh()
    this.#db.close()
  }

  /**
   * Reads of one turn of the event loop share a transaction, which costs a third of as many single reads. A write that
   * commits meanwhile has not been answered yet, since answers are sent after the turn.
   */
  #ensureTransaction(): void {
    if (this.#is_reading) return
    this.#begin.run()
    this.#is_reading = true
    try {
      this.#change = this.#clock.get()?.change ?? 0
    } catch (error) {
      // As SQLITE_BUSY_RECOVERY: in a transaction that stays open every later read would fail.
      this.refresh()
      throw error
    }
    setImmediate(() => this.refresh())
  }

  /** The number of rows that are read next at once. Their sizes are known without reading them. */
  #countListed(
    sizes_sql: string,
    values: readonly (number | string | Uint8Array | null)[],
  ): number {
    const rows = this.#db
      .query<{ bytes: number }, (number | string | Uint8Array | null)[]>(sizes_sql)
      .all(...values)
    let bytes = 0
    const end = rows.findIndex((row) => {
      bytes += row.bytes
      return bytes > LISTED_BYTES_MAX
    })
    return end === -1 ? rows.length : Math.max(1, end)
  }

  #count(sql: string, values: (number | Uint8Array)[]): number {
    return (
      this.#db.query<{ count: number }, (number | Uint8Array)[]>(sql).get(...values)?.count ?? 0
    )
  }
}

function listedPerson(row: ReadPersonRow): ListedPerson {
  return {
    id: row.id,
    properties: JSON.parse(row.properties) as PersonProperties,
    created_at: row.created_at,
    is_identified: row.is_identified === 1,
  }
}
