/** GET /_metrics, for the networks that may read it. */
import { Refusal } from '../../errors.ts'
import { isLoopback, networksOf } from '../../networks.ts'
import { answerRefusal } from '../answers/refusals.ts'
import type { AppContext } from '../app-context.ts'
import type { Endpoint } from '../endpoint.ts'
import type { MetricDefinition } from './metric.ts'
import { METRICS, printPage } from './metrics.ts'

/** Headers that proxies and content networks add to a forwarded request, besides all of X-Forwarded-*. */
const PROXY_HEADERS = [
  'cdn-loop',
  'cf-connecting-ip',
  'cf-ray',
  'client-ip',
  'fastly-client-ip',
  'fly-client-ip',
  'forwarded',
  'true-client-ip',
  'via',
  'x-amzn-trace-id',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-envoy-external-address',
  'x-original-forwarded-for',
  'x-real-ip',
] as const

/** Whether a proxy has marked the request: then anyone may have sent it. */
function isForwarded(headers: Headers): boolean {
  if (PROXY_HEADERS.some((name) => headers.has(name))) return true
  return [...headers.keys()].some((name) => name.startsWith('x-forwarded-'))
}

/**
 * Whether the Host header of a request from this machine means this machine. A web page can let its own name
 * resolve to 127.0.0.1 and read what a local browser may read (DNS rebinding); the Host header still contains
 * the page's name.
 */
function namesThisMachine(request: Request, public_url: string): boolean {
  const host = request.headers.get('host')
  if (host === null) return true
  const url = URL.parse(`http://${host}`)
  if (url === null) return false
  const name = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  const is_local = name === 'localhost' || name.endsWith('.localhost') || isLoopback(name)
  return is_local || url.hostname === URL.parse(public_url)?.hostname
}

/** Creates the endpoint of a server. */
export function metricsEndpoints(app: AppContext): readonly Endpoint[] {
  return [metricsEndpoint(app, METRICS)]
}

/**
 * Creates an endpoint that prints metrics. It answers callers in `metrics_networks`; others, and callers behind a proxy,
 * get 404.
 */
export function metricsEndpoint<Source extends Pick<AppContext, 'metrics_networks' | 'publicUrl'>>(
  source: Source,
  metrics: readonly MetricDefinition<Source>[],
): Endpoint {
  const isAllowed = networksOf(source.metrics_networks)
  return {
    method: 'GET',
    path: '/_metrics',
    answer(request, _params, socket) {
      const address = socket?.requestIP(request)?.address ?? ''
      const is_meant = !isLoopback(address) || namesThisMachine(request, source.publicUrl())
      if (isForwarded(request.headers) || !isAllowed(address) || !is_meant) {
        return answerRefusal(new Refusal('not_found', 'Endpoint not found.'))
      }
      return new Response(printPage(metrics, source), {
        headers: {
          'Content-Type': 'text/plain; version=0.0.4; charset=utf-8',
          'X-Content-Type-Options': 'nosniff',
        },
      })
    },
  }
}
