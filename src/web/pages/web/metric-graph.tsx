/** The graph of one figure over time, with the period before it. */
import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import type { TrendsSeriesAnswer } from '../../../contract/insights/answers.ts'
import { type AnyQuery, useAnswer } from '../../api/calls/ask.ts'
import { AnswerAge } from '../../parts/answer/answer-age.tsx'
import { AnswerMenu } from '../../parts/answer/answer-menu.tsx'
import type { AnswerTable } from '../../parts/answer/answer-table.ts'
import type { ClickedNumber } from '../../parts/answer/clicked-number.ts'
import { ButtonLink } from '../../parts/button.tsx'
import { type ChartSeries, isIncomplete, timeBuckets } from '../../parts/charts/chart-data.ts'
import { TimeChart } from '../../parts/charts/time/time-chart.tsx'
import type { TimeInterval } from '../../parts/format.ts'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { SkeletonBlock } from '../../parts/notes/skeleton.tsx'
import { now } from '../../state/clock.ts'
import { useProject } from '../../state/project.tsx'
import { graphQuery, visitorsSource, type WebMetric } from './metrics.ts'
import { intervalOf } from './range-interval.ts'
import style from './web.module.css'
import type { WebSettings } from './web-settings.ts'

const GRAPH_PX = 280

type MetricGraphProps = {
  readonly metric: WebMetric
  readonly settings: WebSettings
  /** The figure of the whole range; null while it is not known. */
  readonly total: number | null
  readonly onPick: (clicked: ClickedNumber) => void
}

/** Asks for the figure by day, or by the interval that suits the range, and draws it. */
export function MetricGraph({ metric, settings, total, onPick }: MetricGraphProps): VNode {
  const interval = intervalOf(settings.range, now())
  const query = graphQuery(metric, settings, interval)
  const answer = useAnswer(query)
  const picture = useRef<HTMLDivElement>(null)
  const { data, isPlaceholderData } = answer
  const shown = isPlaceholderData ? undefined : data
  const pickTotal = (value: number): void =>
    onPick({
      title: metric.title,
      value,
      text: metric.format(value),
      source: visitorsSource({ ...settings, has_comparison: false }, interval),
    })
  return (
    <div class={style.graph}>
      <div class={style.tools}>
        <span>
          <AnswerAge query={query} answer={shown} />
        </span>
        <ButtonLink look="quiet" icon="explore" href={exploreAddress(query)}>
          Open in Explore
        </ButtonLink>
        <AnswerMenu
          name={metric.title}
          query={query}
          hogql={shown?.hogql}
          tableOf={shown && (() => graphTable(metric, shown.results))}
          picture={picture}
          has_button
          items={[
            {
              text: 'Show the persons',
              icon: 'persons',
              is_disabled: total === null,
              onSelect: () => pickTotal(total ?? 0),
            },
          ]}
        />
      </div>
      <Loaded of={answer} skeleton={<SkeletonBlock height={GRAPH_PX} />}>
        {({ results }) => (
          <div ref={picture}>
            <Graph
              metric={metric}
              settings={settings}
              interval={interval}
              all={results}
              onPick={onPick}
            />
          </div>
        )}
      </Loaded>
    </div>
  )
}

/** The address of a query in Explore, within the project. */
function exploreAddress(query: AnyQuery): string {
  return `/explore#q=${encodeURIComponent(JSON.stringify(query))}`
}

const isPrevious = ({ compare_label }: TrendsSeriesAnswer): boolean => compare_label === 'previous'
const daysOf = (all: readonly TrendsSeriesAnswer[]): readonly string[] =>
  all.find((one) => !isPrevious(one))?.days ?? []

/** A row per bucket, so that a spreadsheet draws it at once. */
function graphTable({ title }: WebMetric, all: readonly TrendsSeriesAnswer[]): AnswerTable {
  return {
    columns: ['Date', ...all.map((one) => (isPrevious(one) ? `${title}, before` : title))],
    rows: daysOf(all).map((day, bucket) => [
      { value: day },
      ...all.map(({ data }) => ({ value: data[bucket] ?? null })),
    ]),
  }
}

type GraphProps = Omit<MetricGraphProps, 'total'> & {
  readonly interval: TimeInterval
  readonly all: readonly TrendsSeriesAnswer[]
}

function Graph({ metric, settings, interval, all, onPick }: GraphProps): VNode {
  const { timezone } = useProject()
  const days = daysOf(all)
  const series = all.map((one): ChartSeries => {
    const is_previous = isPrevious(one)
    return {
      key: is_previous ? 'previous' : 'current',
      name: is_previous ? 'Previous period' : metric.title,
      values: one.data,
      colour: 0,
      ...(is_previous && { is_previous, buckets: timeBuckets(one.days, interval) }),
    }
  })
  const pick = ({ is_previous = false }: ChartSeries, bucket: number): void => {
    const line = all.find((one) => isPrevious(one) === is_previous)
    const day = line?.days[bucket]
    if (line === undefined || day === undefined) return
    const value = line.data[bucket] ?? 0
    const compare = is_previous ? 'previous' : 'current'
    onPick({
      title: `${metric.title} · ${timeBuckets([day], interval)[0]?.text ?? day}`,
      value,
      text: metric.format(value),
      source: visitorsSource(settings, interval, {
        day,
        ...(settings.has_comparison && { compare }),
      }),
    })
  }
  return (
    <TimeChart
      label={`${metric.title} over time`}
      buckets={timeBuckets(days, interval)}
      series={series}
      look="line"
      is_last_incomplete={isIncomplete(days.at(-1), interval, timezone)}
      height={GRAPH_PX}
      formatValue={metric.format}
      formatAxis={metric.format}
      onPick={pick}
    />
  )
}
