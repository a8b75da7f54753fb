/** The numbers of a chart as a table for screen readers, for pages without a visible table. */
import type { VNode } from 'preact'
import type { ChartBucket, ChartSeries } from './chart-data.ts'

type UnseenTableProps = {
  readonly label: string
  readonly buckets: readonly ChartBucket[]
  readonly series: readonly ChartSeries[]
  readonly formatValue: (value: number) => string
}

const SERIES_MAX = 10
const BUCKETS_MAX = 100

/** Draws a table that is read out and not seen. */
export function UnseenTable({ label, buckets, series, formatValue }: UnseenTableProps): VNode {
  const shown = series.slice(0, SERIES_MAX)
  const first = Math.max(0, buckets.length - BUCKETS_MAX)
  return (
    <div class="unseen">
      <table>
        <caption>{label}</caption>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {shown.map((one) => (
              <th key={one.key} scope="col">
                {one.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {buckets.slice(first).map((bucket, index) => (
            <tr key={bucket.text}>
              <th scope="row">{bucket.text}</th>
              {shown.map((one) => {
                const value = one.values[first + index]
                return (
                  <td key={one.key}>
                    {value === null || value === undefined ? '–' : formatValue(value)}
                  </td>
                )
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
