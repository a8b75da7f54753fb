/** TrendsQuery: how often events happened, or an aggregate of them, over time or in total. */

import type { TrendsQuery } from '../../contract/insights/trends.ts'
import { Refusal } from '../../errors.ts'
import type { Select } from '../../hogql/syntax/ast.ts'
import { or } from '../../hogql/syntax/nodes.ts'
import { mapInSlices } from '../../threads/sliced-json.ts'
import { bucketsOf, inWholeSteps, prepareBuckets, requireFirstBucket } from '../dates/buckets.ts'
import {
  firstEvent,
  freshnessOf,
  type InsightDateRange,
  resolvedRange,
  withinRange,
} from '../dates/date-range.ts'
import type { InsightContext, InsightKind, InsightRows, RunTree } from '../insight.ts'
import { queryBins, type SplitBy } from '../members/bins.ts'
import { allOf, eventsOf, queryCondition } from '../members/conditions.ts'
import { getSeries, seriesCondition } from '../members/series.ts'
import { requireNumbers } from '../numbers.ts'
import { unionOfLines } from '../printed-lines.ts'
import { evaluateFormulas, formulasOf } from './formulas.ts'
import { planLines, trendsBreakdowns, trendsRange } from './plan.ts'
import { type AnsweredLine, isOther, resultOf } from './results.ts'
import { trendsTree } from './trees.ts'
import { linesOfRows } from './values.ts'

export const TRENDS: InsightKind<TrendsQuery> = {
  rangeOf: (query, dates) => freshnessOf(trendsRange(query, dates)),
  answer: async (query, context, run) => {
    const range = trendsRange(query, context, await firstEvent(query, run))
    await prepareBuckets(range)
    requireFirstBucket(range)
    if (query.series.length === 0) {
      const metadata = { hasMore: false, resolved_date_range: resolvedRange(range) }
      return { results: [], hogql: '', metadata }
    }
    const formulas = formulasOf(query)
    const split = await splitOf(query, { context, range, run })
    const answered: AnsweredLine[] = []
    const texts: string[] = []
    let numbers = 0
    for (const plan of planLines(query, context, range, split)) {
      await prepareBuckets(plan.range)
      const { rows, hogql } = await queryAll(trendsTree(plan), context, run)
      texts.push(hogql)
      const lines = await linesOfRows(plan, rows)
      // Totals are returned with their days too.
      numbers += lines.length * bucketsOf(plan.range).length
      requireNumbers(numbers)
      const added = await mapInSlices(lines, (line) => ({
        plan,
        line,
        result: resultOf(plan, line),
      }))
      for (const one of added) answered.push(one)
    }
    const has_more = answered.some(({ line }) => isOther(line))
    const breakdowns = trendsBreakdowns(query)
    const hides_other = breakdowns?.kind === 'values' && breakdowns.hides_other
    const shown = hides_other ? answered.filter(({ line }) => !isOther(line)) : answered
    return {
      results:
        formulas.length > 0
          ? await evaluateFormulas(formulas, shown)
          : shown.map(({ result }) => result),
      hogql: unionOfLines(texts, context),
      metadata: { hasMore: has_more, resolved_date_range: resolvedRange(range) },
    }
  },
}

/** All rows of a tree. Refuses more rows than the limit, because a part would give wrong numbers. */
export async function queryAll(
  tree: Select,
  { rows_max }: InsightContext,
  run: RunTree,
): Promise<InsightRows> {
  const answer = await run(tree)
  if (!answer.has_more) return answer
  const detail = `The answer has more than ${rows_max} numbers: ask for fewer values, or longer steps.`
  throw new Refusal('query_too_large', detail, { attr: 'query__breakdownFilter' })
}

/** The means to ask about the events of a range. */
export type TrendsContext = {
  readonly context: InsightContext
  readonly range: InsightDateRange
  readonly run: RunTree
}

/** The breakdown; histogram bins span the minimum and maximum over all series. */
export async function splitOf(
  query: TrendsQuery,
  { context, range, run }: TrendsContext,
): Promise<readonly SplitBy[]> {
  const breakdowns = trendsBreakdowns(query)
  const items = breakdowns?.kind === 'values' ? breakdowns.items : []
  const any = [...query.series.keys()].map((index) =>
    allOf(seriesCondition(getSeries(query.series, index), context)),
  )
  const condition = allOf(withinRange(inWholeSteps(range)), or(any), queryCondition(query, context))
  return queryBins(items, { events: eventsOf(query), condition }, run)
}
