/** The charts of FunnelsQuery: steps, the time to convert, or the conversion over time. */
import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import type {
  FunnelTimesAnswer,
  FunnelTrendsAnswer,
} from '../../../../contract/insights/answers.ts'
import { type ChartSeries, isIncomplete, timeBuckets } from '../../../parts/charts/chart-data.ts'
import { FunnelChart, type FunnelColumn } from '../../../parts/charts/funnel-chart.tsx'
import { Legend } from '../../../parts/charts/time/legend.tsx'
import { TimeChart } from '../../../parts/charts/time/time-chart.tsx'
import { formatDuration, formatNumber } from '../../../parts/format.ts'
import { breakdownText } from './answers.ts'
import { type FunnelResults, groupsOf, isTrend, stepName, stepNumber } from './funnel-answer.ts'
import { funnelActorsSource } from './numbers.ts'
import style from './result.module.css'
import { marksOf, type ViewProps } from './view.ts'

/** Draws a funnel by the query's `funnelVizType`. */
export function FunnelView(props: ViewProps<FunnelResults>): VNode {
  const { results } = props
  if ('bins' in results) return <Times {...props} results={results} />
  if (isTrend(results)) return <OverTime {...props} results={results} />
  return <Steps {...props} />
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
