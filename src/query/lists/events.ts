/** Lists of events and the values of their properties, as trees. */
import type { Expr, Select } from '../../hogql/ast.ts'
import type { KnownPropertyType } from '../../hogql/context.ts'
import { and, call, compare, constant, field, joinOf, order, selectOf } from '../../hogql/nodes.ts'
import type { DateContext } from '../../insights/dates.ts'
import { filterCondition, instant } from '../../insights/filters/property-filters.ts'

/** Which events are asked for; null for all. Times are microseconds since 1970 UTC, and not in the list themselves. */
export type EventListRequest = {
  readonly after_us: bigint | null
  readonly before_us: bigint | null
  /** The event of this id alone. */
  readonly uuid?: string
  readonly event: string | null
  readonly distinct_id: string | null
  /** A person's id, in lower case. */
  readonly person_id: string | null
  /** Property filters, all of which hold. */
  readonly properties: unknown
}

export type EventContext = DateContext & {
  readonly property_types: ReadonlyMap<string, KnownPropertyType>
}

type EventListCondition = (request: EventListRequest, context: EventContext) => Expr | null

/** What narrows a list of events, one line each. */
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

/** The columns of an event in a list, in this order; texts of JSON stay texts. Those of its person come last. */
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

/** Which events of those that were asked for, and whether with their persons. */
export type EventsPage = {
  readonly limit: number
  readonly offset: number
  readonly is_oldest_first: boolean
  readonly has_persons: boolean
}

/** Conditions on rows of events. */
export function eventConditions(request: EventListRequest, context: EventContext): readonly Expr[] {
  return CONDITIONS.flatMap((condition) => condition(request, context) ?? [])
}

/** Rows of events, the newest first unless told. One more than the page says there is more. */
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
