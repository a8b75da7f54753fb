/** Prints SELECTs of events from any storage: files of any layout, encodings and columns, or a table. */

import {
  type NeededColumn,
  neededColumnName,
  REST_COLUMN,
  UUID_END_COLUMN,
} from '../../column-names.ts'
import { textList, textLiteral } from '../duckdb/duckdb-text.ts'
import {
  type ColumnEncoding,
  readEncoded,
  readEncodings,
  uuidEnd,
} from '../files/column-encodings.ts'
import {
  columnName,
  type FileColumn,
  fromJson,
  type PropertyColumn,
  pointerOf,
  printedValue,
  readColumns,
  storedValue,
  valueOf,
} from '../files/property-columns.ts'
import { PACKING_COLUMNS, unpackProperties } from '../files/property-layout.ts'
import { EVENT_COLUMNS } from '../files/replication-sources.ts'
import type { FileRow } from './event-log.ts'

/** A relation of rows, with their layout, encodings and property columns. */
type StoredFileShape = {
  readonly relation: string
  readonly layout: FileRow['layout']
  readonly own: readonly ColumnEncoding[]
  readonly columns: readonly FileColumn[]
}

/** The shape of rows with properties as JSON only. */
export const wholeRows = (relation: string): StoredFileShape => ({
  relation,
  layout: 'whole',
  own: [],
  columns: [],
})

/** Groups files of equal shape, to be read together. */
export function storedShape(
  files: readonly FileRow[],
  pathOf: (file: FileRow) => string,
): readonly StoredFileShape[] {
  return [...Map.groupBy(files, shapeKey).values()].flatMap((alike) => {
    const [first] = alike
    if (first === undefined) return []
    return [shapeOfFile(first, `read_parquet(${textList(alike.map(pathOf))})`)]
  })
}

const shapeKey = ({ layout, own, columns }: FileRow): string => `${layout} ${own} ${columns}`

const shapeOfFile = ({ layout, own, columns }: FileRow, relation: string): StoredFileShape => ({
  relation,
  layout,
  own: readEncodings(own),
  columns: readColumns(columns),
})

/** Prints a SELECT of packed files that keeps properties packed, and decodes the event columns. */
export function selectStored({ relation, own, columns }: StoredFileShape): string {
  const names = EVENT_COLUMNS.map(([name]) => name).filter((name) => name !== 'properties')
  const values = columns.map((column) => `${storedValue(column)} as "${columnName(column)}"`)
  const list = [...names.map((name) => readEncoded(own, name)), ...PACKING_COLUMNS, ...values]
  return `select ${list.join(', ')} from ${relation}`
}

/** The columns to read of each event. */
type EventReading = {
  /** The names of the EVENT_COLUMNS to read; all by default. */
  readonly fields?: readonly string[]
  /** Property columns. */
  readonly columns: readonly NeededColumn[]
  /** Without `properties`: reading all their parts takes longer than many queries. */
  readonly is_lean: boolean
  /** With the JSON of properties that have no column. */
  readonly has_rest: boolean
  /** With the half of uuids that look-ups by uuid use. */
  readonly has_uuid_end?: boolean
}

const ALL: EventReading = { columns: [], is_lean: false, has_rest: true }

/**
 * Prints a SELECT of EVENT_COLUMNS, the needed property columns and the rest. A value is read from a column where there
 * is one, else from the rows' JSON; DuckDB prunes unused columns.
 */
export function selectEvents(shape: StoredFileShape, reading: EventReading = ALL): string {
  return `select ${listOf(shape, reading)} from ${shape.relation}`
}

/**
 * Prints as few SELECTs as possible: files with the same select list share one, however else they differ. `countRows` is
 * the number of a file's rows that will be looked at.
 */
export function selectFiles(
  files: readonly FileRow[],
  pathOf: (file: FileRow) => string,
  reading: EventReading,
  countRows: (file: FileRow) => number,
): readonly string[] {
  const by_shape = Map.groupBy(files, shapeKey)
  const lists = [...by_shape.values()].flatMap((group) => {
    const [first] = group
    if (first === undefined) return []
    return [{ list: listOf(shapeOfFile(first, ''), reading), group }]
  })
  return [...Map.groupBy(lists, ({ list }) => list)].map(([list, alike]) => {
    const read_files = alike.flatMap(({ group }) => group)
    return `select ${list} from read_parquet(${textList(read_files.map(pathOf))}${options(read_files.map(countRows))})`
  })
}

/** Files of which fewer rows on average are looked at are read without statistics, which cost 0.3 ms a file. */
const STATISTICS_ROWS_MIN = 200_000

/**
 * DuckDB knows the least and greatest values of several files only when it unites their columns by name, which reads every
 * footer. A count per day then has an array in place of a hash table: a fifth less for three million events in two files.
 */
function options(row_counts: readonly number[]): string {
  const row_count = row_counts.reduce((sum, count) => sum + count, 0)
  const is_worth = row_counts.length > 1 && row_count >= row_counts.length * STATISTICS_ROWS_MIN
  return is_worth ? ', union_by_name = true' : ''
}

function listOf(
  shape: StoredFileShape,
  { fields, columns, is_lean, has_rest, has_uuid_end }: EventReading,
): string {
  const is_packed = shape.layout === 'packed'
  const kept = EVENT_COLUMNS.filter(
    ([name]) => (!is_lean || name !== 'properties') && fields?.includes(name) !== false,
  )
  const own = kept.map(([name]) =>
    is_packed && name === 'properties'
      ? `${unpackProperties(shape.columns)} as properties`
      : readEncoded(shape.own, name),
  )
  const properties = columns.flatMap((column) => {
    const name = neededColumnName(column)
    return name === undefined || (column.owner ?? 'event') !== 'event'
      ? []
      : [`${readFrom(shape, column)} as "${name}"`]
  })
  const rest = has_rest ? [`${is_packed ? 'rest' : 'properties'} as ${REST_COLUMN}`] : []
  const end = has_uuid_end === true ? [`${uuidEnd(shape.own)} as ${UUID_END_COLUMN}`] : []
  // DuckDB reads the first column when none is used, as for a count: this constant is in no file.
  const first = is_lean || own.length === 0 ? [`true as ${ANY_COLUMN}`] : []
  return [...first, ...own, ...properties, ...rest, ...end].join(', ')
}

const ANY_COLUMN = 'p_any'

function readFrom(shape: StoredFileShape, request: NeededColumn): string {
  const { kind, name } = request
  if (kind === 'json') return memberFrom(shape, name)
  return kind === 'whole_or_real' ? numberFrom(shape, name) : valueFrom(shape, { kind, name })
}

/** Prints a number as its file stores it. The cast keeps files with other types out of one list. */
function numberFrom(shape: StoredFileShape, name: string): string {
  const column = shape.columns.find((other) => other.name === name && other.is_whole === true)
  if (column === undefined) return valueFrom(shape, { kind: 'number', name })
  return `"${columnName(column)}"::bigint`
}

/** Prints JSON that contains the property exactly as `properties` does. */
function memberFrom({ layout, columns }: StoredFileShape, name: string): string {
  if (layout !== 'packed') return 'properties'
  const column = columns.find((other) => other.name === name)
  if (column === undefined) return `coalesce(rest, '{}')`
  const in_rest = `json_extract(rest, ${textLiteral(pointerOf(name))})::varchar`
  const spelled = printedValue(column)
  const value = `case when rest is null then ${spelled} else coalesce(${in_rest}, ${spelled}) end`
  return `'{' || coalesce(${textLiteral(`${JSON.stringify(name)}:`)} || ${value}, '') || '}'`
}

function valueFrom({ layout, columns }: StoredFileShape, needed: PropertyColumn): string {
  const same_name = columns.filter(({ name }) => name === needed.name)
  const same_kind = same_name.find(({ kind }) => kind === needed.kind)
  if (same_kind !== undefined) return storedValue(same_kind)
  if (layout !== 'packed') return fromJson(needed)
  const text = same_name.find(({ kind }) => kind === 'text')
  if (text !== undefined) return valueOf(needed, storedValue(text))
  const [other] = same_name
  if (other === undefined) return fromJson(needed, 'rest')
  // Values that the column cannot restore exactly are in `rest`, which is null for most rows.
  const exact = fromJson({ kind: 'text', name: needed.name }, 'rest')
  const spelled = printedValue(other)
  return valueOf(
    needed,
    `case when rest is null then ${spelled} else coalesce(${exact}, ${spelled}) end`,
  )
}
