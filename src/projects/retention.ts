/** For how long projects keep their events. */
import { eq } from 'drizzle-orm'
import { integer, sqliteTable } from 'drizzle-orm/sqlite-core'
import { Refusal } from '../errors.ts'
import type { ControlDB } from '../storage/control/control-db.ts'
import { findProject } from './project.ts'

const project_retention = sqliteTable('project_retention', {
  project_id: integer().primaryKey(),
  months: integer().notNull(),
})

/** A hundred years are for ever. */
export const RETENTION_MONTHS_MAX = 1200

/**
 * How many whole months of events before the running one a project keeps: its own number, else `fallback`; null for
 * ever, which is what 0 means for both.
 */
export function retentionMonths(
  db: ControlDB,
  project_id: number,
  fallback: number,
): number | null {
  const own = db
    .select()
    .from(project_retention)
    .where(eq(project_retention.project_id, project_id))
    .get()
  const months = own?.months ?? fallback
  return months === 0 ? null : months
}

/** Sets a project's own number of months, 0 for ever; null takes it back. Refuses a project that is not there. */
export function setRetention(db: ControlDB, project_id: number, months: number | null): void {
  if (findProject(db, project_id) === null) {
    throw new Refusal('not_found', `There is no project ${project_id}.`)
  }
  if (months === null) {
    db.delete(project_retention).where(eq(project_retention.project_id, project_id)).run()
    return
  }
  db.insert(project_retention)
    .values({ project_id, months })
    .onConflictDoUpdate({ target: project_retention.project_id, set: { months } })
    .run()
}
