/** Writes DuckDB values as the JSON rows of an answer: rows are arrays, times ISO 8601 with the zone's offset. */

import {
  DuckDBArrayValue,
  DuckDBBlobValue,
  type DuckDBDataChunk,
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBListValue,
  DuckDBMapValue,
  DuckDBStructValue,
  DuckDBTimestampValue,
  type DuckDBValue,
} from '@duckdb/node-api'
import { ROW_END } from '../../../threads/sliced-json.ts'
import { saturateDay } from '../../../time.ts'
import {
  type ClickHouseType,
  readClickHouseType,
  type ZoneClock,
} from '../../engine/clickhouse-types.ts'
import { dateText, instantText } from '../../engine/instant-text.ts'

/** A writer of one answer's chunks. */
type RowWriter = {
  /** The rows of a chunk as JSON arrays with `ROW_END` between them; at most `rows_max` of them. */
  readonly writeChunk: (chunk: DuckDBDataChunk, rows_max: number) => string
  /** Writes at most `rows_max` rows of a chunk, each formatted by `row` from its values as JSON. */
  readonly writeRows: (
    chunk: DuckDBDataChunk,
    rows_max: number,
    row: (values: readonly string[]) => string,
  ) => string
}

const PLAIN: ClickHouseType = { kind: 'plain' }

/** `types` are ClickHouse type names, by column; `timezone` is that of instants whose type names none. */
export function rowWriter(types: readonly string[], timezone: string): RowWriter {
  const wire_types = types.map((name) => readClickHouseType(name, timezone))
  const rowsOf = (
    chunk: DuckDBDataChunk,
    rows_max: number,
    row: (values: readonly string[]) => string,
  ): readonly string[] => {
    const columns = Array.from({ length: chunk.columnCount }, (_, index) => {
      const type = wire_types[index] ?? PLAIN
      return chunk.getColumnValues(index).map((value) => valueText(value, type))
    })
    return Array.from({ length: Math.min(chunk.rowCount, rows_max) }, (_, index) =>
      row(columns.map((column) => column[index] ?? 'null')),
    )
  }
  return {
    writeChunk: (chunk, rows_max) => rowsOf(chunk, rows_max, arrayText).join(ROW_END),
    writeRows: (chunk, rows_max, row) => rowsOf(chunk, rows_max, row).join(''),
  }
}

const arrayText = (values: readonly string[]): string => `[${values.join(',')}]`

/** Writes one value as JSON; NaN and infinities, which JSON lacks, as null. */
function valueText(value: DuckDBValue, type: ClickHouseType): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : 'null'
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'object') return objectText(value, type)
  if (type.kind === 'number') return value ? '1' : '0'
  return value ? 'true' : 'false'
}

type DuckDBObject = Exclude<DuckDBValue, null | boolean | number | bigint | string>

function objectText(value: DuckDBObject, type: ClickHouseType): string {
  if (value instanceof DuckDBTimestampValue) {
    return timestampText(value, type.kind === 'datetime' ? type.clock : null)
  }
  if (value instanceof DuckDBDecimalValue) return value.toString()
  if (value instanceof DuckDBDateValue) return wholeDateText(value)
  if (value instanceof DuckDBListValue || value instanceof DuckDBArrayValue) {
    const of = type.kind === 'array' ? type.of : PLAIN
    return `[${value.items.map((item) => valueText(item, of)).join(',')}]`
  }
  if (value instanceof DuckDBStructValue) {
    const items = type.kind === 'tuple' ? type.items : []
    const texts = Object.values(value.entries)
    return `[${texts.map((item, index) => valueText(item, items[index] ?? PLAIN)).join(',')}]`
  }
  if (value instanceof DuckDBMapValue) return mapText(value, type)
  if (value instanceof DuckDBBlobValue) {
    return JSON.stringify(Buffer.from(value.bytes).toString('latin1'))
  }
  return JSON.stringify(value.toString())
}

function mapText(map: DuckDBMapValue, type: ClickHouseType): string {
  const of = type.kind === 'map' ? type.value : PLAIN
  const members = map.entries.map(({ key, value }) => {
    const name = typeof key === 'string' ? key : valueText(key, PLAIN)
    return `${JSON.stringify(name)}:${valueText(value, of)}`
  })
  return `{${members.join(',')}}`
}

/** ISO 8601; an infinite time is null. */
function timestampText(value: DuckDBTimestampValue, clock: ZoneClock | null): string {
  return value.isFinite ? instantText(value.micros, clock) : 'null'
}

function wholeDateText(value: DuckDBDateValue): string {
  if (!value.isFinite) return 'null'
  return `"${dateText(saturateDay(value.days))}"`
}
