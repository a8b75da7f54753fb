/**
 * Names of the columns that only some queries read: values of single properties, JSON of the other properties, halves of
 * uuids. The compiler names them, the query worker makes them, so both take the names from here.
 */

/** The owners of properties with columns. */
export type ColumnOwner = 'event' | 'group' | 'person'

/**
 * A column that a query needs: a property's value, or JSON with at least this property of an event. Numbers that are
 * `whole_or_real` are BIGINT where all of them are whole and in files, else DOUBLE as those of `number` always are.
 */
export type NeededColumn = {
  /** By default `event`. */
  readonly owner?: ColumnOwner
  readonly kind: 'boolean' | 'json' | 'number' | 'text' | 'whole_or_real'
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

/**
 * Properties of events with a column of their own in ClickHouse: those that SDKs send by themselves. The order is that of the
 * columns; adding one is a migration of `sql/clickhouse/`.
 */
export const HOT_PROPERTIES: readonly string[] = [
  '$browser',
  '$browser_version',
  '$browser_language',
  '$os',
  '$os_version',
  '$device_type',
  '$device_id',
  '$device',
  '$current_url',
  '$host',
  '$pathname',
  '$referrer',
  '$referring_domain',
  '$initial_referrer',
  '$initial_referring_domain',
  '$screen_height',
  '$screen_width',
  '$viewport_height',
  '$viewport_width',
  '$screen_name',
  '$lib',
  '$lib_version',
  '$insert_id',
  '$ip',
  '$timezone',
  '$session_id',
  '$window_id',
  '$pageview_id',
  '$event_type',
  '$app_version',
  '$app_build',
  '$geoip_country_code',
  '$geoip_country_name',
  '$geoip_city_name',
  '$geoip_subdivision_1_name',
  '$geoip_continent_code',
  'utm_source',
  'utm_medium',
  'utm_campaign',
  'utm_content',
  'utm_term',
]

/** The column of a property in ClickHouse; null where it is a path of `rest`. */
export function hotColumnName(property: string): `h_${string}` | null {
  return HOT.has(property) ? `h_${property.replace('$', '_')}` : null
}

const HOT: ReadonlySet<string> = new Set(HOT_PROPERTIES)

/**
 * The path of a property in ClickHouse's JSON column `rest`: all but letters, digits, `_` and `-` percent-encoded, so that a
 * name can be printed as an identifier, and a dot begins no member. DuckDB writes the same with `url_encode`, and `.` and `~`
 * replaced.
 */
export function restPath(property: string): string {
  const unreserved = /[A-Za-z0-9_-]/
  return [...Buffer.from(property)]
    .map((byte) => {
      const character = String.fromCharCode(byte)
      return unreserved.test(character)
        ? character
        : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
    })
    .join('')
}
