/** Repeats in ClickHouse the deletions of a folder: events of removed persons, months beyond the retention, projects. */

import { PARAMETER_BYTES_MAX } from '../storage/clickhouse/clickhouse-client.ts'
import type { ClickHouseNodes } from '../storage/clickhouse/clickhouse-nodes.ts'
import type { EventRemoval } from '../storage/log/event-removals.ts'
import { PERSON_TABLES } from './person-tables.ts'

/** Done on every shard and copy when the statement answers. */
const DELETED_AT_ONCE = {
  lightweight_deletes_sync: 2,
  mutations_sync: 2,
  allow_nondeterministic_mutations: 1,
  // A user's profile may have a limit for queries, which a deletion from billions of rows exceeds.
  max_execution_time: 0,
}

/** A mark on the ids of a removal: from `begun` to `done`, no query reads an event of theirs. */
type RemovalMark = 'begun' | 'done'

/** The rows of a mark, one for each id: that with the higher change is the truth. */
function removalRows(log_id: string, removal: EventRemoval, mark: RemovalMark): readonly string[] {
  const { project_id, id, up_to_seq, person_ids, distinct_ids } = removal
  const is_deleted = mark === 'done' ? 1 : 0
  const change = id * 2 + is_deleted
  const rowOf = (is_person: 0 | 1, key: string): string =>
    JSON.stringify([project_id, is_person, key, log_id, up_to_seq, change, is_deleted])
  return [
    ...person_ids.map((person_id) => rowOf(1, toUuid(person_id.toHex()))),
    ...distinct_ids.map((distinct_id) => rowOf(0, distinct_id)),
  ]
}

const toUuid = (hex: string): string =>
  hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')

/** Marks the ids of a removal on every server. Sent again, a mark changes nothing. */
export async function markRemoval(
  nodes: ClickHouseNodes,
  log_id: string,
  removal: EventRemoval,
  mark: RemovalMark,
): Promise<void> {
  const rows = removalRows(log_id, removal, mark)
  if (rows.length === 0) return
  await nodes.runEverywhere('INSERT INTO removals FORMAT JSONCompactEachRow', {
    rows: Buffer.from(rows.join('\n')),
    settings: { async_insert: 0 },
  })
}

/** Deletes the events of a removal on every shard: those up to its number, and all of older names of the log. */
export async function deleteRemoved(
  nodes: ClickHouseNodes,
  log_id: string,
  removal: EventRemoval,
): Promise<void> {
  const { project_id, up_to_seq, distinct_ids, person_ids } = removal
  const until = `project_id = ${project_id} AND (log_id <> {p1:String} OR seq <= ${up_to_seq})`
  for (const ids of inChunks(distinct_ids))
    await deleteEvents(
      nodes,
      `${until} AND distinct_id IN (SELECT arrayJoin(JSONExtract({p2:String}, 'Array(String)')))`,
      [log_id, ids],
    )
  // Ids that have another person today keep their events.
  for (const ids of inChunks(person_ids.map((id) => id.toHex())))
    await deleteEvents(
      nodes,
      `${until} AND person_id IN (SELECT toUUID(arrayJoin(JSONExtract({p2:String}, 'Array(String)')))) AND distinct_id NOT IN (SELECT distinct_id FROM distinct_id_overrides FINAL WHERE project_id = ${project_id})`,
      [log_id, ids],
    )
}

/** Lists of texts as JSON that a parameter can hold, quotes and backslashes doubled. */
function* inChunks(texts: readonly string[]): Generator<string> {
  let chunk: string[] = []
  let bytes = 0
  for (const text of texts) {
    const more = 2 * Buffer.byteLength(JSON.stringify(text)) + 1
    if (bytes + more > PARAMETER_BYTES_MAX && chunk.length > 0) {
      yield JSON.stringify(chunk)
      chunk = []
      bytes = 0
    }
    chunk.push(text)
    bytes += more
  }
  if (chunk.length > 0) yield JSON.stringify(chunk)
}

/** Deletes a project's events before a month, as `2026-11`. Gives how many there were. */
export async function deleteMonthsBefore(
  nodes: ClickHouseNodes,
  project_id: number,
  month: string,
): Promise<number> {
  const before = `project_id = ${project_id} AND timestamp < toDateTime64({p1:String}, 6, 'UTC')`
  const texts = [`${month}-01 00:00:00`]
  const count = Number(
    await nodes.first.run(`SELECT count() FROM events WHERE ${before}`, { texts }),
  )
  if (count > 0) await deleteEvents(nodes, before, texts)
  return count
}

/** Deletes everything of a project. */
export async function deleteProject(nodes: ClickHouseNodes, project_id: number): Promise<void> {
  await deleteEvents(nodes, `project_id = ${project_id}`, [])
  await deletePersons(nodes, [project_id])
}

/** Deletes the rows of persons of some projects: a restored folder sends its own. */
export async function deletePersons(
  nodes: ClickHouseNodes,
  project_ids: readonly number[],
): Promise<void> {
  if (project_ids.length === 0) return
  for (const table of [...PERSON_TABLES.map((one) => one.table), 'removals'])
    await nodes.runEverywhere(
      `DELETE FROM \`${table}\`${nodes.on_cluster} WHERE project_id IN (${project_ids.join(', ')})`,
      { settings: DELETED_AT_ONCE },
    )
}

async function deleteEvents(
  nodes: ClickHouseNodes,
  where: string,
  texts: readonly string[],
): Promise<void> {
  await nodes.runEverywhere(`DELETE FROM ${nodes.events_table}${nodes.on_cluster} WHERE ${where}`, {
    texts,
    settings: DELETED_AT_ONCE,
  })
}
