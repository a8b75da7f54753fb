/** The numbers of trends that an actors query can choose from. */
import type { TrendsQuery } from '../../contract/insights/trends.ts'
import { COMPARED, NO_OPTIONS, type PointOptions } from '../actors/point.ts'
import { bucketsOf } from '../dates/buckets.ts'
import { firstEvent } from '../dates/date-range.ts'
import type { InsightContext, RunTree } from '../insight.ts'
import { breakdownLabel } from '../members/breakdown.ts'
import { seriesLabel } from '../members/series.ts'
import { isTotal, planLines, trendsBreakdowns, trendsRange } from './plan.ts'
import { trendsTree } from './trees.ts'
import { queryAll, splitOf, type TrendsContext } from './trends.ts'
import { linesOfRows } from './values.ts'

/** The buckets, series, periods and breakdown values of a query; the values are queried. */
export async function trendsOptions(
  query: TrendsQuery,
  context: InsightContext,
  run: RunTree,
): Promise<PointOptions> {
  const range = trendsRange(query, context, await firstEvent(query, run))
  const days = bucketsOf(range).map(({ day, label }) => ({ label, value: day }))
  return {
    ...NO_OPTIONS,
    day: isTotal(query) ? null : days,
    series: query.series.map((series, value) => ({
      label: seriesLabel(series, context),
      value,
    })),
    compare: query.compareFilter?.compare === true ? COMPARED : null,
    ...(await valueOptions(query, { context, range, run })),
  }
}

async function valueOptions(
  query: TrendsQuery,
  { context, range, run }: TrendsContext,
): Promise<Partial<PointOptions>> {
  const breakdowns = trendsBreakdowns(query)
  if (breakdowns === null) return {}
  if (breakdowns.kind === 'cohorts') {
    const nameOf = (cohort: number | 'all'): string =>
      context.cohorts().find(({ id }) => id === cohort)?.name ?? 'all users'
    return {
      breakdown: breakdowns.cohorts.map((cohort) => ({ label: nameOf(cohort), value: cohort })),
    }
  }
  const split = await splitOf(query, { context, range, run })
  const found_values: (readonly string[])[] = []
  for (const plan of planLines({ ...query, compareFilter: null }, context, range, split)) {
    const { rows } = await queryAll(trendsTree(plan), context, run)
    const lines = await linesOfRows(plan, rows)
    found_values.push(...lines.map(({ values }) => values))
  }
  const columns = breakdowns.items.map((_, index) => {
    const values = new Set(found_values.map((one) => one[index] ?? ''))
    return { values: [...values].map((value) => ({ label: breakdownLabel([value]), value })) }
  })
  return breakdowns.is_multiple ? { breakdowns: columns } : { breakdown: columns[0]?.values ?? [] }
}
