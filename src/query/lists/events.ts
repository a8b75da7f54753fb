/** The trees of event lists. */

import type { KnownPropertyType } from '../../hogql/context.ts'
import type { Expr, Select } from '../../hogql/syntax/ast.ts'
import { and, compare, constant, field, integer, tuple } from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'
import type { DateContext } from '../../insights/dates/dates.ts'
import { matchesAction } from '../../insights/events-query.ts'
import { instant } from '../../insights/filters/filter-operators.ts'
import { filterCondition } from '../../insights/filters/property-filters.ts'

/** Filters of an event list; null for none. Times are microseconds since 1970 UTC, exclusive. */
export type EventListRequest = {
  readonly after_us: bigint | null
  readonly before_us: bigint | null
  /** The id of a single event. */
  readonly uuid?: string
  /** Names of events; none for all. */
  readonly events: readonly string[]
  /** Only events of this action. */
  readonly action_id?: number | null
  readonly distinct_id: string | null
  /** A person's id, in lower case. */
  readonly person_id: string | null
  /** Property filters, combined with AND. */
  readonly properties: unknown
}

export type EventContext = DateContext & {
  readonly property_types: ReadonlyMap<string, KnownPropertyType>
  /** The project's path cleaning rules, as stored. */
  readonly path_cleaning_filters?: unknown
}

type EventListCondition = (request: EventListRequest, context: EventContext) => Expr | null

/** One condition per line. */
const CONDITIONS: readonly EventListCondition[] = [
  ({ after_us }) => (after_us === null ? null : compare(TIME, '>', instant(after_us))),
  ({ before_us }) => (before_us === null ? null : compare(TIME, '<', instant(before_us))),
  ({ uuid }) => (uuid === undefined ? null : expr`uuid = toUUID(${constant(uuid)})`),
  ({ events: [first, ...others] }) => {
    if (first === undefined) return null
    if (others.length === 0) return expr`event = ${constant(first)}`
    return compare(EVENT, 'in', tuple([first, ...others].map((name) => constant(name))))
  },
  ({ action_id }) => (action_id == null ? null : matchesAction(action_id)),
  ({ distinct_id }) => (distinct_id === null ? null : expr`distinct_id = ${constant(distinct_id)}`),
  ({ person_id }) => (person_id === null ? null : expr`person_id = toUUID(${constant(person_id)})`),
  ({ properties }, context) =>
    filterCondition(properties, { ...context, prefix: [], attr: 'properties' }),
]

const TIME = field(['timestamp'])
const EVENT = field(['event'])
const UUID = field(['uuid'])

const COLUMNS = [
  UUID,
  EVENT,
  field(['distinct_id']),
  expr`toTimeZone(timestamp, 'UTC')`,
  field(['properties']),
  field(['elements_chain']),
  field(['person_id']),
]

/** The page of a list, and whether events include their persons. */
export type EventsPage = {
  readonly limit: number
  readonly offset: number
  readonly is_oldest_first: boolean
  readonly has_persons: boolean
}

/** Builds the conditions of a request. */
export function eventConditions(request: EventListRequest, context: EventContext): readonly Expr[] {
  return CONDITIONS.flatMap((condition) => condition(request, context) ?? [])
}

/** Rows of events, by default the newest first; JSON stays text, times are in UTC, the person's columns come last. One row beyond the limit shows that there are more. */
export function eventsTree(
  request: EventListRequest,
  page: EventsPage,
  context: EventContext,
): Select {
  const { is_oldest_first, has_persons, limit, offset } = page
  const columns = has_persons
    ? [...COLUMNS, expr`person.properties`, expr`person.is_identified`]
    : COLUMNS
  const rows = is_oldest_first
    ? select`select ${columns} from events order by timestamp, uuid`
    : select`select ${columns} from events order by timestamp desc, uuid desc`
  return {
    ...rows,
    where: and(eventConditions(request, context)),
    limit: integer(limit + 1),
    offset: integer(offset),
  }
}

/** The ids of those of some events, named by their ids, that a list would have. */
export function matchingEventsTree(
  request: EventListRequest,
  uuids: readonly string[],
  context: EventContext,
): Select {
  const named = compare(UUID, 'in', tuple(uuids.map((uuid) => constant(uuid))))
  return {
    ...select`select uuid from events`,
    where: and([...eventConditions(request, context), named]),
    limit: integer(uuids.length),
  }
}

/** One row: how many events a person has, and how many of them are of some of its distinct ids. */
export function personEventCountsTree(person_id: string, distinct_ids: readonly string[]): Select {
  const ids = tuple(distinct_ids.map((id) => constant(id)))
  return select`select count(), countIf(distinct_id in ${ids}) from events
    where person_id = toUUID(${constant(person_id)})`
}

/** Clicked elements, the most frequent first. Rows: elements chain, event, count. One row beyond the limit shows that there are more. */
export function clickedTree(
  conditions: readonly Expr[],
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Select {
  const elements = select`select elements_chain, event, count() as count from events
    group by elements_chain, event order by count desc, elements_chain, event`
  return {
    ...elements,
    where: and([expr`elements_chain != ''`, ...conditions]),
    limit: integer(limit + 1),
    offset: integer(offset),
  }
}
