/** Correlations as trees: the events and properties of a funnel's actors while they are in it. */
import type { FunnelCorrelationQuery } from '../../contract/insights/correlation.ts'
import type { Series } from '../../contract/insights/parts.ts'
import { refuseMember } from '../../errors.ts'
import type { Expr, SelectQuery } from '../../hogql/syntax/ast.ts'
import { alias, call, constant, field, integer } from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'
import { withinRange } from '../dates/date-range.ts'
import { stepActorsTree } from '../funnels/actors.ts'
import { originOf } from '../funnels/actors-tree.ts'
import { type Funnel, readInnerFunnel } from '../funnels/definition.ts'
import { takenAt, tookStep } from '../funnels/steps.ts'
import type { InsightContext } from '../insight.ts'
import { stepsOf } from '../members/actions.ts'
import { allOf, eventsOf, queryCondition } from '../members/conditions.ts'
import { findAction } from '../members/series.ts'

/** A correlation with its parsed funnel. */
export type CorrelationRequest = {
  readonly query: FunnelCorrelationQuery
  readonly context: InsightContext
  readonly funnel: Funnel
}

const AUTOCAPTURE = '$autocapture'
/** The separator of event type and elements in an autocaptured item's name. */
export const ELEMENTS_DIVIDER = '__~~__'

/** Parses a correlation. Refuses as its funnel does. */
export function readCorrelation(
  query: FunnelCorrelationQuery,
  context: InsightContext,
): CorrelationRequest {
  return {
    query,
    context,
    funnel: readInnerFunnel(query.source.source, context, 'source__source'),
  }
}

/**
 * Rows of `actor_id`, `converted`, and the time they were in the funnel (`first_us`, `last_us`).
 * Broken down by all events or by a step, an actor has a row per value, and may be on both sides.
 */
export function correlationPersonsTree({ query, funnel }: CorrelationRequest): SelectQuery {
  const last = funnel.steps.length - 1
  const people = stepActorsTree(funnel, {
    ...query.source,
    funnelStep: query.source.funnelStep ?? 1,
  })
  const origin = constant(originOf(funnel))
  const [converted, came, began] = [tookStep(last), takenAt(last), firstTaken()]
  const over = expr`${began} + ${integer(funnel.window_us)}`
  return select`select actor_id, ${converted} as converted,
    ${origin} + toInt(${began}) as first_us,
    ${origin} + toInt(if(${converted}, ${came}, ${over})) as last_us
    from ${people}`
}

/** The time of the first step; in an unordered funnel of the first one taken. */
const firstTaken = (): Expr => takenAt(0)

/** Rows of `actor_id`, `converted` and `name` per item of a row of `people`, with repetitions. */
export function correlatedItemsTree(request: CorrelationRequest): SelectQuery {
  switch (request.query.funnelCorrelationType) {
    case 'events':
      return select`select actor_id, converted, event as name from ${correlatedEventsTree(request, null, [])}`
    case 'event_with_properties':
      return eventProperties(request)
    case 'properties':
      return actorProperties(request)
  }
}

/** Rows of `actor_id`, `converted`, `event` and further columns: events of actors between their first step and the end. */
export function correlatedEventsTree(
  request: CorrelationRequest,
  condition: Expr | null,
  columns: readonly Expr[],
): SelectQuery {
  const { funnel, context, query } = request
  const left_out = [...stepEvents(funnel), ...(query.funnelCorrelationExcludeEventNames ?? [])].map(
    (name) => constant(name),
  )
  const is_included =
    left_out.length === 0 ? null : expr`not has(${call('array', left_out)}, event)`
  const events = select`select ${[alias(funnel.actor, 'actor_id'), field(['event']), ...columns]},
    toUnixTimestamp64Micro(timestamp) as at_us from ${eventsOf(funnel.query)}
    where ${allOf(withinRange(funnel.range), queryCondition(funnel.query, context), funnel.has_actor, is_included, condition)}`
  const event_columns = columns.map((column) => field(['done', nameOf(column)]))
  return select`select done.actor_id as actor_id, people.converted as converted,
      ${[expr`done.event as event`, ...event_columns]}
    from ${events} as done join people on people.actor_id = done.actor_id
    where done.at_us > people.first_us and done.at_us < people.last_us`
}

function nameOf(column: Expr): string {
  if (column.kind === 'Alias') return column.alias
  throw new Error('a column of doings has no name')
}

/** The named events by each of their properties; autocaptured ones by type and elements. */
function eventProperties(request: CorrelationRequest): SelectQuery {
  const { query } = request
  const names = query.funnelCorrelationEventNames ?? []
  if (names.length === 0) {
    const detail =
      'Event Property Correlation expects at least one event name to run correlation on'
    throw refuseMember(detail, 'query__funnelCorrelationEventNames')
  }
  const is_named = expr`has(${texts(names)}, event)`
  const pairs = names.includes(AUTOCAPTURE)
    ? expr`[('elements_chain', concat(ifNull(toString(properties.$event_type), ''), ${constant(ELEMENTS_DIVIDER)}, elements_chain))]`
    : pairsOf(expr`properties`)
  const excluded = query.funnelCorrelationEventExcludePropertyNames ?? []
  const doings = correlatedEventsTree(request, is_named, [alias(pairs, 'pairs')])
  return select`select actor_id, converted, concat(event, '::', pair.1, '::', pair.2) as name
    from (select actor_id, converted, event, arrayJoin(pairs) as pair from ${doings})
    where ${withoutNames(excluded)}`
}

/** Actors by the named properties. */
function actorProperties(request: CorrelationRequest): SelectQuery {
  const { query, funnel } = request
  const names = query.funnelCorrelationNames ?? []
  if (names.length === 0) {
    const detail = 'Property Correlation expects at least one Property to run correlation on'
    throw refuseMember(detail, 'query__funnelCorrelationNames')
  }
  const group_type = funnel.query.aggregation_group_type_index ?? null
  const pairs = names.includes('$all')
    ? pairsOf(expr`known.properties`)
    : call(
        'array',
        names.map((name) => {
          const value = field(['known', 'properties', name])
          return expr`(${constant(name)}, ifNull(toString(${value}), ''))`
        }),
      )
  const known =
    group_type === null
      ? select`select people.actor_id as actor_id, people.converted as converted, ${pairs} as pairs
          from people join persons as known on known.id = people.actor_id`
      : select`select people.actor_id as actor_id, people.converted as converted, ${pairs} as pairs
          from people join groups as known on known.key = people.actor_id
          where known.index = ${integer(group_type)}`
  return select`select actor_id, converted, concat(pair.1, '::', pair.2) as name
    from (select actor_id, converted, arrayJoin(pairs) as pair from ${known})
    where ${withoutNames(query.funnelCorrelationExcludeNames ?? [])}`
}

/** Members of a JSON object with their values as texts. */
const pairsOf = (json: Expr): Expr =>
  expr`arrayMap(pair -> (pair.1, trim(BOTH '"' FROM pair.2)), JSONExtractKeysAndValuesRaw(${json}))`

const texts = (names: readonly string[]): Expr =>
  call(
    'array',
    names.map((name) => constant(name)),
  )

const withoutNames = (names: readonly string[]): Expr =>
  names.length === 0 ? constant(true) : expr`not has(${texts(names)}, pair.1)`

/** Event names of the steps and of their actions, which correlations exclude. */
function stepEvents({ query, context }: Funnel): readonly string[] {
  const names = query.series.flatMap((series) => eventsOfSeries(series, context))
  return [...new Set(names)].toSorted((a, b) => (a < b ? -1 : 1))
}

function eventsOfSeries(series: Series, context: InsightContext): readonly string[] {
  switch (series.kind) {
    case 'EventsNode':
      return series.event ? [series.event] : []
    case 'ActionsNode':
      const action = findAction(series.id, context)
      return action === null ? [] : stepsOf(action).flatMap(({ event }) => event ?? [])
    case 'GroupNode':
      return series.nodes.flatMap((node) => eventsOfSeries(node, context))
  }
}
