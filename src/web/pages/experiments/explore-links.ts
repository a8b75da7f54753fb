/** Addresses in Explore of what an experiment measures. */
import type { ShownExperiment } from '../../api/types/shown-experiment.ts'
import { type MetricNode, readMetric } from './metric.ts'

/** The flag's calls by their answer while the experiment runs. */
export function callsHref(experiment: ShownExperiment): string {
  const { feature_flag_key: key } = experiment
  const properties = [
    { type: 'event', key: '$feature_flag', operator: 'exact', value: [key] },
  ] as const
  const series = [{ kind: 'EventsNode', event: '$feature_flag_called', properties }] as const
  return hrefOf(experiment, series, '$feature_flag_response')
}

/** The events of a metric by the variant that persons had. */
export function exploreHref(experiment: ShownExperiment, metric: unknown): string {
  const nodes = readMetric(metric)?.nodes ?? []
  const series: readonly MetricNode[] =
    nodes.length === 0 ? [{ kind: 'EventsNode', event: null }] : nodes
  return hrefOf(experiment, series, `$feature/${experiment.feature_flag_key}`)
}

function hrefOf(
  { start_date, end_date }: ShownExperiment,
  series: readonly MetricNode[],
  property: string,
): string {
  const query = {
    kind: 'TrendsQuery',
    series,
    breakdownFilter: { breakdowns: [{ type: 'event', property }] },
    dateRange: { date_from: dayOf(start_date) ?? '-30d', date_to: dayOf(end_date) },
    interval: 'day',
  }
  return `/explore#q=${encodeURIComponent(JSON.stringify(query))}`
}

const dayOf = (iso: string | null): string | null => iso?.slice(0, 10) ?? null
