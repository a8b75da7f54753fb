/** The rows as a chart: the first column along the axis, the columns of numbers as series. */
import type { VNode } from 'preact'
import type { AnswerOf } from '../../api/ask.ts'
import { type ChartSeries, timeBuckets } from '../../parts/charts/chart-data.ts'
import { TimeChart } from '../../parts/charts/time-chart.tsx'
import { EmptyNote } from '../../parts/empty-note.tsx'
import { readProjectTime } from '../../parts/format.ts'
import { cellText, type SqlRow } from './cells.ts'

const ROWS_MAX = 2000
const SERIES_MAX = 8
const CHART_PX = 360

/** Draws a line over times, bars over anything else; says what is missing when the rows are no chart. */
export function ResultChart({ answer }: { readonly answer: AnswerOf<readonly SqlRow[]> }): VNode {
  const { results, columns = [] } = answer
  const rows = results.slice(0, ROWS_MAX)
  const numeric = columns
    .map((name, index) => ({ name, index }))
    .filter(({ index }) => isNumeric(rows, index))
  const axis = columns.findIndex((_, index) => !numeric.some((one) => one.index === index))
  const shown = numeric.slice(0, SERIES_MAX)
  if (shown.length === 0 || rows.length === 0) {
    return (
      <EmptyNote title="Nothing to draw">
        <p>A chart needs rows with a column of numbers, and one of names or times.</p>
      </EmptyNote>
    )
  }
  const is_time = axis >= 0 && rows.every((row) => readProjectTime(String(row[axis])) !== null)
  const names = rows.map((row, index) => (axis < 0 ? String(index + 1) : cellText(row[axis])))
  const interval = names.some((name) => name.length > DAY_LENGTH) ? 'hour' : 'day'
  const buckets = is_time
    ? timeBuckets(names, interval)
    : names.map((text) => ({ text, short: shortText(text) }))
  const series = shown.map(
    ({ name, index }, colour): ChartSeries => ({
      key: `${index}`,
      name,
      colour,
      values: rows.map((row) => (row[index] === null ? null : Number(row[index]))),
    }),
  )
  return (
    <TimeChart
      label="Chart of the rows"
      buckets={buckets}
      series={series}
      look={is_time ? 'line' : 'bar'}
      is_last_incomplete={false}
      height={CHART_PX}
      has_table
    />
  )
}

const DAY_LENGTH = 10
const SHORT_LENGTH = 12

const shortText = (text: string): string =>
  text.length > SHORT_LENGTH ? `${text.slice(0, SHORT_LENGTH - 1)}…` : text

/** Numbers in all rows that have a value; large ones come as texts of digits. */
function isNumeric(rows: readonly SqlRow[], index: number): boolean {
  const values = rows.map((row) => row[index]).filter((value) => value !== null)
  return (
    values.length > 0 &&
    values.every(
      (value) =>
        typeof value === 'number' || (typeof value === 'string' && /^-?\d{16,}$/.test(value)),
    )
  )
}
