/** The log of merges that can be undone, with the state of both persons before. */
import type { Database, Statement } from 'bun:sqlite'
import type { EventLog } from '../log/event-log.ts'

/** The data that moves in a merge: JSON values by name. */
export type PersonBelongings = {
  properties: Record<string, unknown>
  /** Flag key → hash key. */
  flags: Record<string, unknown>
  /** Cohort id → true. */
  cohorts: Record<string, unknown>
}

export type BelongingAspect = keyof PersonBelongings

export const ASPECTS = [
  'properties',
  'flags',
  'cohorts',
] as const satisfies readonly BelongingAspect[]

/** One merge. Times are µs since 1970 UTC. Changed in place, then handed to `MergeLog.save`. */
export type PersonMerge = {
  readonly id: number
  readonly project_id: number
  readonly into_id: Uint8Array
  readonly other_id: Uint8Array
  readonly merged_at: number
  into_created_at: number
  into_was_identified: boolean
  was_confirmed: boolean
  readonly into_main: string | null
  other_created_at: number
  other_was_identified: boolean
  readonly other_main: string | null
  /** The data of the other person. */
  readonly kept: PersonBelongings
  /** The names of it that the surviving person lacked, and took over. */
  readonly given: Record<BelongingAspect, string[]>
}

/** One merge of a person's family, with the bytes of data that an undo would restore. */
type FamilyMerge = Pick<PersonMerge, 'id' | 'other_id'> & { readonly length: number }

type MergeRow = Omit<
  PersonMerge,
  'into_was_identified' | 'was_confirmed' | 'other_was_identified' | 'kept' | 'given'
> & {
  readonly into_was_identified: number
  readonly was_confirmed: number
  readonly other_was_identified: number
  readonly kept: string
  readonly given: string
}

const INSERT = `
insert into merges (
  project_id, into_id, other_id, merged_at, into_created_at, into_was_identified, into_main,
  other_created_at, other_was_identified, other_main, kept, given
) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const UPDATE = `
update merges set
  into_created_at = ?, into_was_identified = ?, was_confirmed = ?,
  other_created_at = ?, other_was_identified = ?, kept = ?, given = ?
where id = ?`

const CONFIRM = `
update merges set was_confirmed = 1
where id = (select max(id) from merges where project_id = ? and into_id = ?)`

/**
 * The merges of a person, and recursively those of the persons merged into it. The cross join keeps the order of the
 * tables: the planner would read all merges of the project for each part.
 */
const FAMILY = `
with recursive parts(id) as (
  values (?2)
  union
  select m.other_id from parts p cross join merges m where m.project_id = ?1 and m.into_id = p.id
)`

const SELECT_FAMILY = `${FAMILY}
select id, other_id, octet_length(kept) as length
from merges
where project_id = ?1 and into_id in (select id from parts)
order by id desc`

/** Counts a family's merges, which are one fewer than its persons, up to a limit. */
const COUNT_FAMILY = `
with recursive parts(id) as (
  values (?2)
  union
  select m.other_id from parts p cross join merges m where m.project_id = ?1 and m.into_id = p.id
  limit ?3
)
select count(*) - 1 as count from parts`

const SELECT_INTO = `
select id, other_id
from merges
where project_id = ? and into_id = ? and id > ?
order by id
limit ?`

const MEASURE_LATER = `
select count(*) as count, coalesce(sum(length), 0) as length
from (
  select octet_length(kept) as length
  from merges
  where project_id = ? and into_id = ? and id > ?
  limit ?
)`

/** Reads and writes inside the data thread's transactions; has no cache. */
export class MergeLog {
  readonly #db: Database
  readonly #insert: Statement
  readonly #confirm: Statement

  constructor(log: EventLog) {
    this.#db = log.db
    this.#insert = this.#db.prepare(INSERT)
    this.#confirm = this.#db.prepare(CONFIRM)
  }

  add(merge: Omit<PersonMerge, 'id' | 'was_confirmed'>): void {
    this.#insert.run(
      merge.project_id,
      merge.into_id,
      merge.other_id,
      merge.merged_at,
      merge.into_created_at,
      merge.into_was_identified ? 1 : 0,
      merge.into_main,
      merge.other_created_at,
      merge.other_was_identified ? 1 : 0,
      merge.other_main,
      JSON.stringify(merge.kept),
      JSON.stringify(merge.given),
    )
  }

  /** Stores that a person was identified again without a merge. */
  confirm(project_id: number, into_id: Uint8Array): void {
    this.#confirm.run(project_id, into_id)
  }

  find(project_id: number, id: number): PersonMerge | null {
    return this.#one('where project_id = ? and id = ?', [project_id, id])
  }

  /** Finds the merge by which a person became part of another, or null. */
  findMergeOf(project_id: number, other_id: Uint8Array): PersonMerge | null {
    return this.#one('where project_id = ? and other_id = ?', [project_id, other_id])
  }

  /** Lists the merges of a person and of the persons merged into it; the last one first. */
  listFamily(project_id: number, person_id: Uint8Array): readonly FamilyMerge[] {
    return this.#db
      .query<FamilyMerge, [number, Uint8Array]>(SELECT_FAMILY)
      .all(project_id, person_id)
  }

  /** Counts the merges of `listFamily`, up to `limit`. */
  countFamily(project_id: number, person_id: Uint8Array, limit: number): number {
    return (
      this.#db
        .query<{ count: number }, [number, Uint8Array, number]>(COUNT_FAMILY)
        .get(project_id, person_id, limit + 1)?.count ?? 0
    )
  }

  /** Lists up to `merges_max` merges that a person survived after the one with the number `after_id`, oldest first. */
  listInto(
    project_id: number,
    person_id: Uint8Array,
    after_id: number,
    merges_max: number,
  ): readonly { readonly id: number; readonly other_id: Uint8Array }[] {
    return this.#db
      .query<{ id: number; other_id: Uint8Array }, [number, Uint8Array, number, number]>(
        SELECT_INTO,
      )
      .all(project_id, person_id, after_id, merges_max)
  }

  /** Finds the number of the last merge that a person survived, or null. Those before a later merge of it are older. */
  findLastId(project_id: number, person_id: Uint8Array): number | null {
    const row = this.#db
      .query<{ id: number | null }, [number, Uint8Array]>(
        'select max(id) as id from merges where project_id = ? and into_id = ?',
      )
      .get(project_id, person_id)
    return row?.id ?? null
  }

  /** The merges that the same person survived after this one, oldest first. */
  listLater({ project_id, into_id, id }: PersonMerge): PersonMerge[] {
    return this.#db
      .query<MergeRow, [number, Uint8Array, number]>(
        'select * from merges where project_id = ? and into_id = ? and id > ? order by id',
      )
      .all(project_id, into_id, id)
      .map(mergeOf)
  }

  /** Counts the merges of `listLater` and the bytes of their data, up to `merges_max` merges. */
  measureLater(
    { project_id, into_id, id }: PersonMerge,
    merges_max: number,
  ): { readonly count: number; readonly length: number } {
    const measured = this.#db
      .query<{ count: number; length: number }, [number, Uint8Array, number, number]>(MEASURE_LATER)
      .get(project_id, into_id, id, merges_max)
    return measured ?? { count: 0, length: 0 }
  }

  /** The last merge that the same person survived before this one, or null. */
  findBefore({ project_id, into_id, id }: PersonMerge): PersonMerge | null {
    return this.#one('where project_id = ? and into_id = ? and id < ? order by id desc limit 1', [
      project_id,
      into_id,
      id,
    ])
  }

  save(merge: PersonMerge): void {
    this.#db
      .query(UPDATE)
      .run(
        merge.into_created_at,
        merge.into_was_identified ? 1 : 0,
        merge.was_confirmed ? 1 : 0,
        merge.other_created_at,
        merge.other_was_identified ? 1 : 0,
        JSON.stringify(merge.kept),
        JSON.stringify(merge.given),
        merge.id,
      )
  }

  remove(id: number): void {
    this.#db.query('delete from merges where id = ?').run(id)
  }

  #one(where: string, values: (number | Uint8Array)[]): PersonMerge | null {
    const row = this.#db
      .query<MergeRow, (number | Uint8Array)[]>(`select * from merges ${where}`)
      .get(...values)
    return row && mergeOf(row)
  }
}

function mergeOf(row: MergeRow): PersonMerge {
  return {
    ...row,
    into_was_identified: row.into_was_identified === 1,
    was_confirmed: row.was_confirmed === 1,
    other_was_identified: row.other_was_identified === 1,
    kept: JSON.parse(row.kept) as PersonBelongings,
    given: JSON.parse(row.given) as Record<BelongingAspect, string[]>,
  }
}
