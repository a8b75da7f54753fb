/** Reads what changes stored events besides merges: overrides of distinct ids, and pending removals. */
import type { Database } from 'bun:sqlite'
import type { DuckDBConnection } from '@duckdb/node-api'
import {
  copyRemovals,
  listPendingRemovals,
  removedOf,
} from '../../../storage/log/pending-removals.ts'

/** The event macros join overrides and removals only where a project has some. */
export type PersonOverridesState = {
  /** True after a split or an undone merge: events of the ids belong to the current person of the id. */
  readonly has_overrides: boolean
  /** The ids of pending removals, whose events queries exclude; empty when there are none. */
  readonly removal_ids: string
}

export const NO_OVERRIDES: PersonOverridesState = { has_overrides: false, removal_ids: '' }

/**
 * Reads the state, and copies pending removals into the instance. Deletes removed events from the tail, since the log
 * deletes them too. Call it after the tail and the overrides of distinct ids are up to date.
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
  const override = db.query('select 1 from distinct_id_overrides where project_id = ? limit 1')
  return { has_overrides: override.get(project_id) !== null, removal_ids }
}
