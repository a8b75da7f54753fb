/** Who looks at which insights: noted by whoever shows them, told as lists (wire §4.10). */

import { t } from 'elysia'
import { getInsight, getInsightNamed } from '../../boards/insight.ts'
import { listTrending, listViewed, noteViews } from '../../boards/view.ts'
import { InsightAnswer, TrendingInsight, TrendingQuery, ViewedBody } from '../../contract/boards.ts'
import { pageOfItems } from '../../contract/common.ts'
import { Done } from '../../contract/person-changes.ts'
import { Refusal } from '../../errors.ts'
import { answerJson } from '../answers.ts'
import { answerPage, queryValue } from '../pages.ts'
import { namedIn, projectRoute } from '../route.ts'
import { shapeOf } from '../shape.ts'
import { authorNamer } from '../targeting/authors.ts'
import { insightShower, NO_RESULT } from './insight-results.ts'

/** Insights that one looked at last. */
const LAST_MAX = 5
/** Days that count for what is looked at most. */
const DAYS_DEFAULT = 7
const DAY_MS = 86_400_000

export const INSIGHT_VIEW_ROUTES = [
  projectRoute({
    method: 'POST',
    path: 'insights/viewed/',
    scope: 'insight:read',
    says: 'Note that the asker looked at insights.',
    body: shapeOf(ViewedBody),
    answers: { 201: Done },
    answer: (needs, { asker, body, project }) => {
      const viewed = body.insight_ids.map((id) => getInsight(needs.control, project.id, id))
      noteViews(needs.control, asker.user_id, viewed, needs.now())
      return answerJson({ success: true }, 201)
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'insights/:id/viewed/',
    scope: 'insight:read',
    says: 'Note that the asker looked at an insight.',
    answers: { 201: Done },
    answer: (needs, { asker, params, project }) => {
      const insight = getInsightNamed(needs.control, project.id, namedIn(params, 'id'))
      noteViews(needs.control, asker.user_id, [insight], needs.now())
      return answerJson({ success: true }, 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'insights/my_last_viewed/',
    scope: 'insight:read',
    says: 'The five insights that the asker looked at last.',
    answers: { 200: t.Array(InsightAnswer) },
    answer: (needs, { asker, project }) => {
      const wanted = { user_id: asker.user_id, limit: LAST_MAX }
      const show = insightShower(needs, project)
      const viewed = listViewed(needs.control, project.id, wanted)
      return answerJson(viewed.map((one) => show(one, NO_RESULT)))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'insights/trending/',
    scope: 'insight:read',
    says: 'The insights that most members looked at within some days, seven unless told.',
    query: TrendingQuery,
    answers: { 200: pageOfItems(TrendingInsight) },
    answer: (needs, { project, request }) => {
      const since = new Date(needs.now().getTime() - daysIn(request) * DAY_MS)
      const show = insightShower(needs, project)
      const nameAuthor = authorNamer(needs)
      const trending = listTrending(needs.control, project.id, since)
      return answerPage(request, needs.publicUrl(), trending, ({ insight, viewers }) => ({
        ...show(insight, NO_RESULT),
        view_count: viewers.length,
        viewers: viewers.map(nameAuthor),
      }))
    },
  }),
] as const

/** Refuses what is no number of days. */
function daysIn(request: Request): number {
  const text = queryValue(request, 'days') || String(DAYS_DEFAULT)
  if (/^[1-9]\d{0,2}$/.test(text)) return Number(text)
  const detail = 'Must be a whole number from 1 to 999.'
  throw new Refusal('invalid_input', detail, { attr: 'days' })
}
