/** Property columns: the names and values of columns for single properties, in files and in queries. */
import type { Database } from 'bun:sqlite'
import { textLiteral } from '../duckdb/duckdb-text.ts'

/** The value of a property column: the property's text, or that text as a number or a boolean. */
export type ColumnKind = 'boolean' | 'number' | 'text'

export type PropertyColumn = { readonly kind: ColumnKind; readonly name: string }

/** A column of one file. */
export type FileColumn = PropertyColumn & {
  /** True when the file stores the numbers as BIGINT, since all of them are whole. */
  readonly is_whole?: boolean
}

/** The column's name in files. It depends on the property alone, so that all processes and files use the same. */
export function columnName({ kind, name }: PropertyColumn): `p_${string}` {
  const digest = new Bun.CryptoHasher('sha256').update(`${kind}:${name}`).digest('hex')
  return `p_${digest.slice(0, NAME_DIGITS)}`
}

const NAME_DIGITS = 32

/** Reads the columns of a file from the manifest's text; files of older versions have none. */
export function readColumns(text: string): readonly FileColumn[] {
  if (text === '') return []
  return (JSON.parse(text) as [ColumnKind, string, true?][]).map(
    ([kind, name, is_whole = false]) => (is_whole ? { kind, name, is_whole } : { kind, name }),
  )
}

/** True for columns of the same properties, whether or not their numbers are whole. */
export function haveSameNames(
  some: readonly PropertyColumn[],
  others: readonly PropertyColumn[],
): boolean {
  const names = new Set(some.map(columnName))
  return some.length === others.length && others.every((column) => names.has(columnName(column)))
}

/** Sorts columns into the order of files, which depends on the columns alone. */
export function sortColumns<Column extends PropertyColumn>(
  columns: readonly Column[],
): readonly Column[] {
  return columns.toSorted((one, other) => (columnName(one) < columnName(other) ? -1 : 1))
}

/** Writes the manifest's text; equal columns give equal texts. */
export function writeColumns(columns: readonly FileColumn[]): string {
  return JSON.stringify(
    sortColumns(columns).map(({ kind, name, is_whole = false }) =>
      is_whole ? [kind, name, is_whole] : [kind, name],
    ),
  )
}

/** Lists every column that a file of the project has ever had. */
export function listPropertyColumns(db: Database, project_id: number): readonly PropertyColumn[] {
  return db
    .query<PropertyColumn, [number]>(
      'select kind, name from property_columns where project_id = ? order by kind, name',
    )
    .all(project_id)
}

/**
 * A column's value, from the property's text. The compiler reads JSON with the same expressions. `+ 0.0` turns -0 into
 * 0, because Parquet dictionaries do not distinguish them.
 */
const OF_TEXT: Readonly<Record<ColumnKind, (text: string) => string>> = {
  text: (text) => text,
  number: (text) => `(try_cast(${text} as double) + 0.0)`,
  boolean: (text) => `case ${text} when 'true' then true when 'false' then false end`,
}

/** Prints a column's value from a property's text. */
export function valueOf({ kind }: Pick<PropertyColumn, 'kind'>, text: string): string {
  return OF_TEXT[kind](text)
}

/** Prints a column's value from `json`, a column of JSON text. */
export function fromJson(column: PropertyColumn, json = 'properties'): string {
  return valueOf(column, `json_extract_string(${json}, ${textLiteral(pointerOf(column.name))})`)
}

/** Whole numbers below this are printed without a fraction, as JSON senders do. */
const WHOLE_MAX = '1e15'

/** Prints a value as JSON in the usual form of senders. */
const PRINT_JSON: Readonly<Record<ColumnKind, (value: string) => string>> = {
  text: (value) => `to_json(${value})::varchar`,
  number: (value) =>
    `case when abs(${value}) < ${WHOLE_MAX} and ${value} = trunc(${value}) then (${value})::bigint::varchar else ${value}::varchar end`,
  boolean: (value) => `${value}::varchar`,
}

/** An aggregate over a column of numbers: true when it can be stored as BIGINT, and is printed as before. */
export function areWhole(column: PropertyColumn): string {
  const value = `"${columnName(column)}"`
  return `coalesce(bool_and(${value} = trunc(${value}) and abs(${value}) < ${WHOLE_MAX}), true)`
}

/** Prints the value of a file's column, of the type of its kind. */
export function storedValue(column: FileColumn): string {
  const name = `"${columnName(column)}"`
  return column.is_whole === true ? `${name}::double` : name
}

/** Prints the JSON of the value of a file's column. */
export function printedValue(column: FileColumn): string {
  const name = `"${columnName(column)}"`
  return column.is_whole === true ? `${name}::varchar` : printedKind(column, name)
}

/** Prints the JSON of a value of this kind. */
export function printedKind({ kind }: Pick<PropertyColumn, 'kind'>, value: string): string {
  return PRINT_JSON[kind](value)
}

/** The JSON pointer of a property. */
export function pointerOf(name: string): string {
  return `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
}
