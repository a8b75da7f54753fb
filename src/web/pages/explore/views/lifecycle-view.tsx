/** The chart of LifecycleQuery. */
import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import type { LifecycleSeriesAnswer } from '../../../../contract/insights/answers.ts'
import { type ChartSeries, isIncomplete, timeBuckets } from '../../../parts/charts/chart-data.ts'
import { TimeChart } from '../../../parts/charts/time/time-chart.tsx'
import { formatNumber } from '../../../parts/format.ts'
import { STATES, stateNumber } from './lifecycle-answer.ts'
import { marksOf, type ViewProps } from './view.ts'

/** Draws new, returning and resurrecting actors upwards, dormant ones downwards. */
export function LifecycleView(props: ViewProps<readonly LifecycleSeriesAnswer[]>): VNode {
  const { query, results, timezone, annotations, onPick } = props
  const interval = query.interval ?? 'day'
  const { buckets, series, days } = useMemo(() => {
    const shown = STATES.flatMap(({ status, text, colour }): ChartSeries[] => {
      const line = results.find((one) => one.status === status)
      return line === undefined ? [] : [{ key: status, name: text, values: line.data, colour }]
    })
    const first = results[0]?.days ?? []
    return { buckets: timeBuckets(first, interval), series: shown, days: first }
  }, [results, interval])
  const marks = useMemo(() => marksOf(annotations, days, timezone), [annotations, days, timezone])
  return (
    <TimeChart
      label="Lifecycle"
      buckets={buckets}
      series={series}
      look="bar"
      is_last_incomplete={isIncomplete(days.at(-1), interval, timezone)}
      formatValue={(value) => formatNumber(Math.abs(value))}
      has_table
      marks={marks}
      onPick={({ key }, bucket) => {
        const line = results.find(({ status }) => status === key)
        if (line !== undefined) onPick(stateNumber(query, line, bucket))
      }}
    />
  )
}
