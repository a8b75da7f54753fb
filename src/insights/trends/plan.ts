/** TrendsPlan: the lines of a trends query, one per series, period and cohort; each is one tree. */
import type { TrendsQuery } from '../../contract/insights/trends.ts'
import { refuseMember } from '../../errors.ts'
import type { Expr } from '../../hogql/syntax/ast.ts'
import { alias, compare, field, integer } from '../../hogql/syntax/nodes.ts'
import { bucketOf, inWholeSteps } from '../dates/buckets.ts'
import {
  type ComparedRange,
  comparedRanges,
  type InsightDateRange,
  readRange,
  withinRange,
} from '../dates/date-range.ts'
import type { InsightContext, InsightDates } from '../insight.ts'
import { hasActor } from '../members/actor.ts'
import type { SplitBy } from '../members/bins.ts'
import {
  type Breakdowns,
  breakdownText,
  COUNTRIES_MAX,
  readBreakdowns,
} from '../members/breakdown.ts'
import { allOf, queryCondition } from '../members/conditions.ts'
import { getSeries, type SeriesAt, seriesCondition } from '../members/series.ts'
import { groupTypeOf } from './math.ts'

/** Displays of one number per line instead of one per bucket. */
const TOTAL_DISPLAYS: ReadonlySet<string> = new Set([
  'ActionsBarValue',
  'ActionsPie',
  'ActionsTable',
  'BoldNumber',
  'WorldMap',
])

/** Maximum lines of a query. */
const LINES_MAX = 100

/** One line of the chart, or several with a breakdown. */
export type TrendsPlan = ComparedRange & {
  readonly query: TrendsQuery
  readonly context: InsightContext
  readonly series: SeriesAt
  /** One number, not one per bucket. */
  readonly is_total: boolean
  readonly split: readonly SplitBy[]
  /** The cohort of this line; null without a cohort breakdown. */
  readonly cohort: number | 'all' | null
  /** Maximum distinct values. */
  readonly values_max: number
}

/** Whether the query asks for totals. */
export function isTotal({ trendsFilter }: TrendsQuery): boolean {
  return TOTAL_DISPLAYS.has(trendsFilter?.display ?? '')
}

/** Whether each number includes all before it. */
export function isCumulative({ trendsFilter }: TrendsQuery): boolean {
  return trendsFilter?.display === 'ActionsLineGraphCumulative'
}

/** The range of a query; totals count by days, a bold number to the instant. */
export function trendsRange(
  query: TrendsQuery,
  dates: InsightDates,
  earliest_us: bigint | null = null,
): InsightDateRange {
  const { dateRange, interval } = query
  const is_exact = query.trendsFilter?.display === 'BoldNumber'
  const timed = { dateRange, interval: isTotal(query) ? ('day' as const) : interval }
  return readRange(timed, dates, { earliest_us, is_exact })
}

/** The breakdowns of a query; a world map has a higher limit of countries. */
export function trendsBreakdowns({
  breakdownFilter,
  trendsFilter,
}: TrendsQuery): Breakdowns | null {
  const breakdowns = readBreakdowns(breakdownFilter)
  const is_map = trendsFilter?.display === 'WorldMap' && !breakdownFilter?.breakdown_limit
  if (breakdowns?.kind !== 'values' || !is_map) return breakdowns
  return { ...breakdowns, limit: COUNTRIES_MAX }
}

/** The lines of a query: first those of its own range, then those of the comparison period. */
export function planLines(
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
    const detail = `The query has ${count} lines; ${LINES_MAX} are the most.`
    throw refuseMember(detail, 'query__breakdownFilter__breakdown')
  }
  return comparedRanges(query, range).flatMap((time) =>
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

/** The breakdown columns, in order. */
export function splitColumns({ split }: TrendsPlan): readonly Expr[] {
  return split.map(({ item, edges }, index) => alias(breakdownText(item, edges), `split_${index}`))
}

/** The bucket of an event as a column. */
export function bucketColumn({ range }: TrendsPlan): Expr {
  return alias(bucketOf(field(['timestamp']), range), 'bucket')
}

/** The names of the columns of `splitColumns`. */
export function splitNames({ split }: TrendsPlan): readonly Expr[] {
  return split.map((_, index) => field([`split_${index}`]))
}

/** The condition that an event's actor is in the line's cohort. */
export function cohortCondition({ cohort }: TrendsPlan): Expr | null {
  if (cohort === null || cohort === 'all') return null
  return compare(field(['person_id']), 'in cohort', integer(cohort))
}

/** The condition on the events of a line. */
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
