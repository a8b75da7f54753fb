/** What flags keep about people in events.db: identifiers they are hashed by, and the cohorts they are in. */
import type { Database } from 'bun:sqlite'

/** A row to store unless the person has one for that flag already: the first writer wins. */
export type OverrideRow = {
  readonly project_id: number
  readonly person_id: Uint8Array
  readonly flag_key: string
  readonly hash_key: string
}

/** People who come into a cohort and people who leave it. */
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

/** A merge hands over what flags know of a person; what the surviving one has of its own stays. */
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
