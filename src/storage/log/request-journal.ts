/** The journal of requests that are applied in slices: after a crash in between, the rest is applied exactly once. */
import type { Database } from 'bun:sqlite'

/** Events of a request as text: JSON of their heads, and their properties one after the other. */
export type SliceTexts = { readonly heads: string; readonly texts: string }

/** A request in the journal. */
export type JournaledRequest = {
  readonly id: number
  readonly project_id: number
  readonly accepted: number
  readonly event_count: number
  /** The request without its events, as JSON. */
  readonly rest: string
}

const SELECT_SLICE = `
select id, heads, texts
from request_slices
where request_id = ?
order by id
limit 1`

const REMOVE_SOME = `
delete from request_slices
where id in (select id from request_slices where request_id = ? limit 1)`

/** A redo log in events.db. Reads and writes inside the data thread's transactions. */
export class RequestJournal {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** Begins a request; returns its number, for its slices. */
  begin(project_id: number): number {
    const { lastInsertRowid } = this.#db
      .query(
        "insert into sliced_requests (project_id, accepted, event_count, rest) values (?, 0, 0, '')",
      )
      .run(project_id)
    return Number(lastInsertRowid)
  }

  add(request: { readonly id: number; readonly project_id: number }, slice: SliceTexts): void {
    this.#db
      .query(
        'insert into request_slices (request_id, project_id, heads, texts) values (?, ?, ?, ?)',
      )
      .run(request.id, request.project_id, slice.heads, slice.texts)
  }

  /** Stores the progress of a request. A request with a `rest` is complete. */
  save(request: Omit<JournaledRequest, 'project_id'>): void {
    this.#db
      .query('update sliced_requests set accepted = ?, event_count = ?, rest = ? where id = ?')
      .run(request.accepted, request.event_count, request.rest, request.id)
  }

  /** The next slice of a request, or null when all are applied. */
  firstSlice(request_id: number): (SliceTexts & { readonly id: number }) | null {
    return this.#db
      .query<SliceTexts & { readonly id: number }, [number]>(SELECT_SLICE)
      .get(request_id)
  }

  /** Stores what is left of a slice; null deletes it. */
  keep(slice_id: number, left: SliceTexts | null): void {
    if (left === null) this.#db.query('delete from request_slices where id = ?').run(slice_id)
    else {
      this.#db
        .query('update request_slices set heads = ?, texts = ? where id = ?')
        .run(left.heads, left.texts, slice_id)
    }
  }

  /** Removes one slice of a request, or the request when it has none: true then. */
  removeSome(request_id: number): boolean {
    if (this.#db.query(REMOVE_SOME).run(request_id).changes > 0) return false
    this.#db.query('delete from sliced_requests where id = ?').run(request_id)
    return true
  }

  /** Lists all requests; those without a `rest` had not arrived completely when the process ended. */
  list(): readonly JournaledRequest[] {
    return this.#db
      .query<JournaledRequest, []>(
        'select id, project_id, accepted, event_count, rest from sliced_requests order by id',
      )
      .all()
  }
}
