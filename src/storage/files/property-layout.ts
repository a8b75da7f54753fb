/** Properties kept once: taken apart into columns and a rest when a file is written, put together again exactly when read. */
import { textLiteral } from '../duckdb/duckdb-text.ts'
import { columnName, type PropertyColumn, printedKind, valueOf } from './property-columns.ts'

/** How a file keeps properties; the manifest says which. */
export type FileLayout = 'packed' | 'whole'

/** Beside the property columns of a packed file: where each key stands, and what the columns do not hold. */
export const PACKING_COLUMNS = ['shape', 'rest'] as const

/** Between keys. A key that has it is found out by the number of keys. */
const KEY_END = '\u001f'
/** Between the parts of a signature. A key that has it is found out by the number of parts. */
const PART_END = '\u001e'

/** Whether a column gives a value back, by the value's JSON as the engine spells it, and its text. */
const IS_HELD: Readonly<Record<PropertyColumn['kind'], (json: string, text: string) => string>> = {
  boolean: (json) => `${json} in ('true', 'false')`,
  number: (json, text) => {
    const spelled = printedKind({ kind: 'number' }, `try_cast(${text} as double)`)
    return `not ${isText(json)} and ${text} = ${spelled}`
  },
  text: isText,
}

function isText(json: string): string {
  return `starts_with(${json}, '"')`
}

/** What rows of one signature have in common. */
export type RowShape = {
  /** 1-based places in the list of the columns' values followed by the members of the rest, in the order of the keys. */
  readonly shape: string
  /** What is in no column; null when there is nothing else. */
  readonly rest: ShapeRest | null
}

export type ShapeRest = {
  /** Removes what the columns hold from the properties. */
  readonly patch: string
  /** 1-based places of the others among the members of the properties. */
  readonly places: string
}

/**
 * A SELECT of the rows of `source` (with `properties`) with a column for each of `columns`, and a signature: keys in
 * their order, and which values the columns hold. Rows of one signature have one shape; the signature is empty where
 * the engine would spell the very same members in another way (spaces, escapes, digits), which is most of the
 * comparison: what is left hangs on the signature (`validatorOf`) and on the rest (`selectPacked`).
 */
export function selectUnpackable(
  source: string,
  own: string,
  columns: readonly PropertyColumn[],
): string {
  const groups = structsOf(columns)
  const members = groups.flatMap((group, index) => group.map((column) => memberOf(column, index)))
  const values = columns.map(
    (column) => `${valueOf(column, textOf(column))} as "${columnName(column)}"`,
  )
  const held = columns.map((column) => {
    const is_held = IS_HELD[column.kind](jsonOf(column), textOf(column))
    return `case when ${is_held} then '1' else '0' end`
  })
  const end = textLiteral(PART_END)
  const names = `array_to_string(names, ${textLiteral(KEY_END)})`
  return `select ${own}, properties, ${values.join(', ')},
  case when is_usual then concat(len(names), ${end}, ${names}, ${end}, ${held.join(', ')}) else '' end as signature
from (
  select ${own}, properties, is_usual, names,
    ${members.map(({ column, json, text }) => `${json} as ${jsonOf(column)}, ${text} as ${textOf(column)}`).join(', ')}
  from (
    select
      ${own}, properties,
      json(properties)::varchar = properties as is_usual,
      json_keys(properties) as names,
      ${groups.map(readStructs).join(', ')}
    from ${source}
  )
)`
}

const jsonOf = (column: PropertyColumn): string => `"${columnName(column)} json"`
const textOf = (column: PropertyColumn): string => `"${columnName(column)} text"`

/** All values at once are read several times faster than one by one. The names of a struct's fields differ in any case. */
function structsOf(columns: readonly PropertyColumn[]): readonly (readonly PropertyColumn[])[] {
  const groups: PropertyColumn[][] = []
  for (const column of columns) {
    const isAlike = ({ name }: PropertyColumn): boolean =>
      name.toLowerCase() === column.name.toLowerCase()
    const group = groups.find((one) => !one.some(isAlike))
    if (group === undefined) groups.push([column])
    else group.push(column)
  }
  return groups
}

/** Each value as JSON, which tells texts from others, and as text, which is what texts say. */
function readStructs(group: readonly PropertyColumn[], index: number): string {
  const read = (type: 'JSON' | 'VARCHAR'): string => {
    const fields = Object.fromEntries(group.map(({ name }) => [name, type]))
    return `from_json(properties, ${textLiteral(JSON.stringify(fields))})`
  }
  return `${read('JSON')} as jsons_${index}, ${read('VARCHAR')} as texts_${index}`
}

/** Numbers are texts as their JSON is: of another type the engine spells them in another way. */
function memberOf(column: PropertyColumn, group: number) {
  const field = `"${column.name.replaceAll('"', '""')}"`
  const json = `jsons_${group}.${field}::varchar`
  const text = `case when ${isText(json)} then texts_${group}.${field} else ${json} end`
  return { column, json, text }
}

/** The shape of the rows with this signature; null for rows whose properties are kept as they are. */
export function shapeOf(signature: string, columns: readonly PropertyColumn[]): RowShape | null {
  const keys = keysOf(signature)
  if (keys === null) return null
  const held = signature.slice(signature.lastIndexOf(PART_END) + 1)
  const places = new Map(
    columns.flatMap(({ name }, index): [string, number][] =>
      held.charAt(index) === '1' ? [[name, index + 1]] : [],
    ),
  )
  const others = keys.flatMap((key, index) => (places.has(key) ? [] : [index + 1]))
  let rest = columns.length
  const shape = keys.map((key) => places.get(key) ?? ++rest).join(',')
  if (others.length === 0) return { shape, rest: null }
  const taken = keys.filter((key) => places.has(key)).map((key) => `${JSON.stringify(key)}:null`)
  return { shape, rest: { patch: `{${taken.join(',')}}`, places: others.join(',') } }
}

/** Null where what the signature says may be read in two ways, or one of two members of one name would be lost. */
function keysOf(signature: string): readonly string[] | null {
  const [count, keys = '', ...held] = signature.split(PART_END)
  const all = keys.split(KEY_END)
  if (keys === '' || held.length !== 1 || all.length !== Number(count)) return null
  return new Set(all).size === all.length ? all : null
}

/**
 * A SELECT of what a packed file holds, of rows as `selectUnpackable` gives them joined with their `shape`, `patch` and
 * `places`. A row that would not be given back exactly keeps its properties as they are.
 */
export function selectPacked(cut: string, own: string, columns: readonly PropertyColumn[]): string {
  const named = columns.map((column) => `"${columnName(column)}"`).join(', ')
  return `select ${own}, case when is_same then shape end as shape, case when is_same then rest else properties end as rest, ${named}
from (
  select *, case when shape is null then false when patch is null then true else ${IS_REST_SAME} end as is_same
  from (select *, case when patch is not null then json_merge_patch(properties, patch)::varchar end as rest from ${cut})
)`
}

/** Whether the members of `rest` are those of the properties that no column holds. */
const IS_REST_SAME = `coalesce(
  json_keys(rest) = ${atPlaces('json_keys(properties)')}
  and json_extract(rest, '$.*') = ${atPlaces("json_extract(properties, '$.*')")},
  false
)`

function atPlaces(list: string): string {
  return `list_select(${list}, string_split(places, ',')::integer[])`
}

/** The members of `rest` as they stand in JSON. */
const REST_MEMBERS = `list_transform(
  list_zip(json_keys(rest), json_extract(rest, '$.*')),
  lambda member: to_json(member[1])::varchar || ':' || member[2]::varchar
)`

/** The JSON text of the properties of a packed row, as it was sent: its columns, `shape` and `rest` are in scope. */
export function unpackProperties(columns: readonly PropertyColumn[]): string {
  const members = columns.map(
    (column) =>
      `${textLiteral(`${JSON.stringify(column.name)}:`)} || ${printedKind(column, `"${columnName(column)}"`)}`,
  )
  const held = `[${members.join(', ')}]::varchar[]`
  // Lists are costly to put together, and most rows have no rest.
  return `case
  when shape is null then rest
  when rest is null then ${chosenOf(held)}
  else ${chosenOf(`list_concat(${held}, ${REST_MEMBERS})`)}
end`
}

function chosenOf(members: string): string {
  return `'{' || array_to_string(list_select(${members}, string_split(shape, ',')::integer[]), ',') || '}'`
}
