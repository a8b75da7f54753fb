/** Events in SQL, whatever keeps them: files of any layout with any columns, or a table of whole rows. */
import { EVENT_COLUMNS } from './copy-sources.ts'
import { textList } from './duckdb-text.ts'
import type { FileRow } from './event-log.ts'
import { unpacked } from './packing.ts'
import {
  columnName,
  fromJson,
  type PropertyColumn,
  REST_COLUMN,
  readColumns,
  spelledAs,
  valueOf,
  wantedName,
} from './property-columns.ts'

/** Where rows are, and what each has of its properties. */
type Held = {
  readonly relation: string
  readonly layout: FileRow['layout']
  readonly columns: readonly PropertyColumn[]
}

/** Rows with their properties as JSON only. */
export const wholeRows = (relation: string): Held => ({ relation, layout: 'whole', columns: [] })

/** Files that can be read together, with what they have in common. */
export function heldIn(
  files: readonly FileRow[],
  pathOf: (file: FileRow) => string,
): readonly Held[] {
  const groups = Map.groupBy(files, ({ layout, columns }) => `${layout} ${columns}`)
  return [...groups.values()].flatMap((alike) => {
    const [first] = alike
    if (first === undefined) return []
    const relation = `read_parquet(${textList(alike.map(pathOf))})`
    return [{ relation, layout: first.layout, columns: readColumns(first.columns) }]
  })
}

/**
 * One SELECT with EVENT_COLUMNS, the wanted property columns, and what no column holds. A value comes out of a
 * column where there is one, else out of the JSON of these rows alone; the engine leaves out what is not used.
 */
export function selectEvents(held: Held, wanted: readonly PropertyColumn[]): string {
  const is_packed = held.layout === 'packed'
  const own = EVENT_COLUMNS.map(([name]) =>
    is_packed && name === 'properties' ? `${unpacked(held.columns)} as properties` : `"${name}"`,
  )
  const properties = wanted.flatMap((column) => {
    const name = wantedName(column)
    return name === undefined ? [] : [`${readFrom(held, column)} as "${name}"`]
  })
  const rest = `${is_packed ? 'rest' : 'properties'} as ${REST_COLUMN}`
  return `select ${[...own, ...properties, rest].join(', ')} from ${held.relation}`
}

function readFrom({ layout, columns }: Held, wanted: PropertyColumn): string {
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
  const spelled = spelledAs(other, quoted(other))
  return valueOf(
    wanted,
    `case when rest is null then ${spelled} else coalesce(${exact}, ${spelled}) end`,
  )
}

const quoted = (column: PropertyColumn): string => `"${columnName(column)}"`
