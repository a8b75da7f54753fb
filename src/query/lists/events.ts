/** The trees of event lists. */
import type { Expr, Select } from '../../hogql/ast.ts'
import type { KnownPropertyType } from '../../hogql/context.ts'
import { and, call, compare, constant, field, joinOf, order, selectOf } from '../../hogql/nodes.ts'
import type { DateContext } from '../../insights/dates.ts'
import { filterCondition, instant } from '../../insights/filters/property-filters.ts'

/** Filters of an event list; null for none. Times are microseconds since 1970 UTC, exclusive. */
export type EventListRequest = {
  readonly after_us: bigint | null
  readonly before_us: bigint | null
  /** The id of a single event. */
  readonly uuid?: string
  readonly event: string | null
  readonly distinct_id: string | null
  /** A person's id, in lower case. */
  readonly person_id: string | null
  /** Property filters, combined with AND. */
  readonly properties: unknown
}

export type EventContext = DateContext & {
  readonly property_types: ReadonlyMap<string, KnownPropertyType>
}

type EventListCondition = (request: EventListRequest, context: EventContext) => Expr | null

/** One condition per line. */
const CONDITIONS: readonly EventListCondition[] = [
  ({ after_us }) => (after_us === null ? null : compare(TIME, '>', instant(after_us))),
  ({ before_us }) => (before_us === null ? null : compare(TIME, '<', instant(before_us))),
  ({ uuid }) =>
    uuid === undefined ? null : compare(field(['uuid']), '==', call('toUUID', [constant(uuid)])),
  ({ event }) => (event === null ? null : compare(field(['event']), '==', constant(event))),
  ({ distinct_id }) =>
    distinct_id === null ? null : compare(field(['distinct_id']), '==', constant(distinct_id)),
  ({ person_id }) =>
    person_id === null
      ? null
      : compare(field(['person_id']), '==', call('toUUID', [constant(person_id)])),
  ({ properties }, context) =>
    filterCondition(properties, { ...context, prefix: [], attr: 'properties' }),
]

const TIME = field(['timestamp'])

/** The columns of a list, in this order; JSON stays text. The person's columns come last. */
const COLUMNS = [
  ['uuid'],
  ['event'],
  ['distinct_id'],
  ['timestamp'],
  ['properties'],
  ['elements_chain'],
  ['person_id'],
] as const
const PERSON_COLUMNS = [
  ['person', 'properties'],
  ['person', 'is_identified'],
] as const

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

/** Rows of events, by default the newest first. One row beyond the limit shows that there are more. */
export function eventsTree(
  request: EventListRequest,
  page: EventsPage,
  context: EventContext,
): Select {
  const direction = page.is_oldest_first ? 'ASC' : 'DESC'
  const columns = [...COLUMNS, ...(page.has_persons ? PERSON_COLUMNS : [])]
  return {
    ...selectOf(columns.map((chain) => field(chain))),
    select_from: joinOf(field(['events'])),
    where: and(eventConditions(request, context)),
    order_by: [order(TIME, direction), order(field(['uuid']), direction)],
    limit: constant(BigInt(page.limit + 1)),
    offset: constant(BigInt(page.offset)),
  }
}
