/** Rows for the tables in ClickHouse, from the rows of a DuckDB of tests: an event's properties in their columns. */

import type { DuckDBConnection, Json } from '@duckdb/node-api'
import { hotColumnName, restPath } from '../../src/column-names.ts'
import { ClickHouseClient } from '../../src/storage/clickhouse/clickhouse-client.ts'
import {
  type ClickHouseTopology,
  migrateClickHouse,
} from '../../src/storage/clickhouse/clickhouse-schema.ts'
import type { ClickHouseCluster } from './cluster.ts'
import { CLUSTER, DATABASE, PASSWORD } from './configuration.ts'

/** A client of one of the servers, as one of the users. */
export function clientOf(
  cluster: ClickHouseCluster,
  shard = 0,
  user: 'queries' | 'writer' = 'writer',
): ClickHouseClient {
  const { url } = cluster.server(shard)
  return new ClickHouseClient({ url, user, password: PASSWORD, database: DATABASE })
}

/** The layout of a cluster's tables. */
export function topologyOf({ shards }: ClickHouseCluster): ClickHouseTopology {
  return shards.length === 1
    ? { kind: 'server' }
    : { kind: 'cluster', cluster: CLUSTER, is_replicated: false }
}

/** Makes the tables on every server. */
export async function makeTables(cluster: ClickHouseCluster): Promise<void> {
  for (const shard of cluster.shards.keys())
    await migrateClickHouse(clientOf(cluster, shard), topologyOf(cluster))
}

/** The tables, and what they are called in a DuckDB of tests (`test/hogql/engine.ts`). */
const TABLES: Readonly<Record<string, string>> = {
  persons: 'all_persons',
  person_distinct_ids: 'all_distinct_ids',
  person_overrides: 'all_overrides',
  groups: 'all_groups',
  cohort_people: 'all_cohort_people',
}

/** Copies all rows of a DuckDB of tests: events once, persons and groups to every server. */
export async function copyRows(
  connection: DuckDBConnection,
  cluster: ClickHouseCluster,
): Promise<void> {
  const events = (await rowsOf(connection, 'all_events')).map(eventRow)
  await insertRows(clientOf(cluster), 'events', events)
  for (const [table, source] of Object.entries(TABLES)) {
    const rows = await rowsOf(connection, source)
    for (const shard of cluster.shards.keys())
      await insertRows(clientOf(cluster, shard), table, rows)
  }
}

type JsonRow = Readonly<Record<string, Json>>

async function rowsOf(connection: DuckDBConnection, table: string): Promise<readonly JsonRow[]> {
  const reader = await connection.runAndReadAll(`select * from ${table}`)
  return reader.getRowObjectsJson()
}

/** Inserts rows and waits until every shard has its part. */
export async function insertRows(
  client: ClickHouseClient,
  table: string,
  rows: readonly JsonRow[],
): Promise<void> {
  if (rows.length === 0) return
  await client.run(`INSERT INTO ${table} FORMAT JSONEachRow`, {
    rows: Buffer.from(rows.map((row) => JSON.stringify(row)).join('\n')),
    settings: {
      async_insert: 0,
      distributed_foreground_insert: 1,
      input_format_skip_unknown_fields: 0,
      date_time_input_format: 'best_effort',
    },
  })
}

/** An event's row: its properties in their columns and paths, and their exact text. */
export function eventRow(row: JsonRow): JsonRow {
  const properties: Readonly<Record<string, Json>> = JSON.parse(row['properties'] as string)
  const hot: Record<string, Json> = {}
  const rest: Record<string, Json> = {}
  for (const [name, value] of Object.entries(properties)) {
    if (value === null) continue
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    const column = hotColumnName(name)
    if (column === null) rest[restPath(name)] = text
    else hot[column] = text
  }
  return { ...row, ...hot, rest }
}
