/** Which numbers of trends there are to choose from, before asking who is behind one (wire §5.8). */
import type { TrendsQuery } from '../../contract/insights/trends.ts'
import { breakdownLabel } from '../breakdown.ts'
import { bucketsOf } from '../buckets.ts'
import { firstEvent, type Range } from '../date-range.ts'
import type { AskRows, InsightContext } from '../insight.ts'
import { COMPARED, NO_OPTIONS, type PointOptions } from '../people/point.ts'
import { seriesLabel } from '../series.ts'
import { askAll, splitOf } from '../trends.ts'
import { isTotal, linesOf, trendsBreakdowns, trendsRange } from './asked.ts'
import { trendsTree } from './trees.ts'
import { linesOfRows } from './values.ts'

/** The steps, series, times and values of a question; values that events are split by are asked for. */
export async function trendsOptions(
  question: TrendsQuery,
  context: InsightContext,
  ask: AskRows,
): Promise<PointOptions> {
  const range = trendsRange(question, context, await firstEvent(question, ask))
  const days = bucketsOf(range).map(({ day, label }) => ({ label, value: day }))
  return {
    ...NO_OPTIONS,
    day: isTotal(question) ? null : days,
    series: question.series.map((series, value) => ({
      label: seriesLabel(series, context),
      value,
    })),
    compare: question.compareFilter?.compare === true ? COMPARED : null,
    ...(await valueOptions(question, { context, range, ask })),
  }
}

type Asking = {
  readonly context: InsightContext
  readonly range: Range
  readonly ask: AskRows
}

async function valueOptions(
  question: TrendsQuery,
  { context, range, ask }: Asking,
): Promise<Partial<PointOptions>> {
  const breakdowns = trendsBreakdowns(question)
  if (breakdowns === null) return {}
  if (breakdowns.kind === 'cohorts') {
    const nameOf = (cohort: number | 'all'): string =>
      context.cohorts.find(({ id }) => id === cohort)?.name ?? 'all users'
    return {
      breakdown: breakdowns.cohorts.map((cohort) => ({ label: nameOf(cohort), value: cohort })),
    }
  }
  const split = await splitOf(question, { context, range, ask })
  const found: (readonly string[])[] = []
  for (const asked of linesOf({ ...question, compareFilter: null }, context, range, split)) {
    const { rows } = await askAll(trendsTree(asked), context, ask)
    found.push(...linesOfRows(asked, rows).map(({ values }) => values))
  }
  const columns = breakdowns.items.map((_, index) => {
    const values = new Set(found.map((one) => one[index] ?? ''))
    return { values: [...values].map((value) => ({ label: breakdownLabel([value]), value })) }
  })
  return breakdowns.is_multiple ? { breakdowns: columns } : { breakdown: columns[0]?.values ?? [] }
}
