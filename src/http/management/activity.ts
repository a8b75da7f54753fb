/** Activity logs, a page at a time, in the shape of the interface. */

import { type ActivityQuery, type ActivityScope, listActivity } from '../../projects/activity.ts'
import type { Caller } from '../../projects/rights/access.ts'
import {
  hasRight,
  isShown,
  mayReadItems,
  type Rights,
  requireRight,
  rightsAt,
} from '../../projects/rights/rights.ts'
import { type NeededRight, RESOURCE_OF } from '../../projects/rights/ways.ts'
import { pathOf, queryOf } from '../addresses.ts'
import { queryValue } from '../answers/pages.ts'
import type { AppContext } from '../app-context.ts'
import { authorFinder } from '../callers/authors.ts'
import type { OfProject } from '../route.ts'

const LIMIT_DEFAULT = 10
/** Entries per page of a whole log, as on PostHog, where those of one object have ten. */
export const LOG_LIMIT_DEFAULT = 100
/** The most entries per page; an entry has 32 KiB at most. */
const LIMIT_MAX = 250
const PAGE_MAX = 1_000_000

type About = Pick<ActivityQuery, 'hidden' | 'organization_id' | 'project_id'> & {
  readonly rights: Rights
  readonly scope?: ActivityScope
  readonly item_id?: string
  readonly limit_default?: number
}

type ActivityCall = OfProject & { readonly caller: Caller; readonly request: Request }

/**
 * Returns the requested page of a project's activity log, without the kinds hidden from the caller, and without
 * values that their key may not read. Refuses requests for hidden kinds only.
 */
export function projectActivity(
  app: AppContext,
  call: ActivityCall,
  about: Pick<About, 'item_id' | 'limit_default' | 'scope'>,
) {
  const { id: project_id, organization_id } = call.project
  const rights = rightsAt(app.control, call.caller, call)
  if (about.scope !== undefined) requireRight(rights, readingByLevel(about.scope))
  const hidden = SCOPES.filter((scope) => !hasRight(rights, readingByLevel(scope)))
  return activityPage(app, call.request, {
    organization_id,
    project_id,
    hidden,
    rights,
    ...about,
  })
}

const SCOPES = Object.keys(RESOURCE_OF) as ActivityScope[]

const readingByLevel = (scope: ActivityScope): NeededRight => ({
  scope: `${RESOURCE_OF[scope]}:read`,
  by: 'level',
})

/**
 * Whether an entry shows a value (`field`) or its object's name (`field` is null). Persons and groups are
 * named by their properties, so their names are hidden too.
 */
function showsValues(rights: Rights): ActivityQuery['showsValues'] {
  return (scope, field) => {
    if (field === null) return !NAMED_BY_PROPERTIES.has(scope) || mayReadItems(rights, scope)
    if (scope === 'Project' && field === 'slack_incoming_webhook') {
      return isShown(rights, 'project.slack_incoming_webhook')
    }
    return mayReadItems(rights, scope)
  }
}

const NAMED_BY_PROPERTIES: ReadonlySet<ActivityScope> = new Set(['Group', 'Person'])

/** Returns the requested page; the request chooses scope and item where `about` leaves them open. */
export function activityPage(
  app: AppContext,
  request: Request,
  { rights, scope, limit_default = LIMIT_DEFAULT, ...about }: About,
) {
  const page_size = numberOf(request, 'page_size', limit_default, LIMIT_MAX)
  const limit = numberOf(request, 'limit', page_size, LIMIT_MAX)
  const page = numberOf(request, 'page', 1, PAGE_MAX)
  const nameAuthor = authorFinder(app)
  const { results, total_count } = listActivity(app.control, {
    ...about,
    showsValues: showsValues(rights),
    scopes: scope === undefined ? scopesIn(request) : [scope],
    user: queryValue(request, 'user') || null,
    item_id: about.item_id ?? queryValue(request, 'item_id'),
    page,
    limit,
  })
  const address = (number: number): string => {
    const query = new URLSearchParams(queryOf(request.url))
    query.set('page', String(number))
    return `${app.publicUrl()}${pathOf(request.url)}?${query.toString()}`
  }
  return {
    results: results.map(({ user_id, ...entry }) => ({
      ...entry,
      user: nameAuthor(user_id),
      unread: false,
      was_impersonated: false,
      is_system: user_id === null,
    })),
    next: page * limit < total_count ? address(page + 1) : null,
    previous: page > 1 ? address(page - 1) : null,
    total_count,
  }
}

/** The kinds of items that a request names: `scope` names one, `scopes` several, with commas or repeated. */
function scopesIn(request: Request): readonly string[] {
  const query = new URLSearchParams(queryOf(request.url))
  const named = [...query.getAll('scope'), ...query.getAll('scopes')]
  return named.flatMap((text) => text.split(',')).filter((scope) => scope !== '')
}

function numberOf(request: Request, name: string, fallback: number, max: number): number {
  const text = queryValue(request, name)
  const number = text !== null && /^\d{1,9}$/.test(text) ? Number(text) : fallback
  return Math.min(Math.max(1, number), max)
}
