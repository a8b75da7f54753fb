/** Counters of accepted, repeated and dropped events per project, for metrics and for "has this project any events". */
import type { Statement } from 'bun:sqlite'
import type { EventLog } from '../../storage/log/event-log.ts'

/** The reasons why an event is dropped although its request is answered 200. */
export const DROP_REASONS = [
  'client_ingestion_warning',
  'invalid_without_person_profile',
  'missing_distinct_id',
  'missing_event_name',
  'performance_event',
  'plugin',
  'session_recording',
] as const

export type DropReason = (typeof DROP_REASONS)[number]

type CounterName = 'accepted' | 'duplicate' | 'merged' | `dropped:${DropReason}`

const ADD = `
insert into ingest_counters (project_id, name, value)
values (?, ?, ?)
on conflict (project_id, name) do update set value = ingest_counters.value + excluded.value`

/** Counts in memory during a transaction and writes the sums at its end. */
export class Counters {
  readonly #add: Statement
  readonly #counts = new Map<number, Map<CounterName, number>>()
  /** Projects whose first event the last transaction stored. */
  readonly #first_events = new Set<number>()
  readonly #projects_with_events: Set<number>

  constructor(log: EventLog) {
    this.#add = log.db.prepare(ADD)
    const rows = log.db
      .query<{ project_id: number }, []>(
        "select project_id from ingest_counters where name = 'accepted'",
      )
      .all()
    this.#projects_with_events = new Set(rows.map((row) => row.project_id))
  }

  /** Projects that have stored at least one event. */
  get projects_with_events(): readonly number[] {
    return [...this.#projects_with_events]
  }

  count(project_id: number, name: CounterName, by = 1): void {
    let counts = this.#counts.get(project_id)
    if (counts === undefined) {
      counts = new Map()
      this.#counts.set(project_id, counts)
    }
    counts.set(name, (counts.get(name) ?? 0) + by)
  }

  /** Writes the sums, inside the transaction and before its commit. Later transactions count from zero. */
  flush(): void {
    for (const [project_id, counts] of this.#counts) {
      for (const [name, value] of counts) this.#add.run(project_id, name, value)
      const is_first = counts.has('accepted') && !this.#projects_with_events.has(project_id)
      if (is_first) this.#first_events.add(project_id)
    }
    this.#counts.clear()
  }

  /** After the commit: the projects whose first event was stored since the last call. */
  takeFirstEvents(): readonly number[] {
    const first = [...this.#first_events]
    for (const project_id of first) this.#projects_with_events.add(project_id)
    this.#first_events.clear()
    return first
  }

  /** Discards the counts of a rolled back transaction. */
  forget(): void {
    this.#counts.clear()
    this.#first_events.clear()
  }
}
