/** WEB_METRICS: the figures at the top of the page, and the graph that each of them opens. */
import type { AnyQuery } from '../../api/calls/ask.ts'
import {
  formatCompact,
  formatDuration,
  formatPercent,
  type TimeInterval,
} from '../../parts/format.ts'
import { type WebSettings, webMembers } from './web-settings.ts'

export type WebMetric = {
  /** The figure's key in the answer, and in the address. */
  readonly key: string
  readonly title: string
  /** The series of its graph. */
  readonly series: Readonly<Record<string, unknown>>
  readonly format: (value: number | null) => string
}

/** Pages of sites, screens of apps. */
const IS_VIEW = "event in ('$pageview', '$screen')"

const viewsWhere = (condition: string) => ({
  kind: 'EventsNode',
  event: null,
  properties: [{ type: 'hogql', key: `${IS_VIEW} and ${condition}` }],
})

/** The events that the figures count: they are counted by session. */
const views = viewsWhere("$session_id != ''")

/** Sessions that bounced among all, in percent. */
const BOUNCED = 'uniqIf($session_id, session.$is_bounce) / uniq($session_id) * 100'

/** A figure of percents as text. */
const formatPercents = (value: number | null): string =>
  formatPercent(value === null ? null : value / 100)

/** The figures in their order. */
export const WEB_METRICS: readonly WebMetric[] = [
  {
    key: 'visitors',
    title: 'Visitors',
    series: { ...views, math: 'dau', custom_name: 'Visitors' },
    format: formatCompact,
  },
  {
    key: 'views',
    title: 'Page views',
    series: { ...views, math: 'total', custom_name: 'Page views' },
    format: formatCompact,
  },
  {
    key: 'sessions',
    title: 'Sessions',
    series: { ...views, math: 'unique_session', custom_name: 'Sessions' },
    format: formatCompact,
  },
  {
    key: 'session duration',
    title: 'Session duration',
    series: {
      ...views,
      math: 'avg',
      math_property: '$session_duration',
      custom_name: 'Session duration',
    },
    format: formatDuration,
  },
  {
    key: 'bounce rate',
    title: 'Bounce rate',
    series: { ...views, math: 'hogql', math_hogql: BOUNCED, custom_name: 'Bounce rate' },
    format: formatPercents,
  },
]

/** The metric of a key; the first one for a key that is none. */
export function metricOf(key: string): WebMetric {
  const metric = WEB_METRICS.find((one) => one.key === key) ?? WEB_METRICS[0]
  if (metric === undefined) throw new Error('there are no metrics')
  return metric
}

/** The query of a metric's graph. */
export function graphQuery(
  { series }: WebMetric,
  settings: WebSettings,
  interval: TimeInterval,
): AnyQuery & { readonly kind: 'TrendsQuery' } {
  return { kind: 'TrendsQuery', interval, series: [series], ...webMembers(settings) }
}

/** The query for the number of page views without a session, which no figure counts. */
export function sessionlessQuery(
  settings: WebSettings,
): AnyQuery & { readonly kind: 'TrendsQuery' } {
  return {
    kind: 'TrendsQuery',
    series: [{ ...viewsWhere("ifNull($session_id, '') = ''"), math: 'total' }],
    trendsFilter: { display: 'BoldNumber' },
    ...webMembers({ ...settings, has_comparison: false }),
  }
}

/** The query for the visitors of a whole range; `day` narrows it to a bucket, `compare` to the period before. */
export function visitorsSource(
  settings: WebSettings,
  interval: TimeInterval,
  point: { readonly day?: string; readonly compare?: 'current' | 'previous' } = {},
): AnyQuery {
  const source = {
    kind: 'TrendsQuery',
    interval,
    series: [{ ...views, math: 'dau' }],
    ...webMembers(settings),
  }
  return { kind: 'InsightActorsQuery', source, series: 0, ...point }
}
