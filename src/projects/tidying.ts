/** Garbage collection of control.db: items deleted some days ago, and the oldest entries of the activity log. */

import { sql } from 'drizzle-orm'
import type { ControlDB } from '../storage/control/control-db.ts'
import { DAY_MS, US_PER_MS } from '../time.ts'

/** Limits of stored history. */
export type TidySettings = {
  readonly deleted_days: number
  readonly activity_days: number
  /** Per organization. */
  readonly activity_rows_max: number
  readonly activity_bytes_max: number
}

/**
 * Tables with soft deletion, each before those it refers to. A flag stays as long as an experiment has it, because its
 * row's deletion would cascade to the experiment.
 */
const DELETED: readonly { readonly table: string; readonly unless?: string }[] = [
  { table: 'annotations' },
  { table: 'insights' },
  { table: 'dashboards' },
  { table: 'actions' },
  { table: 'experiments' },
  {
    table: 'feature_flags',
    unless: 'exists (select 1 from experiments where feature_flag_id = feature_flags.id)',
  },
]

/** Rows removed within one turn of the event loop. */
const SLICE = 200

/** A step: removes a slice of rows. True if there may be more. */
type TidyStep = () => boolean

/** The steps of the tables above. Cohorts are separate: their members have to be deleted first. */
export function removalSteps(db: ControlDB, settings: TidySettings, now: Date): TidyStep[] {
  const before_us = cutoff(settings.deleted_days, now)
  return DELETED.map(({ table, unless }) => {
    const name = sql.identifier(table)
    const kept = unless === undefined ? sql`0` : sql.raw(unless)
    const due = sql`deleted = 1 and deleted_at < ${before_us} and not (${kept})`
    return () => {
      const gone = db.all(sql`
        delete from ${name} where id in (select id from ${name} where ${due} limit ${SLICE}) returning id`)
      return gone.length === SLICE
    }
  })
}

/** Cohorts that were deleted before the limit. */
export function listDueCohorts(
  db: ControlDB,
  { deleted_days }: TidySettings,
  now: Date,
): readonly { readonly id: number; readonly project_id: number }[] {
  return db.all(sql`
    select id, project_id from cohorts where deleted = 1 and deleted_at < ${cutoff(deleted_days, now)} limit ${SLICE}`)
}

/** Removes a cohort's row. */
export function removeCohort(db: ControlDB, id: number): void {
  db.run(sql`delete from cohorts where id = ${id} and deleted = 1`)
}

/** Trims the activity log by age, and by rows and bytes for organizations with new entries. */
export class ActivityTrimmer {
  readonly #db: ControlDB
  readonly #settings: TidySettings
  /** The latest entry of each organization at the last run. */
  readonly #latest = new Map<string, number>()

  constructor(db: ControlDB, settings: TidySettings) {
    this.#db = db
    this.#settings = settings
  }

  /** The steps that are due. */
  steps(now: Date): TidyStep[] {
    const before_us = cutoff(this.#settings.activity_days, now)
    const organizations = this.#db.all<{ id: string }>(sql`select id from organizations`)
    return [
      () => this.#remove(sql`created_at < ${before_us}`),
      ...organizations.map(
        ({ id }) =>
          () =>
            this.#trim(id),
      ),
    ]
  }

  #trim(organization_id: string): boolean {
    const own = sql`organization_id = ${organization_id}`
    const latest = this.#find(sql`select max(id) as id from activity_log where ${own}`)
    if (latest === null || this.#latest.get(organization_id) === latest) return false
    const { activity_rows_max, activity_bytes_max } = this.#settings
    const by_rows = this.#find(sql`
      select id from activity_log where ${own} order by id desc limit 1 offset ${activity_rows_max}`)
    const by_bytes = this.#find(sql`
      select id from (
        select id, sum(octet_length(detail)) over (order by id desc) as bytes from activity_log where ${own}
      ) where bytes > ${activity_bytes_max} order by id desc limit 1`)
    const last = Math.max(by_rows ?? 0, by_bytes ?? 0)
    if (last > 0 && this.#remove(sql`${own} and id <= ${last}`)) return true
    this.#latest.set(organization_id, latest)
    return false
  }

  #find(query: ReturnType<typeof sql>): number | null {
    const [row] = this.#db.all<{ id: number | null }>(query)
    return row?.id ?? null
  }

  #remove(which: ReturnType<typeof sql>): boolean {
    const gone = this.#db.all(sql`
      delete from activity_log where id in (select id from activity_log where ${which} order by id limit ${SLICE})
      returning id`)
    return gone.length === SLICE
  }
}

function cutoff(days: number, now: Date): number {
  return (now.getTime() - days * DAY_MS) * US_PER_MS
}
