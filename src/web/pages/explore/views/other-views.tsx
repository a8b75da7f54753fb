/** The answers of RetentionQuery, PathsQuery, LifecycleQuery and StickinessQuery. */
import type { VNode } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type {
  LifecycleSeriesAnswer,
  PathsEdgeAnswer,
  RetentionRowAnswer,
  StickinessSeriesAnswer,
} from '../../../../contract/insights/answers.ts'
import { lazyPage } from '../../../lazy-page.tsx'
import type { AnswerTable } from '../../../parts/answer/answer-table.ts'
import type { ClickedNumber } from '../../../parts/answer/clicked-number.ts'
import { type ChartSeries, isIncomplete, timeBuckets } from '../../../parts/charts/chart-data.ts'
import { readPathNode } from '../../../parts/charts/path-names.ts'
import { RetentionGrid } from '../../../parts/charts/retention-grid.tsx'
import { TimeChart } from '../../../parts/charts/time/time-chart.tsx'
import { formatBucket, formatDuration, formatNumber, formatPercent } from '../../../parts/format.ts'
import { Select } from '../editor/select.tsx'
import type { ExploreQuery } from '../explore-query.ts'
import { seriesNames } from '../series-names.ts'
import { breakdownText } from './answers.ts'
import { actorsSource } from './numbers.ts'
import style from './result.module.css'
import { marksOf, type ViewProps } from './view.ts'

const UNIT_INTERVALS = { Hour: 'hour', Day: 'day', Week: 'week', Month: 'month' } as const

function periodOf({ retentionFilter }: ExploreQuery): keyof typeof UNIT_INTERVALS {
  const period = retentionFilter?.['period']
  return period === 'Hour' || period === 'Week' || period === 'Month' ? period : 'Day'
}

/** Draws the grid; with a breakdown that of one value, which is chosen above it. */
export function RetentionView({
  query,
  results,
  timezone,
  onPick,
}: ViewProps<readonly RetentionRowAnswer[]>): VNode {
  const values = [
    ...new Set(results.map(({ breakdown_value }) => breakdownText(breakdown_value ?? 'All'))),
  ]
  const [chosen, setChosen] = useState(values[0] ?? 'All')
  const value = values.includes(chosen) ? chosen : (values[0] ?? 'All')
  const rows = results.filter(
    ({ breakdown_value }) => breakdownText(breakdown_value ?? 'All') === value,
  )
  const period = periodOf(query)
  return (
    <>
      {values.length > 1 && (
        <div>
          <Select
            label="Value of the breakdown"
            value={value}
            options={values.map((one) => ({ value: one, text: one }))}
            onChange={setChosen}
          />
        </div>
      )}
      <RetentionGrid
        label="Retention"
        unit={period}
        rows={rows.map((row) => ({
          key: row.date,
          text: timeBuckets([row.date], UNIT_INTERVALS[period])[0]?.short ?? row.label,
          title: rowText(row, period),
          counts: row.values.map(({ count }) => count),
        }))}
        is_last_incomplete={isIncomplete(rows.at(-1)?.date, UNIT_INTERVALS[period], timezone)}
        onPick={(index) => {
          const row = rows[index]
          if (row !== undefined) onPick(retentionNumber(query, row, index))
        }}
      />
    </>
  )
}

const rowText = ({ date }: RetentionRowAnswer, period: keyof typeof UNIT_INTERVALS): string =>
  formatBucket(date, UNIT_INTERVALS[period])

function retentionNumber(
  query: ExploreQuery,
  row: RetentionRowAnswer,
  interval: number,
): ClickedNumber {
  return {
    title: `Began ${rowText(row, periodOf(query))}`,
    value: row.values[0]?.count ?? 0,
    source: actorsSource(query, {
      interval,
      ...(row.breakdown_value !== undefined && { breakdown: row.breakdown_value }),
    }),
  }
}

/** A row per beginning. */
export function retentionTable(
  query: ExploreQuery,
  results: readonly RetentionRowAnswer[],
): AnswerTable {
  const period = periodOf(query)
  const width = Math.max(0, ...results.map(({ values }) => values.length))
  const has_values = results.some(({ breakdown_value }) => breakdown_value !== undefined)
  return {
    columns: [
      'Began',
      ...(has_values ? ['Breakdown'] : []),
      ...Array.from({ length: width }, (_, index) => `${period} ${index}`),
    ],
    rows: results.map((row) => [
      { value: rowText(row, period) },
      ...(has_values ? [{ value: breakdownText(row.breakdown_value ?? 'All') }] : []),
      ...Array.from({ length: width }, (_, index) => ({ value: row.values[index]?.count ?? null })),
    ]),
  }
}

/** Loaded with the first query about paths, since only they need d3-sankey. */
const PathsChart = lazyPage(
  () => import('../../../parts/charts/paths-chart.tsx').then((module) => module.PathsChart),
  { is_part: true },
)

/** Draws the paths. */
export function PathsView({
  query,
  results,
  onPick,
}: ViewProps<readonly PathsEdgeAnswer[]>): VNode {
  return (
    <PathsChart
      label="Paths"
      links={results}
      onPickLink={(link) => onPick(edgeNumber(query, link))}
      onPickNode={(name, value) => {
        const { text, step } = readPathNode(name)
        // All who came to a step: its edges' end; those of the first step have none before it.
        const key = step === 1 ? 'pathStartKey' : 'pathEndKey'
        onPick({
          title: `${text} · step ${step}`,
          value,
          source: pathSource(query, { [key]: name }),
        })
      }}
    />
  )
}

function edgeNumber(
  query: ExploreQuery,
  { source, target, value }: Pick<PathsEdgeAnswer, 'source' | 'target' | 'value'>,
): ClickedNumber {
  return {
    title: `${readPathNode(source).text} → ${readPathNode(target).text}`,
    value,
    source: pathSource(query, { pathStartKey: source, pathEndKey: target }),
  }
}

/** The ends of an edge belong to the query's filter, not to the point. */
function pathSource(query: ExploreQuery, ends: object) {
  return actorsSource({ ...query, pathsFilter: { ...query.pathsFilter, ...ends } }, {})
}

/** A row per edge, the most frequent first. */
export function pathsTable(query: ExploreQuery, results: readonly PathsEdgeAnswer[]): AnswerTable {
  const ranked = results.toSorted((one, other) => other.value - one.value)
  return {
    columns: ['Step', 'From', 'To', 'Persons', 'Mean time'],
    rows: ranked.map((edge) => [
      { value: readPathNode(edge.source).step },
      { value: readPathNode(edge.source).text },
      { value: readPathNode(edge.target).text },
      { value: edge.value, clicked: edgeNumber(query, edge) },
      {
        value: edge.average_conversion_time / 1000,
        text: formatDuration(edge.average_conversion_time / 1000),
      },
    ]),
  }
}

/** The states in the order of their layers, each with its colour. */
const STATES = [
  { status: 'returning', text: 'Returning', colour: 0 },
  { status: 'new', text: 'New', colour: 5 },
  { status: 'resurrecting', text: 'Resurrecting', colour: 6 },
  { status: 'dormant', text: 'Dormant', colour: 1 },
] as const

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

function stateNumber(
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

function lineName({ series = [] }: ExploreQuery, line: StickinessSeriesAnswer): string {
  const name = seriesNames(series)[line.action?.order ?? 0] ?? line.label
  return line.compare_label === 'previous' ? `${name}, before` : name
}

function stickyNumber(
  query: ExploreQuery,
  line: StickinessSeriesAnswer,
  bucket: number,
): ClickedNumber {
  return {
    title: `${lineName(query, line)} · ${line.labels[bucket] ?? ''}`,
    value: line.data[bucket] ?? 0,
    source: actorsSource(query, {
      day: line.days[bucket],
      series: line.action?.order ?? 0,
      ...(line.compare_label && { compare: line.compare_label }),
    }),
  }
}

/** A row per number of buckets, a column per line. */
export function stickinessTable(
  query: ExploreQuery,
  results: readonly StickinessSeriesAnswer[],
): AnswerTable {
  const labels = results[0]?.labels ?? []
  return {
    columns: [
      'Active on',
      ...results.flatMap((line) => {
        const name = lineName(query, line)
        return [name, `${name}, share`]
      }),
    ],
    rows: labels.map((label, index) => [
      { value: label },
      ...results.flatMap((line) => {
        const value = line.data[index] ?? 0
        const share = line.count === 0 ? null : value / line.count
        return [
          { value, clicked: stickyNumber(query, line, index) },
          { value: share, text: formatPercent(share) },
        ]
      }),
    ]),
  }
}
