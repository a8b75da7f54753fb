/** Activity logs, a page at a time, as clients of the interface read them. */
import { Refusal } from '../../errors.ts'
import type { Asker } from '../../projects/access.ts'
import { hiddenResources } from '../../projects/access-controls.ts'
import { type ActivityQuestion, type ActivityScope, listActivity } from '../../projects/activity.ts'
import { pathOf, queryOf } from '../addresses.ts'
import type { Needs } from '../needs.ts'
import { queryValue } from '../pages.ts'
import type { OfProject } from '../route.ts'

const LIMIT_DEFAULT = 10
const LIMIT_MAX = 1000
const PAGE_MAX = 1_000_000

type About = Pick<ActivityQuestion, 'hidden' | 'organization_id' | 'project_id'> & {
  readonly scope?: ActivityScope
  readonly item_id?: string
}

/** What members have a level of, by what activities are about. */
const OBJECTS = {
  Action: 'action',
  Annotation: 'annotation',
  Cohort: 'cohort',
  Dashboard: 'dashboard',
  EarlyAccessFeature: 'early_access_feature',
  EventDefinition: 'event_definition',
  Experiment: 'experiment',
  ExperimentSavedMetric: 'experiment',
  FeatureFlag: 'feature_flag',
  Holdout: 'experiment',
  Insight: 'insight',
  InsightVariable: 'insight',
  Organization: null,
  OrganizationInvite: null,
  OrganizationMembership: null,
  Person: 'person',
  PersonalAPIKey: null,
  PluginConfig: 'plugin',
  Project: null,
  PropertyDefinition: 'property_definition',
  Survey: 'survey',
} as const satisfies Record<ActivityScope, string | null>

type Asked = OfProject & { readonly asker: Asker; readonly request: Request }

/**
 * The page of a project's log that a request asks for, without what is hidden from the asker. Refuses to tell of hidden
 * things alone.
 */
export function projectActivity(
  needs: Needs,
  { asker, project, level, request }: Asked,
  about: Pick<About, 'item_id' | 'scope'> = {},
) {
  const { id: project_id, organization_id } = project
  const resources = hiddenResources(needs.control, { user_id: asker.user_id, project_id, level })
  const hidden = SCOPES.filter((scope) => resources.includes(OBJECTS[scope] ?? ''))
  if (about.scope !== undefined && hidden.includes(about.scope)) {
    throw new Refusal('permission_denied', 'You do not have viewer access to this resource.')
  }
  return activityPage(needs, request, { organization_id, project_id, hidden, ...about })
}

const SCOPES = Object.keys(OBJECTS) as ActivityScope[]

/** The page a request asks for; scope and item may be given by it where `about` leaves them open. */
export function activityPage(needs: Needs, request: Request, about: About) {
  const limit = numberOf(request, 'limit', LIMIT_DEFAULT, LIMIT_MAX)
  const page = numberOf(request, 'page', 1, PAGE_MAX)
  const { results, total_count } = listActivity(needs.control, {
    ...about,
    scope: about.scope ?? (queryValue(request, 'scope') as ActivityScope | null),
    item_id: about.item_id ?? queryValue(request, 'item_id'),
    page,
    limit,
  })
  const address = (number: number): string => {
    const query = new URLSearchParams(queryOf(request.url))
    query.set('page', String(number))
    return `${needs.publicUrl()}${pathOf(request.url)}?${query.toString()}`
  }
  return {
    results,
    next: page * limit < total_count ? address(page + 1) : null,
    previous: page > 1 ? address(page - 1) : null,
    total_count,
  }
}

function numberOf(request: Request, name: string, fallback: number, max: number): number {
  const text = queryValue(request, name)
  const number = text !== null && /^\d{1,9}$/.test(text) ? Number(text) : fallback
  return Math.min(Math.max(1, number), max)
}
