/** Excludes events of pending removals from queries and from new files. */
import type { Database } from 'bun:sqlite'
import type { DuckDBConnection } from '@duckdb/node-api'
import type { EventRemoval } from './event-removals.ts'

type PendingRemovalRow = {
  readonly id: number
  readonly project_id: number
  readonly up_to_seq: number
  readonly person_ids: string
  readonly distinct_ids: string
}

/** Lists the pending removals of all projects, or of one; oldest first. */
export function listPendingRemovals(
  db: Database,
  project_id: number | null = null,
): readonly EventRemoval[] {
  return db
    .query<PendingRemovalRow, [number | null]>(
      `select id, project_id, up_to_seq, person_ids, distinct_ids
from event_removals
where ?1 is null or project_id = ?1
order by id`,
    )
    .all(project_id)
    .map(({ person_ids, distinct_ids, ...row }) => ({
      ...row,
      person_ids: (JSON.parse(person_ids) as string[]).map((hex) => Uint8Array.fromHex(hex)),
      distinct_ids: JSON.parse(distinct_ids) as string[],
    }))
}

/** Creates the tables that `copyRemovals` fills. */
export const CREATE_REMOVED = `
create table removed_ids (distinct_id varchar not null, up_to_seq bigint not null);
create table removed_people (person_id uuid not null, up_to_seq bigint not null)`

/** Replaces the tables' rows by these removals. */
export async function copyRemovals(
  connection: DuckDBConnection,
  removals: readonly EventRemoval[],
): Promise<void> {
  await connection.run('delete from removed_ids')
  await connection.run('delete from removed_people')
  await appendAll(
    connection,
    'removed_ids',
    removals.flatMap(({ distinct_ids, up_to_seq }) =>
      distinct_ids.map((id): [string, number] => [id, up_to_seq]),
    ),
  )
  await appendAll(
    connection,
    'removed_people',
    removals.flatMap(({ person_ids, up_to_seq }) =>
      person_ids.map((id): [string, number] => [id.toHex(), up_to_seq]),
    ),
  )
}

/** Inserts rows as text, which the table casts; there are few. */
async function appendAll(
  connection: DuckDBConnection,
  table: 'removed_ids' | 'removed_people',
  rows: readonly (readonly [id: string, up_to_seq: number])[],
): Promise<void> {
  if (rows.length === 0) return
  await connection.run(
    `insert into ${table} select f[1], f[2] from (select unnest(from_json($1, '[["VARCHAR"]]')) as f)`,
    [JSON.stringify(rows)],
  )
}

/**
 * Prints a SELECT of the rows of `relation` to remove: those of a removed distinct id, and those stored under a removed
 * person unless another person has their id today (table distinct_id_overrides). Later events of the ids stay.
 */
export function removedOf(relation: string): string {
  return `select e.* from ${relation} as e ${JOINED} where ${IS_REMOVED}`
}

/** Prints a SELECT of the rows of `relation` that stay. */
export function withoutRemoved(relation: string): string {
  return `select e.* from ${relation} as e ${JOINED} where not (${IS_REMOVED})`
}

const JOINED = `
left join (select distinct_id, max(up_to_seq) as up_to_seq from removed_ids group by all) as i
  on i.distinct_id = e.distinct_id
left join (select person_id, max(up_to_seq) as up_to_seq from removed_people group by all) as p
  on p.person_id = e.person_id`

const IS_REMOVED = `coalesce(e.seq <= i.up_to_seq, false)
or (
  coalesce(e.seq <= p.up_to_seq, false)
  and not exists (select 1 from distinct_id_overrides as o where o.distinct_id = e.distinct_id)
)`
