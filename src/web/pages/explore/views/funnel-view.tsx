/** The answers of FunnelsQuery: steps, the time to convert, or the conversion over time. */
import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import type {
  FunnelStepAnswer,
  FunnelTimesAnswer,
  FunnelTrendsAnswer,
} from '../../../../contract/insights/answers.ts'
import type { AnswerTable } from '../../../parts/answer/answer-table.ts'
import type { ClickedNumber } from '../../../parts/answer/clicked-number.ts'
import { type ChartSeries, isIncomplete, timeBuckets } from '../../../parts/charts/chart-data.ts'
import {
  FunnelChart,
  type FunnelColumn,
  type FunnelPart,
} from '../../../parts/charts/funnel-chart.tsx'
import { Legend } from '../../../parts/charts/time/legend.tsx'
import { TimeChart } from '../../../parts/charts/time/time-chart.tsx'
import { formatDuration, formatNumber, formatPercent } from '../../../parts/format.ts'
import { eventTitle } from '../../../parts/names.ts'
import type { ExploreQuery } from '../explore-query.ts'
import { breakdownText } from './answers.ts'
import { breakdownFilters, funnelActorsSource } from './numbers.ts'
import style from './result.module.css'
import { marksOf, type ViewProps } from './view.ts'

/** Results of a funnel, by display. */
export type FunnelResults =
  | readonly FunnelStepAnswer[]
  | readonly (readonly FunnelStepAnswer[])[]
  | readonly FunnelTrendsAnswer[]
  | FunnelTimesAnswer

/** Draws a funnel by the query's `funnelVizType`. */
export function FunnelView(props: ViewProps<FunnelResults>): VNode {
  const { results } = props
  if ('bins' in results) return <Times {...props} results={results} />
  if (isTrend(results)) return <OverTime {...props} results={results} />
  return <Steps {...props} />
}

function isTrend(
  results: Exclude<FunnelResults, FunnelTimesAnswer>,
): results is readonly FunnelTrendsAnswer[] {
  const [first] = results
  return first !== undefined && 'days' in first
}

/** The steps of each value of the breakdown; of all as one group without one. */
function groupsOf(results: FunnelResults): readonly (readonly FunnelStepAnswer[])[] {
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

function Steps({ query, results, onPick }: ViewProps<FunnelResults>): VNode {
  const all = groupsOf(results)
  const groups = all.map(
    (steps, index): FunnelColumn => ({
      key: String(index),
      name:
        steps[0]?.breakdown_value === undefined ? 'All' : breakdownText(steps[0].breakdown_value),
      colour: index,
      counts: steps.map(({ count }) => count),
    }),
  )
  const is_only = all.length === 1
  const steps = (all[0] ?? []).map((step) => ({
    name: stepName(step),
    average_s: is_only ? step.average_conversion_time : null,
    median_s: is_only ? step.median_conversion_time : null,
  }))
  return (
    <>
      <FunnelChart
        label="Funnel"
        steps={steps}
        groups={groups}
        onPick={(step, { key }, part) => {
          const group = all[Number(key)]
          if (group !== undefined) onPick(stepNumber(query, group, step, part))
        }}
      />
      <Legend series={groups} look="bar" />
    </>
  )
}

const stepName = ({ name, custom_name }: FunnelStepAnswer): string =>
  custom_name ?? eventTitle(name === 'All events' ? null : name)

function stepNumber(
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

function Times({
  results: { bins, average_conversion_time },
}: {
  readonly results: FunnelTimesAnswer
}): VNode {
  const { buckets, series } = useMemo(() => {
    const names = bins.map(([seconds], index) => {
      const end = bins[index + 1]?.[0]
      const from = formatDuration(seconds)
      return {
        text: end === undefined ? `from ${from}` : `${from} to ${formatDuration(end)}`,
        short: from,
      }
    })
    const values = bins.map(([, count]) => count)
    return { buckets: names, series: [{ key: '0', name: 'Persons', values, colour: 0 }] }
  }, [bins])
  return (
    <>
      <TimeChart
        label="Time to convert"
        buckets={buckets}
        series={series}
        look="bar"
        is_last_incomplete={false}
        has_table
      />
      {average_conversion_time !== null && (
        <p class={style.remark}>Mean: {formatDuration(average_conversion_time)}</p>
      )}
    </>
  )
}

const percent = (value: number): string => `${formatNumber(value)}%`

function OverTime(
  props: Omit<ViewProps<FunnelResults>, 'results'> & {
    readonly results: readonly FunnelTrendsAnswer[]
  },
): VNode {
  const { query, results, timezone, annotations } = props
  const interval = query.interval ?? 'day'
  const { buckets, series, days } = useMemo(() => {
    const first = results[0]?.days ?? []
    const lines = results.map(
      (line, index): ChartSeries => ({
        key: String(index),
        name:
          line.breakdown_value === undefined ? 'Conversion' : breakdownText(line.breakdown_value),
        values: line.data,
        colour: index,
      }),
    )
    return { buckets: timeBuckets(first, interval), series: lines, days: first }
  }, [results, interval])
  const marks = useMemo(() => marksOf(annotations, days, timezone), [annotations, days, timezone])
  const pick = ({ key }: ChartSeries, bucket: number): void => {
    const line = results[Number(key)]
    if (line === undefined) return
    props.onPick({
      title: `Converted · ${buckets[bucket]?.text ?? ''}`,
      value: line.data[bucket] ?? 0,
      source: funnelActorsSource(query, {
        funnelTrendsEntrancePeriodStart: line.days[bucket],
        funnelTrendsDropOff: false,
        ...(line.breakdown_value !== undefined && { funnelStepBreakdown: line.breakdown_value }),
      }),
    })
  }
  return (
    <TimeChart
      label="Conversion over time"
      buckets={buckets}
      series={series}
      look="line"
      is_last_incomplete={isIncomplete(days.at(-1), interval, timezone)}
      formatValue={percent}
      formatAxis={percent}
      has_table
      marks={marks}
      onPick={pick}
    />
  )
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
