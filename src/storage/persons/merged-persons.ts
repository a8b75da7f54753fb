/** Reads the merges of persons from events.db, on a reader's connection. */
import type { Database } from 'bun:sqlite'

/** The most distinct ids that are listed of a person: a million would hold the thread for a second. */
export const LISTED_IDS_MAX = 1000

/** A merge that can be undone. `merged_at` is in µs since 1970 UTC. */
type ListedMerge = {
  readonly id: number
  readonly into_id: Uint8Array
  readonly other_id: Uint8Array
  readonly merged_at: number
}

/**
 * The merges of a person, and recursively those of the persons merged into it, the last ones. From each merge two
 * others follow: the merge before it into the same person, and the last merge into the person that it merged. The queue
 * has the order of the answer, so only merges that are listed are read.
 */
const SELECT_MERGES = `
with recursive found(id, into_id, other_id, merged_at) as (
  select id, into_id, other_id, merged_at
  from merges
  where id = (select max(id) from merges where project_id = ?1 and into_id = ?2)
  union all
  select m.id, m.into_id, m.other_id, m.merged_at
  from found f cross join merges m
  where m.id in (
    (select max(id) from merges where project_id = ?1 and into_id = f.into_id and id < f.id),
    (select max(id) from merges where project_id = ?1 and into_id = f.other_id)
  )
  order by id desc
  limit ?3
)
select id, into_id, other_id, merged_at from found`

const SELECT_IDS = `
select distinct_id
from distinct_ids
where project_id = ? and home_id = ? and person_id = ?
order by distinct_id
limit ?`

/** Reads the log of merges. */
export class MergedPersons {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** Lists up to `limit` merges of a person, the last one first. */
  list(project_id: number, person_id: Uint8Array, limit: number): ListedMerge[] {
    return this.#db
      .query<ListedMerge, [number, Uint8Array, number]>(SELECT_MERGES)
      .all(project_id, person_id, limit)
  }

  /** Lists a person's ids that belonged to another person before any merge, the first ones. */
  listIdsFrom(project_id: number, person_id: Uint8Array, home_id: Uint8Array): string[] {
    return this.#db
      .query<{ distinct_id: string }, [number, Uint8Array, Uint8Array, number]>(SELECT_IDS)
      .all(project_id, home_id, person_id, LISTED_IDS_MAX)
      .map((row) => row.distinct_id)
  }
}
