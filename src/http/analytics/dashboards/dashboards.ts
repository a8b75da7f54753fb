/** Dashboards of a project: list, create, read with their tiles, change. Deleting is a change. */

import type { Static } from 'elysia'
import {
  DashboardAnswer,
  DashboardBody,
  DashboardPage,
  DashboardResults,
  DashboardsQuery,
  MoveTileBody,
  RefreshQuery,
  RunInsightsQuery,
  TileOrderBody,
} from '../../../contract/analytics/dashboards.ts'
import { ActivityQuery, ItemActivityAnswer } from '../../../contract/management/project.ts'
import { requirePresent } from '../../../dashboards/board-editor.ts'
import {
  createDashboard,
  type Dashboard,
  type DashboardChanges,
  type DashboardSource,
  getDashboard,
  listDashboardHeads,
  updateDashboard,
} from '../../../dashboards/dashboard.ts'
import { getInsight } from '../../../dashboards/insight.ts'
import { layoutTiles } from '../../../dashboards/layout.ts'
import { findLink, listSharedIds, narrowLink } from '../../../dashboards/sharing.ts'
import { findTemplate } from '../../../dashboards/templates.ts'
import { listTiles, moveTile, type TileChanges } from '../../../dashboards/tile.ts'
import { getNamed, Refusal } from '../../../errors.ts'
import { isYes } from '../../../insights/legacy/legacy-filters.ts'
import { isShown, requireEdit, rightsAt } from '../../../projects/rights/rights.ts'
import type { Json } from '../../../projects/tables.ts'
import type { RefreshMode } from '../../../query/service/refresh.ts'
import { mapInSlices } from '../../../threads/sliced-json.ts'
import { queryOf } from '../../addresses.ts'
import { answerJson, answerJsonWithRaw } from '../../answers/answers.ts'
import { answerPage, queryValue, readSearch } from '../../answers/pages.ts'
import type { AppContext } from '../../app-context.ts'
import { clearableText, sentMembers } from '../../bodies/sent-members.ts'
import { validatorOf } from '../../bodies/shape.ts'
import { authorFinder, type FindAuthor } from '../../callers/authors.ts'
import { boardEditor } from '../../callers/editors.ts'
import type { PathParams } from '../../endpoint.ts'
import { projectActivity } from '../../management/activity.ts'
import { parseNumberId } from '../../path-ids.ts'
import { projectRoute } from '../../route.ts'
import {
  insightSerializer,
  NO_RESULT,
  overridesOn,
  readRefresh,
  tryInsight,
  withFilters,
} from '../insights/insight-results.ts'
import type { QueryCall } from '../queries/query-context.ts'

const DASHBOARD_BODY = validatorOf(DashboardBody)

export const DASHBOARD_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'dashboards/',
    scope: 'dashboard:read',
    summary: "List the project's dashboards, pinned ones first, then by name, without their tiles.",
    query: DashboardsQuery,
    answers: { 200: DashboardPage },
    answer: async (app, { request, project }) => {
      const search_text = readSearch(request).toLowerCase()
      const pinned = queryValue(request, 'pinned')
      const tags = new Set(new URLSearchParams(queryOf(request.url)).getAll('tags').filter(Boolean))
      const heads = listDashboardHeads(app.control, project.id)
      const found = await mapInSlices(heads, (one) =>
        [one.name ?? '', one.description, ...one.tags]
          .join('\n')
          .toLowerCase()
          .includes(search_text) &&
        (tags.size === 0 || one.tags.some((tag) => tags.has(tag))) &&
        (pinned === null || one.pinned === isYes(pinned))
          ? [one]
          : [],
      )
      const result = found.flat()
      const nameAuthor = authorFinder(app)
      const shared_ids = listSharedIds(app.control, project.id)
      return answerPage(request, app.publicUrl(), result, ({ id }) =>
        serializeListed(getDashboard(app.control, project.id, id), nameAuthor, shared_ids.has(id)),
      )
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'dashboards/',
    scope: 'dashboard:write',
    summary: 'Make a dashboard.',
    body: DASHBOARD_BODY,
    answers: { 201: DashboardAnswer },
    answer: async (app, call) => {
      const { body, project, caller } = call
      const editor = boardEditor(app, project, caller)
      const { tiles, ...members } = readDashboardChanges(body)
      // A tile with an id is another dashboard's, whose answer was sent here to make a second one.
      const own = tiles === undefined ? {} : { tiles: tiles.filter(({ id }) => id === undefined) }
      const wanted = { ...members, ...own, source: findSource(app, project.id, body) }
      const dashboard = createDashboard(editor, wanted, app.now())
      return answerJson(await serializeWholeDashboard(app, call, dashboard, false), 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'dashboards/:id/',
    scope: 'dashboard:read',
    summary:
      'Read a dashboard with its insights and their results; `refresh` says how fresh those have to be.',
    query: RefreshQuery,
    answers: { 200: DashboardAnswer },
    answer: async (app, call) => {
      const dashboard = findPresent(app, call)
      return answerJsonWithRaw(await serializeWholeDashboard(app, call, dashboard, true))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'dashboards/:id/run_insights/',
    scope: 'dashboard:read',
    summary: 'Compute the insights of a dashboard and read only their results.',
    query: RunInsightsQuery,
    answers: { 200: DashboardResults },
    answer: async (app, call) => {
      const only = readTileIds(call.request)
      const tiles = await tilesOf(app, call, findPresent(app, call), 'blocking', only)
      const results = tiles.flatMap(({ id, order, insight }) =>
        insight === null ? [] : { id, order, insight },
      )
      return answerJsonWithRaw({ results })
    },
  }),
  projectRoute({
    method: 'PATCH',
    path: 'dashboards/:id/',
    scope: 'dashboard:write',
    summary: 'Change a dashboard and its tiles; `deleted: true` deletes it.',
    body: DASHBOARD_BODY,
    answers: { 200: DashboardAnswer },
    answer: async (app, call) => {
      const { body, params, project, caller } = call
      const stored = getDashboard(app.control, project.id, parseNumberId(params))
      const before = requirePresent(stored, body)
      const editor = boardEditor(app, project, caller)
      const dashboard = updateDashboard(editor, before, readDashboardChanges(body), app.now())
      return answerJson(await serializeWholeDashboard(app, call, dashboard, false))
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'dashboards/:id/reorder_tiles/',
    scope: 'dashboard:write',
    summary:
      'Arrange the tiles of a dashboard in a given order, row by row; tiles that are not named follow.',
    body: validatorOf(TileOrderBody),
    answers: { 200: DashboardAnswer },
    answer: async (app, call) => {
      const { body, project, caller } = call
      const before = findPresent(app, call)
      const tiles = layoutTiles(listTiles(app.control, before.id), body.tile_order)
      const editor = boardEditor(app, project, caller)
      const dashboard = updateDashboard(editor, before, { tiles }, app.now())
      return answerJson(await serializeWholeDashboard(app, call, dashboard, false))
    },
  }),
  projectRoute({
    method: 'PATCH',
    path: 'dashboards/:id/move_tile/',
    scope: 'dashboard:write',
    summary: 'Move a tile to another dashboard; the answer is the one that it leaves.',
    body: validatorOf(MoveTileBody),
    answers: { 200: DashboardAnswer },
    answer: async (app, call) => {
      const { body, project, caller } = call
      const before = findPresent(app, call)
      const { tile, toDashboard, to_dashboard = toDashboard } = body
      if (to_dashboard === undefined) {
        throw new Refusal('required', 'This field is required.', { attr: 'toDashboard' })
      }
      const target = getNamedBoard(app, project.id, to_dashboard, 'toDashboard')
      const editor = boardEditor(app, project, caller)
      requireEdit(editor.rights, { scope: 'Dashboard', item: {} })
      app.control.transaction(() => {
        moveTile(app.control, before.id, tile.id, target.id)
        narrowLink(editor, target.id)
      })
      return answerJson(await serializeWholeDashboard(app, call, before, false))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'dashboards/:id/activity/',
    scope: 'activity_log:read',
    summary: 'List the activity log of a dashboard.',
    query: ActivityQuery,
    answers: { 200: ItemActivityAnswer },
    answer: (app, call) => {
      const { params, project } = call
      const item_id = String(getDashboard(app.control, project.id, parseNumberId(params)).id)
      return answerJson(projectActivity(app, call, { scope: 'Dashboard', item_id }))
    },
  }),
] as const

function serializeListed(dashboard: Dashboard, nameAuthor: FindAuthor, is_shared: boolean): object {
  const { project_id: _project, filters: _filters, variables: _variables, ...stored } = dashboard
  return {
    ...stored,
    is_shared,
    effective_restriction_level: stored.restriction_level,
    effective_privilege_level: 37,
    created_by: nameAuthor(dashboard.created_by),
  }
}

/**
 * Serializes a dashboard with its tiles. Insights run one after the other, so that one dashboard occupies one
 * query slot.
 */
export async function serializeWholeDashboard(
  app: AppContext,
  call: QueryCall,
  dashboard: Dashboard,
  has_results: boolean,
): Promise<object> {
  const tiles = await tilesOf(app, call, dashboard, has_results ? 'force_cache' : null)
  const { filters, variables } = dashboard
  const is_shared = findLink(app.control, dashboard.id)?.enabled === true
  return {
    ...serializeListed(dashboard, authorFinder(app), is_shared),
    filters,
    variables,
    tiles,
  }
}

type TileAnswer = {
  readonly id: number
  readonly order: number
  readonly insight: object | null
  readonly [member: string]: unknown
}

/**
 * Serializes tiles, all or those of `only`. `fallback` is the refresh mode of requests without one; null leaves the
 * results out.
 */
async function tilesOf(
  app: AppContext,
  call: QueryCall,
  dashboard: Dashboard,
  fallback: RefreshMode | null,
  only: ReadonlySet<number> | null = null,
): Promise<readonly TileAnswer[]> {
  const { project, request } = call
  const has_results = fallback !== null
  const show = insightSerializer(app, project)
  const overrides = overridesOn(dashboard, request)
  const requested = { mode: readRefresh(request, fallback ?? 'force_cache'), overrides }
  const is_hidden = !isShown(rightsAt(app.control, call.caller, call), 'dashboard.insight')
  const tiles: TileAnswer[] = []
  for (const tile of listTiles(app.control, dashboard.id)) {
    const { id, insight_id, body, layouts, color, show_description } = tile
    if (insight_id !== null && is_hidden) continue
    if (only !== null && !only.has(id)) continue
    const insight = insight_id === null ? null : getInsight(app.control, project.id, insight_id)
    const result =
      insight !== null && has_results ? await tryInsight(app, call, insight, requested) : NO_RESULT
    const { is_cached, last_refresh } = result
    tiles.push({
      id,
      order: tiles.length,
      layouts,
      color,
      show_description,
      deleted: false,
      insight: insight && show(withFilters(insight, overrides.filters), result),
      text: body === null ? null : { body },
      is_cached,
      last_refresh,
    })
  }
  return tiles
}

/** Reads `tile_ids`, numbers joined by commas; null when it is missing. Refuses others. */
function readTileIds(request: Request): ReadonlySet<number> | null {
  const text = queryValue(request, 'tile_ids') ?? ''
  if (text === '') return null
  const ids = text.split(',').map((id) => id.trim())
  if (ids.every((id) => /^\d{1,15}$/.test(id))) return new Set(ids.map(Number))
  const detail = 'tile_ids must be a comma-separated list of integers.'
  throw new Refusal('invalid_input', detail, { attr: 'tile_ids' })
}

/** Returns the dashboard in the path. Refuses missing and deleted ones. */
function findPresent(
  app: AppContext,
  { project, params }: Pick<QueryCall, 'project'> & { readonly params: PathParams },
): Dashboard {
  return requirePresent(getDashboard(app.control, project.id, parseNumberId(params)))
}

/** Returns the source of a new dashboard's tiles. Refuses missing dashboards and templates. */
function findSource(
  app: AppContext,
  project_id: number,
  { use_dashboard, use_template, duplicate_tiles }: Static<typeof DashboardBody>,
): DashboardSource | null {
  if (typeof use_template === 'string' && use_template !== '') {
    const template = findTemplate(use_template)
    if (template !== null) return { kind: 'template', template }
    const detail = `Invalid template provided: ${use_template.slice(0, 100)}`
    throw new Refusal('invalid_input', detail, { attr: 'use_template' })
  }
  if (typeof use_dashboard !== 'number') return null
  const dashboard = getNamedBoard(app, project_id, use_dashboard, 'use_dashboard')
  return { kind: 'dashboard', dashboard, has_copies: duplicate_tiles === true }
}

/** Reads the stored members from a body. */
function readDashboardChanges(body: Static<typeof DashboardBody>): DashboardChanges {
  const wanted = {
    name: body.name,
    description: clearableText(body.description),
    pinned: body.pinned,
    tags: body.tags,
    filters: (body.filters ?? undefined) as Json | undefined,
    variables: (body.variables ?? undefined) as Json | undefined,
    restriction_level: body.restriction_level,
    deleted: body.deleted,
    delete_insights: body.delete_insights ?? undefined,
    tiles: body.tiles?.map(
      ({ id, layouts, color, show_description, text, deleted }): TileChanges => ({
        id,
        color,
        show_description,
        body: text?.body,
        layouts: layouts ?? undefined,
        is_deleted: deleted === true,
      }),
    ),
  }
  return sentMembers(wanted)
}

function getNamedBoard(app: AppContext, project_id: number, id: number, attr: string): Dashboard {
  const get = () => requirePresent(getDashboard(app.control, project_id, id))
  return getNamed(get, attr, 'Invalid value provided')
}
