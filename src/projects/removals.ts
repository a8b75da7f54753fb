/** The queue of deleted projects whose data is still to be removed. */
import { asc, eq } from 'drizzle-orm'
import { integer, sqliteTable } from 'drizzle-orm/sqlite-core'
import type { ControlDB } from '../storage/control/control-db.ts'
import { timestamp } from './tables.ts'

const removed_projects = sqliteTable('removed_projects', {
  project_id: integer().primaryKey(),
  removed_at: timestamp().notNull(),
})

/** The queue, oldest first. */
export function listRemovedProjects(db: ControlDB): readonly number[] {
  return db
    .select()
    .from(removed_projects)
    .orderBy(asc(removed_projects.removed_at))
    .all()
    .map(({ project_id }) => project_id)
}

/** Enqueues projects. Call it in the transaction that deletes them. */
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

/** Dequeues a project, all of whose data is removed. */
export function deleteRemovedProject(db: ControlDB, project_id: number): void {
  db.delete(removed_projects).where(eq(removed_projects.project_id, project_id)).run()
}
