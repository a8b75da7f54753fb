/** The answer of TrendsQuery: a chart over time, bars, or one number. */
import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import type { TrendsSeriesAnswer } from '../../../../contract/insights/answers.ts'
import type { AnswerTable } from '../../../parts/answer/answer-table.ts'
import type { ClickedNumber } from '../../../parts/answer/clicked-number.ts'
import { BigNumber } from '../../../parts/charts/big-number.tsx'
import {
  type ChartBucket,
  type ChartSeries,
  isIncomplete,
  timeBuckets,
} from '../../../parts/charts/chart-data.ts'
import { TimeChart } from '../../../parts/charts/time/time-chart.tsx'
import { ValueBars } from '../../../parts/charts/value-bars.tsx'
import { formatNumber } from '../../../parts/format.ts'
import type { ExploreQuery } from '../explore-query.ts'
import { seriesNames } from '../series-names.ts'
import { breakdownText, endsOfBin } from './answers.ts'
import { actorsSource, breakdownFilters } from './numbers.ts'
import style from './result.module.css'
import { marksOf, type ViewProps } from './view.ts'

/** DISPLAYS: how trends are shown. Adding one means adding a line. */
export const DISPLAYS = [
  { value: 'ActionsLineGraph', text: 'Lines', look: 'line' },
  { value: 'ActionsAreaGraph', text: 'Stacked areas', look: 'area' },
  { value: 'ActionsBar', text: 'Stacked bars', look: 'bar' },
  { value: 'ActionsLineGraphCumulative', text: 'Cumulative', look: 'line' },
  { value: 'ActionsBarValue', text: 'Totals as bars', look: 'values' },
  { value: 'BoldNumber', text: 'One number', look: 'number' },
] as const

/** 25 values, and all others together as one more; further lines are not drawn, the table has all. */
const LINES_DRAWN_MAX = 26

/** Displays of totals that this interface lacks, as a pie: their answers have no number per bucket. */
const OTHER_TOTALS = new Set(['ActionsPie', 'ActionsTable', 'WorldMap'])

/** The display of a query: bars or lines in place of one that this interface lacks. */
export function displayOf({ trendsFilter }: ExploreQuery): (typeof DISPLAYS)[number] {
  const named = String(trendsFilter?.display)
  const display = OTHER_TOTALS.has(named) ? 'ActionsBarValue' : named
  return DISPLAYS.find(({ value }) => value === display) ?? DISPLAYS[0]
}

/** Draws the answer as the query's display says. */
export function TrendsView(props: ViewProps<readonly TrendsSeriesAnswer[]>): VNode {
  const { look } = displayOf(props.query)
  if (look === 'values') return <Totals {...props} />
  if (look === 'number') return <Total {...props} />
  return <Lines {...props} look={look} />
}

type LinesProps = ViewProps<readonly TrendsSeriesAnswer[]> & {
  readonly look: 'line' | 'area' | 'bar'
}

function Lines(props: LinesProps): VNode {
  const { query, results, timezone, look, onPick } = props
  const interval = query.interval ?? 'day'
  const { buckets, series, days } = useMemo(() => seriesOf(query, results), [query, results])
  const is_last_incomplete = isIncomplete(days.at(-1), interval, timezone)
  const marks = useMemo(
    () => marksOf(props.annotations, days, timezone),
    [props.annotations, days, timezone],
  )
  return (
    <>
      <TimeChart
        label="Trend"
        buckets={buckets}
        series={series}
        look={look}
        is_last_incomplete={is_last_incomplete}
        has_table
        marks={marks}
        onMark={({ key }) => {
          const annotation = props.annotations.find(({ id }) => String(id) === key)
          if (annotation !== undefined) props.onMark(annotation)
        }}
        onPick={({ key }, bucket) => {
          const line = results[Number(key)]
          if (line !== undefined) onPick(pointOf(query, line, bucket))
        }}
      />
      {results.length > LINES_DRAWN_MAX && (
        <p class={style.remark}>
          {LINES_DRAWN_MAX} of {formatNumber(results.length)} series are drawn; the table has all.
        </p>
      )}
    </>
  )
}

type DrawnTrend = {
  readonly buckets: readonly ChartBucket[]
  readonly series: readonly ChartSeries[]
  readonly days: readonly string[]
}

/** Lines of the period before share the colour of theirs. */
function seriesOf(query: ExploreQuery, results: readonly TrendsSeriesAnswer[]): DrawnTrend {
  const interval = query.interval ?? 'day'
  const current = results.find(({ compare_label }) => compare_label !== 'previous')
  const days = current?.days ?? []
  const names = results.map((line) => lineName(query, line))
  const colours = [...new Set(names)]
  const series = results.slice(0, LINES_DRAWN_MAX).map((line, index): ChartSeries => {
    const is_previous = line.compare_label === 'previous'
    const name = names[index] ?? ''
    return {
      key: String(index),
      name: lineTitle(query, line),
      values: line.data,
      colour: colours.indexOf(name),
      ...(is_previous && { is_previous, buckets: timeBuckets(line.days, interval) }),
    }
  })
  return { buckets: timeBuckets(days, interval), series, days }
}

/** The name of a line: its series, its value of the breakdown, or both where there are several series. */
function lineName(query: ExploreQuery, line: TrendsSeriesAnswer): string {
  const { series = [] } = query
  const { breakdown_value, action } = line
  const name = seriesNames(series)[action?.order ?? line.order ?? 0]
  const own = action === null || action === undefined || name === undefined ? line.label : name
  if (breakdown_value === undefined) return own
  const value = breakdownText(breakdown_value, query.breakdownFilter?.breakdowns)
  return series.length > 1 && action !== null ? `${value} – ${own}` : value
}

/** The name of a line among all lines of its answer. */
export function lineTitle(query: ExploreQuery, line: TrendsSeriesAnswer): string {
  const name = lineName(query, line)
  return line.compare_label === 'previous' ? `${name}, before` : name
}

/** The number of one line at one bucket; no persons are behind a formula. */
function pointOf(query: ExploreQuery, line: TrendsSeriesAnswer, bucket: number): ClickedNumber {
  const day = line.days[bucket]
  const [when] = timeBuckets(day === undefined ? [] : [day], query.interval ?? 'day')
  return numberOf(query, line, {
    value: line.data[bucket] ?? 0,
    point: { day },
    when: when?.text ?? '',
  })
}

type NumberPlace = {
  readonly value: number
  readonly point: Readonly<Record<string, unknown>>
  readonly when: string
}

function numberOf(
  query: ExploreQuery,
  line: TrendsSeriesAnswer,
  { value, point, when }: NumberPlace,
): ClickedNumber {
  const { breakdown_value, compare_label } = line
  const name = lineName(query, line)
  return {
    title: when === '' ? name : `${name} · ${when}`,
    value,
    ...(breakdown_value !== undefined && { filters: breakdownFilters(query, breakdown_value) }),
    ...(line.action === null || query.trendsFilter?.formula
      ? {}
      : {
          source: actorsSource(query, {
            ...point,
            series: line.action?.order ?? line.order ?? 0,
            ...(breakdown_value !== undefined && { breakdown: breakdown_value }),
            ...(compare_label && { compare: compare_label }),
          }),
        }),
  }
}

const isHistogram = ({ breakdownFilter }: ExploreQuery): boolean =>
  breakdownFilter?.breakdowns?.length === 1 && !!breakdownFilter.breakdowns[0]?.histogram_bin_count

/** Where a bin begins; values without one come last. */
function binStart({ breakdown_value }: TrendsSeriesAnswer): number {
  const [start = Number.NaN] = endsOfBin(breakdown_value)
  return Number.isNaN(start) ? Number.MAX_VALUE : start
}

const totalOf = ({ aggregated_value, count }: TrendsSeriesAnswer): number =>
  aggregated_value ?? count

function Totals({ query, results, onPick }: ViewProps<readonly TrendsSeriesAnswer[]>): VNode {
  const now = results.filter(({ compare_label }) => compare_label !== 'previous')
  const ranked = isHistogram(query)
    ? now.toSorted((one, other) => binStart(one) - binStart(other))
    : now.toSorted((one, other) => totalOf(other) - totalOf(one))
  const beforeOf = (line: TrendsSeriesAnswer): TrendsSeriesAnswer | undefined =>
    results.find(
      (one) => one.compare_label === 'previous' && lineName(query, one) === lineName(query, line),
    )
  const bars = ranked.map((line, index) => {
    const before = beforeOf(line)
    return {
      key: String(index),
      name: lineName(query, line),
      value: totalOf(line),
      colour: 0,
      ...(before && { before: totalOf(before) }),
    }
  })
  return (
    <ValueBars
      label="Totals"
      bars={bars}
      onPick={({ key }) => {
        const line = ranked[Number(key)]
        if (line !== undefined) onPick(totalNumber(query, line))
      }}
    />
  )
}

function totalNumber(query: ExploreQuery, line: TrendsSeriesAnswer): ClickedNumber {
  return numberOf(query, line, { value: totalOf(line), point: {}, when: '' })
}

function Total({ query, results, onPick }: ViewProps<readonly TrendsSeriesAnswer[]>): VNode {
  const line = results.find(({ compare_label }) => compare_label !== 'previous')
  const before = results.find(({ compare_label }) => compare_label === 'previous')
  if (line === undefined) return <BigNumber name="" value={0} />
  return (
    <BigNumber
      name={lineName(query, line)}
      value={totalOf(line)}
      before={before && totalOf(before)}
      onPick={() => onPick(totalNumber(query, line))}
    />
  )
}

/** A row per line: its total where it has one, and its buckets. */
export function trendsTable(
  query: ExploreQuery,
  results: readonly TrendsSeriesAnswer[],
): AnswerTable {
  const is_total = results.every(({ days }) => days.length === 0)
  const current = results.find(({ compare_label }) => compare_label !== 'previous')
  const shown = timeBuckets(current?.days ?? [], query.interval ?? 'day')
  return {
    columns: ['Series', 'Total', ...shown.map(({ short }) => short)],
    csv_columns: ['Series', 'Total', ...(current?.days ?? [])],
    rows: results.map((line) => [
      { value: lineTitle(query, line) },
      is_total
        ? { value: totalOf(line), clicked: totalNumber(query, line) }
        : { value: line.count },
      ...line.data.map((value, bucket) => ({ value, clicked: pointOf(query, line, bucket) })),
    ]),
  }
}
