/**
 * The oldest addresses of the API, as `/api/person/`: they name no project and mean the caller's current one. Scripts
 * and the original's documentation still have them.
 */
import type { Endpoint } from './endpoint.ts'

/** OLD_ROOTS: the names in the oldest addresses by the name today. A line serves one more family. */
const OLD_ROOTS: ReadonlyMap<string, readonly string[]> = new Map([
  ['actions', ['action']],
  ['annotations', ['annotation']],
  ['cohorts', ['cohort']],
  ['dashboards', ['dashboard']],
  ['elements', ['element']],
  ['events', ['event']],
  ['feature_flags', ['feature_flag']],
  ['insights', ['insight', 'dashboard_item']],
  ['persons', ['person']],
  ['plugin_configs', ['plugin_config']],
])

const ROOT = '/api/projects/:project_id/'

/**
 * Returns the endpoint and the same at the old addresses of its family: `/api/projects/:project_id/persons/` →
 * `/api/person/`.
 */
export function withOldRoot(endpoint: Endpoint): readonly Endpoint[] {
  const { path, answer } = endpoint
  if (!path.startsWith(ROOT)) return [endpoint]
  const [family = '', ...rest] = path.slice(ROOT.length).split('/')
  const old = (OLD_ROOTS.get(family) ?? []).map(
    (name): Endpoint => ({
      ...endpoint,
      path: ['/api', name, ...rest].join('/'),
      answer: (request, params, socket) =>
        answer(request, { ...params, project_id: '@current' }, socket),
    }),
  )
  return [endpoint, ...old]
}
