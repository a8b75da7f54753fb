/** Rows of flags about persons in events.db: hash keys per flag, and cohort memberships. */
import type { Database } from 'bun:sqlite'

/** A hash key to store unless the person has one for that flag: the first writer wins. */
export type OverrideRow = {
  readonly project_id: number
  readonly person_id: Uint8Array
  readonly flag_key: string
  readonly hash_key: string
}

/** Persons that enter a cohort, and persons that leave it. */
export type CohortChange = {
  readonly project_id: number
  readonly cohort_id: number
  readonly added: readonly Uint8Array[]
  readonly removed: readonly Uint8Array[]
}

/** Stores overrides that are not there yet. Called inside a transaction. */
export function insertOverrides(db: Database, rows: readonly OverrideRow[]): void {
  const insert = db.query(
    'insert or ignore into flag_overrides (project_id, person_id, flag_key, hash_key) values (?, ?, ?, ?)',
  )
  for (const row of rows) insert.run(row.project_id, row.person_id, row.flag_key, row.hash_key)
}

/** Adds and removes members of a cohort. Called inside a transaction. */
export function changeCohort(db: Database, change: CohortChange): void {
  const { project_id, cohort_id } = change
  const insert = db.query(
    'insert or ignore into cohort_people (project_id, person_id, cohort_id) values (?, ?, ?)',
  )
  const remove = db.query(
    'delete from cohort_people where project_id = ? and person_id = ? and cohort_id = ?',
  )
  for (const person_id of change.added) insert.run(project_id, person_id, cohort_id)
  for (const person_id of change.removed) remove.run(project_id, person_id, cohort_id)
}

const SELECT_TODAY = `
select id
from persons
where project_id = ?1 and is_deleted = 0 and id = coalesce(
  (select person_id from person_overrides where project_id = ?1 and old_person_id = ?2), ?2
)`

/**
 * Finds the person that each of these is today: another after a merge, none after a deletion, which leaves it out. For rows
 * that a reader has decided: stored of a person who is gone, no merge would move them any more.
 */
function personsOfToday(
  db: Database,
  project_id: number,
  person_ids: readonly Uint8Array[],
): readonly Uint8Array[] {
  const today = db.query<{ id: Uint8Array }, [number, Uint8Array]>(SELECT_TODAY)
  return person_ids.flatMap((person_id) => today.get(project_id, person_id)?.id ?? [])
}

/** Stores overrides that a reader has decided, as `insertOverrides` does. Called inside a transaction. */
export function storeDecidedOverrides(db: Database, rows: readonly OverrideRow[]): void {
  const of_today = rows.flatMap((row) =>
    personsOfToday(db, row.project_id, [row.person_id]).map((person_id) => ({ ...row, person_id })),
  )
  insertOverrides(db, of_today)
}

/** Changes a cohort by what a reader has decided, as `changeCohort` does. Called inside a transaction. */
export function storeDecidedCohort(db: Database, { added, removed, ...at }: CohortChange): void {
  changeCohort(db, {
    ...at,
    added: personsOfToday(db, at.project_id, added),
    // Rows of persons who are gone, which older versions have left, go too.
    removed: [...removed, ...personsOfToday(db, at.project_id, removed)],
  })
}

/** The flag rows of a person: flag key → hash key, and cohort id → true. */
export type FlagRows = {
  readonly flags: Readonly<Record<string, unknown>>
  readonly cohorts: Readonly<Record<string, unknown>>
}

/** Reads the flag rows of a person. */
export function readFlagRows(db: Database, project_id: number, person_id: Uint8Array): FlagRows {
  const flags = db
    .query<{ flag_key: string; hash_key: string }, [number, Uint8Array]>(
      'select flag_key, hash_key from flag_overrides where project_id = ? and person_id = ?',
    )
    .all(project_id, person_id)
  const cohorts = db
    .query<{ cohort_id: number }, [number, Uint8Array]>(
      'select cohort_id from cohort_people where project_id = ? and person_id = ?',
    )
    .all(project_id, person_id)
  return {
    flags: Object.fromEntries(flags.map((row) => [row.flag_key, row.hash_key])),
    cohorts: Object.fromEntries(cohorts.map((row) => [String(row.cohort_id), true])),
  }
}

/** Replaces the flag rows of a person. Called inside a transaction. */
export function writeFlagRows(
  db: Database,
  of: { readonly project_id: number; readonly person_id: Uint8Array },
  rows: FlagRows,
): void {
  const { project_id, person_id } = of
  const before = readFlagRows(db, project_id, person_id)
  for (const flag_key of Object.keys(before.flags)) {
    if (rows.flags[flag_key] === before.flags[flag_key]) continue
    db.query(
      'delete from flag_overrides where project_id = ? and person_id = ? and flag_key = ?',
    ).run(project_id, person_id, flag_key)
  }
  insertOverrides(
    db,
    Object.entries(rows.flags).map(([flag_key, hash_key]) => ({
      project_id,
      person_id,
      flag_key,
      hash_key: String(hash_key),
    })),
  )
  const lost = Object.keys(before.cohorts).filter((id) => !Object.hasOwn(rows.cohorts, id))
  const gained = Object.keys(rows.cohorts).filter((id) => !Object.hasOwn(before.cohorts, id))
  const about = { project_id, added: [], removed: [] }
  for (const id of lost) {
    changeCohort(db, { ...about, cohort_id: Number(id), removed: [person_id] })
  }
  for (const id of gained) changeCohort(db, { ...about, cohort_id: Number(id), added: [person_id] })
}

/** Moves flag rows in a merge; existing rows of the surviving person win. */
export function moveFlagRows(
  db: Database,
  project_id: number,
  from: Uint8Array,
  into: Uint8Array,
): void {
  for (const table of ['flag_overrides', 'cohort_people'] as const) {
    db.query(
      `update or ignore ${table} set person_id = ? where project_id = ? and person_id = ?`,
    ).run(into, project_id, from)
    db.query(`delete from ${table} where project_id = ? and person_id = ?`).run(project_id, from)
  }
}
