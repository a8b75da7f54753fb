/** Public links to dashboards: a link shows one dashboard with the rights of the member who opened it, until it is ended. */
import { and, eq, inArray, ne, type SQL } from 'drizzle-orm'
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { makeInviteToken } from '../projects/keys/secrets.ts'
import { flag, timestamp } from '../projects/tables.ts'
import type { ControlDB } from '../storage/control/control-db.ts'
import { afterEditOf, type BoardEditor, isOneOf, recordBoardEdit } from './board-editor.ts'
import { dashboard_tiles, dashboards } from './tables.ts'

const shared_dashboards = sqliteTable('shared_dashboards', {
  dashboard_id: integer().primaryKey(),
  /** Stored as it is, since the link is shown again; it only allows to read one dashboard. */
  access_token: text().notNull(),
  enabled: flag().notNull(),
  /** The member whose rights the link has. */
  created_by: integer().notNull(),
  created_at: timestamp().notNull(),
})

type LinkedDashboard = typeof dashboards.$inferSelect

export type DashboardLink = typeof shared_dashboards.$inferSelect

/** Finds the link of a dashboard, open or ended; null if there never was one. */
export function findLink(
  db: Pick<ControlDB, 'select'>,
  dashboard_id: number,
): DashboardLink | null {
  const its = eq(shared_dashboards.dashboard_id, dashboard_id)
  return db.select().from(shared_dashboards).where(its).get() ?? null
}

/** Lists the ids of a project's dashboards with an open link. */
export function listSharedIds(db: ControlDB, project_id: number): ReadonlySet<number> {
  const open = and(eq(dashboards.project_id, project_id), eq(shared_dashboards.enabled, true))
  const rows = db
    .select({ id: dashboards.id })
    .from(shared_dashboards)
    .innerJoin(dashboards, eq(dashboards.id, shared_dashboards.dashboard_id))
    .where(open)
    .all()
  return new Set(rows.map(({ id }) => id))
}

/**
 * Opens or ends the link of a dashboard. `is_renewed` replaces its token, which ends the link before it. Refuses editors
 * who may not change the dashboard.
 */
export function setLink(
  editor: BoardEditor,
  dashboard: LinkedDashboard,
  { enabled, is_renewed = false }: { readonly enabled: boolean; readonly is_renewed?: boolean },
  now: Date,
): DashboardLink {
  return editor.control.transaction((tx) => {
    const before = findLink(tx, dashboard.id)
    const is_opened = enabled && before?.enabled !== true
    const after: DashboardLink = {
      dashboard_id: dashboard.id,
      access_token: before === null || is_renewed ? makeInviteToken() : before.access_token,
      enabled,
      // The link of a member who has left shows nothing, until another one opens it.
      created_by: before === null || is_opened ? editor.user_id : before.created_by,
      created_at: before === null || is_renewed ? now : before.created_at,
    }
    tx.insert(shared_dashboards)
      .values(after)
      .onConflictDoUpdate({ target: shared_dashboards.dashboard_id, set: after })
      .run()
    const edit = {
      scope: 'Dashboard',
      before: { ...dashboard, sharing: describeLink(before) },
      after: { ...dashboard, sharing: describeLink(after) },
    } as const
    recordBoardEdit(tx, editor, edit, now)
    return after
  })
}

/**
 * Narrows the open link of a dashboard that a member has changed, who reads it without a login. If the editor may see less
 * than the member who opened the link, it goes on in the editor's name; if each may see what the other may not, it ends.
 */
export function narrowLink(editor: BoardEditor, dashboard_id: number): void {
  narrowLinks(editor, eq(shared_dashboards.dashboard_id, dashboard_id))
}

/** Narrows the open links of the dashboards with insights that a member has changed, as `narrowLink` does. */
export function narrowLinksWith(editor: BoardEditor, insight_ids: readonly number[]): void {
  const boards = editor.control
    .select({ dashboard_id: dashboard_tiles.dashboard_id })
    .from(dashboard_tiles)
    .where(isOneOf(dashboard_tiles.insight_id, insight_ids))
  narrowLinks(editor, inArray(shared_dashboards.dashboard_id, boards))
}

function narrowLinks(editor: BoardEditor, which: SQL): void {
  const { control, user_id } = editor
  const { enabled, created_by } = shared_dashboards
  const of_others = and(which, eq(enabled, true), ne(created_by, user_id))
  const authors = control.selectDistinct({ id: created_by }).from(shared_dashboards)
  // By author: a project may have thousands of links, and an author's rights take longer than all of theirs.
  for (const author of authors.where(of_others).all()) {
    const next = afterEditOf(editor, author.id)
    if (next === 'stays') continue
    control
      .update(shared_dashboards)
      .set(next === 'ends' ? { enabled: false } : { created_by: user_id })
      .where(and(which, eq(enabled, true), eq(created_by, author.id)))
      .run()
  }
}

/** A link as the activity log records it, without its token. */
const describeLink = (link: DashboardLink | null) => ({
  enabled: link?.enabled ?? false,
  created_at: link?.created_at.toISOString() ?? null,
})

/** Finds the dashboard of an open link, and the member whose rights the link has; null for any other token. */
export function findSharedDashboard(
  db: ControlDB,
  access_token: string,
): { readonly dashboard: LinkedDashboard; readonly user_id: number } | null {
  const { access_token: token, enabled, dashboard_id } = shared_dashboards
  const row = db
    .select({ dashboard: dashboards, user_id: shared_dashboards.created_by })
    .from(shared_dashboards)
    .innerJoin(dashboards, eq(dashboards.id, dashboard_id))
    .where(and(eq(token, access_token), eq(enabled, true), eq(dashboards.deleted, false)))
    .get()
  return row ?? null
}
