/** A project's cohorts as queries use them. */
import { and, asc, eq } from 'drizzle-orm'
import type { ControlDB } from '../../projects/rights/access.ts'
import { cohorts } from '../tables.ts'

type NamedCohort = {
  readonly id: number
  readonly name: string
  readonly is_static: boolean
}

/** Lists cohorts that are not deleted, oldest first. Read as values: 20,000 as objects took 13 ms instead of 6. */
export function listNamedCohorts(db: ControlDB, project_id: number): readonly NamedCohort[] {
  const { id, name, is_static } = cohorts
  return db
    .select({ id, name, is_static })
    .from(cohorts)
    .where(and(eq(cohorts.project_id, project_id), eq(cohorts.deleted, false)))
    .orderBy(asc(id))
    .values()
    .map(([cohort_id, cohort_name, is_uploaded]) => ({
      id: cohort_id,
      name: cohort_name ?? '',
      is_static: is_uploaded === 1,
    }))
}
