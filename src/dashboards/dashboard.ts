/** Dashboards of saved insights. */
import { and, desc, eq } from 'drizzle-orm'
import { Refusal } from '../errors.ts'
import type { ControlDB } from '../storage/control/control-db.ts'
import { type BoardEditor, recordBoardEdit } from './board-editor.ts'
import { dashboards } from './tables.ts'
import { setTiles, type TileChanges } from './tile.ts'

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
}

/** Creates a dashboard. Refuses invalid tiles. */
export function createDashboard(
  editor: BoardEditor,
  changes: DashboardChanges,
  now: Date,
): Dashboard {
  const { control, project, user_id } = editor
  const { tiles, ...provided_fields } = changes
  return control.transaction((tx) => {
    const dashboard = tx
      .insert(dashboards)
      .values({
        ...provided_fields,
        project_id: project.id,
        created_by: user_id,
        created_at: now,
        last_modified_at: now,
      })
      .returning()
      .get()
    if (tiles !== undefined) setTiles(tx, dashboard.id, tiles)
    recordBoardEdit(tx, editor, { scope: 'Dashboard', before: null, after: dashboard }, now)
    return dashboard
  })
}

/** Changes a dashboard; deleting is a change of `deleted`. Refuses what `createDashboard` refuses. */
export function updateDashboard(
  editor: BoardEditor,
  before: Dashboard,
  changes: DashboardChanges,
  now: Date,
): Dashboard {
  const { tiles, ...provided_fields } = changes
  return editor.control.transaction((tx) => {
    const dashboard = tx
      .update(dashboards)
      .set({ ...provided_fields, last_modified_at: now })
      .where(eq(dashboards.id, before.id))
      .returning()
      .get()
    if (tiles !== undefined) setTiles(tx, dashboard.id, tiles)
    recordBoardEdit(tx, editor, { scope: 'Dashboard', before, after: dashboard }, now)
    return dashboard
  })
}

/** Returns the project's dashboard with this id, deleted or not. Refuses when there is none. */
export function getDashboard(db: ControlDB, project_id: number, id: number): Dashboard {
  const its = and(eq(dashboards.project_id, project_id), eq(dashboards.id, id))
  const dashboard = db.select().from(dashboards).where(its).get()
  if (dashboard === undefined) throw new Refusal('not_found', 'Not found.')
  return dashboard
}

/** Lists a project's dashboards that are not deleted, pinned ones first, then the newest. */
export function listDashboards(db: ControlDB, project_id: number): readonly Dashboard[] {
  const its = and(eq(dashboards.project_id, project_id), eq(dashboards.deleted, false))
  const { pinned, id } = dashboards
  return db.select().from(dashboards).where(its).orderBy(desc(pinned), desc(id)).all()
}

/** What lists of dashboards are narrowed by. */
export type DashboardHead = Pick<Dashboard, 'id' | 'name' | 'pinned'>

/** The dashboards of `listDashboards`, without what is long in them. */
export function listDashboardHeads(db: ControlDB, project_id: number): readonly DashboardHead[] {
  const { id, name, pinned, deleted } = dashboards
  const its = and(eq(dashboards.project_id, project_id), eq(deleted, false))
  const order = [desc(pinned), desc(id)]
  return db
    .select({ id, name, pinned })
    .from(dashboards)
    .where(its)
    .orderBy(...order)
    .all()
}
