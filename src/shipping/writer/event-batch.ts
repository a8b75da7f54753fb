/** Writes events as a batch for ClickHouse: hot properties as columns, the others flat in one JSON, the exact text beside. */

import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { HOT_PROPERTIES, hotColumnName } from '../../column-names.ts'
import { textLiteral } from '../../storage/duckdb/duckdb-text.ts'
import { sha256Of, syncPath } from '../../storage/files/parquet.ts'
import { pointerOf } from '../../storage/files/property-columns.ts'
import { reachShippingFault, type ShippingFault } from '../fault-injection.ts'
import type { WrittenBatch } from '../protocol.ts'

/** A batch to write; `source` is a relation of events with their project. */
type EventBatch = {
  readonly source: string
  readonly log_id: string
  readonly path: string
  readonly fault: ShippingFault | null
}

/** One row group, so that ClickHouse reads a batch as one block, whose token then stands for all of it. */
const FORMAT = 'format parquet, parquet_version v2, compression zstd, row_group_size 1000000'

/** ClickHouse has no earlier instants. */
const EARLIEST = "timestamp '1900-01-01'"

const OWN = `project_id, seq, uuid, event, distinct_id, person_id, person_mode,
greatest("timestamp", ${EARLIEST}) as "timestamp", greatest(created_at, ${EARLIEST}) as created_at,
elements_chain, group_0, group_1, group_2, group_3, group_4`

const POINTERS = HOT_PROPERTIES.map((name) => textLiteral(pointerOf(name))).join(', ')

const HOT_COLUMNS = HOT_PROPERTIES.map(
  (name, index) => `hot[${index + 1}] as ${hotColumnName(name)}`,
).join(', ')

/** A patch that removes the hot properties from an object. */
const WITHOUT_HOT = textLiteral(
  JSON.stringify(Object.fromEntries(HOT_PROPERTIES.map((name) => [name, null]))),
)

/** The path of a property in `rest`, as `restPath` writes it. */
const REST_PATH = `replace(replace(url_encode(member.key), '.', '%2E'), '~', '%7E')`

/**
 * Every other property that is not null, as a JSON object of texts: `{"a.b": 1, "$os": "x"}` → `{"a%2Eb": "1"}`. Through
 * one parse into a map, of what is left without the hot ones: 11 µs per event, with them 14, key by key 31.
 */
const REST = `'{' || coalesce(array_to_string([
  to_json(${REST_PATH})::varchar || ':' || to_json(member.value)::varchar
  for member in map_entries(
    from_json(json_merge_patch(properties, ${WITHOUT_HOT}), '"MAP(VARCHAR, VARCHAR)"')
  )
  if member.value is not null
], ','), '') || '}' as rest`

/** Resolves when the batch is durable. */
export async function writeEventBatch(
  connection: DuckDBConnection,
  { source, log_id, path, fault }: EventBatch,
): Promise<WrittenBatch> {
  const rows = `select ${OWN}, ${textLiteral(log_id)} as log_id, ${HOT_COLUMNS}, ${REST}, properties
from (select *, json_extract_string(properties, [${POINTERS}]) as hot from ${source})
order by seq`
  return publishBatch(connection, { rows, path, fault })
}

/** Writes a batch again without some events. */
export async function writeRestOfBatch(
  connection: DuckDBConnection,
  {
    from,
    seqs,
    path,
    fault,
  }: Pick<EventBatch, 'fault' | 'path'> & {
    readonly from: string
    readonly seqs: readonly number[]
  },
): Promise<WrittenBatch> {
  const rows = `select * from read_parquet(${textLiteral(from)})
where seq not in (select unnest(from_json(${textLiteral(JSON.stringify(seqs))}, '["BIGINT"]')))`
  return publishBatch(connection, { rows, path, fault })
}

/** Write → fsync → fsync of the folder; nothing reads the file before events.db names it. */
async function publishBatch(
  connection: DuckDBConnection,
  {
    rows,
    path,
    fault,
  }: { readonly rows: string; readonly path: string; readonly fault: ShippingFault | null },
): Promise<WrittenBatch> {
  await connection.run(`copy (${rows}) to ${textLiteral(path)} (${FORMAT})`)
  reachShippingFault('copied', fault)
  syncPath(path)
  syncPath(dirname(path))
  reachShippingFault('synced', fault)
  const reader = await connection.runAndReadAll(
    `select count(*), max(seq), epoch_us(min("timestamp")), epoch_us(max("timestamp")) from read_parquet(${textLiteral(path)})`,
  )
  const [row_count = 0, last_seq = 0, min_timestamp = 0, max_timestamp = 0] = (
    reader.getRows()[0] ?? []
  ).map(Number)
  return {
    kind: 'batch',
    row_count,
    last_seq,
    byte_count: statSync(path).size,
    sha256: await sha256Of(path),
    min_timestamp,
    max_timestamp,
  }
}
