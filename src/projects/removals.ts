/** Projects that are gone, remembered until all of their data is gone too. */
import { asc, eq } from 'drizzle-orm'
import { integer, sqliteTable } from 'drizzle-orm/sqlite-core'
import type { ControlDB } from '../storage/control/control-db.ts'
import { timestamp } from './tables.ts'

const removed_projects = sqliteTable('removed_projects', {
  project_id: integer().primaryKey(),
  removed_at: timestamp().notNull(),
})

/** Projects that are gone and whose data may not be, oldest first. */
export function listRemovedProjects(db: ControlDB): readonly number[] {
  return db
    .select()
    .from(removed_projects)
    .orderBy(asc(removed_projects.removed_at))
    .all()
    .map(({ project_id }) => project_id)
}

/** Notes which projects' data is to be removed; call it in the transaction that deletes them. */
export function listForRemoval(
  db: Pick<ControlDB, 'insert'>,
  project_ids: readonly number[],
  now: Date,
): void {
  if (project_ids.length === 0) return
  db.insert(removed_projects)
    .values(project_ids.map((project_id) => ({ project_id, removed_at: now })))
    .onConflictDoNothing()
    .run()
}

/** Nothing of the project is left anywhere. */
export function deleteRemovedProject(db: ControlDB, project_id: number): void {
  db.delete(removed_projects).where(eq(removed_projects.project_id, project_id)).run()
}
