/** Stored runs of the demo data generator, one per project, with their progress. */

import { eq } from 'drizzle-orm'
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { Refusal } from '../errors.ts'
import type { ControlDB } from '../storage/control/control-db.ts'
import { HOUR_MS } from '../time.ts'
import { projects, timestamp } from './tables.ts'

const PERSONS_DEFAULT = 500
const PERSONS_MAX = 100_000
const DAYS_DEFAULT = 90
const DAYS_MAX = 730

const demo_runs = sqliteTable('demo_runs', {
  project_id: integer().primaryKey(),
  seed: text().notNull(),
  persons: integer().notNull(),
  days: integer().notNull(),
  end_at: timestamp().notNull(),
  state: text().$type<'done' | 'failed' | 'running'>().notNull(),
  done_events: integer().notNull().default(0),
  total_events: integer().notNull().default(0),
  error: text(),
  started_at: timestamp().notNull(),
  finished_at: timestamp(),
})

export type DemoRun = typeof demo_runs.$inferSelect

/** The last run of a project; null if there is none. */
export function findDemoRun(db: ControlDB, project_id: number): DemoRun | null {
  return db.select().from(demo_runs).where(eq(demo_runs.project_id, project_id)).get() ?? null
}

/** Runs that a stop of the server interrupted. */
export function listUnfinishedDemoRuns(db: ControlDB): readonly DemoRun[] {
  return db.select().from(demo_runs).where(eq(demo_runs.state, 'running')).all()
}

/** The parameters of demo data. Equal parameters give equal events. */
type DemoRequest = {
  readonly project_id: number
  readonly seed?: string | undefined
  readonly persons?: number | undefined
  readonly days?: number | undefined
  /** The end of the timeline; the default is the last full hour. */
  readonly end_at?: Date | undefined
}

/**
 * Requests demo data, which a running server generates, and replaces the project's last run. Refuses a parallel one.
 */
export function requestDemoData(db: ControlDB, request: DemoRequest, now: Date): DemoRun {
  const { project_id, seed = 'tidemark' } = request
  const persons = requireWithin(request.persons ?? PERSONS_DEFAULT, PERSONS_MAX, 'persons')
  const days = requireWithin(request.days ?? DAYS_DEFAULT, DAYS_MAX, 'days')
  const end_at = request.end_at ?? new Date(Math.floor(now.getTime() / HOUR_MS) * HOUR_MS)
  if (end_at > now) {
    throw new Refusal('invalid_input', 'Demo data cannot end in the future.', { attr: 'end_at' })
  }
  return db.transaction(
    (tx) => {
      if (findDemoRun(tx, project_id)?.state === 'running') {
        throw new Refusal('invalid_input', 'Demo data is being generated already.')
      }
      tx.delete(demo_runs).where(eq(demo_runs.project_id, project_id)).run()
      tx.update(projects).set({ is_demo: true }).where(eq(projects.id, project_id)).run()
      return tx
        .insert(demo_runs)
        .values({ project_id, seed, persons, days, end_at, state: 'running', started_at: now })
        .returning()
        .get()
    },
    { behavior: 'immediate' },
  )
}

function requireWithin(number: number, max: number, attr: string): number {
  if (Number.isInteger(number) && number >= 1 && number <= max) return number
  throw new Refusal('invalid_input', `Ensure this value is from 1 to ${max}.`, { attr })
}

/** Records the progress or the end of a run. */
export function recordDemoRun(
  db: ControlDB,
  project_id: number,
  change: Partial<
    Pick<DemoRun, 'done_events' | 'error' | 'finished_at' | 'state' | 'total_events'>
  >,
): void {
  db.update(demo_runs).set(change).where(eq(demo_runs.project_id, project_id)).run()
}

/** A run in the form of the API. */
export function serializeDemoRun(run: DemoRun): object {
  const { state, seed, done_events, total_events, error, started_at, finished_at } = run
  const progress = total_events === 0 ? 0 : done_events / total_events
  return { state, seed, progress, done_events, total_events, error, started_at, finished_at }
}
