/** OLD_LINKS: addresses of PostHog's interface, which links and bookmarks have, and the same thing here. */
import { basePathOf } from '../addresses.ts'
import type { AppContext } from '../app-context.ts'
import type { Endpoint, PathParams } from '../endpoint.ts'

type OldLink = {
  /** Below `/project/:project`. */
  readonly path: string
  /** The page here; `:name` is taken from the old address. */
  readonly page: string
}

/** Most can also be opened without a project; `/` then leads to that of the last visit. Adding a link means adding a line. */
const OLD_LINKS: readonly OldLink[] = [
  { path: '/insights', page: 'explore' },
  { path: '/insights/new', page: 'explore' },
  { path: '/insights/:id', page: 'insights/:id' },
  { path: '/insights/:id/edit', page: 'insights/:id' },
  { path: '/dashboard', page: 'boards' },
  { path: '/dashboard/:id', page: 'boards/:id' },
  { path: '/web', page: 'web' },
  { path: '/events', page: 'events' },
  { path: '/activity/explore', page: 'events' },
  { path: '/activity/live', page: 'events' },
  { path: '/persons', page: 'persons' },
  { path: '/persons/:id', page: 'persons/:id' },
  { path: '/person/:id', page: 'persons/:id' },
  { path: '/cohorts', page: 'cohorts' },
  { path: '/cohorts/:id', page: 'cohorts/:id' },
  { path: '/feature_flags', page: 'flags' },
  { path: '/feature_flags/:id', page: 'flags/:id' },
  { path: '/experiments', page: 'experiments' },
  { path: '/experiments/:id', page: 'experiments/:id' },
  { path: '/surveys', page: 'surveys' },
  { path: '/surveys/:id', page: 'surveys/:id' },
  { path: '/sql', page: 'sql' },
  { path: '/settings', page: 'settings' },
]

/** Addresses without a project that lead on; of the others, SDKs own some and pages of a browser's history none. */
const WITHOUT_PROJECT = /^\/(insights|dashboard|person)\/:id$/

/** Creates the redirects. Browsers add the fragment of the old address by themselves: a query in `#q=` arrives. */
export function oldLinkEndpoints(app: Pick<AppContext, 'publicUrl'>): readonly Endpoint[] {
  const redirects = (path: string, to: (params: PathParams) => string): readonly Endpoint[] =>
    redirectsTo(path, (params) => basePathOf(app.publicUrl()) + to(params))
  return OLD_LINKS.flatMap(({ path, page }) => [
    ...redirects(`/project/:project${path}`, (params) => {
      const project = params['project'] ?? ''
      return /^\d{1,15}$/.test(project) ? `/p/${project}/${fill(page, params)}` : '/'
    }),
    ...(WITHOUT_PROJECT.test(path)
      ? redirects(path, (params) => `/?to=${encodeURIComponent(fill(page, params))}`)
      : []),
  ])
}

const fill = (page: string, params: PathParams): string =>
  page.replace(':id', encodeURIComponent(params['id'] ?? ''))

/** Temporary redirects: pages may move again, and browsers keep permanent ones for ever. */
function redirectsTo(path: string, to: (params: PathParams) => string): readonly Endpoint[] {
  const answer: Endpoint['answer'] = (_, params) =>
    new Response(null, {
      status: 302,
      headers: { Location: to(params), 'Cache-Control': 'no-store' },
    })
  return (['GET', 'HEAD'] as const).map((method) => ({ method, path, answer }))
}
