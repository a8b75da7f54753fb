/** Lets go of uuids that were received before the window in which a repeated event is certainly recognized. */
import type { EventLog } from '../../storage/log/event-log.ts'
import { faultOf } from '../threads/storage-faults.ts'

const US_PER_DAY = 86_400_000_000
const MS_PER_DAY = 86_400_000

/** Between two steps of a pass, so that requests hardly notice one: 50 million uuids are passed in three hours. */
const STEP_EVERY_MS = 1000
/** Uuids looked at per step, a few milliseconds' work. */
const STEP_ROWS = 5000
/** The first pass after a start waits: a process that is started over and over would only pass the first rows. */
const FIRST_PASS_AFTER_MS = 600_000

/** Passes over all known uuids once a day, a few at a time. Runs on the data thread. */
export class DedupWindow {
  readonly #log: EventLog
  readonly #dedup_days: number
  #timer: ReturnType<typeof setTimeout>

  constructor(log: EventLog, dedup_days: number) {
    this.#log = log
    this.#dedup_days = dedup_days
    this.#timer = setTimeout(() => this.#pass(null), FIRST_PASS_AFTER_MS)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #pass(after: DedupPosition | null): void {
    const next = this.#step(after)
    const wait_ms = next === null ? MS_PER_DAY : STEP_EVERY_MS
    this.#timer = setTimeout(() => this.#pass(next), wait_ms)
  }

  /** While nothing can be written, uuids stay known for longer: the next day's pass finds them. */
  #step(after: DedupPosition | null): DedupPosition | null {
    const received_before = firstDay(Date.now() * 1000, this.#dedup_days)
    try {
      return deleteUuids(this.#log, { after, received_before, rows: STEP_ROWS })
    } catch (error) {
      if (faultOf(error) !== 'unavailable') throw error
      return null
    }
  }
}

/** A place in the order of known uuids. */
export type DedupPosition = { readonly project_id: number; readonly uuid: Uint8Array }

/** The first day (since 1970) whose uuids are still remembered at a time in µs. */
export function firstDay(now: number, dedup_days: number): number {
  return Math.floor(now / US_PER_DAY) - dedup_days
}

/** Looks at the next rows after a place and deletes those received before a day. Answers where it stopped; null at the end. */
export function deleteUuids(
  log: EventLog,
  step: {
    readonly after: DedupPosition | null
    readonly received_before: number
    readonly rows: number
  },
): DedupPosition | null {
  const after = step.after ?? { project_id: -1, uuid: new Uint8Array(0) }
  const end = log.db
    .query<DedupPosition, [number, Uint8Array, number]>(SELECT_END)
    .get(after.project_id, after.uuid, step.rows - 1)
  const upto = end ?? { project_id: Number.MAX_SAFE_INTEGER, uuid: new Uint8Array(0) }
  log.db
    .query(DELETE)
    .run(after.project_id, after.uuid, upto.project_id, upto.uuid, step.received_before)
  return end
}

const SELECT_END = `
select project_id, uuid
from event_uuids
where (project_id, uuid) > (?, ?)
order by project_id, uuid
limit 1 offset ?`

const DELETE = `
delete from event_uuids
where (project_id, uuid) > (?, ?)
  and (project_id, uuid) <= (?, ?)
  and received_day < ?`
