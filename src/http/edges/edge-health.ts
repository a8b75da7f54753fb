/** Health checks and metrics of an edge: lag, backlog, age of definitions. */
import type { Forwarder } from '../../edge/forwarder.ts'
import { answerJson } from '../answers/answers.ts'
import type { AppContext } from '../app-context.ts'
import type { Endpoint } from '../endpoint.ts'
import { findCertificateFault, healthChecks } from '../health.ts'
import { CERTIFICATE_METRICS } from '../metrics/certificate-metrics.ts'
import { metricsEndpoint } from '../metrics/endpoint.ts'
import { counter, gauge, type MetricDefinition } from '../metrics/metric.ts'
import { durations } from '../metrics/metrics.ts'

type EdgeHealthContext = Pick<
  AppContext,
  'certificate' | 'event_loops' | 'isStopping' | 'metrics_networks' | 'now' | 'publicUrl'
> & {
  readonly forwarder: Pick<Forwarder, 'last_error' | 'report' | 'times' | 'totals'>
  /** Whether the home has ever sent its definitions. */
  readonly hasDefinitions: () => boolean
}

/** An edge's own metrics, in the order of the page. */
export const EDGE_METRICS: readonly MetricDefinition<EdgeHealthContext>[] = [
  gauge(
    'edge_lag_seconds',
    'Age of the oldest event that the home has not confirmed.',
    (edge) => edge.forwarder.report().lag_s,
  ),
  gauge(
    'edge_backlog_events',
    'Events that the home has not confirmed.',
    (edge) => edge.forwarder.report().backlog_events,
  ),
  gauge(
    'edge_backlog_bytes',
    'Bytes of them on disk.',
    (edge) => edge.forwarder.report().backlog_bytes,
  ),
  gauge(
    'edge_definitions_age_seconds',
    'Time since the definitions were found to be current; -1 before the first time.',
    (edge) => edge.forwarder.report().definitions_age_s ?? -1,
  ),
  gauge('edge_home_ok', '1 if the home took the last batch, else 0.', (edge) =>
    edge.forwarder.last_error === null ? 1 : 0,
  ),
  counter(
    'edge_forwarded_events_total',
    'Events that the home confirmed since the start.',
    (edge) => edge.forwarder.totals.events,
  ),
  counter(
    'edge_forwarded_batches_total',
    'Batches and reports that the home took since the start.',
    (edge) => edge.forwarder.totals.batches,
  ),
  counter(
    'edge_forwarded_bytes_total',
    'Bytes of them as sent.',
    (edge) => edge.forwarder.totals.bytes_sent,
  ),
  counter(
    'edge_forwarding_failures_total',
    'Batches that did not arrive, or were refused.',
    (edge) => edge.forwarder.totals.failures,
  ),
  durations('edge_forward', 'Batches and reports until the home has confirmed them.', (edge) => [
    { labels: {}, values: edge.forwarder.times.read() },
  ]),
  ...CERTIFICATE_METRICS,
]

/**
 * The endpoints. An edge is ready once it has definitions and a certificate, if it orders one, with or without its home: it
 * stores events all the same. Each answer has the figures of the edge's report.
 */
export function edgeHealthEndpoints(edge: EdgeHealthContext): readonly Endpoint[] {
  const state = (status: string, code: number): Response => {
    const { backlog_events, backlog_bytes, lag_s, definitions_age_s } = edge.forwarder.report()
    const home = edge.forwarder.last_error === null ? 'ok' : 'unavailable'
    const figures = { backlog_events, backlog_bytes, lag_s, definitions_age_s }
    const certificate = findCertificateFault(edge)
    const edge_state = { home, ...figures, ...(certificate !== null && { certificate }) }
    return answerJson({ status, edge: edge_state }, code)
  }
  const healthy = (): Response => (edge.isStopping() ? state('stopping', 503) : state('ok', 200))
  const ready = (): Response => {
    const is_ready = edge.hasDefinitions() && findCertificateFault(edge) === null
    return edge.isStopping() || is_ready ? healthy() : state('unavailable', 503)
  }
  return [
    ...healthChecks({ health: healthy, readiness: ready, readyz: ready }),
    metricsEndpoint(edge, EDGE_METRICS),
  ]
}
