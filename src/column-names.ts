/**
 * Names of the columns that only some queries read: values of single properties, JSON of the other properties, halves of
 * uuids. The compiler names them, the query worker makes them, so both take the names from here.
 */

/** The owners of properties with columns. */
export type ColumnOwner = 'event' | 'group' | 'person'

/** A column that a query needs: a property's value, or JSON with at least this property of an event. */
export type NeededColumn = {
  /** By default `event`. */
  readonly owner?: ColumnOwner
  readonly kind: 'boolean' | 'json' | 'number' | 'text'
  readonly name: string
}

/** The JSON of an event's properties that have no column: lists, objects, rare properties. */
export const REST_COLUMN = 'p_rest'

/** The last eight bytes of an event's uuid where its file stores them separately, else NULL. */
export const UUID_END_COLUMN = 'p_uuid'

/** Longer names are read out of JSON. */
const NAME_BYTES_MAX = 400

/**
 * The column's name in queries, whether or not any file has the column. It contains the property's name in hexadecimal
 * digits, so that no user's text is printed into SQL. Undefined for names without a column.
 */
export function neededColumnName({
  owner = 'event',
  kind,
  name,
}: NeededColumn): `p_${string}` | undefined {
  const bytes = Buffer.from(name)
  // DuckDB has no text for lone surrogates.
  if (bytes.length > NAME_BYTES_MAX || bytes.toString() !== name) return undefined
  const initial = owner === 'event' ? '' : owner.slice(0, 1)
  return `p_${initial}${kind.slice(0, 1)}_${bytes.toString('hex')}`
}
