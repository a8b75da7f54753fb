/** Property columns: which properties of events have columns of their own, what these are called, and what they hold. */
import type { Database } from 'bun:sqlite'
import { textLiteral } from '../duckdb/duckdb-text.ts'

/** A column holds a property as one kind of query reads it: its text, or that text as a number or a truth value. */
export type ColumnKind = 'boolean' | 'number' | 'text'

export type PropertyColumn = { readonly kind: ColumnKind; readonly name: string }

/** The name in DuckDB. Made from the property alone, so that every process and every file has the same. */
export function columnName({ kind, name }: PropertyColumn): `p_${string}` {
  const digest = new Bun.CryptoHasher('sha256').update(`${kind}:${name}`).digest('hex')
  return `p_${digest.slice(0, NAME_DIGITS)}`
}

const NAME_DIGITS = 32

/** The columns of one file, from the manifest's text; files from before there were any have none. */
export function readColumns(text: string): readonly PropertyColumn[] {
  if (text === '') return []
  return (JSON.parse(text) as [ColumnKind, string][]).map(([kind, name]) => ({ kind, name }))
}

/** In the order of a file: one that depends on nothing but the columns. */
export function sortColumns(columns: readonly PropertyColumn[]): readonly PropertyColumn[] {
  return columns.toSorted((one, other) => (columnName(one) < columnName(other) ? -1 : 1))
}

/** The manifest's text: in their own order, so that the same columns give the same text. */
export function writeColumns(columns: readonly PropertyColumn[]): string {
  return JSON.stringify(sortColumns(columns).map(({ kind, name }) => [kind, name]))
}

/** Every column that any file of the project ever had. */
export function listPropertyColumns(db: Database, project_id: number): readonly PropertyColumn[] {
  return db
    .query<PropertyColumn, [number]>(
      'select kind, name from property_columns where project_id = ? order by kind, name',
    )
    .all(project_id)
}

/**
 * What a column holds, from the text of the property. The compiler reads JSON with the very same expressions. There is
 * one zero: where a file has -0 as well, its dictionary takes both for one and gives either back.
 */
const OF_TEXT: Readonly<Record<ColumnKind, (text: string) => string>> = {
  text: (text) => text,
  number: (text) => `(try_cast(${text} as double) + 0.0)`,
  boolean: (text) => `case ${text} when 'true' then true when 'false' then false end`,
}

/** The value that a column of this kind has for a property with this text. */
export function valueOf({ kind }: Pick<PropertyColumn, 'kind'>, text: string): string {
  return OF_TEXT[kind](text)
}

/** The column's value read out of `json`, a relation's column of JSON text. */
export function fromJson(column: PropertyColumn, json = 'properties'): string {
  return valueOf(column, `json_extract_string(${json}, ${textLiteral(pointerOf(column.name))})`)
}

/** Numbers up to here are spelled as whole ones, as senders do. */
const WHOLE_MAX = '1e15'

/** How senders spell such a value in JSON, where they spell it in the usual way. */
const SPELLED: Readonly<Record<ColumnKind, (value: string) => string>> = {
  text: (value) => `to_json(${value})::varchar`,
  number: (value) =>
    `case when abs(${value}) < ${WHOLE_MAX} and ${value} = trunc(${value}) then (${value})::bigint::varchar else ${value}::varchar end`,
  boolean: (value) => `${value}::varchar`,
}

/** The JSON of a column's value. */
export function printedKind({ kind }: Pick<PropertyColumn, 'kind'>, value: string): string {
  return SPELLED[kind](value)
}

/** Where a property stands in the JSON of its event. */
export function pointerOf(name: string): string {
  return `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
}

/** Whose properties have columns. */
export type ColumnOwner = 'event' | 'group' | 'person'

/** What queries ask for: a column's value, or JSON that has at least this property of an event. */
export type NeededColumn = {
  /** Of events when left out. */
  readonly owner?: ColumnOwner
  readonly kind: ColumnKind | 'json'
  readonly name: string
}

const OWNERS: Readonly<Record<string, ColumnOwner>> = { '': 'event', g: 'group', p: 'person' }

const INITIALS: Readonly<Record<string, NeededColumn['kind']>> = {
  b: 'boolean',
  j: 'json',
  n: 'number',
  t: 'text',
}
/** Longer names are read out of JSON. */
const WANTED_BYTES_MAX = 400

/** The JSON of what a file has no column for, as queries name it. */
export const REST_COLUMN = 'p_rest'

/**
 * What queries call the column of a property, whether or not any file has one: its name is in it, so that
 * whoever answers knows what is meant, and no text of a user is spelled.
 */
export function neededColumnName({
  owner = 'event',
  kind,
  name,
}: NeededColumn): `p_${string}` | undefined {
  const bytes = Buffer.from(name)
  // No engine's text holds what has no spelling in UTF-8.
  if (bytes.length > WANTED_BYTES_MAX || bytes.toString() !== name) return undefined
  const initial = owner === 'event' ? '' : owner.slice(0, 1)
  return `p_${initial}${kind.slice(0, 1)}_${bytes.toString('hex')}`
}

/** The columns that a compiled query names. Anything else of this form only costs a little time. */
export function neededColumns(sql: string): readonly NeededColumn[] {
  const named = new Map([...sql.matchAll(WANTED)].map((found) => [found[0], found] as const))
  return [...named.values()].flatMap(([, initial = '', kind_initial = '', hex = '']) => {
    const owner = OWNERS[initial]
    const kind = INITIALS[kind_initial]
    if (owner === undefined || kind === undefined) return []
    return [{ owner, kind, name: Buffer.from(hex, 'hex').toString() }]
  })
}

const WANTED = /"p_([gp]?)([bjnt])_((?:[0-9a-f]{2})*)"/g
