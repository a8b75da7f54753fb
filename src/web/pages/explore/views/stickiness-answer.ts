/** The answers of StickinessQuery as a table, and the persons behind a number. */
import type { StickinessSeriesAnswer } from '../../../../contract/insights/answers.ts'
import type { AnswerTable } from '../../../parts/answer/answer-table.ts'
import type { ClickedNumber } from '../../../parts/answer/clicked-number.ts'
import { formatPercent } from '../../../parts/format.ts'
import type { ExploreQuery } from '../explore-query.ts'
import { seriesNames } from '../series-names.ts'
import { actorsSource } from './numbers.ts'

export function lineName({ series = [] }: ExploreQuery, line: StickinessSeriesAnswer): string {
  const name = seriesNames(series)[line.action?.order ?? 0] ?? line.label
  return line.compare_label === 'previous' ? `${name}, before` : name
}

export function stickyNumber(
  query: ExploreQuery,
  line: StickinessSeriesAnswer,
  bucket: number,
): ClickedNumber {
  return {
    title: `${lineName(query, line)} · ${line.labels[bucket] ?? ''}`,
    value: line.data[bucket] ?? 0,
    source: actorsSource(query, {
      day: line.days[bucket],
      series: line.action?.order ?? 0,
      ...(line.compare_label && { compare: line.compare_label }),
    }),
  }
}

/** A row per number of buckets, a column per line. */
export function stickinessTable(
  query: ExploreQuery,
  results: readonly StickinessSeriesAnswer[],
): AnswerTable {
  const labels = results[0]?.labels ?? []
  return {
    columns: [
      'Active on',
      ...results.flatMap((line) => {
        const name = lineName(query, line)
        return [name, `${name}, share`]
      }),
    ],
    rows: labels.map((label, index) => [
      { value: label },
      ...results.flatMap((line) => {
        const value = line.data[index] ?? 0
        const share = line.count === 0 ? null : value / line.count
        return [
          { value, clicked: stickyNumber(query, line, index) },
          { value: share, text: formatPercent(share) },
        ]
      }),
    ]),
  }
}
