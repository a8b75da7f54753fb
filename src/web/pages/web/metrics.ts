/** WEB_METRICS: the figures at the top of the page, and the graph that each of them opens. */
import type { AnyQuery } from '../../api/ask.ts'
import {
  formatCompact,
  formatDuration,
  formatPercent,
  type TimeInterval,
} from '../../parts/format.ts'
import { type WebQuestion, webMembers } from './web-question.ts'

/** An item of a WebOverviewQuery's answer. `percentage` values are percents, `duration_s` seconds. */
export type WebFigure = {
  readonly key: string
  readonly kind: 'unit' | 'duration_s' | 'percentage'
  readonly value: number | null
  readonly previous: number | null
  readonly changeFromPreviousPct: number | null
  readonly isIncreaseBad?: boolean
}

export type WebMetric = {
  /** The figure's key in the answer, and in the address. */
  readonly key: string
  readonly title: string
  /** The series of its graph; null for a figure that no graph shows. */
  readonly series: Readonly<Record<string, unknown>> | null
  readonly format: (value: number | null) => string
}

const pageviews = { kind: 'EventsNode', event: '$pageview', name: '$pageview' }

/** The figures in their order. */
export const WEB_METRICS: readonly WebMetric[] = [
  {
    key: 'visitors',
    title: 'Visitors',
    series: { ...pageviews, math: 'dau', custom_name: 'Visitors' },
    format: formatCompact,
  },
  {
    key: 'views',
    title: 'Page views',
    series: { ...pageviews, math: 'total', custom_name: 'Page views' },
    format: formatCompact,
  },
  {
    key: 'sessions',
    title: 'Sessions',
    series: { ...pageviews, math: 'unique_session', custom_name: 'Sessions' },
    format: formatCompact,
  },
  {
    key: 'session duration',
    title: 'Session duration',
    series: {
      ...pageviews,
      math: 'avg',
      math_property: '$session_duration',
      custom_name: 'Session duration',
    },
    format: formatDuration,
  },
  {
    key: 'bounce rate',
    title: 'Bounce rate',
    series: null,
    format: (value) => formatPercent(value === null ? null : value / 100),
  },
]

/** The metric of a key; the first one for a key that is none. */
export function metricOf(key: string): WebMetric {
  const metric = WEB_METRICS.find((one) => one.key === key && one.series !== null) ?? WEB_METRICS[0]
  if (metric === undefined) throw new Error('there are no metrics')
  return metric
}

/** The question of a metric's graph; null when it has none. */
export function graphQuery(
  { series }: WebMetric,
  question: WebQuestion,
  interval: TimeInterval,
): AnyQuery | null {
  return series === null
    ? null
    : { kind: 'TrendsQuery', interval, series: [series], ...webMembers(question) }
}
