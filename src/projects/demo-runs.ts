/** Which projects are being given demo data, and how far that is. */
import { eq } from 'drizzle-orm'
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { ControlDB } from '../storage/control.ts'
import { moment } from './tables.ts'

const demo_runs = sqliteTable('demo_runs', {
  project_id: integer().primaryKey(),
  seed: text().notNull(),
  persons: integer().notNull(),
  days: integer().notNull(),
  end_at: moment().notNull(),
  state: text().$type<'done' | 'failed' | 'running'>().notNull(),
  done_events: integer().notNull().default(0),
  total_events: integer().notNull().default(0),
  error: text(),
  started_at: moment().notNull(),
  finished_at: moment(),
})

export type DemoRun = typeof demo_runs.$inferSelect

/** The last demo data of a project; null when it never had any. */
export function findDemoRun(db: ControlDB, project_id: number): DemoRun | null {
  return db.select().from(demo_runs).where(eq(demo_runs.project_id, project_id)).get() ?? null
}

/** Runs that a stop of the server has cut off. */
export function listUnfinishedDemoRuns(db: ControlDB): readonly DemoRun[] {
  return db.select().from(demo_runs).where(eq(demo_runs.state, 'running')).all()
}

/** Notes that a run begins, in the place of the project's last one. */
export function startDemoRun(
  db: ControlDB,
  wanted: Pick<DemoRun, 'days' | 'end_at' | 'persons' | 'project_id' | 'seed'>,
  now: Date,
): DemoRun {
  db.delete(demo_runs).where(eq(demo_runs.project_id, wanted.project_id)).run()
  return db
    .insert(demo_runs)
    .values({ ...wanted, state: 'running', started_at: now })
    .returning()
    .get()
}

/** Notes how far a run is, or that it has ended. */
export function noteDemoRun(
  db: ControlDB,
  project_id: number,
  change: Partial<
    Pick<DemoRun, 'done_events' | 'error' | 'finished_at' | 'state' | 'total_events'>
  >,
): void {
  db.update(demo_runs).set(change).where(eq(demo_runs.project_id, project_id)).run()
}

/** A run as it goes over the wire. */
export function demoRunOnWire(run: DemoRun): object {
  const { state, seed, done_events, total_events, error, started_at, finished_at } = run
  const progress = total_events === 0 ? 0 : done_events / total_events
  return { state, seed, progress, done_events, total_events, error, started_at, finished_at }
}
