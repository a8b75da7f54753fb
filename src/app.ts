/** ROUTES: the HTTP application mounts every family of routes, and answers 404 and 405 for all other paths. */
import { Elysia } from 'elysia'
import { Refusal } from './errors.ts'
import { pathOf } from './http/addresses.ts'
import { ALERT_ROUTES } from './http/analytics/alerts/alerts.ts'
import { SUBSCRIPTION_ROUTES } from './http/analytics/alerts/subscriptions.ts'
import { ANNOTATION_ROUTES } from './http/analytics/annotations.ts'
import { DASHBOARD_TEMPLATE_ROUTES } from './http/analytics/dashboards/dashboard-templates.ts'
import { DASHBOARD_ROUTES } from './http/analytics/dashboards/dashboards.ts'
import { EXPORT_ROUTES } from './http/analytics/dashboards/exports.ts'
import { SHARING_ROUTES } from './http/analytics/dashboards/sharing.ts'
import { DEFINITION_CHANGE_ROUTES } from './http/analytics/definitions/definition-changes.ts'
import { DEFINITION_ROUTES } from './http/analytics/definitions/definitions.ts'
import { ELEMENT_ROUTES } from './http/analytics/events/elements.ts'
import { EVENT_ROUTES } from './http/analytics/events/events.ts'
import { LIVE_EVENT_ROUTES } from './http/analytics/events/live-events.ts'
import { SESSION_ROUTES } from './http/analytics/events/sessions.ts'
import { INSIGHT_VIEW_ROUTES } from './http/analytics/insights/insight-views.ts'
import { INSIGHT_ROUTES } from './http/analytics/insights/insights.ts'
import { DIRECT_INSIGHT_ROUTES } from './http/analytics/insights/legacy-insights.ts'
import { QUERY_ROUTES } from './http/analytics/queries/query.ts'
import { VARIABLE_ROUTES } from './http/analytics/queries/variables.ts'
import { withCors } from './http/answers/cors.ts'
import { answerError, answerRefusal, reportTo } from './http/answers/refusals.ts'
import type { AppContext, PublicContext } from './http/app-context.ts'
import { downloadEndpoints } from './http/browser/download-endpoint.ts'
import { webFileEndpoints } from './http/browser/files.ts'
import { loginEndpoints } from './http/browser/login.ts'
import { oldLinkEndpoints } from './http/browser/old-links.ts'
import { LOGIN_SESSION_ROUTES } from './http/browser/sessions.ts'
import { clockEndpoints } from './http/clock.ts'
import { docsEndpoints } from './http/docs.ts'
import { edgeEndpoints } from './http/edges/edges.ts'
import type { Endpoint, PathParams } from './http/endpoint.ts'
import { healthEndpoints } from './http/health.ts'
import { API_KEY_ROUTES } from './http/management/api-keys.ts'
import { DEMO_ROUTES } from './http/management/demo.ts'
import { FAMILY_ACTIVITY_ROUTES } from './http/management/family-activity.ts'
import { HOOK_ROUTES } from './http/management/hooks.ts'
import { INGESTION_WARNING_ROUTES } from './http/management/ingestion-warnings.ts'
import { MEMBER_ROUTES } from './http/management/members.ts'
import { ORGANIZATION_ROUTES } from './http/management/organizations.ts'
import { PLUGIN_ROUTES } from './http/management/plugins.ts'
import { PROJECT_ACTION_ROUTES } from './http/management/project-actions.ts'
import { PROJECT_ROUTES } from './http/management/projects.ts'
import { signupEndpoints } from './http/management/signup.ts'
import { USER_ROUTES } from './http/management/users.ts'
import { metricsEndpoints } from './http/metrics/endpoint.ts'
import { withOldRoot } from './http/old-roots.ts'
import { operatorEndpoints } from './http/operator.ts'
import { GROUP_CHANGE_ROUTES } from './http/persons/group-changes.ts'
import { GROUP_ROUTES } from './http/persons/groups.ts'
import { PERSON_ANALYTICS_ROUTES } from './http/persons/person-analytics.ts'
import { PERSON_CHANGE_ROUTES } from './http/persons/person-changes.ts'
import { PERSON_LOOK_UP_ROUTES } from './http/persons/person-lookups.ts'
import { PERSON_PROPERTY_ROUTES } from './http/persons/person-properties.ts'
import { PERSON_ROUTES } from './http/persons/persons.ts'
import { RELATED_GROUP_ROUTES } from './http/persons/related-groups.ts'
import { absentEndpoints } from './http/public/absent-products.ts'
import { captureEndpoints } from './http/public/capture.ts'
import { captureV1Endpoints } from './http/public/capture-v1/capture-v1.ts'
import { FLAG_DEFINITION_ROUTES } from './http/public/flag-definitions.ts'
import { flagEndpoints } from './http/public/flags.ts'
import { publicListEndpoints } from './http/public/public-lists.ts'
import { remoteConfigEndpoints } from './http/public/remote-config.ts'
import { webClientEndpoints } from './http/public/web-client.ts'
import { type Route, routeEndpoints, withPut } from './http/route.ts'
import { standbyEndpoints } from './http/standby/wire.ts'
import { ACTION_ROUTES } from './http/targeting/actions.ts'
import { COHORT_ROUTES } from './http/targeting/cohorts/cohorts.ts'
import { EARLY_ACCESS_ROUTES } from './http/targeting/early-access.ts'
import { EXPERIMENT_IMPLEMENTATION_ROUTES } from './http/targeting/experiments/experiment-implementation.ts'
import { EXPERIMENT_LIFECYCLE_ROUTES } from './http/targeting/experiments/experiment-lifecycle.ts'
import { EXPERIMENT_LIST_ROUTES } from './http/targeting/experiments/experiment-lists.ts'
import { EXPERIMENT_RESULT_ROUTES } from './http/targeting/experiments/experiment-results.ts'
import { EXPERIMENT_TIMESERIES_ROUTES } from './http/targeting/experiments/experiment-timeseries.ts'
import { EXPERIMENT_ROUTES } from './http/targeting/experiments/experiments.ts'
import { HOLDOUT_ROUTES } from './http/targeting/experiments/holdouts.ts'
import { SAVED_METRIC_ROUTES } from './http/targeting/experiments/saved-metrics.ts'
import { WEB_EXPERIMENT_ROUTES } from './http/targeting/experiments/web-experiments.ts'
import { FEATURE_FLAG_ROUTES } from './http/targeting/flags/feature-flags.ts'
import { FLAG_ACTION_ROUTES } from './http/targeting/flags/flag-actions.ts'
import { FLAG_BULK_ROUTES } from './http/targeting/flags/flag-bulk.ts'
import { FLAG_COPY_ROUTES } from './http/targeting/flags/flag-copies.ts'
import { FLAG_DASHBOARD_ROUTES } from './http/targeting/flags/flag-dashboard.ts'
import { FLAG_LIFECYCLE_ROUTES } from './http/targeting/flags/flag-lifecycle.ts'
import { SCHEDULED_CHANGE_ROUTES } from './http/targeting/flags/scheduled-changes.ts'
import { SURVEY_ACTION_ROUTES } from './http/targeting/surveys/survey-actions.ts'
import { SURVEY_STATS_ROUTES } from './http/targeting/surveys/survey-stats.ts'
import { SURVEY_ROUTES } from './http/targeting/surveys/surveys.ts'
import type { Histogram } from './threads/histogram.ts'
import { nameWork, runWork } from './threads/this-thread.ts'
import { secondsSince } from './threads/timings.ts'
import type { RequestSpan } from './threads/traces.ts'

/** The endpoints for SDKs, which edges have too: one line per family. */
const FOR_SDKS = [
  captureEndpoints,
  captureV1Endpoints,
  absentEndpoints,
  flagEndpoints,
  remoteConfigEndpoints,
  webClientEndpoints,
  publicListEndpoints,
] as const

/** The other public endpoints, which need no personal API key: one line per family. */
const PUBLIC = [
  signupEndpoints,
  loginEndpoints,
  downloadEndpoints,
  healthEndpoints,
  metricsEndpoints,
  operatorEndpoints,
  clockEndpoints,
  edgeEndpoints,
  standbyEndpoints,
  webFileEndpoints,
  oldLinkEndpoints,
] as const

/** The management API, which takes personal API keys: one line per family. */
export const ROUTES: readonly Route[] = withPut([
  ...QUERY_ROUTES,
  ...FAMILY_ACTIVITY_ROUTES,
  ...ACTION_ROUTES,
  ...ALERT_ROUTES,
  ...ANNOTATION_ROUTES,
  ...COHORT_ROUTES,
  ...DASHBOARD_TEMPLATE_ROUTES,
  ...DASHBOARD_ROUTES,
  ...SHARING_ROUTES,
  ...SUBSCRIPTION_ROUTES,
  ...EARLY_ACCESS_ROUTES,
  ...DEFINITION_ROUTES,
  ...DEFINITION_CHANGE_ROUTES,
  ...ELEMENT_ROUTES,
  ...EVENT_ROUTES,
  ...LIVE_EVENT_ROUTES,
  ...SESSION_ROUTES,
  ...EXPERIMENT_LIST_ROUTES,
  ...EXPERIMENT_IMPLEMENTATION_ROUTES,
  ...EXPERIMENT_ROUTES,
  ...EXPERIMENT_LIFECYCLE_ROUTES,
  ...EXPERIMENT_RESULT_ROUTES,
  ...EXPERIMENT_TIMESERIES_ROUTES,
  ...GROUP_ROUTES,
  ...GROUP_CHANGE_ROUTES,
  ...RELATED_GROUP_ROUTES,
  ...HOLDOUT_ROUTES,
  ...SAVED_METRIC_ROUTES,
  ...SCHEDULED_CHANGE_ROUTES,
  ...SURVEY_ACTION_ROUTES,
  ...SURVEY_STATS_ROUTES,
  ...SURVEY_ROUTES,
  ...WEB_EXPERIMENT_ROUTES,
  ...FLAG_DEFINITION_ROUTES,
  ...FLAG_ACTION_ROUTES,
  ...FLAG_BULK_ROUTES,
  ...FLAG_COPY_ROUTES,
  ...FLAG_DASHBOARD_ROUTES,
  ...FLAG_LIFECYCLE_ROUTES,
  ...FEATURE_FLAG_ROUTES,
  ...PROJECT_ROUTES,
  ...PROJECT_ACTION_ROUTES,
  ...DEMO_ROUTES,
  ...ORGANIZATION_ROUTES,
  ...PERSON_ANALYTICS_ROUTES,
  ...PERSON_CHANGE_ROUTES,
  ...PERSON_LOOK_UP_ROUTES,
  ...PERSON_PROPERTY_ROUTES,
  ...PERSON_ROUTES,
  ...PLUGIN_ROUTES,
  ...HOOK_ROUTES,
  ...INGESTION_WARNING_ROUTES,
  ...DIRECT_INSIGHT_ROUTES,
  ...INSIGHT_ROUTES,
  ...INSIGHT_VIEW_ROUTES,
  ...VARIABLE_ROUTES,
  ...EXPORT_ROUTES,
  ...MEMBER_ROUTES,
  ...API_KEY_ROUTES,
  ...USER_ROUTES,
  ...LOGIN_SESSION_ROUTES,
])

/** The parameters of a path without any. */
const NO_PARAMS: PathParams = {}

/** A path that a request named: what answers it, and the values of its parameters. */
type KnownPath = { readonly answer: Endpoint['answer']; readonly params: PathParams }
type KnownPaths = ReadonlyMap<string, KnownPath>

/** Paths with parameters that are kept, and the length of their addresses, which they keep in memory: some 0.5 MB in all. */
const RECENT_PATHS_MAX = 1000
const RECENT_ADDRESS_LENGTH_MAX = 300

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/** Prevents Elysia from reading bodies: endpoints read them after they have authenticated the caller. */
const UNREAD = { parse: 'none' } as const

/** The parts of the context that mounting an endpoint needs. */
/** Edges and standbys have only copies of control.db. */
type MountContext = Pick<AppContext, 'log' | 'timings'> & Partial<Pick<AppContext, 'checkControl'>>

/** Builds the application. Tests call `app.handle(request)`, which answers like the server. */
export function createApp(needs: AppContext): Elysia {
  const others = [
    ...PUBLIC.flatMap((endpointsOf) => endpointsOf(needs)),
    ...docsEndpoints(needs, ROUTES),
  ]
  return mountAll(needs, [
    ...FOR_SDKS.flatMap((endpointsOf) => endpointsOf(needs)),
    ...others.map((endpoint) => (isRead(endpoint) ? endpoint : answerOnceSaved(needs, endpoint))),
    ...ROUTES.flatMap((route) => {
      const endpoints = routeEndpoints(needs, route).flatMap(withOldRoot)
      // One GET makes something: a list of the persons who are in a cohort.
      const may_change = route.scope.endsWith(':write') || !endpoints.every(isRead)
      return may_change ? endpoints.map((endpoint) => answerOnceSaved(needs, endpoint)) : endpoints
    }),
  ])
}

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

const isRead = ({ method }: Endpoint): boolean => READS.has(method)

/** Holds the answer of a call that may change something until the change is on the disk. */
function answerOnceSaved({ settleControl }: AppContext, endpoint: Endpoint): Endpoint {
  return {
    ...endpoint,
    async answer(...call) {
      const answer = await endpoint.answer(...call)
      const settled = settleControl()
      if (settled !== null) await settled
      return answer
    },
  }
}

/** Builds the application of an edge: the endpoints for SDKs, its `own` endpoints, and `others` for every other path and method. */
export function createEdgeApp(
  needs: PublicContext,
  own: readonly Endpoint[],
  others: Endpoint['answer'],
): Elysia {
  const sdks = FOR_SDKS.flatMap((endpointsOf) => endpointsOf(needs))
  return mountWithFallback(needs, [...sdks, ...own], others)
}

/** Builds the application of a standby: its `own` endpoints, and `others` for every other path and method. */
export function createStandbyApp(
  needs: MountContext,
  own: readonly Endpoint[],
  others: Endpoint['answer'],
): Elysia {
  return mountWithFallback(needs, own, others)
}

function mountWithFallback(
  needs: MountContext,
  endpoints: readonly Endpoint[],
  others: Endpoint['answer'],
): Elysia {
  const rest = METHODS.map((method): Endpoint => ({ method, path: '/*', answer: others }))
  return mountAll(needs, [...endpoints, ...rest])
}

function mountAll(needs: MountContext, endpoints: readonly Endpoint[]): Elysia {
  const app = new Elysia({
    // One router for tests and server: Bun's knows neither paths without a final slash nor the order of
    // methods.
    systemRouter: false,
    // By default Elysia assumes hosts of at least four characters, and finds no path behind a shorter one.
    handler: { standardHostname: false },
  })
  const exact_paths = new Map<string, KnownPath>()
  const recent_paths = new Map<string, KnownPath>()
  for (const [path, endpoints_there] of Map.groupBy(endpoints, (endpoint) => endpoint.path)) {
    const answer = answerOfPath(needs, path, endpoints_there)
    // As in the router, the first of two endpoints whose paths differ by the final slash has both.
    for (const form of exactForms(path)) {
      if (!exact_paths.has(form)) exact_paths.set(form, { answer, params: NO_PARAMS })
    }
    // Elysia parses the source of a handler, and fills only the members of the context that it names.
    app.all(
      path,
      ({ request, params, server }) => {
        keepRecent(recent_paths, request.url, { answer, params })
        return answer(request, params, server)
      },
      UNREAD,
    )
  }
  // Elysia would compile a hook that is set before the routes into each of them, whose handlers catch all errors.
  app.onError({ as: 'global' }, ({ code, error, request }) =>
    code === 'NOT_FOUND'
      ? answerNotFound()
      : answerFault(needs, { method: request.method, path: pathOf(request.url) }, error),
  )
  return answerKnownFirst(app, exact_paths, recent_paths)
}

/** A path without parameters, with and without a final slash; no form of others. */
function exactForms(path: string): readonly string[] {
  if (!/^\/[^:*]+$/.test(path)) return []
  return path.endsWith('/') ? [path, path.slice(0, -1)] : [path, `${path}/`]
}

/**
 * Finds paths without parameters, and the `recent` ones with some, before the router does: its context and promise cost
 * 2 µs of processor time and 2 KB of garbage a request. HEAD is left to the router, which drops the body.
 */
function answerKnownFirst(app: Elysia, exact_paths: KnownPaths, recent_paths: KnownPaths): Elysia {
  const route = app.fetch
  const value: Elysia['fetch'] = (request) => {
    const path = pathOf(request.url)
    const known_path = exact_paths.get(path) ?? recent_paths.get(path)
    if (known_path === undefined || request.method === 'HEAD') return route(request)
    return known_path.answer(request, known_path.params, app.server)
  }
  return Object.defineProperty(app, 'fetch', { value })
}

/**
 * Keeps the path of an address, which has parameters. All are dropped when there are too many: a look-up of the router is all
 * that they save.
 */
function keepRecent(
  recent_paths: Map<string, KnownPath>,
  address: string,
  known_path: KnownPath,
): void {
  if (address.length > RECENT_ADDRESS_LENGTH_MAX) return
  if (recent_paths.size >= RECENT_PATHS_MAX) recent_paths.clear()
  recent_paths.set(pathOf(address), known_path)
}

function answerNotFound(): Response {
  return answerRefusal(new Refusal('not_found', 'Endpoint not found.'))
}

/** Turns a thrown error into a response; bugs are logged. */
function answerFault(
  needs: MountContext,
  call: { readonly method: string; readonly path: string },
  error: unknown,
): Response {
  return answerError(error, reportTo(needs, call))
}

/**
 * Answers every method of a path. A route for each, of which two thirds would refuse, cost 110 ms of processor time at
 * each start instead of 35.
 */
function answerOfPath(
  needs: MountContext,
  path: string,
  endpoints: readonly Endpoint[],
): Endpoint['answer'] {
  const is_for_pages = endpoints.some(({ method }) => method === 'OPTIONS')
  // A path that answers preflights is for pages: without CORS headers they would see a failure of the network.
  const showToPages = (request: Request, refused: Response): Response =>
    is_for_pages ? withCors(request, refused) : refused
  const answers = new Map<string, Endpoint['answer']>(
    endpoints.map((endpoint) => [endpoint.method, observeAnswer(needs, endpoint, showToPages)]),
  )
  const headers = { Allow: [...answers.keys()].join(', ') }
  return (request, params, server) => {
    const answer = answers.get(request.method)
    if (answer !== undefined) return answer(request, params, server)
    const method = METHODS.find((known) => known === request.method)
    if (method === undefined) return answerNotFound()
    const refusal = new Refusal('method_not_allowed', `Method "${method}" not allowed.`)
    const answerRefused = (): Response => showToPages(request, answerRefusal(refusal, headers))
    const refuse = { method, path, answer: answerRefused }
    return observeAnswer(needs, refuse, showToPages)(request, params, server)
  }
}

/**
 * Calls an endpoint under the name of its route; records the time of its answer, ends its span, and answers what it throws.
 * The log has the route's pattern: paths may contain secrets.
 */
function observeAnswer(
  needs: MountContext,
  { method, path, answer }: Endpoint,
  showToPages: (request: Request, refused: Response) => Response,
): Endpoint['answer'] {
  const route = `${method} ${path}`
  const work = nameWork(route)
  const histograms = new Map<number, Histogram>()
  const histogramOf = (status: number): Histogram => {
    const known = histograms.get(status) ?? needs.timings.requests.with(route, String(status))
    histograms.set(status, known)
    return known
  }
  return (request, params, server) => {
    const started_ms = performance.now()
    const span = needs.timings.traces?.open(request.headers.get('traceparent')) ?? null
    const note = (response: Response): Response => {
      const { status } = response
      histogramOf(status).record(secondsSince(started_ms))
      if (span !== null) endSpan(span, { method, path }, status)
      return response
    }
    const refuse = (error: unknown): Response =>
      note(showToPages(request, answerFault(needs, { method, path }, error)))
    try {
      const answered = runWork(work, () => answer(request, params, server), span)
      // Awaiting an answer that is there would cost a turn of the event loop.
      return answered instanceof Promise ? answered.then(note, refuse) : note(answered)
    } catch (error) {
      return refuse(error)
    }
  }
}

/** Ends a request's span when the head of its answer is there, with the attributes that OpenTelemetry names. */
function endSpan(
  span: RequestSpan,
  { method, path }: Pick<Endpoint, 'method' | 'path'>,
  status: number,
): void {
  const attributes = {
    'http.request.method': method,
    'http.route': path,
    'http.response.status_code': status,
  }
  span.end(`${method} ${path}`, attributes, status >= 500)
}
