/** How cohorts were worked out: when it began and ended, how many were in it, what went wrong. */
import { and, desc, eq, isNull, lt } from 'drizzle-orm'
import type { Json } from '../../projects/tables.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'
import { cohort_calculations } from '../tables.ts'

export type Calculation = typeof cohort_calculations.$inferSelect

/** Of each cohort the latest are kept. */
const KEPT = 100

/** What became of a calculation. */
export type CalculationEnd = Pick<Calculation, 'count' | 'error'>

/** Notes that a cohort begins to be worked out; answers by what its end is noted. */
export function beginCalculation(
  db: ControlDB,
  cohort: { readonly id: number; readonly filters: unknown },
  now: Date,
): number {
  const row = { cohort_id: cohort.id, filters: cohort.filters as Json, started_at: now }
  return db.insert(cohort_calculations).values(row).returning().get().id
}

/** Notes how it ended, and forgets what is older than the latest. */
export function endCalculation(db: ControlDB, id: number, end: CalculationEnd, now: Date): void {
  const ended = db
    .update(cohort_calculations)
    .set({ ...end, finished_at: now })
    .where(eq(cohort_calculations.id, id))
    .returning()
    .get()
  // Gone with its cohort.
  if (ended === undefined) return
  const its = eq(cohort_calculations.cohort_id, ended.cohort_id)
  const oldest = db
    .select({ id: cohort_calculations.id })
    .from(cohort_calculations)
    .where(its)
    .orderBy(desc(cohort_calculations.id))
    .limit(1)
    .offset(KEPT)
    .get()
  if (oldest === undefined) return
  db.delete(cohort_calculations)
    .where(and(its, lt(cohort_calculations.id, oldest.id + 1)))
    .run()
}

/** What began before the process ended, and will never end. */
export function dropUnfinished(db: ControlDB): void {
  db.delete(cohort_calculations).where(isNull(cohort_calculations.finished_at)).run()
}

/** The latest calculations of a cohort, the last one first. */
export function listCalculations(db: ControlDB, cohort_id: number): readonly Calculation[] {
  return db
    .select()
    .from(cohort_calculations)
    .where(eq(cohort_calculations.cohort_id, cohort_id))
    .orderBy(desc(cohort_calculations.id))
    .all()
}
