/** Dashboards under a project: listed, made, read with what stands on them, changed. Deleting is a change (wire §4.10). */
import type { Static } from 'elysia'
import {
  createDashboard,
  type Dashboard,
  getDashboard,
  listDashboards,
  updateDashboard,
  type WantedDashboard,
} from '../../boards/dashboard.ts'
import { getInsight } from '../../boards/insight.ts'
import { laidOut } from '../../boards/layout.ts'
import { listTiles, type WantedTile } from '../../boards/tile.ts'
import {
  DashboardAnswer,
  DashboardBody,
  DashboardPage,
  DashboardsQuery,
  RefreshQuery,
  TileOrderBody,
} from '../../contract/boards.ts'
import { ActivityQuery, ItemActivityAnswer } from '../../contract/project.ts'
import { isShown, rightsAt } from '../../projects/rights.ts'
import type { Json } from '../../projects/tables.ts'
import { answerJson } from '../answers.ts'
import { numberIn } from '../ids.ts'
import { projectActivity } from '../management/activity.ts'
import type { Needs } from '../needs.ts'
import { answerPage, queryValue } from '../pages.ts'
import { projectRoute } from '../route.ts'
import { shapeOf } from '../shape.ts'
import { authorNamer, type NameAuthor } from '../targeting/authors.ts'
import {
  type InsightCall,
  insightShower,
  NO_RESULT,
  overridesIn,
  refreshAsked,
  tryInsight,
} from './insight-results.ts'
import { boardEditor } from './insights.ts'

const DASHBOARD_BODY = shapeOf(DashboardBody)

export const DASHBOARD_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'dashboards/',
    scope: 'dashboard:read',
    says: "List the project's dashboards, pinned ones first, without what stands on them.",
    query: DashboardsQuery,
    answers: { 200: DashboardPage },
    answer: (needs, { request, project }) => {
      const wanted = queryValue(request, 'search')?.toLowerCase() ?? ''
      const pinned = queryValue(request, 'pinned')
      const found = listDashboards(needs.control, project.id).filter(
        (one) =>
          (one.name ?? '').toLowerCase().includes(wanted) &&
          (pinned === null || String(one.pinned) === pinned),
      )
      const nameAuthor = authorNamer(needs)
      return answerPage(request, needs.publicUrl(), found, (one) => listed(one, nameAuthor))
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'dashboards/',
    scope: 'dashboard:write',
    says: 'Make a dashboard.',
    body: DASHBOARD_BODY,
    answers: { 201: DashboardAnswer },
    answer: async (needs, call) => {
      const { body, project, asker } = call
      const editor = boardEditor(needs, project, asker)
      const dashboard = createDashboard(editor, wantedDashboard(body), needs.now())
      return answerJson(await whole(needs, call, dashboard, false), 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'dashboards/:id/',
    scope: 'dashboard:read',
    says: 'Read a dashboard with its insights and their results; `refresh` says how fresh those have to be.',
    query: RefreshQuery,
    answers: { 200: DashboardAnswer },
    answer: async (needs, call) => {
      const dashboard = getDashboard(needs.control, call.project.id, numberIn(call.params))
      return answerJson(await whole(needs, call, dashboard, true))
    },
  }),
  projectRoute({
    method: 'PATCH',
    path: 'dashboards/:id/',
    scope: 'dashboard:write',
    says: 'Change a dashboard and its tiles; deleting is a change of `deleted`.',
    body: DASHBOARD_BODY,
    answers: { 200: DashboardAnswer },
    answer: async (needs, call) => {
      const { body, params, project, asker } = call
      const before = getDashboard(needs.control, project.id, numberIn(params))
      const editor = boardEditor(needs, project, asker)
      const dashboard = updateDashboard(editor, before, wantedDashboard(body), needs.now())
      return answerJson(await whole(needs, call, dashboard, false))
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'dashboards/:id/reorder_tiles/',
    scope: 'dashboard:write',
    says: 'Lay the tiles of a dashboard out in an order, row by row; those that are not named follow.',
    body: shapeOf(TileOrderBody),
    answers: { 200: DashboardAnswer },
    answer: async (needs, call) => {
      const { body, params, project, asker } = call
      const before = getDashboard(needs.control, project.id, numberIn(params))
      const tiles = laidOut(listTiles(needs.control, before.id), body.tile_order)
      const editor = boardEditor(needs, project, asker)
      const dashboard = updateDashboard(editor, before, { tiles }, needs.now())
      return answerJson(await whole(needs, call, dashboard, false))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'dashboards/:id/activity/',
    scope: 'activity_log:read',
    says: 'List what happened to a dashboard.',
    query: ActivityQuery,
    answers: { 200: ItemActivityAnswer },
    answer: (needs, call) => {
      const { params, project } = call
      const item_id = String(getDashboard(needs.control, project.id, numberIn(params)).id)
      return answerJson(projectActivity(needs, call, { scope: 'Dashboard', item_id }))
    },
  }),
] as const

function listed(dashboard: Dashboard, nameAuthor: NameAuthor): object {
  const {
    project_id: _project,
    filters: _filters,
    variables: _variables,
    last_modified_at: _at,
    ...stored
  } = dashboard
  return {
    ...stored,
    is_shared: false,
    effective_restriction_level: stored.restriction_level,
    effective_privilege_level: 37,
    created_by: nameAuthor(dashboard.created_by),
  }
}

/** A dashboard with its tiles; insights are asked one after the other, so that one dashboard is one question at a time. */
async function whole(
  needs: Needs,
  call: InsightCall,
  dashboard: Dashboard,
  has_results: boolean,
): Promise<object> {
  const { project, request } = call
  const show = insightShower(needs, project)
  const { filters, variables } = dashboard
  const said = overridesIn(request)
  const overrides = {
    filters: { ...Object(filters), ...Object(said.filters) },
    variables: { ...Object(variables), ...Object(said.variables) },
  }
  const asked = { mode: refreshAsked(request), overrides }
  const is_hidden = !isShown(rightsAt(needs.control, call.asker, call), 'dashboard.insight')
  const tiles: object[] = []
  for (const { id, insight_id, body, layouts, color } of listTiles(needs.control, dashboard.id)) {
    if (insight_id !== null && is_hidden) continue
    const insight = insight_id === null ? null : getInsight(needs.control, project.id, insight_id)
    const result =
      insight !== null && has_results ? await tryInsight(needs, call, insight, asked) : NO_RESULT
    const { is_cached, last_refresh } = result
    tiles.push({
      id,
      order: tiles.length,
      layouts,
      color,
      deleted: false,
      insight: insight && show(insight, result),
      text: body === null ? null : { body },
      is_cached,
      last_refresh,
    })
  }
  const { last_modified_at } = dashboard
  return { ...listed(dashboard, authorNamer(needs)), filters, variables, last_modified_at, tiles }
}

/** Of a body what is stored. */
function wantedDashboard(body: Static<typeof DashboardBody>): WantedDashboard {
  const wanted = {
    name: body.name,
    description: body.description ?? undefined,
    pinned: body.pinned,
    tags: body.tags,
    filters: (body.filters ?? undefined) as Json | undefined,
    variables: (body.variables ?? undefined) as Json | undefined,
    restriction_level: body.restriction_level,
    deleted: body.deleted,
    tiles: body.tiles?.map(
      ({ id, layouts, color, text, deleted }): WantedTile => ({
        id,
        color,
        body: text?.body,
        layouts: layouts ?? undefined,
        is_deleted: deleted === true,
      }),
    ),
  }
  // What is undefined was not said.
  const said = Object.entries(wanted).filter(([, value]) => value !== undefined)
  return Object.fromEntries(said) as WantedDashboard
}
