/** Sends batches and rows of persons to ClickHouse, and asks how much of a batch is there. */

import { rmSync } from 'node:fs'
import type { ClickHouseNodes } from '../storage/clickhouse/clickhouse-nodes.ts'
import type { Shipment } from '../storage/log/shipments.ts'
import type { ShippingChild } from './child.ts'
import { insertLines, PERSON_TABLES } from './person-tables.ts'
import type { PersonFile } from './protocol.ts'

/** A batch is one block: its token then stands for all of it, on each shard and in each month. */
const ONE_BLOCK = {
  max_insert_block_size: 1_000_000,
  min_insert_block_size_rows: 1_000_000,
  min_insert_block_size_bytes: 0,
  max_insert_threads: 1,
  input_format_parquet_preserve_order: 1,
  // Imports may have events of twenty years.
  max_partitions_per_insert_block: 0,
}

/** Answered when it is stored, on every shard that gets a part. */
const STORED_AT_ONCE = { async_insert: 0, distributed_foreground_insert: 1 }

/** On more than one copy of a shard, where there are any, and in the order in which queries ask. */
const ON_COPIES = { insert_quorum: 'auto', insert_quorum_parallel: 0 }

/** The settings of an INSERT that must be there when it is answered. */
export const storedAtOnce = (nodes: ClickHouseNodes): Readonly<Record<string, number | string>> =>
  nodes.isReplicated() ? { ...STORED_AT_ONCE, ...ON_COPIES } : STORED_AT_ONCE

const INSERT_MS_MAX = 300_000

/** The names under which the servers list a folder's inserts. */
const queryPrefix = (log_id: string): string => `tidemark-ship-${log_id}-`

export type BatchFile = {
  readonly log_id: string
  /** The same bytes have the same token: sent again, they are not stored again. */
  readonly token: string
  readonly path: string
  readonly signal: AbortSignal
}

/** Stores a batch; resolves when every shard has its part. */
export async function sendBatch(
  nodes: ClickHouseNodes,
  { log_id, token, path, signal }: BatchFile,
): Promise<void> {
  await nodes.first.run('INSERT INTO events FORMAT Parquet', {
    rows: Bun.file(path),
    query_id: `${queryPrefix(log_id)}${crypto.randomUUID()}`,
    signal: AbortSignal.any([signal, AbortSignal.timeout(INSERT_MS_MAX)]),
    settings: {
      ...storedAtOnce(nodes),
      ...ONE_BLOCK,
      insert_deduplication_token: `${log_id}/${token}`,
      type_json_skip_duplicated_paths: 1,
    },
  })
}

/** Stores the events of a batch that are not there yet: all but those with the numbers `stored`. */
export async function sendMissing(
  nodes: ClickHouseNodes,
  child: ShippingChild,
  batch: BatchFile,
  stored: readonly number[],
): Promise<void> {
  if (stored.length === 0) return sendBatch(nodes, batch)
  const path = `${batch.path}.rest`
  const work = { kind: 'rest', path, from: batch.path, seqs: stored } as const
  const { row_count, sha256 } = await child.run('batch', work)
  if (row_count > 0) await sendBatch(nodes, { ...batch, token: `${batch.token}/${sha256}`, path })
  rmSync(path, { force: true })
}

/** Stores lines of a table of persons on every server. Sent again, they change nothing. */
export async function sendPersonLines(
  nodes: ClickHouseNodes,
  { table, path }: PersonFile,
  signal: AbortSignal,
): Promise<void> {
  const definition = PERSON_TABLES.find((one) => one.table === table)
  if (definition === undefined) throw new Error(`${table} is not a table of persons`)
  await nodes.runEverywhere(insertLines(definition), {
    rows: Bun.file(path),
    signal: AbortSignal.any([signal, AbortSignal.timeout(INSERT_MS_MAX)]),
    settings: storedAtOnce(nodes),
  })
}

/** Ends inserts of this folder that a server may still execute, so that the tables no longer change. */
export async function endInserts(nodes: ClickHouseNodes, log_id: string): Promise<void> {
  await nodes.runEverywhere(
    `KILL QUERY${nodes.on_cluster} WHERE startsWith(initial_query_id, {p1:String}) SYNC`,
    { texts: [queryPrefix(log_id)] },
  )
}

type ShipmentRange = Pick<
  Shipment,
  'after_seq' | 'last_seq' | 'log_id' | 'max_timestamp' | 'min_timestamp'
>

/** The numbers of a batch's events that are there already, on any shard. */
export async function listStoredSeqs(
  nodes: ClickHouseNodes,
  range: ShipmentRange,
  project_id: number | null = null,
): Promise<readonly number[]> {
  const { log_id, after_seq, last_seq, min_timestamp, max_timestamp } = range
  const text = await nodes.first.run(
    `SELECT DISTINCT seq FROM events
WHERE log_id = {p1:String} AND seq > ${after_seq} AND seq <= ${last_seq}${project_id === null ? '' : ` AND project_id = ${project_id}`}
  AND timestamp >= fromUnixTimestamp64Micro(${min_timestamp}, 'UTC')
  AND timestamp <= fromUnixTimestamp64Micro(${max_timestamp}, 'UTC')
FORMAT TabSeparated`,
    { texts: [log_id], settings: { skip_unavailable_shards: 0, max_execution_time: 600 } },
  )
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map(Number)
}
