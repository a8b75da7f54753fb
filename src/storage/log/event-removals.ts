/** Removals of the events of deleted persons, until log and files no longer contain them. */
import type { EventLog } from './event-log.ts'

/** Events to remove: those of these distinct ids, and those stored under these persons unless another person has their id. */
export type EventRemoval = {
  readonly id: number
  readonly project_id: number
  /** Later events are not removed. */
  readonly up_to_seq: number
  readonly person_ids: readonly Uint8Array[]
  readonly distinct_ids: readonly string[]
}

/** Writes inside the data thread's transactions. */
export class EventRemovalList {
  readonly #log: EventLog

  constructor(log: EventLog) {
    this.#log = log
  }

  /** Adds a removal of all events up to now. `now` in µs. */
  add(
    removal: Pick<EventRemoval, 'distinct_ids' | 'person_ids' | 'project_id'> & {
      readonly now: number
    },
  ): void {
    this.#log.db
      .query(
        'insert into event_removals (project_id, up_to_seq, person_ids, distinct_ids, created_at) values (?, ?, ?, ?, ?)',
      )
      .run(
        removal.project_id,
        this.#log.seq,
        JSON.stringify(removal.person_ids.map((id) => id.toHex())),
        JSON.stringify(removal.distinct_ids),
        removal.now,
      )
  }
}
