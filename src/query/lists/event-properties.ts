/** Which properties the newest events of given names have, as a tree: reading properties whole is what costs. */
import type { Select } from '../../hogql/ast.ts'
import { constant, tuple } from '../../hogql/nodes.ts'
import { select } from '../../insights/tree.ts'

/** What happened longer ago is not looked at. */
const DAYS = constant(30n)
/** The newest events of a name that are looked at. */
const EVENTS_MAX = constant(2000n)
/** More names than any project has definitions of. */
const NAMES_MAX = constant(50_000n)

/** Rows of a property's name, each once. */
export function propertiesOfEventsTree(events: readonly string[]): Select {
  const names = tuple(events.map((name) => constant(name)))
  const newest = select`select properties from events
    where event in ${names} and timestamp >= now() - toIntervalDay(${DAYS})
    order by timestamp desc limit ${EVENTS_MAX} by event`
  const keys = select`select distinct arrayJoin(JSONExtractKeys(properties)) as name from ${newest}`
  return { ...keys, limit: NAMES_MAX }
}
