/** The answers of RetentionQuery as a table, and the persons behind a number. */
import type { RetentionRowAnswer } from '../../../../contract/insights/answers.ts'
import type { AnswerTable } from '../../../parts/answer/answer-table.ts'
import type { ClickedNumber } from '../../../parts/answer/clicked-number.ts'
import { formatBucket } from '../../../parts/format.ts'
import type { ExploreQuery } from '../explore-query.ts'
import { breakdownText } from './answers.ts'
import { actorsSource } from './numbers.ts'

export const UNIT_INTERVALS = { Hour: 'hour', Day: 'day', Week: 'week', Month: 'month' } as const

export function periodOf({ retentionFilter }: ExploreQuery): keyof typeof UNIT_INTERVALS {
  const period = retentionFilter?.['period']
  return period === 'Hour' || period === 'Week' || period === 'Month' ? period : 'Day'
}

export const rowText = (
  { date }: RetentionRowAnswer,
  period: keyof typeof UNIT_INTERVALS,
): string => formatBucket(date, UNIT_INTERVALS[period])

export function retentionNumber(
  query: ExploreQuery,
  row: RetentionRowAnswer,
  interval: number,
): ClickedNumber {
  return {
    title: `Began ${rowText(row, periodOf(query))}`,
    value: row.values[0]?.count ?? 0,
    source: actorsSource(query, {
      interval,
      ...(row.breakdown_value !== undefined && { breakdown: row.breakdown_value }),
    }),
  }
}

/** A row per beginning. */
export function retentionTable(
  query: ExploreQuery,
  results: readonly RetentionRowAnswer[],
): AnswerTable {
  const period = periodOf(query)
  const width = Math.max(0, ...results.map(({ values }) => values.length))
  const has_values = results.some(({ breakdown_value }) => breakdown_value !== undefined)
  return {
    columns: [
      'Began',
      ...(has_values ? ['Breakdown'] : []),
      ...Array.from({ length: width }, (_, index) => `${period} ${index}`),
    ],
    rows: results.map((row) => [
      { value: rowText(row, period) },
      ...(has_values ? [{ value: breakdownText(row.breakdown_value ?? 'All') }] : []),
      ...Array.from({ length: width }, (_, index) => ({ value: row.values[index]?.count ?? null })),
    ]),
  }
}
