/** EventsQuery: events as rows, or aggregations of them. */

import type { EventsQuery } from '../contract/insights/events.ts'
import { refuseMember } from '../errors.ts'
import type { Expr, JoinExpr, OrderExpr, SelectQuery } from '../hogql/syntax/ast.ts'
import {
  and,
  call,
  compare,
  constant,
  field,
  integer,
  joinOf,
  order,
  tuple,
} from '../hogql/syntax/nodes.ts'
import { expr, select } from '../hogql/template.ts'
import { SECOND_US } from '../time.ts'
import { isUuid } from '../uuid.ts'
import { namingProperties } from './actors/actor-columns.ts'
import { countedEvents, sourceOf } from './actors/actors-sources.ts'
import {
  arePlain,
  type ColumnWords,
  groupedBy,
  type OutputColumn,
  outputColumns,
  outputConditions,
  outputOrders,
  outputRows,
} from './actors/shown-columns.ts'
import { readDate } from './dates/dates.ts'
import { readElements } from './elements.ts'
import { instant } from './filters/filter-operators.ts'
import { filterCondition } from './filters/property-filters.ts'
import type { InsightContext, InsightDates, InsightKind, RunTree } from './insight.ts'
import { actorOf } from './members/actor.ts'
import { cutToPage, queryPage, readRowPage, serializePage } from './page.ts'

/** Events slightly in the future are listed too. */
const AHEAD_US = 5n * SECOND_US

/** Members of `*`, in order. */
const EVENT_MEMBERS = [
  'uuid',
  'event',
  'properties',
  'timestamp',
  'team_id',
  'distinct_id',
  'elements_chain',
  'created_at',
  'person_mode',
] as const

/** Column words for objects. */
const WORDS: ColumnWords = {
  '*': { expr: tuple(EVENT_MEMBERS.map((name) => field([name]))), read: readEvent },
  person: {
    expr: tuple([
      field(['person_id']),
      field(['person', 'created_at']),
      field(['person', 'properties']),
      field(['distinct_id']),
    ]),
    read: readPerson,
  },
}

/** The words of a project: its own properties name its persons. */
const wordsOf = (context: InsightContext): ColumnWords => ({
  ...WORDS,
  person_display_name: {
    expr: tuple([
      call('coalesce', [
        ...namingProperties(context).map(
          (name) => expr`nullIf(toString(${field(['person', 'properties', name])}), '')`,
        ),
        field(['distinct_id']),
      ]),
      field(['person_id']),
      field(['distinct_id']),
    ]),
    read: readDisplayName,
  },
})

type EventsCondition = (query: EventsQuery, context: InsightContext) => Expr | null

/** The conditions of the list, a line each. Adding a condition means adding a line. */
const CONDITIONS: readonly EventsCondition[] = [
  ({ event }) => (event ? compare(field(['event']), '==', constant(event)) : null),
  ({ events }) =>
    events && events.length > 0
      ? compare(field(['event']), 'in', tuple(events.map((name) => constant(name))))
      : null,
  ({ actionId }) => (actionId ? matchesAction(actionId) : null),
  ({ personId }) => (personId ? ofPerson(personId) : null),
  ({ where }) => and(outputConditions(where ?? []).where),
  ({ properties }, context) => readFilters(properties, 'query__properties', context),
  ({ fixedProperties }, context) => readFilters(fixedProperties, 'query__fixedProperties', context),
  ({ filterTestAccounts }, context) =>
    filterTestAccounts
      ? readFilters(context.test_account_filters, 'query__filterTestAccounts', context)
      : null,
  (query, context) => inTime(query, context),
]

/** Rows of events in the order of `select`. */
export const EVENTS_QUERY: InsightKind<EventsQuery> = {
  rangeOf: (query, dates) => {
    boundsOf(query, dates)
    // The newest events are requested: an answer is cached as long as one by minutes.
    return { interval: 'minute', ends_at_ms: null }
  },
  list: async (query, context, run) => {
    const { tree, columns } = await wholeList(query, context, run)
    return arePlain(columns) ? { tree: cutToPage(tree, query), columns: query.select } : null
  },
  answer: async (query, context, run) => {
    const { tree, columns } = await wholeList(query, context, run)
    const page = readRowPage(query, context)
    const page_rows = await queryPage(tree, page, { run, rows_max: context.rows_max })
    return {
      results: outputRows(page_rows.rows, columns),
      hogql: page_rows.hogql,
      metadata: { ...serializePage(page_rows, page), columns: query.select },
    }
  },
}

type EventsListTree = { readonly tree: SelectQuery; readonly columns: readonly OutputColumn[] }

async function wholeList(
  query: EventsQuery,
  context: InsightContext,
  run: RunTree,
): Promise<EventsListTree> {
  const words = wordsOf(context)
  const columns = outputColumns(query.select, words)
  if (columns.length === 0) {
    throw refuseMember('Name at least one column.', 'query__select')
  }
  const { events, condition } = await ofSource(query, context, run)
  const conditions = CONDITIONS.map((one) => one(query, context))
  const tree = {
    ...select`select ${columns.map((column) => column.expr)} from ${events}`,
    where: and([...conditions, condition]),
    group_by: groupedBy(columns),
    having: and(outputConditions(query.where ?? []).having),
    order_by: ordersOf(query, columns, words),
  }
  return { tree, columns }
}

/** The query's orders; by default aggregates, the largest first, or single events, the newest first. */
function ordersOf(
  { orderBy }: EventsQuery,
  columns: readonly OutputColumn[],
  words: ColumnWords,
): readonly OrderExpr[] {
  if (orderBy && orderBy.length > 0) return outputOrders(orderBy, words)
  const count_column = columns.find(({ name }) => name.startsWith('count()'))
  const sorted_by = count_column ?? columns.find((column) => column.has_aggregate)
  return [order(sorted_by?.expr ?? field(['timestamp']), 'DESC')]
}

function inTime(query: EventsQuery, dates: InsightDates): Expr | null {
  const { after_us, before_us } = boundsOf(query, dates)
  const time = field(['timestamp'])
  return and([
    ...(after_us === null ? [] : [compare(time, '>', instant(after_us))]),
    compare(time, '<', instant(before_us)),
  ])
}

/** The range of the list, µs since 1970; by default the last day. Refuses texts that are not dates. */
export function boundsOf(
  { after, before }: Pick<EventsQuery, 'after' | 'before'>,
  dates: InsightDates,
): { readonly after_us: bigint | null; readonly before_us: bigint } {
  const now_us = BigInt(dates.now.getTime()) * 1000n
  return {
    after_us: after === 'all' ? null : readDate(after || '-24h', dates, 'query__after'),
    before_us: before ? readDate(before, dates, 'query__before') : now_us + AHEAD_US,
  }
}

/** The condition that an event is of one person. Refuses texts that are not person ids. */
export function ofPerson(person_id: string): Expr {
  if (!isUuid(person_id)) {
    throw refuseMember('Must be a valid UUID.', 'query__personId')
  }
  return compare(field(['person_id']), '==', call('toUUID', [constant(person_id.toLowerCase())]))
}

/** The events behind a source: those that its number counts, or all of its actors, persons or groups. */
async function ofSource(
  { source }: EventsQuery,
  context: InsightContext,
  run: RunTree,
): Promise<{ readonly events: JoinExpr; readonly condition: Expr | null }> {
  const events = joinOf(field(['events']))
  if (!source) return { events, condition: null }
  const counted = await countedEvents(source, context, run)
  if (counted !== null) return counted
  const { tree, id, group_type_index } = await sourceOf(source, context, run)
  const actor = expr`toString(${actorOf(group_type_index)})`
  const ids = select`select toString(${field([id])}) from ${tree}`
  return { events, condition: compare(actor, 'in', ids) }
}

/** The condition that an event is one of an action. */
export const matchesAction = (id: number): Expr => call('matchesAction', [integer(id)])

function readFilters(filters: unknown, attr: string, context: InsightContext): Expr | null {
  return filterCondition(filters, { ...context, prefix: [], attr })
}

/** An event as an object: properties as sent, and the parsed elements of its chain. */
function readEvent(value: unknown): unknown {
  if (!Array.isArray(value)) return value
  const members = EVENT_MEMBERS.map((name, index) => {
    const member: unknown = value[index]
    return [name, name === 'properties' ? JSON.parse(String(member)) : member] as const
  })
  const event = Object.fromEntries(members)
  const chain = String(event['elements_chain'] ?? '')
  return chain === '' ? event : { ...event, elements: readElements(chain) }
}

function readDisplayName(value: unknown): unknown {
  if (!Array.isArray(value)) return value
  const [display_name, id, distinct_id]: readonly unknown[] = value
  return { display_name, id, distinct_id }
}

/** A person without a profile has a distinct id only. */
function readPerson(value: unknown): unknown {
  if (!Array.isArray(value)) return value
  const [uuid, created_at, properties, distinct_id]: readonly unknown[] = value
  if (typeof properties !== 'string') return { distinct_id }
  return { uuid, created_at, properties: JSON.parse(properties), distinct_id }
}
