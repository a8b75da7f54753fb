/** Property columns: which properties of events have columns of their own, what these are called, and what they hold. */
import type { Database } from 'bun:sqlite'
import { textList, textLiteral } from './duckdb-text.ts'

/** A column holds a property as one kind of question reads it: its text, or that text as a number or a truth value. */
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

/** The manifest's text: in an order of their own, so that the same columns give the same text. */
export function writeColumns(columns: readonly PropertyColumn[]): string {
  const sorted = columns.toSorted((one, other) => (columnName(one) < columnName(other) ? -1 : 1))
  return JSON.stringify(sorted.map(({ kind, name }) => [kind, name]))
}

/** Every column that any file of the project ever had. */
export function listPropertyColumns(db: Database, project_id: number): readonly PropertyColumn[] {
  return db
    .query<PropertyColumn, [number]>(
      'select kind, name from property_columns where project_id = ? order by kind, name',
    )
    .all(project_id)
}

/** What a column holds, from the text of the property. The compiler reads JSON with the very same expressions. */
const OF_TEXT: Readonly<Record<ColumnKind, (text: string) => string>> = {
  text: (text) => text,
  number: (text) => `try_cast(${text} as double)`,
  boolean: (text) => `case ${text} when 'true' then true when 'false' then false end`,
}

/** The column's value for rows that have only `properties`. */
export function fromJson({ kind, name }: PropertyColumn): string {
  return OF_TEXT[kind](`json_extract_string(properties, ${textLiteral(pointer(name))})`)
}

/**
 * All columns' values from one parse of `properties`: a list to be named `parsed`, and what to read from it.
 * `json_transform` would be a third faster for sixty columns, but writes some numbers in other digits than
 * reading the JSON does (1e308 for 1e+308).
 */
export function fromOneParse(columns: readonly PropertyColumn[]): {
  readonly parse: string
  readonly values: readonly string[]
} {
  const pointers = columns.map(({ name }) => pointer(name))
  return {
    parse: `json_extract_string(properties, ${textList(pointers)})`,
    values: columns.map(({ kind }, index) => OF_TEXT[kind](`parsed[${index + 1}]`)),
  }
}

function pointer(name: string): string {
  return `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
}
