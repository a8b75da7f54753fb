/** The actors behind a number of trends, and the events that it counts. */
import type { TrendsQuery } from '../../contract/insights/trends.ts'
import { type Refusal, refuseMember } from '../../errors.ts'
import type { Expr, SelectQuery } from '../../hogql/syntax/ast.ts'
import { alias, compare, constant, field, tuple } from '../../hogql/syntax/nodes.ts'
import { select } from '../../hogql/template.ts'
import type { ActorsPoint } from '../actors/point.ts'
import { requireStep } from '../dates/buckets.ts'
import { comparedRanges } from '../dates/date-range.ts'
import type { InsightContext, RunTree } from '../insight.ts'
import type { SplitBy } from '../members/bins.ts'
import {
  type Breakdowns,
  breakdownText,
  edgesOfBin,
  hasBreakdown,
  NO_VALUE,
  OTHER_VALUES,
} from '../members/breakdown.ts'
import { allOf, eventsOf } from '../members/conditions.ts'
import { getSeries } from '../members/series.ts'
import { firstTimesTree } from './first-time.ts'
import { actorOfSeries, mathOf } from './math.ts'
import {
  eventsCondition,
  isCumulative,
  isTotal,
  splitNames,
  type TrendsPlan,
  trendsBreakdowns,
  trendsRange,
} from './plan.ts'
import { windowEndingAt } from './recent.ts'
import { isAmongOthers } from './trees.ts'
import { splitOf } from './trends.ts'

/**
 * Actors of a point, see `ActorsTree`. Refuses days, series, values and comparisons that the answer
 * does not have.
 */
export async function trendsActors(
  query: TrendsQuery,
  point: ActorsPoint,
  context: InsightContext,
  run: RunTree,
): Promise<SelectQuery> {
  const counted = await countedAt(query, point, context, run)
  if (counted.firsts !== null) {
    return select`select actor as actor_id, 1 as event_count from ${counted.firsts}`
  }
  const actor = alias(actorOfSeries(counted.plan.series), 'actor_id')
  return select`select ${actor}, count() as event_count from ${eventsOf(query)}
    where ${counted.condition} group by actor_id`
}

/** The condition that an event is counted by a point. Refuses what `trendsActors` does. */
export async function trendsEvents(
  query: TrendsQuery,
  point: ActorsPoint,
  context: InsightContext,
  run: RunTree,
): Promise<Expr> {
  const { plan, condition, firsts } = await countedAt(query, point, context, run)
  if (firsts === null) return condition
  const event = tuple([actorOfSeries(plan.series), field(['timestamp'])])
  return allOf(condition, compare(event, 'in', select`select actor, first_at from ${firsts}`))
}

type CountedEvents = {
  readonly plan: TrendsPlan
  readonly condition: Expr
  /** Of first-time math, which counts one event of each actor: the rows of `firstTimesTree`; otherwise null. */
  readonly firsts: SelectQuery | null
}

/** The events that a point counts. */
async function countedAt(
  query: TrendsQuery,
  point: ActorsPoint,
  context: InsightContext,
  run: RunTree,
): Promise<CountedEvents> {
  const line = lineOf(query, point, context)
  const values = valuesOf(line, point)
  const whole = await withEdges(line, values, run)
  const plan = atPoint(whole, point)
  const math = mathOf(plan.series, plan.range.interval)
  if (math.kind !== 'first_time') {
    const condition = allOf(eventsCondition(plan), splitCondition(whole, values))
    return { plan, condition, firsts: null }
  }
  const texts = splitNames(plan)
  const has = values.map((value, index) =>
    compare(texts[index] ?? constant(''), '==', constant(value)),
  )
  const is_value = values.includes(OTHER_VALUES) ? isAmongOthers(whole, texts) : allOf(...has)
  const firsts = select`select actor, first_at from ${firstTimesTree(plan, math.first)} where ${is_value}`
  return { plan, condition: eventsCondition(plan), firsts }
}

/**
 * The line with all edges of a histogram whose point has no value, or stands for the values beyond the limit. The chart
 * cuts its bins from the current range, and numbers of other times that are in none of them have no value there.
 */
async function withEdges(
  line: TrendsPlan,
  values: readonly string[],
  run: RunTree,
): Promise<TrendsPlan> {
  const { query, context, split } = line
  const needs_edges = split.map(
    ({ item }, index) =>
      item.bin_count !== null && (values[index] === NO_VALUE || values.includes(OTHER_VALUES)),
  )
  if (!needs_edges.includes(true)) return line
  const whole = await splitOf(query, { context, range: trendsRange(query, context), run })
  return {
    ...line,
    split: split.map((one, index) => (needs_edges[index] ? (whole[index] ?? one) : one)),
  }
}

/** The line of a point, over its whole range. */
function lineOf(query: TrendsQuery, point: ActorsPoint, context: InsightContext): TrendsPlan {
  const times = comparedRanges(query, trendsRange(query, context))
  const time = times.find(({ compare_label }) => (compare_label ?? 'current') === point.compare)
  if (time === undefined) {
    throw refuse('The query is compared with nothing.', 'compare')
  }
  const breakdowns = trendsBreakdowns(query)
  return {
    query,
    context,
    ...time,
    series: getSeries(query.series, point.series),
    is_total: isTotal(query),
    split: splitAt(breakdowns, point),
    cohort: cohortAt(breakdowns, point),
    values_max: breakdowns?.kind === 'values' ? breakdowns.limit : 1,
  }
}

/** The line limited to the bucket of a point. */
function atPoint(line: TrendsPlan, { day }: ActorsPoint): TrendsPlan {
  const step = day === null || line.is_total ? line.range : requireStep(line.range, day)
  const math = mathOf(line.series, line.range.interval)
  if (math.kind === 'recent_actors') {
    return { ...line, range: windowEndingAt({ ...line, range: step }, math.days) }
  }
  // A cumulative number includes everyone so far.
  const from_us = isCumulative(line.query) ? line.range.from_us : step.from_us
  return { ...line, range: { ...step, from_us } }
}

function cohortAt(
  breakdowns: Breakdowns | null,
  { breakdown }: ActorsPoint,
): number | 'all' | null {
  if (breakdowns?.kind !== 'cohorts') return null
  if (breakdown === null || breakdown === 'all' || Number(breakdown) === 0) return 'all'
  const id = Number(breakdown)
  if (breakdowns.cohorts.includes(id)) return id
  throw refuse('The query is not split by this cohort.', 'breakdown')
}

function splitAt(breakdowns: Breakdowns | null, { breakdown }: ActorsPoint): readonly SplitBy[] {
  if (breakdowns?.kind !== 'values' || breakdown === null) return []
  const values = textsOf(breakdown)
  return breakdowns.items.map((item, index) => {
    const value = values[index] ?? NO_VALUE
    const is_bin = item.bin_count !== null && value !== NO_VALUE && value !== OTHER_VALUES
    return { item, edges: is_bin ? edgesOfBin(value) : null }
  })
}

/** The breakdown values of a point, one per breakdown. */
function valuesOf({ split }: TrendsPlan, { breakdown }: ActorsPoint): readonly string[] {
  if (split.length === 0) return []
  const values = breakdown === null ? [] : textsOf(breakdown)
  if (values.length === split.length) return values
  throw refuse(`The query is split by ${split.length} things.`, 'breakdown')
}

const textsOf = (breakdown: NonNullable<ActorsPoint['breakdown']>): readonly string[] =>
  (typeof breakdown === 'object' ? breakdown : [breakdown]).map(String)

function splitCondition(whole: TrendsPlan, values: readonly string[]): Expr | null {
  if (values.length === 0) return null
  if (!values.includes(OTHER_VALUES)) {
    return allOf(
      ...whole.split.map(({ item, edges }, index) =>
        values[index] === NO_VALUE
          ? compare(breakdownText(item, edges), '==', constant(NO_VALUE))
          : hasBreakdown(item, values[index] ?? ''),
      ),
    )
  }
  return isAmongOthers(
    whole,
    whole.split.map(({ item, edges }) => breakdownText(item, edges)),
  )
}

function refuse(detail: string, member: string): Refusal {
  return refuseMember(detail, `query__source__${member}`)
}
