/** Saved insights under a project: listed, saved, asked again, changed. Deleting is a change (wire §4.10). */
import type { Static } from 'elysia'
import type { Editor } from '../../boards/editor.ts'
import {
  createInsight,
  getInsight,
  getInsightNamed,
  listInsightHeads,
  readInsights,
  updateInsight,
  type WantedInsight,
} from '../../boards/insight.ts'
import { readPlaces } from '../../boards/tile.ts'
import {
  InsightAnswer,
  InsightBody,
  InsightPage,
  InsightsQuery,
  RefreshQuery,
} from '../../contract/boards.ts'
import { ActivityQuery, ItemActivityAnswer } from '../../contract/project.ts'
import type { Asker } from '../../projects/access.ts'
import type { Project } from '../../projects/project.ts'
import { rightsIn } from '../../projects/rights.ts'
import type { Json } from '../../projects/tables.ts'
import { answerJson } from '../answers.ts'
import { projectActivity } from '../management/activity.ts'
import type { Needs } from '../needs.ts'
import { answerPage, pageOf } from '../pages.ts'
import { namedIn, projectRoute } from '../route.ts'
import { shapeOf } from '../shape.ts'
import { typeOfInsight, wantedInsights } from './insight-filters.ts'
import {
  askInsight,
  type InsightCall,
  type InsightResult,
  insightShower,
  NO_RESULT,
  overridesIn,
  refreshAsked,
  tryInsight,
} from './insight-results.ts'

const INSIGHT_BODY = shapeOf(InsightBody)

export const INSIGHT_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'insights/',
    scope: 'insight:read',
    says: "List the project's saved insights, the one changed last first; with results where `refresh` asks for some.",
    query: InsightsQuery,
    answers: { 200: InsightPage },
    answer: (needs, call) => answerInsights(needs, call),
  }),
  projectRoute({
    method: 'POST',
    path: 'insights/',
    scope: 'insight:write',
    says: 'Save an insight.',
    body: INSIGHT_BODY,
    answers: { 201: InsightAnswer },
    answer: (needs, { body, project, asker }) => {
      const editor = boardEditor(needs, project, asker)
      const insight = createInsight(editor, wantedInsight(body), needs.now())
      return answerJson(insightShower(needs, project)(insight, NO_RESULT), 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'insights/:id/',
    scope: 'insight:read',
    says: 'Read a saved insight with its result; `refresh` says how fresh that has to be.',
    query: RefreshQuery,
    answers: { 200: InsightAnswer },
    answer: async (needs, call) => {
      const { params, project } = call
      const insight = getInsightNamed(needs.control, project.id, namedIn(params, 'id'))
      const asked = { mode: refreshAsked(call.request), overrides: overridesIn(call.request) }
      const result = await askInsight(needs, call, insight, asked)
      return answerJson(insightShower(needs, project)(insight, result))
    },
  }),
  projectRoute({
    method: 'PATCH',
    path: 'insights/:id/',
    scope: 'insight:write',
    says: 'Change a saved insight, or the dashboards it stands on; deleting is a change of `deleted`.',
    body: INSIGHT_BODY,
    answers: { 200: InsightAnswer },
    answer: (needs, { body, params, project, asker }) => {
      const before = getInsightNamed(needs.control, project.id, namedIn(params, 'id'))
      const editor = boardEditor(needs, project, asker)
      const insight = updateInsight(editor, before, wantedInsight(body), needs.now())
      return answerJson(insightShower(needs, project)(insight, NO_RESULT))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'insights/:id/activity/',
    scope: 'activity_log:read',
    says: 'List what happened to a saved insight.',
    query: ActivityQuery,
    answers: { 200: ItemActivityAnswer },
    answer: (needs, call) => {
      const { params, project } = call
      const item_id = String(getInsightNamed(needs.control, project.id, namedIn(params, 'id')).id)
      return answerJson(projectActivity(needs, call, { scope: 'Insight', item_id }))
    },
  }),
] as const

/** Who changes insights and dashboards. */
export function boardEditor(needs: Needs, project: Project, asker: Asker): Editor {
  return {
    control: needs.control,
    project,
    user_id: asker.user_id,
    rights: rightsIn(needs.control, asker, project),
    saved_max: needs.saved_max,
    saved_bytes_max: needs.saved_bytes_max,
  }
}

/** Insights of a page are asked one after the other, so that one list is one question at a time. */
async function answerInsights(needs: Needs, call: InsightCall): Promise<Response> {
  const { asker, project, request } = call
  const places = readPlaces(needs.control, project.id)
  const all = listInsightHeads(needs.control, project.id).map((insight) => ({
    ...insight,
    dashboards: places(insight.id).map(({ dashboard_id }) => dashboard_id),
    type: () => typeOfInsight(getInsight(needs.control, project.id, insight.id)),
  }))
  const context = { user_id: asker.user_id, timezone: project.timezone, now: needs.now() }
  const found = wantedInsights(request, all, context)
  const mode = refreshAsked(request)
  const results = new Map<number, InsightResult>()
  const { offset, limit } = pageOf(request)
  const page = found.slice(offset, offset + limit).map(({ id }) => id)
  const whole = readInsights(needs.control, page)
  const asked = mode === 'force_cache' ? [] : page.flatMap((id) => whole.get(id) ?? [])
  for (const one of asked) results.set(one.id, await tryInsight(needs, call, one, { mode }))
  const show = insightShower(needs, project)
  return answerPage(request, needs.publicUrl(), found, ({ id }) =>
    show(whole.get(id) ?? getInsight(needs.control, project.id, id), results.get(id) ?? NO_RESULT),
  )
}

/** Of a body what is stored. */
function wantedInsight(body: Static<typeof InsightBody>): WantedInsight {
  const wanted = {
    name: body.name,
    description: body.description ?? undefined,
    query: body.query as Json | undefined,
    filters: (body.filters ?? undefined) as Json | undefined,
    tags: body.tags,
    favorited: body.favorited,
    saved: body.saved,
    deleted: body.deleted,
    dashboards: body.dashboards ?? undefined,
  }
  // What is undefined was not said.
  const said = Object.entries(wanted).filter(([, value]) => value !== undefined)
  return Object.fromEntries(said) as WantedInsight
}
