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
import { DAY_US } from '../../../time.ts'
import { type ClickHouseType, readClickHouseType, type ZoneClock } from '../clickhouse-types.ts'

/** A writer of one answer's chunks. */
export type RowWriter = {
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

/** ISO 8601 as Python formats it: no fraction when it is zero, six digits otherwise, `Z` for UTC. */
function timestampText(value: DuckDBTimestampValue, clock: ZoneClock | null): string {
  if (!value.isFinite) return 'null'
  if (!isNamedDay(Number(value.micros / DAY_US))) return JSON.stringify(value.toString())
  const offset_s = clock === null ? 0 : clock(value.micros)
  const local_us = value.micros + BigInt(offset_s) * 1_000_000n
  const day = local_us / DAY_US - (local_us % DAY_US < 0n ? 1n : 0n)
  const time_us = Number(local_us - day * DAY_US)
  return `"${dateText(Number(day))}T${timeText(time_us)}${offsetText(offset_s)}"`
}

function timeText(time_us: number): string {
  const seconds = Math.floor(time_us / 1e6)
  const fraction = time_us % 1e6
  const clock = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
  const text = clock.map((part) => String(part).padStart(2, '0')).join(':')
  return fraction === 0 ? text : `${text}.${String(fraction).padStart(6, '0')}`
}

function offsetText(offset_s: number): string {
  if (offset_s === 0) return 'Z'
  const size = Math.abs(offset_s)
  const parts = [Math.floor(size / 3600), Math.floor(size / 60) % 60, size % 60]
  const shown = parts[2] === 0 ? parts.slice(0, 2) : parts
  const text = shown.map((part) => String(part).padStart(2, '0')).join(':')
  return `${offset_s < 0 ? '-' : '+'}${text}`
}

function wholeDateText(value: DuckDBDateValue): string {
  if (!value.isFinite) return 'null'
  return isNamedDay(value.days) ? `"${dateText(value.days)}"` : JSON.stringify(value.toString())
}

/** True within JavaScript's calendar; times outside of it are written as DuckDB formats them. */
function isNamedDay(days: number): boolean {
  return Math.abs(days) < 100_000_000
}

/** Formats days since 1970 as `YYYY-MM-DD`; years beyond four digits have a sign, as ISO 8601 requires. */
function dateText(days: number): string {
  const text = new Date(days * 86_400_000).toISOString()
  return text.slice(0, text.indexOf('T'))
}
