/** The trees of property names and values. */

import type { Expr, Select } from '../../hogql/syntax/ast.ts'
import { and, constant, field, tuple } from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'
import { escapeLike } from '../../like.ts'

/** Maximum number of suggestions in a filter editor. */
const VALUES_MAX = 20n

/** Filters of a list of values. */
type ValueListRequest = {
  /** The property's name. */
  readonly key: string
  /** A part of the value, ignoring case; null for all. */
  readonly containing: string | null
  /** Further conditions on rows. */
  readonly conditions?: readonly Expr[]
}

/**
 * A property's most frequent values. Rows: a value as JSON text, the number of rows with it. Each element of a list counts; missing values and null do
 * not.
 */
export function valuesTree(
  table: 'events' | 'groups' | 'persons',
  request: ValueListRequest,
): Select {
  const { containing, conditions = [] } = request
  const key = constant(request.key)
  const elements = expr`if(JSONType(properties, ${key}) = 'Array',
    JSONExtractArrayRaw(properties, ${key}), [JSONExtractRaw(properties, ${key})])`
  const all_values = {
    ...select`select arrayJoin(${elements}) as value from ${field([table])}`,
    where: and([expr`JSONHas(properties, ${key})`, ...conditions]),
  }
  const like = containing === null ? [] : [constant(`%${pattern(containing)}%`)]
  return {
    ...select`
      select value, count() as count
      from ${all_values}
      group by value
      order by count desc, value
      limit ${constant(VALUES_MAX)}`,
    where: and([expr`value not in ('null', '')`, ...like.map((text) => expr`value ilike ${text}`)]),
  }
}

/** Escapes a text as it appears inside JSON, and its wildcards. */
function pattern(text: string): string {
  return escapeLike(JSON.stringify(text).slice(1, -1))
}

/** Older events are not read. */
const DAYS = constant(30n)
/** Newest events read per event name. */
const EVENTS_MAX = constant(2000n)
/** Above the maximum number of property definitions of a project. */
const NAMES_MAX = constant(50_000n)

/** Rows: distinct property names of recent events, limited because reading whole `properties` is slow. */
export function propertiesOfEventsTree(events: readonly string[]): Select {
  const names = tuple(events.map((name) => constant(name)))
  const newest = select`select properties from events
    where event in ${names} and timestamp >= now() - toIntervalDay(${DAYS})
    order by timestamp desc limit ${EVENTS_MAX} by event`
  const keys = select`select distinct arrayJoin(JSONExtractKeys(properties)) as name from ${newest}`
  return { ...keys, limit: NAMES_MAX }
}
