/** Calculations of cohorts: start, end, size, error. */
import { and, desc, eq, isNull, lt } from 'drizzle-orm'
import type { Json } from '../../projects/tables.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'
import { cohort_calculations } from '../tables.ts'

export type Calculation = typeof cohort_calculations.$inferSelect

/** The most calculations stored per cohort; older ones are deleted. */
const CALCULATIONS_MAX = 100

/** The outcome of a calculation. */
type CalculationEnd = Pick<Calculation, 'count' | 'error'>

/** Records the start of a calculation, and returns its id for `endCalculation`. */
export function beginCalculation(
  db: ControlDB,
  cohort: { readonly id: number; readonly filters: unknown },
  now: Date,
): number {
  const row = { cohort_id: cohort.id, filters: cohort.filters as Json, started_at: now }
  const { id } = cohort_calculations
  return db.insert(cohort_calculations).values(row).returning({ id }).get().id
}

/** Records the end of a calculation, and deletes the oldest ones. */
export function endCalculation(db: ControlDB, id: number, end: CalculationEnd, now: Date): void {
  const ended = db
    .update(cohort_calculations)
    .set({ ...end, finished_at: now })
    .where(eq(cohort_calculations.id, id))
    .returning({ cohort_id: cohort_calculations.cohort_id })
    .get()
  // Deleted with its cohort.
  if (ended === undefined) return
  const its = eq(cohort_calculations.cohort_id, ended.cohort_id)
  const oldest = db
    .select({ id: cohort_calculations.id })
    .from(cohort_calculations)
    .where(its)
    .orderBy(desc(cohort_calculations.id))
    .limit(1)
    .offset(CALCULATIONS_MAX)
    .get()
  if (oldest === undefined) return
  db.delete(cohort_calculations)
    .where(and(its, lt(cohort_calculations.id, oldest.id + 1)))
    .run()
}

/** Deletes calculations that a previous process started and did not end. */
export function dropUnfinished(db: ControlDB): void {
  db.delete(cohort_calculations).where(isNull(cohort_calculations.finished_at)).run()
}

/** Lists the calculations of a cohort, the latest first. */
export function listCalculations(db: ControlDB, cohort_id: number): readonly Calculation[] {
  return db
    .select()
    .from(cohort_calculations)
    .where(eq(cohort_calculations.cohort_id, cohort_id))
    .orderBy(desc(cohort_calculations.id))
    .all()
}
