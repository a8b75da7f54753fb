/** Deletes uuids older than the deduplication window (`TIDEMARK_DEDUP_DAYS`) from the index. */

import { listFileTimes } from '../../storage/files/manifest.ts'
import { newestProven } from '../../storage/files/proven-time.ts'
import type { EventLog, FileRow } from '../../storage/log/event-log.ts'
import { DAY_MS, US_PER_DAY } from '../../time.ts'
import { faultOf } from '../threads/storage-faults.ts'

/** Pause between two steps of a scan, so that requests hardly notice it: 50 million uuids take three hours. */
const STEP_EVERY_MS = 1000
/** Uuids scanned per step: a few milliseconds. */
const STEP_ROWS = 5000
/** Delay of the first scan after a start: a process that restarts again and again would only scan the first rows. */
const FIRST_SCAN_AFTER_MS = 600_000

/** Scans the whole index once a day, a few rows at a time. Runs on the data thread. */
export class DedupWindow {
  readonly #log: EventLog
  readonly #dedup_days: number
  #timer: ReturnType<typeof setTimeout>

  constructor(log: EventLog, dedup_days: number) {
    this.#log = log
    this.#dedup_days = dedup_days
    this.#timer = setTimeout(() => this.#begin(), FIRST_SCAN_AFTER_MS)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #begin(): void {
    const files = listFileTimes(this.#log.db)
    this.#scan(null, findFirstDay(files, Date.now() * 1000, this.#dedup_days))
  }

  #scan(after: DedupPosition | null, received_before: number): void {
    const next = this.#step(after, received_before)
    this.#timer =
      next === null
        ? setTimeout(() => this.#begin(), DAY_MS)
        : setTimeout(() => this.#scan(next, received_before), STEP_EVERY_MS)
  }

  /** One step. If the disk is unavailable the scan ends; the next day's scan deletes the rows. */
  #step(after: DedupPosition | null, received_before: number): DedupPosition | null {
    try {
      return deleteUuids(this.#log, { after, received_before, rows: STEP_ROWS })
    } catch (error) {
      if (faultOf(error) !== 'unavailable') throw error
      return null
    }
  }
}

/** A position in the order of the index. */
export type DedupPosition = { readonly project_id: number; readonly uuid: Uint8Array }

/**
 * The first day (since 1970) of the window at a time in µs. A clock that is ahead of the newest file is not believed: set far
 * ahead it would empty the index, and events that are sent again would be stored twice.
 */
export function findFirstDay(
  files: readonly Pick<FileRow, 'created_at'>[],
  now: number,
  dedup_days: number,
): number {
  const proven = newestProven(files)
  return Math.floor((proven === 0 ? now : Math.min(now, proven)) / US_PER_DAY) - dedup_days
}

/**
 * Scans the next rows after a position and deletes those received before a day. Returns the position reached; null at
 * the end.
 */
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
