/** The chart of StickinessQuery. */
import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import type { StickinessSeriesAnswer } from '../../../../contract/insights/answers.ts'
import type { ChartSeries } from '../../../parts/charts/chart-data.ts'
import { TimeChart } from '../../../parts/charts/time/time-chart.tsx'
import style from './result.module.css'
import { lineName, stickyNumber } from './stickiness-answer.ts'
import type { ViewProps } from './view.ts'

/** Draws the number of actors by the days, weeks or months on which they were active. */
export function StickinessView({
  query,
  results,
  onPick,
}: ViewProps<readonly StickinessSeriesAnswer[]>): VNode {
  const { buckets, series } = useMemo(() => {
    const labels = results[0]?.labels ?? []
    const lines = results.map((line, index): ChartSeries => {
      const is_previous = line.compare_label === 'previous'
      return {
        key: String(index),
        name: lineName(query, line),
        values: line.data,
        colour: line.action?.order ?? 0,
        ...(is_previous && { is_previous }),
      }
    })
    return {
      buckets: labels.map((text) => ({ text, short: text.split(' ')[0] ?? text })),
      series: lines,
    }
  }, [query, results])
  const { interval = 'day' } = query
  return (
    <>
      <TimeChart
        label="Stickiness"
        buckets={buckets}
        series={series}
        look={results.length === 1 ? 'bar' : 'line'}
        is_last_incomplete={false}
        has_table
        onPick={({ key }, bucket) => {
          const line = results[Number(key)]
          if (line !== undefined) onPick(stickyNumber(query, line, bucket))
        }}
      />
      <p class={style.remark}>Persons by the number of {interval}s on which they were active.</p>
    </>
  )
}
