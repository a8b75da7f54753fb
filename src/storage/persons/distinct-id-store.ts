/** The owner of each distinct id, and the overrides that assign stored events to today's persons. */
import type { Database, Statement } from 'bun:sqlite'
import type { EventLog } from '../log/event-log.ts'

/** A distinct id of a person. */
type OwnedDistinctId = {
  readonly distinct_id: string
  /** The person that had it before any merge; null for the current one. */
  readonly home_id: Uint8Array | null
  readonly is_main: number
}

const SELECT_OWNER = 'select person_id from distinct_ids where project_id = ? and distinct_id = ?'

const SELECT_IDS = `
select distinct_id, home_id, is_main
from distinct_ids
where project_id = ? and person_id = ?
order by is_main desc, distinct_id`

const UPSERT_ID = `
insert into distinct_ids (project_id, distinct_id, person_id, version, change)
values (?, ?, ?, ?, ?)
on conflict (project_id, distinct_id) do update set
  person_id = excluded.person_id,
  home_id = null,
  is_main = 0,
  version = distinct_ids.version + 1,
  change = excluded.change`

const MOVE_ALL = `
update distinct_ids
set person_id = ?1, home_id = nullif(coalesce(home_id, ?4), ?1), is_main = 0, version = version + 1, change = ?2
where project_id = ?3 and person_id = ?4`

const MOVE_ONE = `
update distinct_ids
set person_id = ?1, home_id = nullif(home_id, ?1), is_main = 0, version = version + 1, change = ?2
where project_id = ?3 and distinct_id = ?4`

const UNMARK_MAIN = `
update distinct_ids
set is_main = 0, change = ?
where project_id = ? and person_id = ? and is_main = 1 and distinct_id <> ?`

const MARK_MAIN = `
update distinct_ids
set is_main = 1, change = ?
where project_id = ? and person_id = ? and distinct_id = ? and is_main = 0`

const SELECT_IDS_FROM = `
select distinct_id, home_id, is_main
from distinct_ids
where project_id = ? and home_id = ? and person_id = ?`

const COUNT_IDS_FROM = `
select count(*) as count
from (
  select 1 from distinct_ids where project_id = ? and home_id = ? and person_id = ? limit ?
)`

/** Counts the rows that a merge moves with a person: ids and overrides, each up to a limit. */
const COUNT_MOVED = `
select
  (select count(*) from (select 1 from distinct_ids where project_id = ?1 and person_id = ?2 limit ?3))
  + (select count(*) from (select 1 from person_overrides where project_id = ?1 and person_id = ?2 limit ?3))
  + (select count(*) from (select 1 from distinct_id_overrides where project_id = ?1 and person_id = ?2 limit ?3))
  as count`

const UPSERT_OVERRIDE = `
insert into person_overrides (project_id, old_person_id, person_id, change)
values (?, ?, ?, ?)
on conflict (project_id, old_person_id) do update set
  person_id = excluded.person_id,
  change = excluded.change`

const END_OVERRIDE = `
update person_overrides
set person_id = old_person_id, change = ?
where project_id = ? and old_person_id = ? and person_id <> old_person_id`

const UPSERT_FOLLOWED = `
insert into distinct_id_overrides (project_id, distinct_id, person_id, change)
values (?, ?, ?, ?)
on conflict (project_id, distinct_id) do update set
  person_id = excluded.person_id,
  change = excluded.change`

/**
 * A deletion raises the version by this, as in PostHog: readers that compare versions must never take an older row for the
 * newer one.
 */
export const DELETED_VERSIONS = 100

const RELEASE_SOME = `
update distinct_ids
set person_id = $no_person, home_id = null, is_main = 0, version = version + $raised, change = $change
where project_id = $project_id and person_id = $person_id and distinct_id in (
  select distinct_id from distinct_ids where project_id = $project_id and person_id = $person_id limit $ids_max
)
returning distinct_id`

const COUNT_IDS = `
select count(*) as count
from (select 1 from distinct_ids where project_id = ? and person_id = ? limit ?)`

const SELECT_IDS_AFTER = `
select distinct_id
from distinct_ids
where project_id = ? and person_id = ? and distinct_id > ?
order by distinct_id
limit ?`

const SELECT_STORED_UNDER = `
select old_person_id
from person_overrides
where project_id = ? and person_id = ? and old_person_id > ?
order by old_person_id
limit ?`

/** The owner of an id whose person was deleted. */
export const NO_PERSON = new Uint8Array(0)

/** Writes inside the data thread's transactions; has no cache. */
export class DistinctIdStore {
  readonly #log: EventLog
  readonly #db: Database
  readonly #select_owner: Statement<{ person_id: Uint8Array }, [number, string]>
  readonly #upsert_id: Statement
  readonly #move_all: Statement
  readonly #count_moved: Statement<{ count: number }, [number, Uint8Array, number]>
  readonly #upsert_override: Statement
  readonly #end_override: Statement
  /** False while there are no overrides of ids, as in most databases: new ids then need no update there. */
  #has_id_overrides: boolean

  constructor(log: EventLog) {
    this.#log = log
    this.#db = log.db
    this.#select_owner = this.#db.prepare(SELECT_OWNER)
    this.#upsert_id = this.#db.prepare(UPSERT_ID)
    this.#move_all = this.#db.prepare(MOVE_ALL)
    this.#count_moved = this.#db.prepare(COUNT_MOVED)
    this.#upsert_override = this.#db.prepare(UPSERT_OVERRIDE)
    this.#end_override = this.#db.prepare(END_OVERRIDE)
    this.#has_id_overrides =
      this.#db.query('select 1 from distinct_id_overrides limit 1').get() !== null
  }

  /** The person a distinct id belongs to, or null. */
  find(project_id: number, distinct_id: string): Uint8Array | null {
    const id = this.#select_owner.get(project_id, distinct_id)?.person_id
    return id === undefined || id.length === 0 ? null : id
  }

  /** A person's distinct ids, the main one first. */
  list(project_id: number, person_id: Uint8Array): readonly OwnedDistinctId[] {
    return this.#db
      .query<OwnedDistinctId, [number, Uint8Array]>(SELECT_IDS)
      .all(project_id, person_id)
  }

  /** Lists a person's ids that belonged to another person before any merge. */
  listFrom(
    project_id: number,
    person_id: Uint8Array,
    home_id: Uint8Array,
  ): readonly OwnedDistinctId[] {
    return this.#db
      .query<OwnedDistinctId, [number, Uint8Array, Uint8Array]>(SELECT_IDS_FROM)
      .all(project_id, home_id, person_id)
  }

  /** Counts a person's ids that belonged to another person before any merge, at most `limit`. */
  countFrom(project_id: number, person_id: Uint8Array, home_id: Uint8Array, limit: number): number {
    return (
      this.#db
        .query<{ count: number }, [number, Uint8Array, Uint8Array, number]>(COUNT_IDS_FROM)
        .get(project_id, home_id, person_id, limit)?.count ?? 0
    )
  }

  /** Finds the main id of a person, which an alias has set; null without one. */
  findMain(project_id: number, person_id: Uint8Array): string | null {
    const row = this.#db
      .query<{ distinct_id: string }, [number, Uint8Array]>(
        'select distinct_id from distinct_ids where project_id = ? and person_id = ? and is_main = 1',
      )
      .get(project_id, person_id)
    return row?.distinct_id ?? null
  }

  /** Gives a distinct id to a person. Existing overrides of the id follow. */
  attach(project_id: number, distinct_id: string, person_id: Uint8Array): void {
    this.#log.noteWrite(1, 0)
    this.#upsert_id.run(project_id, distinct_id, person_id, 0, this.#log.nextChange())
    if (!this.#has_id_overrides) return
    this.#db
      .query(
        'update distinct_id_overrides set person_id = ?, change = ? where project_id = ? and distinct_id = ?',
      )
      .run(person_id, this.#log.nextChange(), project_id, distinct_id)
  }

  /** Counts the rows that would move with a person, at most `limit` of each kind. */
  countMoved(project_id: number, person_id: Uint8Array, limit: number): number {
    return this.#count_moved.get(project_id, person_id, limit)?.count ?? 0
  }

  /** Moves all ids and events of one person to another. */
  moveAll(project_id: number, from: Uint8Array, into: Uint8Array): void {
    const { changes } = this.#move_all.run(into, this.#log.nextChange(), project_id, from)
    this.#log.noteWrite(changes, 0)
    for (const table of ['person_overrides', 'distinct_id_overrides'] as const) {
      this.#db
        .query(
          `update ${table} set person_id = ?, change = ? where project_id = ? and person_id = ?`,
        )
        .run(into, this.#log.nextChange(), project_id, from)
    }
    this.override(project_id, from, into)
  }

  /** Gives an id back to a person, with all events of that id, past ones included. */
  giveBack(project_id: number, distinct_id: string, person_id: Uint8Array): void {
    this.#has_id_overrides = true
    this.#db.query(MOVE_ONE).run(person_id, this.#log.nextChange(), project_id, distinct_id)
    this.#db.query(UPSERT_FOLLOWED).run(project_id, distinct_id, person_id, this.#log.nextChange())
  }

  /** Takes up to `ids_max` ids from a person, so that they have no owner, and lists them. Past events keep the person. */
  releaseSome(project_id: number, person_id: Uint8Array, ids_max: number): readonly string[] {
    return this.#db
      .query<{ distinct_id: string }, [Record<string, Uint8Array | number>]>(RELEASE_SOME)
      .all({
        project_id,
        person_id,
        ids_max,
        no_person: NO_PERSON,
        change: this.#log.nextChange(),
        raised: DELETED_VERSIONS,
      })
      .map((row) => row.distinct_id)
  }

  /** Counts a person's ids, at most `limit`. */
  countIds(project_id: number, person_id: Uint8Array, limit: number): number {
    return (
      this.#db
        .query<{ count: number }, [number, Uint8Array, number]>(COUNT_IDS)
        .get(project_id, person_id, limit)?.count ?? 0
    )
  }

  /** Lists up to `ids_max` of a person's ids after `after` in the order of their bytes. */
  listIdsAfter(
    project_id: number,
    person_id: Uint8Array,
    after: string,
    ids_max: number,
  ): readonly string[] {
    return this.#db
      .query<{ distinct_id: string }, [number, Uint8Array, string, number]>(SELECT_IDS_AFTER)
      .all(project_id, person_id, after, ids_max)
      .map((row) => row.distinct_id)
  }

  /** Makes one of a person's ids the main id, which lists begin with. */
  markMain(project_id: number, person_id: Uint8Array, distinct_id: string): void {
    for (const sql of [UNMARK_MAIN, MARK_MAIN]) {
      this.#db.query(sql).run(this.#log.nextChange(), project_id, person_id, distinct_id)
    }
  }

  /** Assigns events stored under `old_id` to `id`. */
  override(project_id: number, old_id: Uint8Array, id: Uint8Array): void {
    this.#upsert_override.run(project_id, old_id, id, this.#log.nextChange())
  }

  /** Ends the override of `id`: events stored under it belong to it again. */
  endOverride(project_id: number, id: Uint8Array): void {
    this.#end_override.run(this.#log.nextChange(), project_id, id)
  }

  /** Lists up to `ids_max` other person ids that a person's events may be stored under, after `after` in their order. */
  listStoredUnder(
    project_id: number,
    person_id: Uint8Array,
    after: Uint8Array,
    ids_max: number,
  ): readonly Uint8Array[] {
    return this.#db
      .query<{ old_person_id: Uint8Array }, [number, Uint8Array, Uint8Array, number]>(
        SELECT_STORED_UNDER,
      )
      .all(project_id, person_id, after, ids_max)
      .map((row) => row.old_person_id)
  }
}
