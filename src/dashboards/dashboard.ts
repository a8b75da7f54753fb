/** Dashboards of saved insights. */
import { and, desc, eq, sql } from 'drizzle-orm'
import { Refusal } from '../errors.ts'
import type { ControlDB } from '../storage/control/control-db.ts'
import { type BoardEditor, recordBoardEdit } from './board-editor.ts'
import { createInsight, getInsight, type SavedInsight, updateInsight } from './insight.ts'
import { narrowLink } from './sharing.ts'
import { dashboards } from './tables.ts'
import type { DashboardTemplate, TemplateTile } from './templates.ts'
import { addTile, listPlaces, listTiles, setTiles, type Tile, type TileChanges } from './tile.ts'

export type Dashboard = typeof dashboards.$inferSelect

/** Members that an edit can set; undefined ones stay. */
export type DashboardChanges = Partial<
  Pick<
    Dashboard,
    | 'deleted'
    | 'description'
    | 'filters'
    | 'name'
    | 'pinned'
    | 'restriction_level'
    | 'tags'
    | 'variables'
  >
> & {
  readonly tiles?: readonly TileChanges[]
  /** Deletes with the dashboard the insights that are on no other dashboard. */
  readonly delete_insights?: boolean
}

/** The source of a new dashboard's first tiles. */
export type DashboardSource =
  | {
      readonly kind: 'dashboard'
      readonly dashboard: Dashboard
      /** Copies the insights; otherwise both dashboards show the same ones. */
      readonly has_copies: boolean
    }
  | { readonly kind: 'template'; readonly template: DashboardStart }

/** The part of a template that a dashboard starts with. */
export type DashboardStart = Pick<
  DashboardTemplate,
  'dashboard_description' | 'dashboard_filters' | 'tags' | 'template_name' | 'tiles'
>

/** Creates a dashboard. Refuses invalid tiles. */
export function createDashboard(
  editor: BoardEditor,
  changes: DashboardChanges & { readonly source?: DashboardSource | null },
  now: Date,
): Dashboard {
  const { control, project, user_id } = editor
  const { tiles, source = null, delete_insights: _delete, ...provided_fields } = changes
  return control.transaction((tx) => {
    const dashboard = tx
      .insert(dashboards)
      .values({
        ...provided_fields,
        ...(source?.kind === 'template' ? fieldsOfTemplate(source.template, provided_fields) : {}),
        creation_mode: source === null ? 'default' : CREATION_MODES[source.kind],
        project_id: project.id,
        created_by: user_id,
        created_at: now,
        last_modified_at: now,
      })
      .returning()
      .get()
    if (tiles !== undefined) setTiles(tx, dashboard.id, tiles)
    recordBoardEdit(tx, editor, { scope: 'Dashboard', before: null, after: dashboard }, now)
    const its_editor = { ...editor, control: tx }
    if (source?.kind === 'dashboard') copyTiles(its_editor, source, dashboard, now)
    if (source?.kind === 'template') addTiles(its_editor, source.template.tiles, dashboard, now)
    return dashboard
  })
}

/** Changes a dashboard; deleting is a change of `deleted`. Refuses as `createDashboard` does. */
export function updateDashboard(
  editor: BoardEditor,
  before: Dashboard,
  changes: DashboardChanges,
  now: Date,
): Dashboard {
  const { tiles, delete_insights = false, ...provided_fields } = changes
  return editor.control.transaction((tx) => {
    const dashboard = tx
      .update(dashboards)
      .set({ ...provided_fields, last_modified_at: now })
      .where(eq(dashboards.id, before.id))
      .returning()
      .get()
    if (tiles !== undefined) setTiles(tx, dashboard.id, tiles)
    recordBoardEdit(tx, editor, { scope: 'Dashboard', before, after: dashboard }, now)
    const its_editor = { ...editor, control: tx }
    narrowLink(its_editor, dashboard.id)
    if (dashboard.deleted && delete_insights) deleteOwnInsights(its_editor, dashboard, now)
    if (before.deleted && !dashboard.deleted) restoreInsights(its_editor, dashboard, now)
    return dashboard
  })
}

const CREATION_MODES = { dashboard: 'duplicate', template: 'template' } as const

/** The dashboard takes the template's filters; the caller's own members take precedence. */
function fieldsOfTemplate(
  { template_name, dashboard_description, dashboard_filters, tags }: DashboardStart,
  sent: DashboardChanges,
): Pick<Dashboard, 'description' | 'filters' | 'name' | 'tags'> {
  return {
    name: sent.name || template_name,
    description: sent.description || dashboard_description,
    filters: dashboard_filters,
    tags: sent.tags ?? [...tags],
  }
}

function addTiles(
  editor: BoardEditor,
  tiles: readonly TemplateTile[],
  { id: dashboard_id }: Dashboard,
  now: Date,
): void {
  for (const tile of tiles) {
    const { layouts, color } = tile
    const body = tile.type === 'TEXT' ? tile.body : null
    let insight_id: number | null = null
    if (tile.type === 'INSIGHT') {
      const { name, description, query, filters = {} } = tile
      insight_id = createInsight(editor, { name, description, query, filters }, now).id
    }
    addTile(editor.control, { dashboard_id, insight_id, body, layouts, color })
  }
}

function copyTiles(
  editor: BoardEditor,
  { dashboard: source, has_copies }: Extract<DashboardSource, { readonly kind: 'dashboard' }>,
  target: Dashboard,
  now: Date,
): void {
  for (const tile of listTiles(editor.control, source.id)) {
    const insight_id = has_copies ? copyInsight(editor, tile, now) : tile.insight_id
    const { id: _id, ...members } = tile
    addTile(editor.control, { ...members, dashboard_id: target.id, insight_id })
  }
}

/** Returns the id of a copy of a tile's insight; null for a text tile. */
function copyInsight(editor: BoardEditor, { insight_id }: Tile, now: Date): number | null {
  if (insight_id === null) return null
  const { control, project } = editor
  const insight = getInsight(control, project.id, insight_id)
  const { derived_name, description, query, filters, tags, favorited, saved } = insight
  const name = insight.name === null ? null : `${insight.name} (Copy)`
  const fields = { name, derived_name, description, query, filters, tags, favorited, saved }
  return createInsight(editor, fields, now).id
}

/** Deletes the insights that are on no other dashboard. */
function deleteOwnInsights(editor: BoardEditor, dashboard: Dashboard, now: Date): void {
  for (const { insight, places } of insightsOn(editor, dashboard)) {
    const is_shared = places.some((id) => id !== dashboard.id)
    if (!insight.deleted && !is_shared) updateInsight(editor, insight, { deleted: true }, now)
  }
}

/** Restores the insights of a restored dashboard. */
function restoreInsights(editor: BoardEditor, dashboard: Dashboard, now: Date): void {
  for (const { insight } of insightsOn(editor, dashboard)) {
    if (insight.deleted) updateInsight(editor, insight, { deleted: false }, now)
  }
}

/** Lists the insights of a dashboard, deleted or not, with the ids of all dashboards that show them. */
function insightsOn(
  { control, project }: BoardEditor,
  { id }: Dashboard,
): readonly { readonly insight: SavedInsight; readonly places: readonly number[] }[] {
  return listPlaces(control, id).map(({ insight_id, places }) => ({
    insight: getInsight(control, project.id, insight_id),
    places,
  }))
}

/** Returns the project's dashboard with this id, deleted or not. Refuses when there is none. */
export function getDashboard(db: ControlDB, project_id: number, id: number): Dashboard {
  const its = and(eq(dashboards.project_id, project_id), eq(dashboards.id, id))
  const dashboard = db.select().from(dashboards).where(its).get()
  if (dashboard === undefined) throw new Refusal('not_found', 'Not found.')
  return dashboard
}

/** The members by which lists of dashboards are filtered. */
type DashboardHead = Pick<Dashboard, 'description' | 'id' | 'name' | 'pinned' | 'tags'>

/** Lists a project's dashboards that are not deleted, without their long members: pinned ones first, then by name. */
export function listDashboardHeads(db: ControlDB, project_id: number): readonly DashboardHead[] {
  const { id, name, description, tags, pinned, deleted } = dashboards
  const its = and(eq(dashboards.project_id, project_id), eq(deleted, false))
  const order = [desc(pinned), sql`lower(coalesce(${name}, ''))`, desc(id)]
  return db
    .select({ id, name, description, tags, pinned })
    .from(dashboards)
    .where(its)
    .orderBy(...order)
    .all()
}
