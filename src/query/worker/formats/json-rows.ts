/** Writes DuckDB values as the JSON rows of an answer: rows are arrays, times ISO 8601 with the zone's offset. */

import {
  DuckDBArrayValue,
  DuckDBBlobValue,
  type DuckDBDataChunk,
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBListValue,
  DuckDBListVector,
  DuckDBMapValue,
  DuckDBMapVector,
  DuckDBStructValue,
  DuckDBStructVector,
  DuckDBTimestampValue,
  type DuckDBValue,
  type DuckDBVector,
} from '@duckdb/node-api'
import { KIB } from '../../../bytes.ts'
import { ROW_END } from '../../../threads/sliced-json.ts'
import { Slices } from '../../../threads/slices.ts'
import { saturateDay } from '../../../time.ts'
import {
  type ClickHouseType,
  PLAIN,
  PLAIN_MAP,
  readClickHouseType,
  type ZoneClock,
} from '../../engine/clickhouse-types.ts'
import { dateText, instantText } from '../../engine/instant-text.ts'

/** A writer of one answer's chunks, in slices: 400,000 values take 250 ms, in which the process would answer no other query. */
type RowWriter = {
  /** The rows of a chunk as JSON arrays with `ROW_END` between them, in parts; at most `rows_max` of them. */
  readonly writeChunk: (chunk: DuckDBDataChunk, rows_max: number) => AsyncGenerator<string>
  /** Writes at most `rows_max` rows of a chunk, each formatted by `row` from its values as JSON. */
  readonly writeRows: (
    chunk: DuckDBDataChunk,
    rows_max: number,
    row: (values: readonly string[]) => string,
  ) => AsyncGenerator<string>
}

/** Values between two looks at the clock. */
const CLOCK_VALUES = 256
/** Rows are joined to texts of about this length. */
const PART_LENGTH = 256 * KIB
/** Longer texts are written in pieces. */
const TEXT_LENGTH_MAX = 1024 * KIB
/** Chunks whose lists have more items are read item by item: DuckDB's binding reads a value in one turn. */
const LIST_ITEMS_MAX = 10_000

/** `types` are ClickHouse type names, by column; `timezone` is that of instants whose type names none. */
export function rowWriter(types: readonly string[], timezone: string): RowWriter {
  const wire_types = types.map((name) => readClickHouseType(name, timezone))
  const rowsOf = async function* (
    chunk: DuckDBDataChunk,
    rows_max: number,
    format: RowJoin,
  ): AsyncGenerator<string> {
    const slices = new Slices()
    const columns: (readonly string[])[] = []
    for (let index = 0; index < chunk.columnCount; index++) {
      columns.push(
        await itemTexts(chunk.getColumnVector(index), wire_types[index] ?? PLAIN, slices),
      )
    }
    yield* joinRows(columns, Math.min(chunk.rowCount, rows_max), format, slices)
  }
  return {
    writeChunk: (chunk, rows_max) => rowsOf(chunk, rows_max, { row: arrayText, between: ROW_END }),
    writeRows: (chunk, rows_max, row) => rowsOf(chunk, rows_max, { row, between: '' }),
  }
}

type RowJoin = {
  readonly row: (values: readonly string[]) => string
  readonly between: string
}

/** Joins columns of texts to rows, about `PART_LENGTH` at a time. */
async function* joinRows(
  columns: readonly (readonly string[])[],
  row_count: number,
  { row, between }: RowJoin,
  slices: Slices,
): AsyncGenerator<string> {
  let rows: string[] = []
  let length = 0
  const rows_per_look = Math.ceil(CLOCK_VALUES / columns.length)
  for (let index = 0; index < row_count; index++) {
    if (index % rows_per_look === 0 && slices.isOver()) await slices.end()
    if (length > PART_LENGTH) {
      // The empty one makes the next part begin with what is between two rows.
      yield* slicedPieces(rows.join(between), slices)
      rows = ['']
      length = 0
    }
    const text = row(columns.map((column) => column[index] ?? 'null'))
    rows.push(text)
    length += text.length
  }
  yield* slicedPieces(rows.join(between), slices)
}

async function* slicedPieces(text: string, slices: Slices): AsyncGenerator<string> {
  for (const piece of piecesOf(text)) {
    yield piece
    if (slices.isOver()) await slices.end()
  }
}

/** Cuts a text into pieces, none of which ends within a character. */
function* piecesOf(text: string): Generator<string> {
  let start = 0
  while (start < text.length) {
    const end = start + TEXT_LENGTH_MAX
    const is_within = (text.charCodeAt(end - 1) & 0xfc00) === 0xd800
    yield text.slice(start, is_within ? end + 1 : end)
    start = is_within ? end + 1 : end
  }
}

/** Writes a long text as JSON, in slices. */
async function textJson(text: string, slices: Slices): Promise<string> {
  const pieces: string[] = []
  for (const piece of piecesOf(text)) {
    pieces.push(JSON.stringify(piece).slice(1, -1))
    if (slices.isOver()) await slices.end()
  }
  return `"${pieces.join('')}"`
}

/** Writes all values of a vector. */
async function itemTexts(
  vector: DuckDBVector,
  type: ClickHouseType,
  slices: Slices,
): Promise<string[]> {
  const texts: string[] = []
  const has_long = hasLongLists(vector)
  for (let index = 0; index < vector.itemCount; index++) {
    if (index % CLOCK_VALUES === 0 && slices.isOver()) await slices.end()
    if (has_long) {
      texts.push(await longText(vector, index, type, slices))
      continue
    }
    const value = vector.getItem(index)
    const is_long = typeof value === 'string' && value.length > TEXT_LENGTH_MAX
    texts.push(is_long ? await textJson(value, slices) : valueText(value, type))
  }
  return texts
}

/** True for lists and maps, and tuples with them, whose items together are many. */
function hasLongLists(vector: DuckDBVector): boolean {
  if (vector instanceof DuckDBListVector) {
    const { childVector } = vector
    return childVector.itemCount > LIST_ITEMS_MAX || hasLongLists(childVector)
  }
  if (vector instanceof DuckDBMapVector) return hasLongLists(entriesOf(vector))
  if (!(vector instanceof DuckDBStructVector)) return false
  return vector.type.entryTypes.some((_, entry) => hasLongLists(vector.entryVectorAt(entry)))
}

/** The list that a map is stored as; the binding does not show it, and gives whole maps only. */
const entriesOf = (vector: DuckDBMapVector): DuckDBListVector => vector['listVector']

/** Writes a value as `valueText` does, in slices. */
async function longText(
  vector: DuckDBVector,
  index: number,
  type: ClickHouseType,
  slices: Slices,
): Promise<string> {
  if (vector instanceof DuckDBListVector) {
    const items = vector.getItemVector(index)
    if (items === null) return 'null'
    const of = type.kind === 'array' ? type.of : PLAIN
    return arrayText(await itemTexts(items, of, slices))
  }
  if (vector instanceof DuckDBMapVector) return longMapText(vector, index, type, slices)
  if (!(vector instanceof DuckDBStructVector)) return valueText(vector.getItem(index), type)
  if (!vector.isItemValid(index)) return 'null'
  const items = type.kind === 'tuple' ? type.items : []
  const texts: string[] = []
  for (let entry = 0; entry < vector.type.entryCount; entry++) {
    const entries = vector.entryVectorAt(entry)
    texts.push(await longText(entries, index, items[entry] ?? PLAIN, slices))
  }
  return arrayText(texts)
}

async function longMapText(
  vector: DuckDBMapVector,
  index: number,
  type: ClickHouseType,
  slices: Slices,
): Promise<string> {
  const entries = entriesOf(vector).getItemVector(index)
  if (!(entries instanceof DuckDBStructVector)) return 'null'
  const keys = entries.entryVectorAt(0)
  const { key, value: of } = type.kind === 'map' ? type : PLAIN_MAP
  const members = await itemTexts(entries.entryVectorAt(1), of, slices)
  for (const [entry, value] of members.entries()) {
    members[entry] = `${keyText(keys.getItem(entry), key)}:${value}`
    if (entry % CLOCK_VALUES === 0 && slices.isOver()) await slices.end()
  }
  return `{${members.join(',')}}`
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
  const { key: key_type, value: of } = type.kind === 'map' ? type : PLAIN_MAP
  const members = map.entries.map(
    ({ key, value }) => `${keyText(key, key_type)}:${valueText(value, of)}`,
  )
  return `{${members.join(',')}}`
}

/** Writes the key of a map as a JSON text: `7` → `"7"`; texts, dates and ids, which are texts already, once. */
function keyText(key: DuckDBValue, type: ClickHouseType): string {
  const text = valueText(key, type)
  return text.startsWith('"') ? text : JSON.stringify(text)
}

/** ISO 8601; an infinite time is null. */
function timestampText(value: DuckDBTimestampValue, clock: ZoneClock | null): string {
  return value.isFinite ? instantText(value.micros, clock) : 'null'
}

function wholeDateText(value: DuckDBDateValue): string {
  if (!value.isFinite) return 'null'
  return `"${dateText(saturateDay(value.days))}"`
}
