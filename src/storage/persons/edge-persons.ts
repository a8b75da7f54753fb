/** An edge's copies of persons, their cohorts, and group types, in the tables that flags read. */
import type { Database, Statement } from 'bun:sqlite'
import { join } from 'node:path'
import type { EventLog } from '../log/event-log.ts'
import { openReader } from '../sqlite/sqlite.ts'

/** An id with its person as stored at the home; null if there is none. */
export type CopiedPerson = {
  readonly project_id: number
  readonly distinct_id: string
  readonly person: {
    /** 32 hexadecimal digits. */
    readonly id: string
    readonly properties: Readonly<Record<string, unknown>>
    readonly cohorts: readonly number[]
  } | null
}

type GroupTypeCopy = {
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

const FORGET_PERSONS = `
delete from persons
where project_id = ?1
  and id = (select person_id from distinct_ids where project_id = ?1 and distinct_id = ?2)
  and not exists (
    select 1 from distinct_ids d
    where d.project_id = ?1 and d.person_id = persons.id and d.distinct_id <> ?2
  )`

/** Stores copies, and deletes old ones. Called inside a transaction of the log; `now` is in µs since 1970 UTC. */
export function storePersons(log: EventLog, copies: readonly CopiedPerson[], now: number): void {
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
    if (person === null) db.query(FORGET_PERSONS).run(project_id, distinct_id)
    else {
      db.query(UPSERT_PERSON).run(project_id, id, JSON.stringify(person.properties), change)
      storeCohorts(db, project_id, id, person.cohorts)
    }
    db.query(UPSERT_ID).run(project_id, distinct_id, id, change)
  }
  forgetOld(db, now - FORGOTTEN_AFTER_US)
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
  for (const id of cohorts) if (!stored.includes(id)) insert.run(project_id, person_id, id)
  for (const id of stored) if (!cohorts.includes(id)) remove.run(project_id, person_id, id)
}

function forgetOld(db: Database, fetched_before: number): void {
  const forgotten = db
    .query<{ project_id: number; distinct_id: string }, [number]>(FORGET_IDS)
    .all(fetched_before)
  for (const { project_id, distinct_id } of forgotten) {
    db.query(FORGET_PERSONS).run(project_id, distinct_id)
    db.query('delete from distinct_ids where project_id = ? and distinct_id = ?').run(
      project_id,
      distinct_id,
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

/** Reads on the main thread when a copy was made. */
export class EdgePersonTimes {
  readonly #db: Database
  readonly #fetched: Statement<{ fetched_at: number }, [number, string]>

  /** events.db must exist, with all of its tables. */
  constructor(data_dir: string) {
    this.#db = openReader(join(data_dir, 'events.db'))
    this.#fetched = this.#db.prepare(
      'select fetched_at from edge_persons where project_id = ? and distinct_id = ?',
    )
  }

  /** The time at which the home was last asked about an id, µs; null if never. */
  fetchedAt(project_id: number, distinct_id: string): number | null {
    return this.#fetched.get(project_id, distinct_id)?.fetched_at ?? null
  }

  close(): void {
    this.#db.close(true)
  }
}
