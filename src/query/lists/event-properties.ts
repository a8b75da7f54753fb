/** The tree that lists the property names of recent events; limited, because reading whole `properties` is slow. */
import type { Select } from '../../hogql/syntax/ast.ts'
import { constant, tuple } from '../../hogql/syntax/nodes.ts'
import { select } from '../../hogql/template.ts'

/** Older events are not read. */
const DAYS = constant(30n)
/** Newest events read per event name. */
const EVENTS_MAX = constant(2000n)
/** Above the maximum number of property definitions of a project. */
const NAMES_MAX = constant(50_000n)

/** Rows: distinct property names. */
export function propertiesOfEventsTree(events: readonly string[]): Select {
  const names = tuple(events.map((name) => constant(name)))
  const newest = select`select properties from events
    where event in ${names} and timestamp >= now() - toIntervalDay(${DAYS})
    order by timestamp desc limit ${EVENTS_MAX} by event`
  const keys = select`select distinct arrayJoin(JSONExtractKeys(properties)) as name from ${newest}`
  return { ...keys, limit: NAMES_MAX }
}
