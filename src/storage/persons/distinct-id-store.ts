/** Whose each distinct id is, and whose its past events are therefore: distinct_ids and both kinds of overrides. */
import type { Database, Statement } from 'bun:sqlite'
import type { EventLog } from '../log/event-log.ts'

/** A distinct id of a person. */
export type OwnedDistinctId = {
  readonly distinct_id: string
  /** The person that had it before any merge; null for the one that has it now. */
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

/** What a merge moves with a person: its ids, and what leads past events to it. Each counts up to a limit. */
const COUNT_LED = `
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

/** An id whose person was deleted. */
const NOBODY = new Uint8Array(0)

/** Writes inside the data thread's transactions; remembers nothing. */
export class DistinctIdStore {
  readonly #log: EventLog
  readonly #db: Database
  readonly #select_owner: Statement<{ person_id: Uint8Array }, [number, string]>
  readonly #upsert_id: Statement
  readonly #move_all: Statement
  readonly #count_led: Statement<{ count: number }, [number, Uint8Array, number]>
  readonly #upsert_override: Statement
  readonly #end_override: Statement
  /** Most logs have none; then no new id needs to be looked for among them. */
  #are_any_led: boolean

  constructor(log: EventLog) {
    this.#log = log
    this.#db = log.db
    this.#select_owner = this.#db.prepare(SELECT_OWNER)
    this.#upsert_id = this.#db.prepare(UPSERT_ID)
    this.#move_all = this.#db.prepare(MOVE_ALL)
    this.#count_led = this.#db.prepare(COUNT_LED)
    this.#upsert_override = this.#db.prepare(UPSERT_OVERRIDE)
    this.#end_override = this.#db.prepare(END_OVERRIDE)
    this.#are_any_led = this.#db.query('select 1 from distinct_id_overrides limit 1').get() !== null
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

  /** The ids a person has that were another one's before any merge. */
  listFrom(
    project_id: number,
    person_id: Uint8Array,
    home_id: Uint8Array,
  ): readonly OwnedDistinctId[] {
    return this.#db
      .query<OwnedDistinctId, [number, Uint8Array, Uint8Array]>(SELECT_IDS_FROM)
      .all(project_id, home_id, person_id)
  }

  /** The id a person's list begins with because an alias said so, or null. */
  findMain(project_id: number, person_id: Uint8Array): string | null {
    const row = this.#db
      .query<{ distinct_id: string }, [number, Uint8Array]>(
        'select distinct_id from distinct_ids where project_id = ? and person_id = ? and is_main = 1',
      )
      .get(project_id, person_id)
    return row?.distinct_id ?? null
  }

  /** Gives a distinct id to a person for good. Events of it that were led to somebody are led to this person. */
  attach(project_id: number, distinct_id: string, person_id: Uint8Array): void {
    this.#upsert_id.run(project_id, distinct_id, person_id, 0, this.#log.nextChange())
    if (!this.#are_any_led) return
    this.#db
      .query(
        'update distinct_id_overrides set person_id = ?, change = ? where project_id = ? and distinct_id = ?',
      )
      .run(person_id, this.#log.nextChange(), project_id, distinct_id)
  }

  /** How many rows would move with a person; of each kind at most `limit` are counted. */
  countLed(project_id: number, person_id: Uint8Array, limit: number): number {
    return this.#count_led.get(project_id, person_id, limit)?.count ?? 0
  }

  /** All ids of one person, and all events that count under it, go to another one. */
  moveAll(project_id: number, from: Uint8Array, into: Uint8Array): void {
    this.#move_all.run(into, this.#log.nextChange(), project_id, from)
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
    this.#are_any_led = true
    this.#db.query(MOVE_ONE).run(person_id, this.#log.nextChange(), project_id, distinct_id)
    this.#db.query(UPSERT_FOLLOWED).run(project_id, distinct_id, person_id, this.#log.nextChange())
  }

  /** Takes all ids from a person: they are nobody's. Past events stay where they are. */
  releaseAll(project_id: number, person_id: Uint8Array): void {
    this.#db
      .query(
        'update distinct_ids set person_id = ?, home_id = null, is_main = 0, version = version + 100, change = ? where project_id = ? and person_id = ?',
      )
      .run(NOBODY, this.#log.nextChange(), project_id, person_id)
  }

  /** Makes one of a person's ids the one its list begins with. */
  markMain(project_id: number, person_id: Uint8Array, distinct_id: string): void {
    for (const sql of [UNMARK_MAIN, MARK_MAIN]) {
      this.#db.query(sql).run(this.#log.nextChange(), project_id, person_id, distinct_id)
    }
  }

  /** Events that were stored under `old_id` count under `id` from now on. */
  override(project_id: number, old_id: Uint8Array, id: Uint8Array): void {
    this.#upsert_override.run(project_id, old_id, id, this.#log.nextChange())
  }

  /** Events that are stored under `id` are its own from now on, whoever they were led to. */
  endOverride(project_id: number, id: Uint8Array): void {
    this.#end_override.run(this.#log.nextChange(), project_id, id)
  }

  /** The ids under which events of a person may be stored: its own, and all that lead to it. */
  listStoredUnder(project_id: number, person_id: Uint8Array): readonly Uint8Array[] {
    const rows = this.#db
      .query<{ old_person_id: Uint8Array }, [number, Uint8Array]>(
        'select old_person_id from person_overrides where project_id = ? and person_id = ?',
      )
      .all(project_id, person_id)
    return [person_id, ...rows.map((row) => row.old_person_id)]
  }
}
