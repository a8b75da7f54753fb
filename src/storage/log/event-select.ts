/** Events in SQL, whatever keeps them: files of any layout with any columns, or a table of whole rows. */

import { textList, textLiteral } from '../duckdb/duckdb-text.ts'
import { type ColumnEncoding, readEncodings, readOwn, uuidEnd } from '../files/column-encodings.ts'
import {
  columnName,
  fromJson,
  type NeededColumn,
  neededColumnName,
  type PropertyColumn,
  pointerOf,
  printedKind,
  REST_COLUMN,
  readColumns,
  valueOf,
} from '../files/property-columns.ts'
import { PACKING_COLUMNS, unpackProperties } from '../files/property-layout.ts'
import { EVENT_COLUMNS } from '../files/replication-sources.ts'
import type { FileRow } from './event-log.ts'

/** Where rows are, and what each has of its properties. */
type StoredFileShape = {
  readonly relation: string
  readonly layout: FileRow['layout']
  readonly own: readonly ColumnEncoding[]
  readonly columns: readonly PropertyColumn[]
}

/** Rows with their properties as JSON only. */
export const wholeRows = (relation: string): StoredFileShape => ({
  relation,
  layout: 'whole',
  own: [],
  columns: [],
})

/** Files that can be read together, with what they have in common. */
export function storedShape(
  files: readonly FileRow[],
  pathOf: (file: FileRow) => string,
): readonly StoredFileShape[] {
  return [...Map.groupBy(files, layoutText).values()].flatMap((alike) => {
    const [first] = alike
    if (first === undefined) return []
    return [heldAs(first, `read_parquet(${textList(alike.map(pathOf))})`)]
  })
}

const layoutText = ({ layout, own, columns }: FileRow): string => `${layout} ${own} ${columns}`

const heldAs = ({ layout, own, columns }: FileRow, relation: string): StoredFileShape => ({
  relation,
  layout,
  own: readEncodings(own),
  columns: readColumns(columns),
})

/** One SELECT of rows of packed files as they are held; but with every one of their own columns as it is read. */
export function selectStored({ relation, own, columns }: StoredFileShape): string {
  const kept = [...PACKING_COLUMNS, ...columns.map(columnName)].map((name) => `"${name}"`)
  const names = EVENT_COLUMNS.map(([name]) => name).filter((name) => name !== 'properties')
  return `select ${[...names.map((name) => readOwn(own, name)), ...kept].join(', ')} from ${relation}`
}

/** What is read of each event. */
export type EventReading = {
  /** Property columns. */
  readonly columns: readonly NeededColumn[]
  /** Without `properties`: just reading what they are made of takes longer than many a query. */
  readonly is_lean: boolean
  /** With what no column holds. */
  readonly has_rest: boolean
  /** With the half of uuids that they are found by. */
  readonly has_uuid_end?: boolean
}

const ALL: EventReading = { columns: [], is_lean: false, has_rest: true }

/**
 * One SELECT with EVENT_COLUMNS, the wanted property columns, and what no column holds. A value comes out of a
 * column where there is one, else out of the JSON of these rows alone; the engine leaves out what is not used.
 */
export function selectEvents(held: StoredFileShape, reading: EventReading = ALL): string {
  return `select ${listOf(held, reading)} from ${held.relation}`
}

/** A SELECT for all files that give what is read in the same way, whatever else they have; as few as there can be. */
export function selectFiles(
  files: readonly FileRow[],
  pathOf: (file: FileRow) => string,
  reading: EventReading,
): readonly string[] {
  const alike = Map.groupBy(files, layoutText)
  const lists = [...alike.values()].flatMap((group) => {
    const [first] = group
    if (first === undefined) return []
    return [{ list: listOf(heldAs(first, ''), reading), paths: group.map(pathOf) }]
  })
  return [...Map.groupBy(lists, ({ list }) => list)].map(([list, groups]) => {
    const paths = groups.flatMap((group) => group.paths)
    return `select ${list} from read_parquet(${textList(paths)})`
  })
}

function listOf(
  held: StoredFileShape,
  { columns, is_lean, has_rest, has_uuid_end }: EventReading,
): string {
  const is_packed = held.layout === 'packed'
  const kept = EVENT_COLUMNS.filter(([name]) => !is_lean || name !== 'properties')
  const own = kept.map(([name]) =>
    is_packed && name === 'properties'
      ? `${unpackProperties(held.columns)} as properties`
      : readOwn(held.own, name),
  )
  const properties = columns.flatMap((column) => {
    const name = neededColumnName(column)
    return name === undefined || (column.owner ?? 'event') !== 'event'
      ? []
      : [`${readFrom(held, column)} as "${name}"`]
  })
  const rest = has_rest ? [`${is_packed ? 'rest' : 'properties'} as ${REST_COLUMN}`] : []
  const end = has_uuid_end === true ? [`${uuidEnd(held.own)} as ${UUID_END_COLUMN}`] : []
  // The engine reads the first column where none is used, as for a count: this one is in no file.
  const first = is_lean ? [`true as ${ANY_COLUMN}`] : []
  return [...first, ...own, ...properties, ...rest, ...end].join(', ')
}

const ANY_COLUMN = 'p_any'
/** What queries call the end of a uuid, as `uuidEnd` has it. */
export const UUID_END_COLUMN = 'p_uuid'

function readFrom(held: StoredFileShape, request: NeededColumn): string {
  const { kind, name } = request
  return kind === 'json' ? memberFrom(held, name) : valueFrom(held, { kind, name })
}

/** JSON in which the property stands as it does in `properties`. */
function memberFrom({ layout, columns }: StoredFileShape, name: string): string {
  if (layout !== 'packed') return 'properties'
  const column = columns.find((other) => other.name === name)
  if (column === undefined) return `coalesce(rest, '{}')`
  const in_rest = `json_extract(rest, ${textLiteral(pointerOf(name))})::varchar`
  const spelled = printedKind(column, quoted(column))
  const value = `case when rest is null then ${spelled} else coalesce(${in_rest}, ${spelled}) end`
  return `'{' || coalesce(${textLiteral(`${JSON.stringify(name)}:`)} || ${value}, '') || '}'`
}

function valueFrom({ layout, columns }: StoredFileShape, wanted: PropertyColumn): string {
  const named = columns.filter(({ name }) => name === wanted.name)
  const same = named.find(({ kind }) => kind === wanted.kind)
  if (same !== undefined) return quoted(same)
  if (layout !== 'packed') return fromJson(wanted)
  const text = named.find(({ kind }) => kind === 'text')
  if (text !== undefined) return valueOf(wanted, quoted(text))
  const [other] = named
  if (other === undefined) return fromJson(wanted, 'rest')
  // What the column does not give back exactly is in the rest, which most rows have not got.
  const exact = fromJson({ kind: 'text', name: wanted.name }, 'rest')
  const spelled = printedKind(other, quoted(other))
  return valueOf(
    wanted,
    `case when rest is null then ${spelled} else coalesce(${exact}, ${spelled}) end`,
  )
}

const quoted = (column: PropertyColumn): string => `"${columnName(column)}"`
