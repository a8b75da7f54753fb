/**
 * FunnelCorrelationQuery: events and properties that correlate with converting in a funnel, by odds
 * ratios.
 */
import type {
  FunnelCorrelationActorsQuery,
  FunnelCorrelationQuery,
} from '../../contract/insights/correlation.ts'
import { refuseMember } from '../../errors.ts'
import type { Expr, SelectQuery } from '../../hogql/syntax/ast.ts'
import { constant, integer, NOWHERE } from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'
import { freshnessOf, readRange, sinceFirstEvent } from '../dates/date-range.ts'
import { readElements } from '../elements.ts'
import { groupCondition, personCondition } from '../filters/person-filters.ts'
import type { InsightContext, InsightKind } from '../insight.ts'
import { allOf, scaleSample } from '../members/conditions.ts'
import { seriesCondition } from '../members/series.ts'
import {
  type CorrelationRequest,
  correlatedEventsTree,
  correlatedItemsTree,
  correlationPersonsTree,
  ELEMENTS_DIVIDER,
  readCorrelation,
} from './trees.ts'

/** Maximum results for success and for failure. */
const RESULTS_MAX = 10
/** Minimum actors, and minimum share of actors: rarer items are not significant. */
const ACTORS_MIN = 25
const SHARE_MIN = 0.02
/** With more than this ratio between converted and dropped actors, odds are unreliable. */
const SKEW_MAX = 10
/** Maximum distinct items compared: the most common ones. */
const ITEMS_MAX = 20_000

type FunnelTotals = { readonly successes: number; readonly failures: number }

export const CORRELATION: InsightKind<FunnelCorrelationQuery> = {
  rangeOf: ({ source }, dates) => freshnessOf(readRange(source.source, dates)),
  answer: async (query, context, run) => {
    const request = readCorrelation(await sinceFirst(query, context, run), context)
    const { rows, columns, types, hogql } = await run(countsTree(request))
    const { query: funnel } = request.funnel
    const count = (value: unknown): number => scaleSample(Number(value ?? 0), funnel)
    const totals = { successes: count(rows[0]?.[0]), failures: count(rows[0]?.[1]) }
    const things = rows.flatMap(([, , name, success, failure]) =>
      typeof name === 'string'
        ? [{ name, success_count: count(success), failure_count: count(failure) }]
        : [],
    )
    return {
      results: computeCorrelations(things, totals, query),
      hogql,
      metadata: { columns, types, hasMore: false, limit: RESULTS_MAX * 2, offset: 0 },
    }
  },
}

/** The query with the first event's time as `date_from`, where that is `all`. */
async function sinceFirst(
  query: FunnelCorrelationQuery,
  context: InsightContext,
  run: Parameters<(typeof CORRELATION)['answer']>[2],
): Promise<FunnelCorrelationQuery> {
  const source = await sinceFirstEvent(query.source.source, context, run)
  return { ...query, source: { ...query.source, source } }
}

/** Rows of both totals with an item each, and how many of either side have it; at least one row. */
function countsTree(request: CorrelationRequest): SelectQuery {
  const counts = select`select name, countDistinctIf(actor_id, converted) as successes,
      countDistinctIf(actor_id, not converted) as failures
    from ${correlatedItemsTree(request)}
    group by name having successes + failures >= ${integer(minimumOf(request))}
    order by successes + failures desc, name asc`
  const limited = { ...counts, limit: integer(ITEMS_MAX) }
  return withPeople(
    select`select totals.successes, totals.failures, counted.name, counted.successes, counted.failures
      from (select countDistinctIf(actor_id, converted) as successes,
        countDistinctIf(actor_id, not converted) as failures from people) as totals
      left join ${limited} as counted on 1 = 1`,
    request,
  )
}

/** Properties have a long tail of rare values, so a minimum applies. */
const minimumOf = ({ query }: CorrelationRequest): number =>
  query.funnelCorrelationType === 'event_with_properties' ? 3 : 1

function withPeople(tree: SelectQuery, request: CorrelationRequest): SelectQuery {
  const people = {
    kind: 'CTE' as const,
    ...NOWHERE,
    name: 'people',
    expr: correlationPersonsTree(request),
    cte_type: 'subquery' as const,
    recursive: false,
    materialized: null,
    columns: null,
    using_key: null,
  }
  return { ...tree, ctes: [people] }
}

type CorrelatedItem = {
  readonly name: string
  readonly success_count: number
  readonly failure_count: number
}

/** Odds ratios per item, the strongest of success first; nothing where either side has no actors. */
export function computeCorrelations(
  things: readonly CorrelatedItem[],
  { successes, failures }: FunnelTotals,
  { funnelCorrelationType: type }: Pick<FunnelCorrelationQuery, 'funnelCorrelationType'>,
): { readonly events: readonly object[]; readonly skewed: boolean } {
  if (successes === 0 || failures === 0) return { events: [], skewed: true }
  const least = Math.min(ACTORS_MIN, SHARE_MIN * (successes + failures))
  const odds = things
    .filter(({ success_count, failure_count }) => success_count + failure_count >= least)
    .map(({ name, success_count: s, failure_count: f }) => {
      const odds_ratio = ((s + 1) * (failures - f + 1)) / ((successes - s + 1) * (f + 1))
      return { name, success_count: s, failure_count: f, odds_ratio }
    })
  const of_success = odds
    .filter(({ odds_ratio }) => odds_ratio > 1)
    .toSorted((a, b) => b.odds_ratio - a.odds_ratio)
  const of_failure = odds
    .filter(({ odds_ratio }) => odds_ratio <= 1)
    .toSorted((a, b) => a.odds_ratio - b.odds_ratio)
  const results = [...of_success.slice(0, RESULTS_MAX), ...of_failure.slice(0, RESULTS_MAX)]
  return {
    events: results.map(({ name, ...counts }) => ({
      ...counts,
      event: serializeItem(name, type),
      correlation_type: counts.odds_ratio > 1 ? 'success' : 'failure',
    })),
    skewed: successes / failures > SKEW_MAX || failures / successes > SKEW_MAX,
  }
}

/** An item as shown in answers; autocaptured events with their elements. */
function serializeItem(
  name: string,
  type: FunnelCorrelationQuery['funnelCorrelationType'],
): object {
  const plain = { event: name, properties: {}, elements: [] }
  if (type !== 'event_with_properties') return plain
  const [, value] = name.split('::elements_chain::')
  if (value === undefined) return plain
  const [event_type = '', chain = ''] = value.split(ELEMENTS_DIVIDER)
  return { ...plain, properties: { $event_type: event_type }, elements: readElements(chain) }
}

/**
 * The actors behind a correlation: rows of `actor_id` and `event_count`. Refuses queries that do
 * not name one.
 */
export function correlationActors(
  query: FunnelCorrelationActorsQuery,
  context: InsightContext,
): SelectQuery {
  const request = readCorrelation(query.source, context)
  const converted = query.funnelCorrelationPersonConverted ?? null
  const side = converted === null ? null : expr`converted = ${constant(converted)}`
  const tree = select`select actor_id, count() as event_count from ${actorsOfItemTree(query, request)}
    where ${allOf(side)} group by actor_id`
  return withPeople(tree, request)
}

/** Rows of `actor_id` and `converted` that have the item within the funnel. */
function actorsOfItemTree(
  query: FunnelCorrelationActorsQuery,
  request: CorrelationRequest,
): SelectQuery {
  const { funnelCorrelationPersonEntity: entity, funnelCorrelationPropertyValues: values } = query
  if (entity) {
    const member = 'funnelCorrelationPersonEntity'
    const did = seriesCondition({ series: entity, index: 0 }, request.context, member)
    return correlatedEventsTree(request, did, [])
  }
  if (!values || (Array.isArray(values) && values.length === 0)) {
    throw refuseMember(
      'No entity for persons specified',
      'query__source__funnelCorrelationPersonEntity',
    )
  }
  const group_type = request.funnel.query.aggregation_group_type_index ?? null
  const filters = {
    ...request.context,
    prefix: ['known'],
    attr: 'query__source__funnelCorrelationPropertyValues',
  }
  if (group_type === null) {
    return select`select people.actor_id as actor_id, people.converted as converted
      from people join persons as known on known.id = people.actor_id
      where ${orAll(personCondition(values, filters))}`
  }
  return select`select people.actor_id as actor_id, people.converted as converted
    from people join groups as known on known.key = people.actor_id
    where known.index = ${integer(group_type)} and ${orAll(groupCondition(values, filters))}`
}

const orAll = (condition: Expr | null): Expr => condition ?? constant(true)
