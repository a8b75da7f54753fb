/** Asks a ClickHouse server what was compiled for it, and gives rows as the one-machine engine shows them. */

import type { Json } from '@duckdb/node-api'
import type { CompiledQuery } from '../../src/hogql/compile.ts'
import type { ClickHouseClient } from '../../src/storage/clickhouse/clickhouse-client.ts'

const SETTINGS = {
  transform_null_in: 1,
  join_use_nulls: 1,
  group_by_use_nulls: 1,
  distributed_product_mode: 'global',
  optimize_or_like_chain: 0,
  date_time_overflow_behavior: 'saturate',
  output_format_json_quote_denormals: 1,
  output_format_json_quote_64bit_integers: 1,
  output_format_json_named_tuples_as_objects: 0,
  date_time_output_format: 'iso',
}

/** The rows of a compiled query. */
export async function askClickHouse(
  client: ClickHouseClient,
  compiled: CompiledQuery,
): Promise<readonly (readonly Json[])[]> {
  const text = await client.run(`${compiled.sql} FORMAT JSONCompactEachRow`, {
    texts: compiled.values.map(({ value }) => String(value)),
    settings: { ...SETTINGS, session_timezone: compiled.timezone },
  })
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}
