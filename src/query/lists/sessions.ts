/** SESSION_PROPERTIES, and the tree of a session property's most frequent values. */

import type { Select } from '../../hogql/syntax/ast.ts'
import { compare, constant, field } from '../../hogql/syntax/nodes.ts'
import { select } from '../../hogql/template.ts'
import { escapeLike } from '../../like.ts'

const ENTRY_NAMES = [
  'utm_source',
  'utm_medium',
  'utm_campaign',
  'utm_term',
  'utm_content',
  'gclid',
  'fbclid',
  'msclkid',
] as const

/** The session properties that filters can use, with their types. */
export const SESSION_PROPERTIES: ReadonlyMap<
  string,
  'Boolean' | 'DateTime' | 'Numeric' | 'String'
> = new Map([
  ['$start_timestamp', 'DateTime'],
  ['$end_timestamp', 'DateTime'],
  ['$session_duration', 'Numeric'],
  ['$pageview_count', 'Numeric'],
  ['$autocapture_count', 'Numeric'],
  ['$screen_count', 'Numeric'],
  ['$num_uniq_urls', 'Numeric'],
  ['$is_bounce', 'Boolean'],
  ['$channel_type', 'String'],
  ['$entry_current_url', 'String'],
  ['$entry_pathname', 'String'],
  ['$entry_hostname', 'String'],
  ['$entry_referring_domain', 'String'],
  ['$end_current_url', 'String'],
  ['$end_pathname', 'String'],
  ['$end_hostname', 'String'],
  ['$last_external_click_url', 'String'],
  ...ENTRY_NAMES.map((name) => [`$entry_${name}`, 'String'] as const),
])

/** Only sessions that began in the last days are read. */
const DAYS = constant(7n)
const VALUES_MAX = constant(20n)

/** Rows: a value, the number of sessions with it; `containing` is a part of its text, ignoring case. */
export function sessionValuesTree(property: string, containing: string): Select {
  const pattern = `%${escapeLike(containing)}%`
  const is_like = compare(field(['text']), 'ilike', constant(pattern))
  const values = select`select ${field([property])} as value, toString(value) as text from sessions
    where $start_timestamp >= now() - toIntervalDay(${DAYS})`
  return select`select any(value), count() as count from ${values} where notEmpty(text) and ${is_like}
    group by text order by count desc, text limit ${VALUES_MAX}`
}
