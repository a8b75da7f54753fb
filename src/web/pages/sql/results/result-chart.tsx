/** The rows as a chart: the first column along the axis, columns of numbers as series, or a second column of names. */
import type { VNode } from 'preact'
import { BigNumber } from '../../../parts/charts/big-number.tsx'
import { type ChartSeries, timeBuckets } from '../../../parts/charts/chart-data.ts'
import { TimeChart } from '../../../parts/charts/time/time-chart.tsx'
import { readProjectTime } from '../../../parts/format.ts'
import { EmptyNote } from '../../../parts/notes/empty-note.tsx'
import style from '../sql.module.css'
import { cellText, type SqlRow } from './cells.ts'
import type { ResultView } from './views.ts'

const ROWS_MAX = 5000
const SERIES_MAX = 8
const CHART_PX = 360

type ResultChartProps = {
  readonly columns: readonly string[]
  readonly rows: readonly SqlRow[]
  readonly view: Exclude<ResultView, 'table'>
  /** Of a chart, in px. */
  readonly height?: number
}

/** Draws lines, bars or numbers; names the missing column when the rows cannot be drawn. */
export function ResultChart(props: ResultChartProps): VNode {
  const { columns, rows, view, height = CHART_PX } = props
  const drawn = rows.slice(0, ROWS_MAX)
  const roles = rolesOf(columns, drawn)
  if (roles.numbers.length === 0 || drawn.length === 0) {
    return (
      <EmptyNote title="No chart for these rows">
        <p>A chart needs rows with a column of numbers, and one of names or times.</p>
      </EmptyNote>
    )
  }
  if (view === 'number') return <Numbers columns={columns} row={drawn[0] ?? []} roles={roles} />
  const is_time = isTime(drawn, roles.axis)
  const { names, series } = seriesOf(columns, is_time ? byTime(drawn, roles.axis) : drawn, roles)
  const interval = names.some((name) => name.length > DAY_LENGTH) ? 'hour' : 'day'
  return (
    <>
      <TimeChart
        label="Chart of the rows"
        buckets={
          is_time
            ? timeBuckets(names, interval)
            : names.map((text) => ({ text, short: shortText(text) }))
        }
        series={series}
        look={view}
        is_last_incomplete={false}
        is_ranked={!is_time}
        height={height}
        has_table
      />
      {rows.length > drawn.length && (
        <p class={style.more}>Drawn are the first {ROWS_MAX.toLocaleString('en-GB')} rows.</p>
      )}
    </>
  )
}

const isTime = (rows: readonly SqlRow[], axis: number | null): axis is number =>
  axis !== null && rows.every((row) => readProjectTime(cellText(row[axis])) !== null)

/** Times are written so that their texts sort. */
function byTime(rows: readonly SqlRow[], axis: number | null): readonly SqlRow[] {
  if (axis === null) return rows
  const textOf = (row: SqlRow): string => cellText(row[axis])
  return rows.toSorted((one, other) => (textOf(one) < textOf(other) ? -1 : 1))
}

/** The index of each column by its role in a chart. */
type ChartRoles = {
  readonly numbers: readonly number[]
  readonly axis: number | null
  /** Names of series, where there is one column of numbers beside two others. */
  readonly split: number | null
}

function rolesOf(columns: readonly string[], rows: readonly SqlRow[]): ChartRoles {
  const numbers = [...columns.keys()].filter((index) => isNumeric(rows, index))
  const [axis = null, split = null] = [...columns.keys()].filter((one) => !numbers.includes(one))
  // Rows of a union of lines have the number of the line first.
  if (axis !== null && split === null && numbers.length === 2 && columns[0] === 'line') {
    return { numbers: numbers.slice(1), axis, split: 0 }
  }
  return { numbers, axis, split: numbers.length === 1 ? split : null }
}

type ChartShape = { readonly names: readonly string[]; readonly series: readonly ChartSeries[] }

function seriesOf(
  columns: readonly string[],
  rows: readonly SqlRow[],
  { numbers, axis, split }: ChartRoles,
): ChartShape {
  const nameOf = (row: SqlRow, index: number): string =>
    axis === null ? String(index + 1) : cellText(row[axis])
  const [first = 0] = numbers
  if (split !== null) return splitSeries(rows, { first, split, nameOf })
  const series = numbers.slice(0, SERIES_MAX).map(
    (column, colour): ChartSeries => ({
      key: `${column}`,
      name: columns[column] ?? '',
      colour,
      values: rows.map((row) => numberOf(row[column])),
    }),
  )
  return { names: rows.map(nameOf), series }
}

type SplitRows = {
  readonly first: number
  readonly split: number
  readonly nameOf: (row: SqlRow, index: number) => string
}

/** A series per value of a column, the largest sums first. */
function splitSeries(rows: readonly SqlRow[], { first, split, nameOf }: SplitRows): ChartShape {
  const names = [...new Set(rows.map(nameOf))]
  const places = new Map(names.map((name, index) => [name, index]))
  const lines = new Map<string, { readonly values: (number | null)[]; sum: number }>()
  for (const [index, row] of rows.entries()) {
    const name = cellText(row[split])
    const line = lines.get(name) ?? { values: names.map(() => null), sum: 0 }
    const value = numberOf(row[first])
    line.values[places.get(nameOf(row, index)) ?? 0] = value
    line.sum += value ?? 0
    lines.set(name, line)
  }
  const largest = [...lines].toSorted(([, one], [, other]) => other.sum - one.sum)
  const series = largest
    .slice(0, SERIES_MAX)
    .map(([name, { values }], colour): ChartSeries => ({ key: name, name, colour, values }))
  return { names, series }
}

const numberOf = (value: unknown): number | null =>
  value === null || value === undefined ? null : Number(value)

type NumbersProps = {
  readonly columns: readonly string[]
  readonly row: SqlRow
  readonly roles: ChartRoles
}

/** The numbers of the first row. */
function Numbers({ columns, row, roles }: NumbersProps): VNode {
  return (
    <div class={style.numbers}>
      {roles.numbers.slice(0, SERIES_MAX).map((column) => (
        <BigNumber key={column} name={columns[column] ?? ''} value={Number(row[column] ?? 0)} />
      ))}
    </div>
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
