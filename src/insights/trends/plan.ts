/** What trends ask the engine: one line each for every series, and every time and cohort it is counted in. */
import type { TrendsQuery } from '../../contract/insights/trends.ts'
import { Refusal } from '../../errors.ts'
import type { Expr } from '../../hogql/ast.ts'
import { alias, compare, constant, field } from '../../hogql/nodes.ts'
import { hasActor } from '../actor.ts'
import type { SplitBy } from '../bins.ts'
import { type Breakdowns, breakdownText, COUNTRIES_MAX, readBreakdowns } from '../breakdown.ts'
import { bucketOf, inWholeSteps } from '../buckets.ts'
import { allOf, queryCondition } from '../conditions.ts'
import { type InsightDateRange, previousRange, readRange, withinRange } from '../date-range.ts'
import type { InsightContext, InsightDates } from '../insight.ts'
import { getSeries, type SeriesAt, seriesCondition } from '../series.ts'
import { groupTypeOf } from './math.ts'

/** Displays that show one number each, and not one per step of time. */
const TOTAL_DISPLAYS: ReadonlySet<string> = new Set([
  'ActionsBarValue',
  'ActionsPie',
  'ActionsTable',
  'BoldNumber',
  'WorldMap',
])

/** The most lines of a query, each of which is asked for by itself. */
const LINES_MAX = 100

/** One line of the chart, or several where it is split. */
export type TrendsPlan = {
  readonly query: TrendsQuery
  readonly context: InsightContext
  readonly series: SeriesAt
  readonly range: InsightDateRange
  readonly compare_label: 'current' | 'previous' | null
  /** One number, not one per step of time. */
  readonly is_total: boolean
  readonly split: readonly SplitBy[]
  /** The cohort this line is about; null where the query is not split by cohorts. */
  readonly cohort: number | 'all' | null
  /** The most values told apart. */
  readonly values_max: number
}

/** Whether the query wants one number for the whole time. */
export function isTotal({ trendsFilter }: TrendsQuery): boolean {
  return TOTAL_DISPLAYS.has(trendsFilter?.display ?? '')
}

/** Whether each number holds all before it. */
export function isCumulative({ trendsFilter }: TrendsQuery): boolean {
  return trendsFilter?.display === 'ActionsLineGraphCumulative'
}

/** The time of a query; one number counts by days, one bold number to the instant. */
export function trendsRange(
  query: TrendsQuery,
  dates: InsightDates,
  earliest_us: bigint | null = null,
): InsightDateRange {
  const { dateRange, interval } = query
  const exact = query.trendsFilter?.display === 'BoldNumber'
  const timed = { dateRange, interval: isTotal(query) ? ('day' as const) : interval }
  return readRange(timed, dates, { earliest_us, exact })
}

/** What a query is split by; a map tells more countries apart than a chart. */
export function trendsBreakdowns({
  breakdownFilter,
  trendsFilter,
}: TrendsQuery): Breakdowns | null {
  const breakdowns = readBreakdowns(breakdownFilter)
  const is_map = trendsFilter?.display === 'WorldMap' && !breakdownFilter?.breakdown_limit
  if (breakdowns?.kind !== 'values' || !is_map) return breakdowns
  return { ...breakdowns, limit: COUNTRIES_MAX }
}

/** The time itself and what it is compared with. */
export function timesOf(
  { compareFilter }: TrendsQuery,
  range: InsightDateRange,
): readonly Pick<TrendsPlan, 'compare_label' | 'range'>[] {
  if (compareFilter?.compare !== true) return [{ range, compare_label: null }]
  return [
    { range, compare_label: 'current' },
    { range: previousRange(range, compareFilter.compare_to ?? null), compare_label: 'previous' },
  ]
}

/** Every line of the query: first those of its own time, then those of the time it is compared with. */
export function linesOf(
  query: TrendsQuery,
  context: InsightContext,
  range: InsightDateRange,
  split: readonly SplitBy[],
): readonly TrendsPlan[] {
  const breakdowns = trendsBreakdowns(query)
  const cohorts = breakdowns?.kind === 'cohorts' ? breakdowns.cohorts : [null]
  const values_max = breakdowns?.kind === 'values' ? breakdowns.limit : 1
  const about = { query, context, is_total: isTotal(query), split, values_max }
  const count = query.series.length * cohorts.length
  if (count > LINES_MAX) {
    const detail = `The question has ${count} lines; ${LINES_MAX} are the most.`
    throw new Refusal('invalid_input', detail, { attr: 'query__breakdownFilter__breakdown' })
  }
  return timesOf(query, range).flatMap((time) =>
    cohorts.flatMap((cohort) =>
      [...query.series.keys()].map((index) => ({
        ...about,
        ...time,
        cohort,
        series: getSeries(query.series, index),
      })),
    ),
  )
}

/** The columns that events are told apart by, in their order: what they are split by. */
export function splitColumns({ split }: TrendsPlan): readonly Expr[] {
  return split.map(({ item, edges }, index) => alias(breakdownText(item, edges), `split_${index}`))
}

/** The step of an event, as a column. */
export function bucketColumn({ range }: TrendsPlan): Expr {
  return alias(bucketOf(field(['timestamp']), range), 'bucket')
}

/** The names of the columns that `splitColumns` made. */
export function splitNames({ split }: TrendsPlan): readonly Expr[] {
  return split.map((_, index) => field([`split_${index}`]))
}

/** The condition that an event is of somebody in the line's cohort. */
export function cohortCondition({ cohort }: TrendsPlan): Expr | null {
  if (cohort === null || cohort === 'all') return null
  return compare(field(['person_id']), 'in cohort', constant(BigInt(cohort)))
}

/** What holds for the events of a line. */
export function eventsCondition(plan: TrendsPlan): Expr {
  const { query, context, series, range } = plan
  return allOf(
    withinRange(inWholeSteps(range)),
    seriesCondition(series, context),
    queryCondition(query, context),
    cohortCondition(plan),
    hasActor(groupTypeOf(series)),
  )
}
