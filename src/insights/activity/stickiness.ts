/** StickinessQuery: how many actors were active in exactly one bucket, two, three… */
import type { StickinessQuery } from '../../contract/insights/activity.ts'
import type { Series } from '../../contract/insights/parts.ts'
import { refuseMember } from '../../errors.ts'
import type { CompareOperator, Expr, SelectQuery } from '../../hogql/syntax/ast.ts'
import { call, compare, field, integer } from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'
import { type ActorsTree, COMPARED, NO_OPTIONS, type PointOptions } from '../actors/point.ts'
import { bucketsOf, inWholeSteps, requireFirstBucket } from '../dates/buckets.ts'
import {
  type ComparedRange,
  comparedRanges,
  firstEvent,
  type InsightDateRange,
  patientFreshnessOf,
  readRange,
  resolvedRange,
  withinRange,
} from '../dates/date-range.ts'
import type { InsightContext, InsightKind, RunTree } from '../insight.ts'
import { actorOf, hasActor } from '../members/actor.ts'
import { allOf, eventsOf, queryCondition, scaleSample } from '../members/conditions.ts'
import { readExpression } from '../members/expression.ts'
import {
  actionOf,
  getSeries,
  type SeriesAt,
  seriesCondition,
  seriesLabel,
} from '../members/series.ts'
import { unionOfLines } from '../printed-lines.ts'
import { activeSteps, maskColumns, masksOf, stepIndex } from './step-masks.ts'

export const STICKINESS: InsightKind<StickinessQuery> = {
  rangeOf: (query, dates) => patientFreshnessOf(readRange(query, dates)),
  answer: async (query, context, run) => {
    const range = readRange(query, context, { earliest_us: await firstEvent(query, run) })
    const spans = comparedRanges(query, range)
    const answers: { readonly result: object; readonly hogql: string }[] = []
    for (const span of spans) {
      for (const index of query.series.keys()) {
        const series = getSeries(query.series, index)
        answers.push(await answerSeries({ query, context, series, span }, run))
      }
    }
    return {
      results: answers.map(({ result }) => result),
      hogql: unionOfLines(
        answers.map(({ hogql }) => hogql),
        context,
      ),
      metadata: { resolved_date_range: resolvedRange(range) },
    }
  },
}

type StickinessRequest = {
  readonly query: StickinessQuery
  readonly context: InsightContext
  readonly series: SeriesAt
  readonly span: ComparedRange
}

async function answerSeries(
  request: StickinessRequest,
  run: RunTree,
): Promise<{ readonly result: object; readonly hogql: string }> {
  const { query, context, series, span } = request
  const steps = stepsOf(query, span.range)
  const { rows, hogql } = await run(
    select`select active, count() as actors from ${actorsTree(request)} group by active order by active`,
  )
  const by_count = new Map(rows.map(([active, actors]) => [Number(active), Number(actors)]))
  const exactly = Array.from({ length: steps }, (_, at) => by_count.get(at + 1) ?? 0)
  const is_cumulative = query.stickinessFilter?.computedAs === 'cumulative'
  const data = (is_cumulative ? suffixSums(exactly) : exactly).map((count) =>
    scaleSample(count, query),
  )
  const { compare_label } = span
  const result = {
    // As many as there are actors, cumulated or not.
    count: exactly.reduce((sum, count) => sum + scaleSample(count, query), 0),
    data,
    days: data.map((_, at) => at + 1),
    label: seriesLabel(series.series, context),
    labels: data.map((_, at) => stepsLabel(at + 1, query)),
    ...(compare_label === null ? {} : { compare: true, compare_label }),
    action: actionOf(series, context),
  }
  return { result, hogql }
}

/** Suffix sums: actors with at least as many buckets. */
function suffixSums(counts: readonly number[]): readonly number[] {
  let sum = 0
  return counts
    .toReversed()
    .map((count) => (sum += count))
    .toReversed()
}

function stepsLabel(count: number, { interval, stickinessFilter }: StickinessQuery): string {
  const or_more = stickinessFilter?.computedAs === 'cumulative' ? ' or more' : ''
  return `${count} ${interval ?? 'day'}${count === 1 ? '' : 's'}${or_more}`
}

/** The number of buckets of the range, several intervals long each; the first may be shorter. */
function stepsOf({ intervalCount }: StickinessQuery, range: InsightDateRange): number {
  return Math.ceil(bucketsOf(range).length / (intervalCount ?? 1))
}

/** One row per actor: number of `active` buckets, and number of `events`. */
function actorsTree(request: StickinessRequest): SelectQuery {
  const { query, series, span } = request
  const masks = masksOf(stepsOf(query, span.range))
  const criteria = query.stickinessFilter?.stickinessCriteria ?? null
  const index = stepOf(request)
  const actor = actorOfSeries(series) ?? actorOf(groupTypeOf(query, series))
  if (criteria === null) {
    return select`select actor, ${activeSteps(masks)} as active, events
      from (select ${actor} as actor, count() as events, ${maskColumns(masks, index)}
        from ${eventsOf(query)} where ${conditionOf(request)} group by actor)`
  }
  const holds = compare(call('count', []), CRITERIA[criteria.operator], integer(criteria.value))
  return select`select actor, count() as active, sum(in_step) as events
    from (select ${actor} as actor, ${index} as step, count() as in_step
      from ${eventsOf(query)} where ${conditionOf(request)} group by actor, step having ${holds})
    group by actor`
}

const CRITERIA = { exact: '==', gte: '>=', lte: '<=' } as const satisfies Record<
  string,
  CompareOperator
>

function stepOf({ query, span }: StickinessRequest): Expr {
  const intervals = bucketsOf(span.range)
  const index = stepIndex(field(['timestamp']), span.range, requireFirstBucket(span.range))
  const length = query.intervalCount ?? 1
  if (length === 1) return index
  // Counted from the end of the range: the newest bucket is whole.
  const last = integer(intervals.length - 1)
  return expr`intDiv(${last} - ${index}, ${integer(length)})`
}

/** A series may count groups (`unique_group`); otherwise the query's actors apply. */
function groupTypeOf(query: StickinessQuery, { series }: SeriesAt): number | null {
  if (series.math === 'unique_group') return series.math_group_type_index ?? 0
  return query.aggregation_group_type_index ?? null
}

/** The actors of a series that counts the values of an expression (`hogql`); null for other series. */
function actorOfSeries({ series, index }: SeriesAt): Expr | null {
  if (!countsValues(series) || !series.math_hogql) return null
  return expr`toString(${readExpression(series.math_hogql, `query__series__${index}__math_hogql`)})`
}

/** Whether the actors of a series are values of an expression, neither persons nor groups. */
export const countsValues = ({ math, math_hogql }: Series): boolean =>
  math === 'hogql' && Boolean(math_hogql)

function conditionOf({ query, context, series, span }: StickinessRequest): Expr {
  const actor = actorOfSeries(series)
  return allOf(
    withinRange(inWholeSteps(span.range)),
    seriesCondition(series, context),
    queryCondition(query, context),
    actor === null ? hasActor(groupTypeOf(query, series)) : expr`isNotNull(${actor})`,
  )
}

/** Actors by their number of active buckets (`exact`, `gte`, `lte`); without an operator as the answer counts. */
export const stickinessActors: ActorsTree<StickinessQuery> = (query, point, context) => {
  const range = readRange(query, context)
  const series = getSeries(query.series, point.series)
  const spans = comparedRanges(query, range)
  const span = spans.find(({ compare_label }) => compare_label === point.compare) ?? {
    range,
    compare_label: null,
  }
  const tree = actorsTree({ query, context, series, span })
  const rows = select`select actor as actor_id, events as event_count from ${tree}`
  if (point.steps === null) return rows
  const default_operator = query.stickinessFilter?.computedAs === 'cumulative' ? 'gte' : 'exact'
  const operator = requireOperator(point.operator ?? default_operator)
  return { ...rows, where: compare(field(['active']), operator, integer(point.steps)) }
}

function requireOperator(name: string): CompareOperator {
  const criterion = Object.entries(CRITERIA).find(([known]) => known === name)
  if (criterion !== undefined) return criterion[1]
  const detail = `${JSON.stringify(name.slice(0, 100))} is none of ${Object.keys(CRITERIA).join(', ')}.`
  throw refuseMember(detail, 'query__source__operator')
}

/** The choices of a stickiness. */
export function stickinessOptions(query: StickinessQuery, context: InsightContext): PointOptions {
  const range = readRange(query, context)
  const is_compared = query.compareFilter?.compare === true
  return {
    ...NO_OPTIONS,
    day: Array.from({ length: stepsOf(query, range) }, (_, at) => ({
      label: stepsLabel(at + 1, query),
      value: at + 1,
    })),
    series: query.series.map((series, value) => ({
      label: seriesLabel(series, context),
      value,
    })),
    compare: is_compared ? COMPARED : null,
  }
}
