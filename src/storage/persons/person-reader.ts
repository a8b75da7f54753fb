/** Persons, groups and what flags keep about them, read from events.db without queueing behind its writer. */
import type { Database, Statement } from 'bun:sqlite'
import { join } from 'node:path'
import { openReader } from '../sqlite/sqlite.ts'
import { MergedPersons } from './merged-persons.ts'
import { type PersonRead, PersonReadCache } from './person-read-cache.ts'
import type { PersonProperties } from './person-store.ts'

export type { PersonRead } from './person-read-cache.ts'

/** A person as lists show it. Times are microseconds since 1970 UTC. */
export type ListedPerson = PersonRead & {
  readonly created_at: number
  readonly is_identified: boolean
}

export type GroupTypeRow = { readonly group_type: string; readonly group_type_index: number }

type ReadPersonRow = {
  readonly id: Uint8Array
  readonly properties: string
  readonly created_at: number
  readonly is_identified: number
}

/**
 * Pages kept, in KiB. People are asked about in no order, and SQLite's own 2 MB hold the upper pages of a few thousand of
 * them; what is read again from the system costs three times as much.
 */
const CACHE_KB = 8192

/** The first id of all: what a walk over persons starts behind. */
const BEFORE_ALL = new Uint8Array(0)
/** What an id leads to whose person was deleted. */
const NOBODY = new Uint8Array(0)

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

const SELECT_MEMBERS = `
select p.id, p.properties, p.created_at, p.is_identified
from cohort_people c
join persons p on p.project_id = c.project_id and p.id = c.person_id
where c.project_id = ? and c.cohort_id = ? and p.is_deleted = 0
order by p.id
limit ? offset ?`

const SELECT_GROUPS = `
select group_key, properties
from groups
where project_id = ?1 and group_type_index = ?2 and (?3 is null or group_key > ?3)
order by group_key
limit ?4`

const SELECT_DISTINCT_IDS = `
select distinct_id
from distinct_ids
where project_id = ? and person_id = ?
order by is_main desc, distinct_id
limit ?`
/** No limit. */
const ALL = -1

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
  /** What persons are made of. */
  readonly merges: MergedPersons
  readonly #clock: Statement<{ change: number }, []>
  readonly #known: PersonReadCache
  #is_reading = false
  /** The last change number in what is being read. */
  #change = 0

  /** events.db must exist, with all of its tables. */
  constructor(data_dir: string) {
    this.#db = openReader(join(data_dir, 'events.db'))
    this.#db.run(`pragma cache_size = -${CACHE_KB}`)
    this.merges = new MergedPersons(this.#db)
    this.#begin = this.#db.prepare('begin')
    this.#commit = this.#db.prepare('commit')
    this.#clock = this.#db.prepare('select change from clock where id = 1')
    this.#known = new PersonReadCache(this.#db)
    this.#person_id = this.#db.prepare(
      'select person_id from distinct_ids where project_id = ? and distinct_id = ?',
    )
    this.#properties = this.#db.prepare(
      'select properties from persons where project_id = ? and id = ?',
    )
    this.#group = this.#db.prepare(
      'select properties from groups where project_id = ? and group_type_index = ? and group_key = ?',
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

  /** The person a distinct id belongs to, or null. Of who was read lately only changes are looked at. */
  findPerson(project_id: number, distinct_id: string): PersonRead | null {
    this.#read()
    this.#known.follow(project_id, this.#change)
    const known = this.#known.find(project_id, distinct_id)
    if (known !== undefined) return known
    const id = this.#person_id.get(project_id, distinct_id)?.person_id ?? NOBODY
    const row = id.length === 0 ? null : this.#properties.get(project_id, id)
    const person = row && { id, properties: JSON.parse(row.properties) as PersonProperties }
    if (id.length === 0 || row !== null) {
      this.#known.keep(project_id, distinct_id, person, row?.properties.length ?? 0)
    }
    return person
  }

  /** A group's properties; null when no such group is stored. */
  findGroup(
    project_id: number,
    group_type_index: number,
    group_key: string,
  ): PersonProperties | null {
    this.#read()
    const row = this.#group.get(project_id, group_type_index, group_key)
    return row && (JSON.parse(row.properties) as PersonProperties)
  }

  /** The group types a project has so far; it only ever gets more of them. */
  listGroupTypes(project_id: number): readonly GroupTypeRow[] {
    this.#read()
    return this.#group_types.all(project_id)
  }

  /** What is hashed for a person instead of the distinct id, by flag key. */
  overridesOf(project_id: number, person_id: Uint8Array): ReadonlyMap<string, string> {
    this.#read()
    const rows = this.#overrides.all(project_id, person_id)
    return new Map(rows.map((row) => [row.flag_key, row.hash_key]))
  }

  isInCohort(project_id: number, person_id: Uint8Array, cohort_id: number): boolean {
    this.#read()
    return this.#member.get(project_id, person_id, cohort_id) !== null
  }

  /** Up to `limit` persons after the given one, in the order of their ids; null begins with the first. */
  listPersons(project_id: number, after: Uint8Array | null, limit: number): ListedPerson[] {
    return this.#db
      .query<ReadPersonRow, [number, Uint8Array, number]>(SELECT_PERSONS)
      .all(project_id, after ?? BEFORE_ALL, limit)
      .map(listedPerson)
  }

  countPersons(project_id: number): number {
    return this.#count(
      'select count(*) as count from persons where project_id = ? and is_deleted = 0',
      [project_id],
    )
  }

  /** Up to `limit` groups of a type after the given key, in the order of their keys. */
  listGroups(
    at: { readonly project_id: number; readonly group_type_index: number },
    after: string | null,
    limit: number,
  ): { readonly group_key: string; readonly properties: PersonProperties }[] {
    return this.#db
      .query<{ group_key: string; properties: string }, [number, number, string | null, number]>(
        SELECT_GROUPS,
      )
      .all(at.project_id, at.group_type_index, after, limit)
      .map((row) => ({ ...row, properties: JSON.parse(row.properties) as PersonProperties }))
  }

  /** A page of a cohort's members, in the order of their ids. */
  listMembers(
    at: { readonly project_id: number; readonly cohort_id: number },
    limit: number,
    offset: number,
  ): ListedPerson[] {
    return this.#db
      .query<ReadPersonRow, [number, number, number, number]>(SELECT_MEMBERS)
      .all(at.project_id, at.cohort_id, limit, offset)
      .map(listedPerson)
  }

  countMembers(project_id: number, cohort_id: number): number {
    return this.#count(
      'select count(*) as count from cohort_people where project_id = ? and cohort_id = ?',
      [project_id, cohort_id],
    )
  }

  /** Up to `limit` members' ids after the given one. */
  listMemberIds(
    at: { readonly project_id: number; readonly cohort_id: number },
    after: Uint8Array | null,
    limit: number,
  ): Uint8Array[] {
    return this.#db
      .query<{ person_id: Uint8Array }, [number, number, Uint8Array, number]>(
        'select person_id from cohort_people where project_id = ? and cohort_id = ? and person_id > ? order by person_id limit ?',
      )
      .all(at.project_id, at.cohort_id, after ?? BEFORE_ALL, limit)
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

  /** Whether there is a person of this id today. */
  hasPerson(project_id: number, person_id: Uint8Array): boolean {
    return (
      this.#count(
        'select count(*) as count from persons where project_id = ? and id = ? and is_deleted = 0',
        [project_id, person_id],
      ) > 0
    )
  }

  /** A person's distinct ids, the main one first; all of them unless told: somebody may have given it a million. */
  listDistinctIds(project_id: number, person_id: Uint8Array, limit = ALL): string[] {
    return this.#db
      .query<{ distinct_id: string }, [number, Uint8Array, number]>(SELECT_DISTINCT_IDS)
      .all(project_id, person_id, limit)
      .map((row) => row.distinct_id)
  }

  /** Reads what is committed by now, also in this turn: for who has just had something written. */
  refresh(): void {
    if (this.#is_reading) this.#commit.run()
    this.#is_reading = false
  }

  close(): void {
    this.refresh()
    this.#db.close()
  }

  /**
   * What is read in one turn of the event loop is read in one transaction, which costs a third of as many single
   * reads. Nobody can have been told yet of what is committed meanwhile: answers leave after the turn.
   */
  #read(): void {
    if (this.#is_reading) return
    this.#begin.run()
    this.#change = this.#clock.get()?.change ?? 0
    this.#is_reading = true
    setImmediate(() => this.refresh())
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
