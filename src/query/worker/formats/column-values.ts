/** Converts DuckDB values to plain JavaScript values, one shape per column type, for the typed formats. */
import {
  DuckDBArrayValue,
  DuckDBBlobValue,
  type DuckDBDataChunk,
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBListValue,
  DuckDBMapValue,
  DuckDBStructValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  DuckDBUUIDValue,
  type DuckDBValue,
} from '@duckdb/node-api'
import { Refusal } from '../../../errors.ts'
import { Slices } from '../../../threads/slices.ts'
import { saturateDay, saturateInstant } from '../../../time.ts'
import { type ColumnType, DECIMAL_WIDTH_MAX } from './column-types.ts'

/**
 * Booleans, floats and integers of up to 32 bits as they are, wider integers, instants and unscaled decimals as
 * bigints, dates as days, uuids and bytes as bytes, tuples as objects by name, maps as lists of entries.
 */
export type PlainValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | readonly PlainValue[]
  | { readonly [name: string]: PlainValue }

/** A batch of rows, stored by column. */
export class ColumnBatch {
  readonly #types: readonly ColumnType[]
  readonly #rows_max: number
  readonly #bytes_max: number
  #columns: PlainValue[][]
  #row_count = 0
  #byte_count = 0

  /** A batch is full at `rows_max` rows or about `bytes_max` bytes. */
  constructor(types: readonly ColumnType[], rows_max: number, bytes_max: number) {
    this.#types = types
    this.#rows_max = rows_max
    this.#bytes_max = bytes_max
    this.#columns = types.map(() => [])
  }

  get row_count(): number {
    return this.#row_count
  }

  get is_full(): boolean {
    return this.#row_count >= this.#rows_max || this.#byte_count >= this.#bytes_max
  }

  /** The rows to add at a time: a wide chunk of 2,048 rows would be several batches at once. */
  get rows_at_once(): number {
    return Math.max(1, Math.floor(VALUES_AT_ONCE / this.#types.length))
  }

  /** Adds rows of a chunk, in slices; refuses (`query_failed`) numbers beyond the range of a decimal. */
  async add(chunk: DuckDBDataChunk, from: number, to: number): Promise<void> {
    const slices = new Slices()
    for (const [index, type] of this.#types.entries()) {
      const column = this.#columns[index] ?? []
      const vector = chunk.getColumnVector(index)
      for (let row = from; row < to; row++) {
        const value = plainValue(vector.getItem(row), type)
        this.#byte_count += sizeOf(value)
        column.push(value)
        if (row % CLOCK_VALUES === 0 && slices.isOver()) await slices.end()
      }
    }
    this.#row_count += to - from
  }

  /** Returns the rows, and empties the batch. */
  take(): readonly PlainValue[][] {
    const columns = this.#columns
    this.#columns = this.#types.map(() => [])
    this.#row_count = 0
    this.#byte_count = 0
    return columns
  }
}

const VALUE_BYTES = 16
const VALUES_AT_ONCE = 32_768
/** Values between two looks at the clock. */
const CLOCK_VALUES = 256

function sizeOf(value: PlainValue): number {
  if (typeof value === 'string') return VALUE_BYTES + value.length
  if (value instanceof Uint8Array) return VALUE_BYTES + value.length
  if (typeof value !== 'object' || value === null) return VALUE_BYTES
  return Object.values(value).reduce<number>((sum, part) => sum + sizeOf(part), VALUE_BYTES)
}

/** Converts one value to the shape of its type; a value without such a shape (an infinite date) becomes null. */
function plainValue(value: DuckDBValue, type: ColumnType): PlainValue {
  if (value === null) return null
  switch (type.kind) {
    case 'boolean':
      return value === true
    case 'integer':
      return typeof value === 'bigint' ? value : Number(value)
    case 'float':
      return Number(value)
    case 'decimal':
      return unscaledInteger(value)
    case 'text':
      return typeof value === 'string' ? value : value.toString()
    case 'bytes':
      return value instanceof DuckDBBlobValue ? value.bytes : null
    case 'uuid':
      return value instanceof DuckDBUUIDValue ? uuidBytes(value) : null
    case 'date':
      return value instanceof DuckDBDateValue && value.isFinite ? saturateDay(value.days) : null
    case 'instant':
      return instantOf(value)
    case 'array':
    case 'tuple':
    case 'map':
      return nestedValue(value, type)
  }
}

type NestedType = Extract<ColumnType, { readonly kind: 'array' | 'tuple' | 'map' }>

function nestedValue(value: DuckDBValue, type: NestedType): PlainValue {
  if (type.kind === 'array') {
    const is_list = value instanceof DuckDBListValue || value instanceof DuckDBArrayValue
    return is_list ? value.items.map((item) => plainValue(item, type.of)) : null
  }
  if (type.kind === 'map') {
    if (!(value instanceof DuckDBMapValue)) return null
    return value.entries.map((entry) => ({
      key: plainValue(entry.key, type.key),
      value: plainValue(entry.value, type.value),
    }))
  }
  if (!(value instanceof DuckDBStructValue)) return null
  return Object.fromEntries(
    type.items.map((item) => [item.name, plainValue(value.entries[item.name] ?? null, item.type)]),
  )
}

function instantOf(value: DuckDBValue): bigint | null {
  const is_instant =
    value instanceof DuckDBTimestampValue || value instanceof DuckDBTimestampTZValue
  return is_instant && value.isFinite ? saturateInstant(value.micros) : null
}

const DECIMAL_END = 10n ** BigInt(DECIMAL_WIDTH_MAX)

function unscaledInteger(value: DuckDBValue): bigint | null {
  if (value instanceof DuckDBDecimalValue) return value.value
  if (typeof value !== 'bigint') return null
  if (value < DECIMAL_END && value > -DECIMAL_END) return value
  const detail = `An integer of more than ${DECIMAL_WIDTH_MAX} digits has no type in this format.`
  throw new Refusal('query_failed', detail)
}

function uuidBytes(value: DuckDBUUIDValue): Uint8Array {
  return Uint8Array.from(Buffer.from(value.toString().replaceAll('-', ''), 'hex'))
}
