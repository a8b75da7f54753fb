/** The tables in ClickHouse, per topology, and their migrations: forward only, each written down when it is done. */

import events from '../../../sql/clickhouse/0001_events.sql' with { type: 'text' }
import distributed from '../../../sql/clickhouse/0002_events_of_all_shards.sql' with {
  type: 'text',
}
import persons from '../../../sql/clickhouse/0003_persons.sql' with { type: 'text' }
import homes from '../../../sql/clickhouse/0004_homes.sql' with { type: 'text' }
import distributedHomes from '../../../sql/clickhouse/0005_homes_of_all_shards.sql' with {
  type: 'text',
}
import removals from '../../../sql/clickhouse/0006_removals.sql' with { type: 'text' }
import { HOT_PROPERTIES, hotColumnName } from '../../column-names.ts'
import type { ClickHouseClient } from './clickhouse-client.ts'

/** The layout of the tables: on one server, or on the shards of a cluster, with or without copies of each. */
export type ClickHouseTopology =
  | { readonly kind: 'server' }
  | { readonly kind: 'cluster'; readonly cluster: string; readonly is_replicated: boolean }

type SchemaStep = {
  readonly name: string
  readonly sql: string
  /** Only where there are shards. */
  readonly is_for_cluster?: true
}

/** The schema, oldest step first. Adding a line adds a migration: a step that has run anywhere is never edited. */
const STEPS: readonly SchemaStep[] = [
  { name: '0001_events', sql: events },
  { name: '0002_events_of_all_shards', sql: distributed, is_for_cluster: true },
  { name: '0003_persons', sql: persons },
  { name: '0004_homes', sql: homes },
  { name: '0005_homes_of_all_shards', sql: distributedHomes, is_for_cluster: true },
  { name: '0006_removals', sql: removals },
]

/** The oldest server whose types and settings the tables and queries use. */
const SERVER_VERSION_MIN: readonly [number, number] = [25, 8]

/** Batches that a server remembers by their token, so that one sent again is not stored again. */
const REMEMBERED_BATCHES = 10_000
const REMEMBERED_S = 7 * 86_400

/** The values of `${…}` in the files. */
function valuesOf(topology: ClickHouseTopology): Readonly<Record<string, string>> {
  const is_cluster = topology.kind === 'cluster'
  const is_replicated = is_cluster && topology.is_replicated
  const shard_engine = is_replicated
    ? `ReplicatedMergeTree(${keeperPath('{shard}/')}, '{replica}')`
    : 'MergeTree'
  return {
    EVENTS: is_cluster ? 'events_local' : 'events',
    HOMES: is_cluster ? 'project_homes_local' : 'project_homes',
    HOME_NUMBERS: is_cluster ? 'home_numbers_local' : 'home_numbers',
    HOME_LOGS: is_cluster ? 'home_logs_local' : 'home_logs',
    CLUSTER: is_cluster ? topology.cluster : '',
    // A cluster without copies has no Keeper either, so that each shard gets the statement by itself.
    ON_CLUSTER: is_replicated ? `ON CLUSTER '${topology.cluster}'` : '',
    HOT_COLUMNS: HOT_PROPERTIES.map(hotColumn).join(',\n  '),
    EVENTS_ENGINE: shard_engine,
    CLAIMS_ENGINE: shard_engine,
    REPLACING: is_replicated
      ? `ReplicatedReplacingMergeTree(${keeperPath('')}, '{shard}-{replica}', `
      : 'ReplacingMergeTree(',
    DEDUPLICATION_WINDOW: is_replicated
      ? `replicated_deduplication_window = ${REMEMBERED_BATCHES}, replicated_deduplication_window_seconds = ${REMEMBERED_S}`
      : `non_replicated_deduplication_window = ${REMEMBERED_BATCHES}`,
  }
}

/** The path in Keeper at which the copies of a table agree; the server replaces the braces. */
const keeperPath = (folder: string): string => `'/clickhouse/tables/${folder}{database}/{table}'`

/** Ids of sessions and windows are too many for a dictionary. */
const MANY_VALUED: ReadonlySet<string> = new Set([
  '$current_url',
  '$device_id',
  '$insert_id',
  '$ip',
  '$pageview_id',
  '$referrer',
  '$session_id',
  '$window_id',
])

function hotColumn(property: string): string {
  const type = MANY_VALUED.has(property) ? 'Nullable(String)' : 'LowCardinality(Nullable(String))'
  return `${hotColumnName(property)} ${type}`
}

/** The statements of a step for a topology. */
export function schemaStatements(topology: ClickHouseTopology): readonly (readonly string[])[] {
  const values = valuesOf(topology)
  return STEPS.map(({ sql, is_for_cluster }) =>
    is_for_cluster === true && topology.kind === 'server' ? [] : statementsOf(sql, values),
  )
}

function statementsOf(sql: string, values: Readonly<Record<string, string>>): readonly string[] {
  const code = sql.replaceAll(/^[ \t]*--.*$/gm, '')
  const filled = code.replaceAll(/\$\{(\w+)\}/g, (hole, name: string) => {
    const value = values[name]
    if (value === undefined) throw new Error(`the schema wants ${hole}`)
    return value
  })
  return filled
    .split(';')
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '')
}

/** The schema or the server does not fit this executable. */
export class ClickHouseUnfit extends Error {
  override readonly name = 'ClickHouseUnfit'
}

/**
 * Brings a server's tables to this executable's schema and gives the number of steps that ran. Throws ClickHouseUnfit
 * when the server is too old or the schema newer, and a ClickHouseError when a right is missing. A step that was broken
 * off runs again: each statement creates what is not there.
 */
export async function migrateClickHouse(
  client: ClickHouseClient,
  topology: ClickHouseTopology,
): Promise<number> {
  await requireVersion(client)
  const values = valuesOf(topology)
  await client.run(
    `CREATE TABLE IF NOT EXISTS schema_steps ${values['ON_CLUSTER']} (step UInt32, name String) ENGINE = ${values['REPLACING']}step) ORDER BY step`,
  )
  const done = Number(await client.run('SELECT max(step) FROM schema_steps'))
  if (done > STEPS.length)
    throw new ClickHouseUnfit(
      `the tables in ClickHouse have version ${done}, this executable knows ${STEPS.length}: run a newer tidemark`,
    )
  const steps = schemaStatements(topology)
  for (const [index, { name }] of STEPS.entries()) {
    if (index < done) continue
    for (const statement of steps[index] ?? [])
      await client.run(statement.replace(/^CREATE TABLE (?!IF )/, 'CREATE TABLE IF NOT EXISTS '))
    await client.run(`INSERT INTO schema_steps VALUES (${index + 1}, '${name}')`, {
      settings: { async_insert: 0 },
    })
  }
  return Math.max(0, STEPS.length - done)
}

async function requireVersion(client: ClickHouseClient): Promise<void> {
  const version = (await client.run('SELECT version()')).trim()
  if (isNewEnough(version)) return
  throw new ClickHouseUnfit(
    `ClickHouse ${version} is too old: ${SERVER_VERSION_MIN.join('.')} or newer is needed`,
  )
}

/** Compares a version as `26.7.2.1`, or `25.8.1.1-lts`, with the oldest that fits. */
export function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10) || 0)
  const [major_min, minor_min] = SERVER_VERSION_MIN
  return major > major_min || (major === major_min && minor >= minor_min)
}
