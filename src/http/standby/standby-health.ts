/** Health checks, metrics and the takeover of a standby. */
import { errorMessage } from '../../error-message.ts'
import { Refusal } from '../../errors.ts'
import { answerJson } from '../answers/answers.ts'
import { answerRefusal } from '../answers/refusals.ts'
import type { AppContext } from '../app-context.ts'
import type { Endpoint } from '../endpoint.ts'
import { healthChecks } from '../health.ts'
import { CERTIFICATE_METRICS } from '../metrics/certificate-metrics.ts'
import { metricsEndpoint } from '../metrics/endpoint.ts'
import { counter, gauge, type MetricDefinition } from '../metrics/metric.ts'
import { isOperator } from '../operator.ts'

type StandbyContext = Pick<
  AppContext,
  'certificate' | 'isStopping' | 'metrics_networks' | 'now' | 'operator_key' | 'publicUrl'
> & {
  readonly follower: {
    /** The reason that the primary cannot be followed now; null while it can. */
    readonly last_error: string | null
    readonly is_whole: boolean
    /** Time since the copies were equal to the primary's databases. */
    readonly behind_s: number | null
    /** Copies of a database that were begun since the start. */
    readonly begun: number
  }
  readonly primary: { readonly url: string; readonly bytes: number }
  /** Ends following, and makes this process a server of its own. */
  readonly takeOver: () => Promise<object>
}

/** A standby's own metrics, in the order of the page. */
export const STANDBY_METRICS: readonly MetricDefinition<StandbyContext>[] = [
  gauge(
    'standby_behind_seconds',
    'Time since the copies were equal to the primary; -1 before the first time.',
    ({ follower }) => follower.behind_s ?? -1,
  ),
  gauge('standby_primary_ok', '1 while the primary answers, else 0.', ({ follower }) =>
    follower.last_error === null ? 1 : 0,
  ),
  counter(
    'standby_copies_begun_total',
    'Copies of a database that were begun since the start.',
    ({ follower }) => follower.begun,
  ),
  counter(
    'standby_received_bytes_total',
    'Bytes received of the primary since the start.',
    ({ primary }) => primary.bytes,
  ),
  ...CERTIFICATE_METRICS,
]

/** The endpoints. A standby is ready once it could take over; each answer says how far behind it is. */
export function standbyHealthEndpoints(standby: StandbyContext): readonly Endpoint[] {
  const { follower } = standby
  const state = (): Response => {
    const is_ready = follower.is_whole && !standby.isStopping()
    const figures = {
      primary: follower.last_error === null ? 'ok' : 'unavailable',
      reason: follower.last_error,
      is_whole: follower.is_whole,
      behind_s: follower.behind_s,
    }
    const status = is_ready ? 'ok' : 'unavailable'
    return answerJson({ status, standby: figures }, is_ready ? 200 : 503)
  }
  return [
    ...healthChecks({ health: state, readiness: state, readyz: state }),
    metricsEndpoint(standby, STANDBY_METRICS),
    takeoverEndpoint(standby),
  ]
}

/** The endpoint that `tidemark takeover` calls, with the key of the folder's note. */
function takeoverEndpoint({ operator_key, takeOver }: StandbyContext): Endpoint {
  return {
    method: 'POST',
    path: '/_standby/takeover',
    async answer(request) {
      if (!isOperator(request, operator_key))
        return answerRefusal(new Refusal('not_found', 'Endpoint not found.'))
      try {
        return answerJson(await takeOver())
      } catch (error) {
        const detail = errorMessage(error)
        return answerRefusal(new Refusal('storage_unavailable', detail))
      }
    },
  }
}
