/** Properties kept once: taken apart into columns and a rest when a file is written, put together again exactly when read. */
import { textList, textLiteral } from './duckdb-text.ts'
import {
  columnName,
  type PropertyColumn,
  pointerOf,
  spelledAs,
  valueOf,
} from './property-columns.ts'

/** How a file keeps properties; the manifest says which. */
export type Layout = 'packed' | 'whole'

/** Beside the property columns of a packed file: where each key stands, and what the columns do not hold. */
export const PACKING_COLUMNS = ['shape', 'rest'] as const

/** Between keys: no JSON text has it, and a key that does is found out by the comparison. */
const KEY_END = 'chr(31)'
/** Between the keys of a row and the types of its columns. */
const KEYS_END = '\u001e'

/** Whether a column gives a value back, by its JSON type as the engine names it, its text and that of the column. */
const IS_HELD: Readonly<Record<PropertyColumn['kind'], (type: string, text: string) => string>> = {
  boolean: (type) => `${type} = 'BOOLEAN'`,
  number: (type, text) => {
    const spelled = spelledAs({ kind: 'number' }, `try_cast(${text} as double)`)
    return `${type} in ('UBIGINT', 'BIGINT', 'DOUBLE') and ${text} = ${spelled}`
  },
  text: (type) => `${type} = 'VARCHAR'`,
}

/** What rows of one signature have in common. */
export type Shape = {
  /** 1-based places in the list of the columns' values followed by the members of the rest, in the order of the keys. */
  readonly shape: string
  /** Removes what the columns hold from the properties; null when nothing else is there. */
  readonly patch: string | null
}

/**
 * A SELECT of the rows of `source` (with `properties`) with a column for each of `columns`, and a signature: keys in
 * their order, and which values the columns hold. Rows of one signature have one shape.
 */
export function selectCut(source: string, own: string, columns: readonly PropertyColumn[]): string {
  const all = pointers(columns)
  const values = columns.map(
    (column, index) => `${valueOf(column, `texts[${index + 1}]`)} as "${columnName(column)}"`,
  )
  const held = columns.map(({ kind }, index) => {
    const is_held = IS_HELD[kind](`types[${index + 1}]`, `texts[${index + 1}]`)
    return `case when ${is_held} then '1' else '0' end`
  })
  return `select ${own}, properties, keys || ${textLiteral(KEYS_END)} || ${held.join(' || ')} as signature, ${values.join(', ')}
from (
  select
    ${own}, properties,
    array_to_string(json_keys(properties), ${KEY_END}) as keys,
    json_type(properties, ${all}) as types,
    json_extract_string(properties, ${all}) as texts
  from ${source}
)`
}

/** The shape of the rows with this signature; null for rows whose properties are kept as they are. */
export function shapeOf(signature: string, columns: readonly PropertyColumn[]): Shape | null {
  const [keys = '', held = ''] = signature.split(KEYS_END)
  if (keys === '') return null
  const places = new Map(
    columns.flatMap(({ name }, index): [string, number][] =>
      held.charAt(index) === '1' ? [[name, index + 1]] : [],
    ),
  )
  const all = keys.split('\u001f')
  let others = 0
  const shape = all.map((key) => places.get(key) ?? columns.length + ++others).join(',')
  if (others === 0) return { shape, patch: null }
  const taken = all.filter((key) => places.has(key)).map((key) => `${JSON.stringify(key)}:null`)
  return { shape, patch: `{${taken.join(',')}}` }
}

/**
 * A SELECT of what a packed file holds, of rows as `selectCut` gives them joined with their `shape` and `patch`.
 * A row that would not be given back exactly keeps its properties as they are.
 */
export function selectPacked(cut: string, own: string, columns: readonly PropertyColumn[]): string {
  const named = columns.map((column) => `"${columnName(column)}"`).join(', ')
  return `select ${own}, case when is_same then shape end as shape, case when is_same then rest else properties end as rest, ${named}
from (
  select *, coalesce(${unpacked(columns)} = properties, false) as is_same
  from (select *, case when patch is not null then json_merge_patch(properties, patch)::varchar end as rest from ${cut})
)`
}

/** The members of `rest` as they stand in JSON. */
const REST_MEMBERS = `list_transform(
  list_zip(json_keys(rest), json_extract(rest, '$.*')),
  lambda member: to_json(member[1])::varchar || ':' || member[2]::varchar
)`

/** The JSON text of the properties of a packed row, as it was sent: its columns, `shape` and `rest` are in scope. */
export function unpacked(columns: readonly PropertyColumn[]): string {
  const members = columns.map(
    (column) =>
      `${textLiteral(`${JSON.stringify(column.name)}:`)} || ${spelledAs(column, `"${columnName(column)}"`)}`,
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

function pointers(columns: readonly PropertyColumn[]): string {
  return textList(columns.map(({ name }) => pointerOf(name)))
}
