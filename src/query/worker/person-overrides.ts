/** Whose events they are: what there is to heed when events are read, besides who was merged into whom. */
import type { Database } from 'bun:sqlite'
import type { DuckDBConnection } from '@duckdb/node-api'
import { copyRemovals, listPendingRemovals, removedOf } from '../../storage/log/pending-removals.ts'

/** A project that has neither does not pay for it. */
export type PersonOverridesState = {
  /** Persons were split, or merges undone: events of the ids concerned are those of whoever has the id now. */
  readonly has_overrides: boolean
  /** Removals of events under way, which queries leave out; empty when there are none. */
  readonly removal_ids: string
}

export const NO_PEOPLE: PersonOverridesState = { has_overrides: false, removal_ids: '' }

/**
 * Reads it, and tells the instance what is being removed. Removed events that the tail has leave it for good, since
 * the log forgets them too. The tail and the overrides of distinct ids are to be up to date.
 */
export async function readPersonOverrides(
  db: Database,
  connection: DuckDBConnection,
  project_id: number,
  before: PersonOverridesState,
): Promise<PersonOverridesState> {
  const removals = listPendingRemovals(db, project_id)
  const removal_ids = removals.map(({ id }) => id).join(' ')
  if (removal_ids !== before.removal_ids) await copyRemovals(connection, removals)
  if (removal_ids !== '') {
    await connection.run(`delete from tail where seq in (select seq from (${removedOf('tail')}))`)
  }
  const led = db.query('select 1 from distinct_id_overrides where project_id = ? limit 1')
  return { has_overrides: led.get(project_id) !== null, removal_ids }
}
