/** TrendsQuery: how often something happened, or what it amounted to, over time or as one number. Interface §4.3. */

import type { TrendsQuery } from '../contract/insights/trends.ts'
import { Refusal } from '../errors.ts'
import type { Select } from '../hogql/ast.ts'
import { or } from '../hogql/nodes.ts'
import { askBins, type SplitBy } from './bins.ts'
import { bucketsOf, inWholeSteps } from './buckets.ts'
import { allOf, eventsOf, questionCondition } from './conditions.ts'
import { firstEvent, freshnessOf, type Range, resolvedRange, withinRange } from './date-range.ts'
import type { AskedRows, AskRows, InsightContext, InsightKind } from './insight.ts'
import { requireNumbers } from './numbers.ts'
import { getSeries, seriesCondition } from './series.ts'
import { linesOf, trendsBreakdowns, trendsRange } from './trends/asked.ts'
import { formulasOf, workedOut } from './trends/formulas.ts'
import { type Answered, isOther, resultOf } from './trends/results.ts'
import { trendsTree } from './trends/trees.ts'
import { linesOfRows } from './trends/values.ts'

export const TRENDS: InsightKind<TrendsQuery> = {
  rangeOf: (question, dates) => freshnessOf(trendsRange(question, dates)),
  answer: async (question, context, ask) => {
    const range = trendsRange(question, context, await firstEvent(question, ask))
    requireSteps(range)
    const formulas = formulasOf(question)
    const split = await splitOf(question, { context, range, ask })
    const answered: Answered[] = []
    const texts: string[] = []
    const worked_out = Math.max(1, formulas.length / question.series.length)
    let numbers = 0
    for (const asked of linesOf(question, context, range, split)) {
      const { rows, hogql } = await askAll(trendsTree(asked), context, ask)
      texts.push(hogql)
      const lines = linesOfRows(asked, rows)
      // Totals are told with their days too.
      numbers += lines.length * bucketsOf(asked.range).length
      requireNumbers(numbers * worked_out)
      for (const line of lines) {
        answered.push({ asked, line, result: resultOf(asked, line) })
      }
    }
    const has_more = answered.some(({ line }) => isOther(line))
    const breakdowns = trendsBreakdowns(question)
    const hides_other = breakdowns?.kind === 'values' && breakdowns.hides_other
    const shown = hides_other ? answered.filter(({ line }) => !isOther(line)) : answered
    return {
      results: formulas.length > 0 ? workedOut(formulas, shown) : shown.map(({ result }) => result),
      hogql: texts.join('\nUNION ALL\n'),
      said: { hasMore: has_more, resolved_date_range: resolvedRange(range) },
    }
  },
}

/** All rows of a tree. Refuses more than a question may answer: numbers of a part would be wrong ones. */
export async function askAll(
  tree: Select,
  { rows_max }: InsightContext,
  ask: AskRows,
): Promise<AskedRows> {
  const asked = await ask(tree)
  if (!asked.has_more) return asked
  const detail = `The answer has more than ${rows_max} numbers: ask for fewer values, or longer steps.`
  throw new Refusal('query_too_large', detail, { attr: 'query__breakdownFilter' })
}

function requireSteps(range: Range): void {
  if (bucketsOf(range).length > 0) return
  const detail = 'The date range ends before it begins.'
  throw new Refusal('invalid_input', detail, { attr: 'query__dateRange' })
}

type Asking = {
  readonly context: InsightContext
  readonly range: Range
  readonly ask: AskRows
}

/** What events are split by; parts of numbers are cut between the least and the most of all series. */
export async function splitOf(
  question: TrendsQuery,
  { context, range, ask }: Asking,
): Promise<readonly SplitBy[]> {
  const breakdowns = trendsBreakdowns(question)
  const items = breakdowns?.kind === 'values' ? breakdowns.items : []
  const any = [...question.series.keys()].map((index) =>
    allOf(seriesCondition(getSeries(question.series, index), context)),
  )
  const condition = allOf(
    withinRange(inWholeSteps(range)),
    or(any),
    questionCondition(question, context),
  )
  return askBins(items, { events: eventsOf(question), condition }, ask)
}
