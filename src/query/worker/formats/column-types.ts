/** Column types for the typed formats (Arrow, Parquet), from DuckDB types and ClickHouse type names. */
import {
  DuckDBArrayType,
  DuckDBDecimalType,
  DuckDBListType,
  DuckDBMapType,
  DuckDBStructType,
  type DuckDBType,
  DuckDBTypeId,
} from '@duckdb/node-api'
import { type ClickHouseType, PLAIN } from '../../engine/clickhouse-types.ts'

/** Every value may be null. */
export type ColumnType =
  | { readonly kind: 'boolean' }
  | { readonly kind: 'integer'; readonly bits: 8 | 16 | 32 | 64; readonly is_signed: boolean }
  | { readonly kind: 'float'; readonly bits: 32 | 64 }
  | { readonly kind: 'decimal'; readonly width: number; readonly scale: number }
  | { readonly kind: 'text' }
  | { readonly kind: 'bytes' }
  | { readonly kind: 'uuid' }
  /** Days since 1970. */
  | { readonly kind: 'date' }
  /** Microseconds since 1970 UTC, displayed in a time zone. */
  | { readonly kind: 'instant'; readonly timezone: string }
  | { readonly kind: 'array'; readonly of: ColumnType }
  | { readonly kind: 'tuple'; readonly items: readonly TupleItem[] }
  | { readonly kind: 'map'; readonly key: ColumnType; readonly value: ColumnType }

type TupleItem = { readonly name: string; readonly type: ColumnType }

const TEXT: ColumnType = { kind: 'text' }
const TRUTH_NUMBER: ColumnType = { kind: 'integer', bits: 8, is_signed: false }
/** Maximum digits of a decimal in DuckDB, Arrow and Parquet. */
export const DECIMAL_WIDTH_MAX = 38

/** Determines a column's type. `hint` is its ClickHouse type: it marks booleans that are written as numbers, and time zones. */
export function columnType(engine: DuckDBType, hint: ClickHouseType, timezone: string): ColumnType {
  const plain = PLAIN_TYPES[engine.typeId]
  if (plain !== undefined) return plain
  if (engine instanceof DuckDBDecimalType) {
    return { kind: 'decimal', width: engine.width, scale: engine.scale }
  }
  if (engine.typeId === DuckDBTypeId.BOOLEAN) {
    return hint.kind === 'number' ? TRUTH_NUMBER : { kind: 'boolean' }
  }
  if (INSTANTS.has(engine.typeId)) {
    return { kind: 'instant', timezone: hint.kind === 'datetime' ? hint.timezone : timezone }
  }
  return nestedType(engine, hint, timezone)
}

function nestedType(engine: DuckDBType, hint: ClickHouseType, timezone: string): ColumnType {
  if (engine instanceof DuckDBListType || engine instanceof DuckDBArrayType) {
    const of = hint.kind === 'array' ? hint.of : PLAIN
    return { kind: 'array', of: columnType(engine.valueType, of, timezone) }
  }
  if (engine instanceof DuckDBMapType) {
    const value = hint.kind === 'map' ? hint.value : PLAIN
    return {
      kind: 'map',
      key: columnType(engine.keyType, PLAIN, timezone),
      value: columnType(engine.valueType, value, timezone),
    }
  }
  if (!(engine instanceof DuckDBStructType) || engine.entryCount === 0) return TEXT
  const hints = hint.kind === 'tuple' ? hint.items : []
  const items = engine.entryTypes.map((type, index) => ({
    name: engine.entryNames[index] ?? String(index + 1),
    type: columnType(type, hints[index] ?? PLAIN, timezone),
  }))
  return { kind: 'tuple', items }
}

const INSTANTS: ReadonlySet<DuckDBTypeId> = new Set([
  DuckDBTypeId.TIMESTAMP,
  DuckDBTypeId.TIMESTAMP_TZ,
])

const integer = (bits: 8 | 16 | 32 | 64, is_signed: boolean): ColumnType => ({
  kind: 'integer',
  bits,
  is_signed,
})

/** Types without parameters. A type that is not listed anywhere is written as text, as in JSON. */
const PLAIN_TYPES: Readonly<Partial<Record<DuckDBTypeId, ColumnType>>> = {
  [DuckDBTypeId.TINYINT]: integer(8, true),
  [DuckDBTypeId.SMALLINT]: integer(16, true),
  [DuckDBTypeId.INTEGER]: integer(32, true),
  [DuckDBTypeId.BIGINT]: integer(64, true),
  [DuckDBTypeId.UTINYINT]: integer(8, false),
  [DuckDBTypeId.USMALLINT]: integer(16, false),
  [DuckDBTypeId.UINTEGER]: integer(32, false),
  [DuckDBTypeId.UBIGINT]: integer(64, false),
  // Neither Arrow nor Parquet has integers of 128 bits.
  [DuckDBTypeId.HUGEINT]: { kind: 'decimal', width: DECIMAL_WIDTH_MAX, scale: 0 },
  [DuckDBTypeId.UHUGEINT]: { kind: 'decimal', width: DECIMAL_WIDTH_MAX, scale: 0 },
  [DuckDBTypeId.FLOAT]: { kind: 'float', bits: 32 },
  [DuckDBTypeId.DOUBLE]: { kind: 'float', bits: 64 },
  [DuckDBTypeId.VARCHAR]: TEXT,
  [DuckDBTypeId.BLOB]: { kind: 'bytes' },
  [DuckDBTypeId.UUID]: { kind: 'uuid' },
  [DuckDBTypeId.DATE]: { kind: 'date' },
}
