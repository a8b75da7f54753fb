/** Activity logs, a page at a time, as clients of the interface read them. */
import { type ActivityQuestion, type ActivityScope, listActivity } from '../../projects/activity.ts'
import { pathOf, queryOf } from '../addresses.ts'
import type { Needs } from '../needs.ts'
import { queryValue } from '../pages.ts'

const LIMIT_DEFAULT = 10
const LIMIT_MAX = 1000
const PAGE_MAX = 1_000_000

type About = Pick<ActivityQuestion, 'organization_id' | 'project_id'> & {
  readonly scope?: ActivityScope
  readonly item_id?: string
}

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
