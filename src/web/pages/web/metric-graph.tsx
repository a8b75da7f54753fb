/** The graph of one figure over time, with the period before it. */
import type { VNode } from 'preact'
import { useAnswer } from '../../api/ask.ts'
import { ButtonLink } from '../../parts/button.tsx'
import { type ChartSeries, isIncomplete, timeBuckets } from '../../parts/charts/chart-data.ts'
import { TimeChart } from '../../parts/charts/time-chart.tsx'
import type { TimeInterval } from '../../parts/format.ts'
import { Loaded } from '../../parts/loaded.tsx'
import { SkeletonBlock } from '../../parts/skeleton.tsx'
import { useProject } from '../../state/project.tsx'
import { graphQuery, type WebMetric } from './metrics.ts'
import style from './web.module.css'
import { intervalOf, type WebQuestion } from './web-question.ts'

/** A series of a TrendsQuery's answer, as far as the graph draws it. */
type GraphSeries = {
  readonly data: readonly number[]
  readonly days: readonly string[]
  readonly compare_label?: string | null
}

const GRAPH_PX = 280

type MetricGraphProps = { readonly metric: WebMetric; readonly question: WebQuestion }

/** Asks for the figure by day, or by what suits the range, and draws it. */
export function MetricGraph({ metric, question }: MetricGraphProps): VNode {
  const interval = intervalOf(question.range, new Date())
  const query = graphQuery(metric, question, interval)
  const answer = useAnswer<readonly GraphSeries[]>(query)
  return (
    <div class={style.graph}>
      {query !== null && (
        <ButtonLink
          look="quiet"
          icon="explore"
          href={`/explore#q=${encodeURIComponent(JSON.stringify(query))}`}
        >
          Open in Explore
        </ButtonLink>
      )}
      <Loaded of={answer} skeleton={<SkeletonBlock height={GRAPH_PX} />}>
        {({ results }) => <Graph metric={metric} interval={interval} all={results} />}
      </Loaded>
    </div>
  )
}

type GraphProps = {
  readonly metric: WebMetric
  readonly interval: TimeInterval
  readonly all: readonly GraphSeries[]
}

function Graph({ metric, interval, all }: GraphProps): VNode {
  const { timezone } = useProject()
  const days = all.find(({ compare_label }) => compare_label !== 'previous')?.days ?? []
  const series = all.map((one): ChartSeries => {
    const is_previous = one.compare_label === 'previous'
    return {
      key: is_previous ? 'previous' : 'current',
      name: is_previous ? 'Previous period' : metric.title,
      values: one.data,
      colour: 0,
      ...(is_previous && { is_previous, buckets: timeBuckets(one.days, interval) }),
    }
  })
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
    />
  )
}
