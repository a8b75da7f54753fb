/** Addresses in Explore of what an experiment measures. */
import type { ShownExperiment } from '../../api/types/shown-experiment.ts'
import { projectDay } from '../../parts/format.ts'
import { type MetricNode, readMetric } from './metric.ts'

/** The flag's calls by their answer, on the days that the experiment has run in the project's zone. */
export function callsHref(experiment: ShownExperiment, timezone: string): string {
  const { feature_flag_key: key } = experiment
  const properties = [
    { type: 'event', key: '$feature_flag', operator: 'exact', value: [key] },
  ] as const
  const series = [{ kind: 'EventsNode', event: '$feature_flag_called', properties }] as const
  return hrefOf(series, '$feature_flag_response', rangeOf(experiment, timezone))
}

/** The events of a metric by the variant that persons had. */
export function exploreHref(
  experiment: ShownExperiment,
  metric: unknown,
  timezone: string,
): string {
  const nodes = readMetric(metric)?.nodes ?? []
  const series: readonly MetricNode[] =
    nodes.length === 0 ? [{ kind: 'EventsNode', event: null }] : nodes
  const range = rangeOf(experiment, timezone)
  return hrefOf(series, `$feature/${experiment.feature_flag_key}`, range)
}

function hrefOf(series: readonly MetricNode[], property: string, dateRange: object): string {
  const query = {
    kind: 'TrendsQuery',
    series,
    breakdownFilter: { breakdowns: [{ type: 'event', property }] },
    dateRange,
    interval: 'day',
  }
  return `/explore#q=${encodeURIComponent(JSON.stringify(query))}`
}

function rangeOf({ start_date, end_date }: ShownExperiment, timezone: string): object {
  const dayOf = (iso: string | null): string | null =>
    iso === null ? null : projectDay(iso, timezone)
  return { date_from: dayOf(start_date) ?? '-30d', date_to: dayOf(end_date) }
}
