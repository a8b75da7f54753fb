/** Who changed what, a page at a time. */
import { type ActivityQuestion, listActivity } from '../projects/activity.ts'
import { pathOf, queryOf } from './addresses.ts'
import { answerJson } from './answers.ts'
import type { Needs } from './needs.ts'

const LIMIT_DEFAULT = 10
const LIMIT_MAX = 1000

type About = Pick<ActivityQuestion, 'project_id' | 'scope'> & { readonly item_id?: string }

/** Answers a page of what happened to one thing, or to all of its kind. */
export function answerActivity(needs: Needs, request: Request, about: About): Response {
  const query = new URLSearchParams(queryOf(request.url))
  const limit = Math.min(wholeNumber(query.get('limit')) || LIMIT_DEFAULT, LIMIT_MAX)
  const page = wholeNumber(query.get('page')) || 1
  const asked = { ...about, item_id: about.item_id ?? null, limit, page }
  const { results, total_count } = listActivity(needs.control, asked)
  const address = (at: number): string => {
    query.set('page', String(at))
    query.set('limit', String(limit))
    return `${needs.publicUrl()}${pathOf(request.url)}?${query.toString()}`
  }
  return answerJson({
    count: total_count,
    next: page * limit < total_count ? address(page + 1) : null,
    previous: page > 1 ? address(page - 1) : null,
    results,
    total_count,
  })
}

function wholeNumber(text: string | null): number {
  return text !== null && /^\d{1,6}$/.test(text) ? Number(text) : 0
}
