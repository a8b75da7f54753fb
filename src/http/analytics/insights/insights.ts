/** Saved insights of a project: list, create, compute, change. Deleting is a change. */

import type { Static } from 'elysia'
import {
  InsightAnswer,
  InsightBody,
  InsightPage,
  InsightQuery,
  InsightsQuery,
} from '../../../contract/analytics/dashboards.ts'
import { requirePresent } from '../../../dashboards/board-editor.ts'
import { type Dashboard, getDashboard } from '../../../dashboards/dashboard.ts'
import {
  createInsight,
  getInsight,
  getInsightNamed,
  readInsights,
  type SavedInsight,
  type SavedInsightChanges,
  updateInsight,
} from '../../../dashboards/insight.ts'
import { readTilesOfInsights } from '../../../dashboards/tile.ts'
import type { Project } from '../../../projects/settings/project.ts'
import type { Json } from '../../../projects/tables.ts'
import { answerJsonWithRaw } from '../../answers/answers.ts'
import { answerPage, queryValue, readPage } from '../../answers/pages.ts'
import type { AppContext } from '../../app-context.ts'
import { clearableText, sentMembers } from '../../bodies/sent-members.ts'
import { validatorOf } from '../../bodies/shape.ts'
import { boardEditor } from '../../callers/editors.ts'
import type { PathParams } from '../../endpoint.ts'
import { resource } from '../../resource.ts'
import { pathNames, projectRoute } from '../../route.ts'
import type { QueryCall } from '../queries/query-context.ts'
import { findInsights } from './insight-filters.ts'
import {
  computeInsight,
  type InsightResult,
  insightSerializer,
  NO_RESULT,
  overridesOn,
  readRefresh,
  tryInsight,
  withFilters,
} from './insight-results.ts'

const INSIGHT_BODY = validatorOf(InsightBody)

export const INSIGHT_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'insights/',
    scope: 'insight:read',
    summary:
      "List the project's saved insights, the one changed last first; with results where `refresh` asks for some.",
    query: InsightsQuery,
    answers: { 200: InsightPage },
    answer: (app, call) => answerInsights(app, call),
  }),
  projectRoute({
    method: 'GET',
    path: 'insights/:id/',
    scope: 'insight:read',
    summary: 'Read a saved insight with its result; `refresh` says how fresh that has to be.',
    query: InsightQuery,
    answers: { 200: InsightAnswer },
    answer: async (app, call) => {
      const { params, project, request } = call
      const insight = requirePresent(findNamed(app, project, params))
      const overrides = overridesOn(findShowing(app, project, request, insight.id), request)
      const requested = { mode: readRefresh(request), overrides }
      // Without `refresh` the stored insight is read: its query may name a variable that was deleted since.
      const compute = queryValue(request, 'refresh') === null ? tryInsight : computeInsight
      const result = await compute(app, call, insight, requested)
      return answerJsonWithRaw(
        insightSerializer(app, project)(withFilters(insight, overrides.filters), result),
      )
    },
  }),
  ...resource({
    path: 'insights/',
    resource: 'insight',
    answer: InsightAnswer,
    find: findNamed,
    requirePresent,
    serializer: (app, { project }) => {
      const serialize = insightSerializer(app, project)
      return (insight) => serialize(insight, NO_RESULT)
    },
    create: {
      summary: 'Save an insight.',
      body: INSIGHT_BODY,
      run: (app, { body, project, caller }) =>
        createInsight(boardEditor(app, project, caller), readInsightChanges(body), app.now()),
    },
    change: {
      summary: 'Change a saved insight, or the dashboards it is on; `deleted: true` deletes it.',
      body: INSIGHT_BODY,
      run: (app, { body, project, caller }, before) => {
        const editor = boardEditor(app, project, caller)
        return updateInsight(editor, before, readInsightChanges(body), app.now())
      },
    },
    activity: { summary: 'List the activity log of a saved insight.', scope: 'Insight' },
  }),
] as const

/** Returns the insight in the path, by number or short id, also a deleted one. */
function findNamed(app: AppContext, project: Project, params: PathParams): SavedInsight {
  return getInsightNamed(app.control, project.id, pathNames(params, 'id'))
}

/** Returns the dashboard that the request names as the one it shows the insight on; null where the insight is not on it. */
function findShowing(
  app: AppContext,
  project: Project,
  request: Request,
  insight_id: number,
): Dashboard | null {
  const id = queryValue(request, 'from_dashboard')
  const places = readTilesOfInsights(app.control, project.id)(insight_id)
  const place = places.find(({ dashboard_id }) => String(dashboard_id) === id)
  return place === undefined ? null : getDashboard(app.control, project.id, place.dashboard_id)
}

/** Lists insights. They run one after the other, so that one list occupies one query slot. */
async function answerInsights(app: AppContext, call: QueryCall): Promise<Response> {
  const { caller, project, request } = call
  const result = await findInsights(app, request, {
    project_id: project.id,
    user_id: caller.user_id,
    timezone: project.timezone,
    now: app.now(),
  })
  const mode = readRefresh(request)
  const results = new Map<number, InsightResult>()
  const { offset, limit } = readPage(request)
  const page = result.slice(offset, offset + limit)
  const whole = await readInsights(app.control, page)
  const requested = mode === 'force_cache' ? [] : page.flatMap((id) => whole.get(id) ?? [])
  for (const one of requested) results.set(one.id, await tryInsight(app, call, one, { mode }))
  const serialize = insightSerializer(app, project)
  return answerPage(request, app.publicUrl(), result, (id) =>
    serialize(
      whole.get(id) ?? getInsight(app.control, project.id, id),
      results.get(id) ?? NO_RESULT,
    ),
  )
}

/** Reads the stored members from a body. */
function readInsightChanges(body: Static<typeof InsightBody>): SavedInsightChanges {
  const wanted = {
    name: body.name,
    derived_name: body.derived_name,
    description: clearableText(body.description),
    query: body.query as Json | undefined,
    filters: (body.filters ?? undefined) as Json | undefined,
    tags: body.tags,
    favorited: body.favorited,
    saved: body.saved,
    deleted: body.deleted,
    dashboards: body.dashboards ?? undefined,
  }
  return sentMembers(wanted)
}
