/** Views of insights: recorded by clients, listed as recent and as most viewed. */

import { t } from 'elysia'
import {
  InsightAnswer,
  TrendingInsight,
  TrendingQuery,
  ViewedBody,
} from '../../../contract/analytics/dashboards.ts'
import { pageOfItems } from '../../../contract/common.ts'
import { Done } from '../../../contract/persons/person-changes.ts'
import { requirePresent } from '../../../dashboards/board-editor.ts'
import { getInsight, getInsightNamed } from '../../../dashboards/insight.ts'
import { listTrending, listViewed, recordViews } from '../../../dashboards/view.ts'
import { Refusal } from '../../../errors.ts'
import { DAY_MS } from '../../../time.ts'
import { answerJson } from '../../answers/answers.ts'
import { answerPage, queryValue } from '../../answers/pages.ts'
import { validatorOf } from '../../bodies/shape.ts'
import { authorFinder } from '../../callers/authors.ts'
import { pathNames, projectRoute } from '../../route.ts'
import { insightSerializer, NO_RESULT } from './insight-results.ts'

/** The most recently viewed insights in a list. */
const LAST_MAX = 5
/** Default number of days for the most viewed insights. */
const DAYS_DEFAULT = 7

export const INSIGHT_VIEW_ROUTES = [
  projectRoute({
    method: 'POST',
    path: 'insights/viewed/',
    scope: 'insight:read',
    summary: 'Record that the caller has viewed insights.',
    body: validatorOf(ViewedBody),
    answers: { 201: Done },
    answer: (app, { caller, body, project }) => {
      const viewed = body.insight_ids.map((id) =>
        requirePresent(getInsight(app.control, project.id, id)),
      )
      recordViews(app.control, caller.user_id, viewed, app.now())
      return answerJson({ success: true }, 201)
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'insights/:id/viewed/',
    scope: 'insight:read',
    summary: 'Record that the caller has viewed an insight.',
    answers: { 201: Done },
    answer: (app, { caller, params, project }) => {
      const named = getInsightNamed(app.control, project.id, pathNames(params, 'id'))
      const insight = requirePresent(named)
      recordViews(app.control, caller.user_id, [insight], app.now())
      return answerJson({ success: true }, 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'insights/my_last_viewed/',
    scope: 'insight:read',
    summary: 'List the five insights that the caller viewed last.',
    answers: { 200: t.Array(InsightAnswer) },
    answer: (app, { caller, project }) => {
      const wanted = { user_id: caller.user_id, limit: LAST_MAX }
      const show = insightSerializer(app, project)
      const viewed = listViewed(app.control, project.id, wanted)
      return answerJson(viewed.map((one) => show(one, NO_RESULT)))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'insights/trending/',
    scope: 'insight:read',
    summary: 'List the insights that most members viewed in the last days, seven by default.',
    query: TrendingQuery,
    answers: { 200: pageOfItems(TrendingInsight) },
    answer: (app, { project, request }) => {
      const since = new Date(app.now().getTime() - readDays(request) * DAY_MS)
      const show = insightSerializer(app, project)
      const nameAuthor = authorFinder(app)
      const trending = listTrending(app.control, project.id, since)
      return answerPage(request, app.publicUrl(), trending, ({ insight_id, viewers }) => ({
        ...show(getInsight(app.control, project.id, insight_id), NO_RESULT),
        view_count: viewers.length,
        viewers: viewers.map(nameAuthor),
      }))
    },
  }),
] as const

/** Reads the number of days. Refuses anything else. */
function readDays(request: Request): number {
  const text = queryValue(request, 'days') || String(DAYS_DEFAULT)
  if (/^[1-9]\d{0,2}$/.test(text)) return Number(text)
  const detail = 'Must be a whole number from 1 to 999.'
  throw new Refusal('invalid_input', detail, { attr: 'days' })
}
