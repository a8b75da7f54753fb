/** The answers of LifecycleQuery as a table, and the persons behind a number. */
import type { LifecycleSeriesAnswer } from '../../../../contract/insights/answers.ts'
import type { AnswerTable } from '../../../parts/answer/answer-table.ts'
import type { ClickedNumber } from '../../../parts/answer/clicked-number.ts'
import { formatBucket } from '../../../parts/format.ts'
import type { ExploreQuery } from '../explore-query.ts'
import { actorsSource } from './numbers.ts'

/** The states in the order of their layers, each with its colour. */
export const STATES = [
  { status: 'returning', text: 'Returning', colour: 0 },
  { status: 'new', text: 'New', colour: 5 },
  { status: 'resurrecting', text: 'Resurrecting', colour: 6 },
  { status: 'dormant', text: 'Dormant', colour: 1 },
] as const

export function stateNumber(
  query: ExploreQuery,
  line: LifecycleSeriesAnswer,
  bucket: number,
): ClickedNumber {
  const day = line.days[bucket]
  const name = STATES.find(({ status }) => status === line.status)?.text ?? line.status
  return {
    title: `${name} · ${formatBucket(day ?? '', query.interval ?? 'day')}`,
    value: Math.abs(line.data[bucket] ?? 0),
    source: actorsSource(query, { day, status: line.status }),
  }
}

/** A row per bucket, a column per state. */
export function lifecycleTable(
  query: ExploreQuery,
  results: readonly LifecycleSeriesAnswer[],
): AnswerTable {
  const days = results[0]?.days ?? []
  return {
    columns: [
      'Time',
      ...results.map(({ status }) => STATES.find((one) => one.status === status)?.text ?? status),
    ],
    rows: days.map((day, index) => [
      { value: formatBucket(day, query.interval ?? 'day') },
      ...results.map((line) => ({
        value: line.data[index] ?? 0,
        clicked: stateNumber(query, line, index),
      })),
    ]),
  }
}
