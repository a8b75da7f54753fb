/** A project's cohorts as queries use them. */
import { and, asc, eq } from 'drizzle-orm'
import type { ControlDB } from '../../projects/rights/access.ts'
import { cohorts } from '../tables.ts'

export type NamedCohort = {
  readonly id: number
  readonly name: string
  readonly is_static: boolean
}

/** Lists cohorts that are not deleted, oldest first. */
export function listNamedCohorts(db: ControlDB, project_id: number): readonly NamedCohort[] {
  const { id, name, is_static } = cohorts
  return db
    .select({ id, name, is_static })
    .from(cohorts)
    .where(and(eq(cohorts.project_id, project_id), eq(cohorts.deleted, false)))
    .orderBy(asc(id))
    .all()
    .map((cohort) => ({ id: cohort.id, name: cohort.name ?? '', is_static: cohort.is_static }))
}
