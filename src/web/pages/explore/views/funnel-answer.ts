/** The answers of FunnelsQuery: steps, the time to convert, or the conversion over time; as a table, and who is behind a number. */
import type {
  FunnelStepAnswer,
  FunnelTimesAnswer,
  FunnelTrendsAnswer,
} from '../../../../contract/insights/answers.ts'
import type { AnswerTable } from '../../../parts/answer/answer-table.ts'
import type { ClickedNumber } from '../../../parts/answer/clicked-number.ts'
import { timeBuckets } from '../../../parts/charts/chart-data.ts'
import type { FunnelPart } from '../../../parts/charts/funnel-chart.tsx'
import { formatDuration, formatPercent } from '../../../parts/format.ts'
import { eventTitle } from '../../../parts/names.ts'
import type { ExploreQuery } from '../explore-query.ts'
import { breakdownText } from './answers.ts'
import { breakdownFilters, funnelActorsSource } from './numbers.ts'

/** Results of a funnel, by display. */
export type FunnelResults =
  | readonly FunnelStepAnswer[]
  | readonly (readonly FunnelStepAnswer[])[]
  | readonly FunnelTrendsAnswer[]
  | FunnelTimesAnswer

export function isTrend(
  results: Exclude<FunnelResults, FunnelTimesAnswer>,
): results is readonly FunnelTrendsAnswer[] {
  const [first] = results
  return first !== undefined && 'days' in first
}

/** The steps of each value of the breakdown; of all as one group without one. */
export function groupsOf(results: FunnelResults): readonly (readonly FunnelStepAnswer[])[] {
  if ('bins' in results || isTrend(results)) return []
  const [first] = results
  if (first === undefined) return []
  return Array.isArray(first)
    ? (results as readonly (readonly FunnelStepAnswer[])[])
    : [results as readonly FunnelStepAnswer[]]
}

/** Whether no actor has entered the funnel, which then has no shares to show. */
export function isFunnelEmpty(results: FunnelResults): boolean {
  if ('bins' in results) return results.bins.length === 0
  if (isTrend(results)) return false
  return groupsOf(results).every(([first]) => (first?.count ?? 0) === 0)
}

export const stepName = ({ name, custom_name }: FunnelStepAnswer): string =>
  custom_name ?? eventTitle(name === 'All events' ? null : name)

export function stepNumber(
  query: ExploreQuery,
  group: readonly FunnelStepAnswer[],
  index: number,
  part: FunnelPart,
): ClickedNumber {
  const step = group[index]
  const count = step?.count ?? 0
  const before = group[index - 1]?.count ?? count
  const name = step === undefined ? '' : stepName(step)
  const value = step?.breakdown_value
  const heading = part === 'converted' ? `Reached ${name}` : `Dropped off before ${name}`
  return {
    title: value === undefined ? heading : `${heading} · ${breakdownText(value)}`,
    value: part === 'converted' ? count : before - count,
    ...(value !== undefined && { filters: breakdownFilters(query, value) }),
    source: funnelActorsSource(query, {
      funnelStep: part === 'converted' ? index + 1 : -(index + 1),
      ...(value !== undefined && { funnelStepBreakdown: value }),
    }),
  }
}

/** A row per step and value of the breakdown, per bin, or per bucket. */
export function funnelTable(query: ExploreQuery, results: FunnelResults): AnswerTable {
  if ('bins' in results) {
    return {
      columns: ['From', 'Seconds', 'Persons'],
      rows: results.bins.map(([seconds, count]) => [
        { value: formatDuration(seconds) },
        { value: seconds },
        { value: count },
      ]),
    }
  }
  if (isTrend(results)) {
    const buckets = timeBuckets(results[0]?.days ?? [], query.interval ?? 'day')
    return {
      columns: [
        'Day',
        ...results.map((line) => breakdownText(line.breakdown_value ?? 'Conversion, %')),
      ],
      rows: buckets.map(({ text }, index) => [
        { value: text },
        ...results.map(({ data }) => ({ value: data[index] ?? null })),
      ]),
    }
  }
  return {
    columns: [
      'Step',
      'Breakdown',
      'Persons',
      'Overall',
      'From the previous step',
      'Dropped off',
      'Median time',
    ],
    rows: groupsOf(results).flatMap((group) =>
      group.map((_, index) => stepRow(query, group, index)),
    ),
  }
}

function stepRow(
  query: ExploreQuery,
  group: readonly FunnelStepAnswer[],
  index: number,
): AnswerTable['rows'][number] {
  const step = group[index]
  const [first, count] = [group[0]?.count ?? 0, step?.count ?? 0]
  const before = group[index - 1]?.count ?? count
  const share = (whole: number) => {
    const value = whole === 0 ? null : count / whole
    return { value, text: formatPercent(value) }
  }
  const seconds = step?.median_conversion_time ?? null
  return [
    { value: step === undefined ? '' : `${index + 1}. ${stepName(step)}` },
    { value: step?.breakdown_value === undefined ? 'All' : breakdownText(step.breakdown_value) },
    { value: count, clicked: stepNumber(query, group, index, 'converted') },
    share(first),
    share(before),
    {
      value: before - count,
      ...(before > count && { clicked: stepNumber(query, group, index, 'dropped') }),
    },
    { value: seconds, text: formatDuration(seconds) },
  ]
}
