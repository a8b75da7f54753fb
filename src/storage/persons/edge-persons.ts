/** An edge's copies of persons with their cohorts and overrides, and of groups, in the tables that flags read. */
import type { Database, Statement } from 'bun:sqlite'
import { join } from 'node:path'
import type { EventLog } from '../log/event-log.ts'
import { openReader } from '../sqlite/sqlite.ts'
import { insertOverrides, type OverrideRow } from './flag-rows.ts'

/** An id with its person as stored at the home; null if there is none. */
export type CopiedPerson = {
  readonly project_id: number
  readonly distinct_id: string
  readonly person: {
    /** 32 hexadecimal digits. */
    readonly id: string
    readonly properties: Readonly<Record<string, unknown>>
    readonly cohorts: readonly number[]
    /** Flag key → the identifier hashed instead of the distinct id. */
    readonly overrides: Readonly<Record<string, string>>
  } | null
}

/** A group as stored at the home; without properties there is none. */
export type CopiedGroup = {
  readonly project_id: number
  readonly group_type_index: number
  readonly group_key: string
  readonly properties: Readonly<Record<string, unknown>> | null
}

/** An override that was decided here. */
export type OwnOverride = Omit<OverrideRow, 'person_id'> & { readonly distinct_id: string }

/** Copies of one answer of the home. */
export type CopiesFromHome = {
  readonly persons: readonly CopiedPerson[]
  readonly groups: readonly CopiedGroup[]
}

/** A group type of a project; these are in events.db. */
export type GroupTypeCopy = {
  readonly project_id: number
  readonly group_type: string
  readonly group_type_index: number
}

/** Copies that were not asked for again in this time are deleted, µs. */
const FORGOTTEN_AFTER_US = 7 * 86_400 * 1_000_000
/** Old copies deleted with each batch of new ones. */
const FORGOTTEN_TOGETHER_MAX = 2000

const UPSERT_PERSON = `
insert into persons (project_id, id, created_at, properties, is_identified, version, change)
values (?1, ?2, 0, ?3, 1, 0, ?4)
on conflict (project_id, id) do update set properties = excluded.properties, change = excluded.change
where properties <> excluded.properties`

const UPSERT_ID = `
insert into distinct_ids (project_id, distinct_id, person_id, version, change)
values (?1, ?2, ?3, 0, ?4)
on conflict (project_id, distinct_id) do update set
  person_id = excluded.person_id, change = excluded.change
where person_id <> excluded.person_id`

const FORGET_IDS = `
delete from edge_persons
where (project_id, distinct_id) in (
  select project_id, distinct_id from edge_persons where fetched_at < ? limit ${FORGOTTEN_TOGETHER_MAX}
)
returning project_id, distinct_id`

const FORGET_PERSON = `
delete from persons
where project_id = ?1
  and id = (select person_id from distinct_ids where project_id = ?1 and distinct_id = ?2)
  and not exists (
    select 1 from distinct_ids d
    where d.project_id = ?1 and d.person_id = persons.id and d.distinct_id <> ?2
  )
returning id`

const SELECT_OVERRIDES = `
select flag_key, hash_key, exists (
  select 1 from edge_overrides own
  where own.project_id = stored.project_id
    and own.person_id = stored.person_id
    and own.flag_key = stored.flag_key
) as is_own
from flag_overrides stored
where project_id = ? and person_id = ?`

const UPSERT_GROUP = `
insert into groups (project_id, group_type_index, group_key, created_at, updated_at, properties, change)
values (?1, ?2, ?3, 0, 0, ?4, ?5)
on conflict (project_id, group_type_index, group_key) do update set
  properties = excluded.properties, change = excluded.change
where properties <> excluded.properties`

const DELETE_GROUP =
  'delete from groups where project_id = ? and group_type_index = ? and group_key = ?'

const FORGET_GROUPS = `
delete from edge_groups
where (project_id, group_type_index, group_key) in (
  select project_id, group_type_index, group_key from edge_groups
  where fetched_at < ?
  limit ${FORGOTTEN_TOGETHER_MAX}
)
returning project_id, group_type_index, group_key`

/** The rows of a person besides the properties. */
const ROWS_OF_PERSON = ['cohort_people', 'flag_overrides', 'edge_overrides'] as const

/** Stores copies, and deletes old ones. Called inside a transaction of the log; `now` is in µs since 1970 UTC. */
export function storeCopies(log: EventLog, { persons, groups }: CopiesFromHome, now: number): void {
  storePersons(log, persons, now)
  storeGroups(log, groups, now)
  forgetOld(log.db, now - FORGOTTEN_AFTER_US)
}

function storePersons(log: EventLog, copies: readonly CopiedPerson[], now: number): void {
  if (copies.length === 0) return
  const { db } = log
  const note = db.query(
    `insert into edge_persons (project_id, distinct_id, fetched_at) values (?, ?, ?)
    on conflict (project_id, distinct_id) do update set fetched_at = excluded.fetched_at`,
  )
  const change = log.nextChange()
  for (const { project_id, distinct_id, person } of copies) {
    note.run(project_id, distinct_id, now)
    const id = person === null ? new Uint8Array(0) : Uint8Array.fromHex(person.id)
    // Deleted at home, or split: without another id, nothing of the person stays here.
    // The same goes for one who has become part of another at home, whose id this is now.
    if (person === null || hasOther(db, { project_id, distinct_id, id })) {
      forgetPerson(db, project_id, distinct_id)
    }
    if (person !== null) {
      db.query(UPSERT_PERSON).run(project_id, id, JSON.stringify(person.properties), change)
      storeCohorts(db, project_id, id, person.cohorts)
      storeOverrides(db, project_id, id, person.overrides)
    }
    db.query(UPSERT_ID).run(project_id, distinct_id, id, change)
  }
}

/** Whether an id has belonged to another person than the one with this `id`. */
function hasOther(
  db: Database,
  { project_id, distinct_id, id }: { project_id: number; distinct_id: string; id: Uint8Array },
): boolean {
  const other = db.query<object, [number, string, Uint8Array]>(
    'select 1 from distinct_ids where project_id = ? and distinct_id = ? and person_id <> ?',
  )
  return other.get(project_id, distinct_id, id) !== null
}

/** Replaces a person's overrides by those at home, besides those decided here that the home does not have yet. */
function storeOverrides(
  db: Database,
  project_id: number,
  person_id: Uint8Array,
  overrides: Readonly<Record<string, string>>,
): void {
  const stored = db
    .query<{ flag_key: string; hash_key: string; is_own: number }, [number, Uint8Array]>(
      SELECT_OVERRIDES,
    )
    .all(project_id, person_id)
  const drop = db.query(
    'delete from flag_overrides where project_id = ? and person_id = ? and flag_key = ?',
  )
  const settle = db.query(
    'delete from edge_overrides where project_id = ? and person_id = ? and flag_key = ?',
  )
  for (const { flag_key, hash_key, is_own } of stored) {
    const is_at_home = Object.hasOwn(overrides, flag_key)
    if (is_at_home && is_own === 1) settle.run(project_id, person_id, flag_key)
    const is_current = is_at_home ? overrides[flag_key] === hash_key : is_own === 1
    if (!is_current) drop.run(project_id, person_id, flag_key)
  }
  const rows = Object.entries(overrides).map(([flag_key, hash_key]) => ({ flag_key, hash_key }))
  insertOverrides(
    db,
    rows.map((row) => ({ ...row, project_id, person_id })),
  )
}

/**
 * Stores overrides decided here, of which the person has none yet. Returns them, each with an id of its person as the
 * home knows it. Called inside a transaction.
 */
export function storeOwnOverrides(
  db: Database,
  rows: readonly OverrideRow[],
): readonly OwnOverride[] {
  const insert = db.query(
    'insert or ignore into flag_overrides (project_id, person_id, flag_key, hash_key) values (?, ?, ?, ?)',
  )
  const mark = db.query(
    'insert or ignore into edge_overrides (project_id, person_id, flag_key) values (?, ?, ?)',
  )
  const find = db.query<{ distinct_id: string }, [number, Uint8Array]>(
    'select distinct_id from distinct_ids where project_id = ? and person_id = ? limit 1',
  )
  return rows.flatMap(({ project_id, person_id, flag_key, hash_key }) => {
    const id = find.get(project_id, person_id)
    if (id === null) return []
    const { changes } = insert.run(project_id, person_id, flag_key, hash_key)
    if (changes === 0) return []
    mark.run(project_id, person_id, flag_key)
    return [{ project_id, distinct_id: id.distinct_id, flag_key, hash_key }]
  })
}

function storeGroups(log: EventLog, copies: readonly CopiedGroup[], now: number): void {
  if (copies.length === 0) return
  const { db } = log
  const note = db.query(
    `insert into edge_groups (project_id, group_type_index, group_key, fetched_at)
    values (?, ?, ?, ?)
    on conflict (project_id, group_type_index, group_key) do update set fetched_at = excluded.fetched_at`,
  )
  const change = log.nextChange()
  for (const { project_id, group_type_index, group_key, properties } of copies) {
    const key = [project_id, group_type_index, group_key] as const
    note.run(...key, now)
    if (properties === null) db.query(DELETE_GROUP).run(...key)
    else db.query(UPSERT_GROUP).run(...key, JSON.stringify(properties), change)
  }
}

function storeCohorts(
  db: Database,
  project_id: number,
  person_id: Uint8Array,
  cohorts: readonly number[],
): void {
  const stored = db
    .query<{ cohort_id: number }, [number, Uint8Array]>(
      'select cohort_id from cohort_people where project_id = ? and person_id = ?',
    )
    .all(project_id, person_id)
    .map(({ cohort_id }) => cohort_id)
  const insert = db.query(
    'insert into cohort_people (project_id, person_id, cohort_id) values (?, ?, ?)',
  )
  const remove = db.query(
    'delete from cohort_people where project_id = ? and person_id = ? and cohort_id = ?',
  )
  const before = new Set(stored)
  const after = new Set(cohorts)
  for (const id of after.difference(before)) insert.run(project_id, person_id, id)
  for (const id of before.difference(after)) remove.run(project_id, person_id, id)
}

function forgetOld(db: Database, fetched_before: number): void {
  const forgotten = db
    .query<{ project_id: number; distinct_id: string }, [number]>(FORGET_IDS)
    .all(fetched_before)
  for (const { project_id, distinct_id } of forgotten) {
    forgetPerson(db, project_id, distinct_id)
    db.query('delete from distinct_ids where project_id = ? and distinct_id = ?').run(
      project_id,
      distinct_id,
    )
  }
  const groups = db
    .query<{ project_id: number; group_type_index: number; group_key: string }, [number]>(
      FORGET_GROUPS,
    )
    .all(fetched_before)
  for (const { project_id, group_type_index, group_key } of groups) {
    db.query(DELETE_GROUP).run(project_id, group_type_index, group_key)
  }
}

/** Deletes the copy of the person of an id, unless another id of the person is copied. */
function forgetPerson(db: Database, project_id: number, distinct_id: string): void {
  const person = db
    .query<{ id: Uint8Array }, [number, string]>(FORGET_PERSON)
    .get(project_id, distinct_id)
  if (person === null) return
  for (const table of ROWS_OF_PERSON) {
    db.query(`delete from ${table} where project_id = ? and person_id = ?`).run(
      project_id,
      person.id,
    )
  }
}

/** Stores group types; a project only ever gets more of them. Called inside a transaction of the log. */
export function storeGroupTypes({ db }: EventLog, types: readonly GroupTypeCopy[]): void {
  const insert = db.query(
    'insert or ignore into group_types (project_id, group_type, group_type_index) values (?, ?, ?)',
  )
  for (const type of types) insert.run(type.project_id, type.group_type, type.group_type_index)
}

/** Reads on the main thread when copies were made, µs since 1970 UTC; null for what the home was never asked about. */
export class EdgeCopyTimes {
  readonly #db: Database
  readonly #person: Statement<{ fetched_at: number }, [number, string]>
  readonly #group: Statement<{ fetched_at: number }, [number, number, string]>

  /** events.db must exist, with all of its tables. */
  constructor(data_dir: string) {
    this.#db = openReader(join(data_dir, 'events.db'))
    this.#person = this.#db.prepare(
      'select fetched_at from edge_persons where project_id = ? and distinct_id = ?',
    )
    this.#group = this.#db.prepare(
      'select fetched_at from edge_groups where project_id = ? and group_type_index = ? and group_key = ?',
    )
  }

  ofPerson(project_id: number, distinct_id: string): number | null {
    return this.#person.get(project_id, distinct_id)?.fetched_at ?? null
  }

  ofGroup(project_id: number, group_type_index: number, group_key: string): number | null {
    return this.#group.get(project_id, group_type_index, group_key)?.fetched_at ?? null
  }

  close(): void {
    this.#db.close(true)
  }
}
