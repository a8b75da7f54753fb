/** Ingestion warnings: notes about events that were changed or dropped, for the users of a project. */
import type { Statement } from 'bun:sqlite'
import { ClockCache } from '../../storage/clock-cache.ts'
import { WARNINGS_KEPT_MAX } from '../../storage/files/replication-sources.ts'
import type { EventLog } from '../../storage/log/event-log.ts'

export type WarningType =
  | 'cannot_merge_already_identified'
  | 'cannot_merge_large_person'
  | 'cannot_merge_with_illegal_distinct_id'
  | 'client_ingestion_warning'
  | 'elements_chain_size_violation'
  | 'event_timestamp_in_future'
  | 'group_properties_size_violation'
  | 'ignored_invalid_timestamp'
  | 'ingestion_capacity_overflow'
  | 'invalid_event_when_process_person_profile_is_false'
  | 'invalid_process_person_profile'
  | 'missing_distinct_id'
  | 'missing_event_name'
  | 'person_properties_size_violation'

/** The hourly limit counts by type and `key`, usually the distinct id. */
export type Warning = {
  readonly type: WarningType
  readonly key: string
  readonly details: { readonly [name: string]: string | number }
}

/** Types without the hourly limit: none of them repeats with every event. */
const UNLIMITED_TYPES: ReadonlySet<WarningType> = new Set([
  'cannot_merge_already_identified',
  'cannot_merge_with_illegal_distinct_id',
])

/** Other types are stored once per project, type and key in this time. */
const SILENCE_US = 3_600_000_000

/** Cached keys; after an eviction a warning is stored twice. */
const CACHED_MAX = 50_000

/** New warnings of a project between two deletions of its old ones. */
const TRIM_EVERY = 1000

const INSERT = `
insert into ingestion_warnings (project_id, type, details, created_at, change)
values (?, ?, ?, ?, ?)`

const TRIM = `
delete from ingestion_warnings
where project_id = ? and id <= (
  select id from ingestion_warnings where project_id = ? order by id desc limit 1 offset ?
)`

/** Writes warnings inside the data thread's transactions. */
export class Warnings {
  readonly #log: EventLog
  readonly #stored_at = new ClockCache<number>(CACHED_MAX)
  readonly #insert: Statement
  readonly #written = new Map<number, number>()

  constructor(log: EventLog) {
    this.#log = log
    this.#insert = log.db.prepare(INSERT)
  }

  /** Stores a warning unless the same was stored within the hour. `now` in µs. */
  add(project_id: number, warning: Warning, now: number): void {
    const key = `${project_id}:${warning.type}:${warning.key}`
    if (!UNLIMITED_TYPES.has(warning.type)) {
      const stored_at = this.#stored_at.get(key)
      if (stored_at !== undefined && now - stored_at < SILENCE_US) return
      this.#stored_at.set(key, now)
    }
    const details = JSON.stringify(warning.details)
    this.#insert.run(project_id, warning.type, details, now, this.#log.nextChange())
    this.#trimSometimes(project_id)
  }

  /** Clears the caches after a rollback. */
  forget(): void {
    this.#stored_at.clear()
    this.#written.clear()
  }

  #trimSometimes(project_id: number): void {
    const written = (this.#written.get(project_id) ?? 0) + 1
    this.#written.set(project_id, written % TRIM_EVERY)
    if (written < TRIM_EVERY) return
    this.#log.db.query(TRIM).run(project_id, project_id, WARNINGS_KEPT_MAX)
  }
}
