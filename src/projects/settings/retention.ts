/** Retention: the number of months for which a project keeps its events. */
import { eq } from 'drizzle-orm'
import { integer, sqliteTable } from 'drizzle-orm/sqlite-core'
import { Refusal } from '../../errors.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'
import { findProject } from './project.ts'

const project_retention = sqliteTable('project_retention', {
  project_id: integer().primaryKey(),
  months: integer().notNull(),
})

/** Months that count as unlimited: a hundred years. */
export const RETENTION_MONTHS_MAX = 1200

/**
 * The number of whole months before the current one whose events a project keeps: the project's setting, else
 * `fallback`. 0 in both means unlimited, which is returned as null.
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

/** Stores a project's number of months, 0 for unlimited; null deletes the setting. Refuses an unknown project. */
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
