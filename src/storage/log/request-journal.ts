/** The journal of requests that are applied in slices: after a crash in between, the rest is applied exactly once. */
import type { Database } from 'bun:sqlite'

/** Events of a request as text: JSON of their heads, and their properties one after the other. */
export type SliceTexts = { readonly heads: string; readonly texts: string }

/** The applied part of a request. */
type JournalProgress = {
  /** Events of it that are new in the log. */
  readonly accepted: number
  /** Events of its first slice that are applied. */
  readonly applied: number
}

/** A request in the journal. */
export type JournaledRequest = JournalProgress & {
  readonly id: number
  readonly project_id: number
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

const UPSERT_PROGRESS = `
insert into slice_progress (request_id, project_id, accepted, applied)
values (?, ?, ?, ?)
on conflict (request_id) do update set accepted = excluded.accepted, applied = excluded.applied`

const SELECT_REQUESTS = `
select
  r.id,
  r.project_id,
  coalesce(p.accepted, r.accepted) as accepted,
  coalesce(p.applied, 0) as applied,
  r.event_count,
  r.rest
from sliced_requests r
left join slice_progress p on p.request_id = r.id
order by r.id`

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

  /** Stores a request after its last slice: it is complete from now on. */
  complete(request: Omit<JournaledRequest, 'project_id' | 'applied'>): void {
    this.#db
      .query('update sliced_requests set accepted = ?, event_count = ?, rest = ? where id = ?')
      .run(request.accepted, request.event_count, request.rest, request.id)
  }

  /** Stores how far a request is applied. */
  noteProgress(request: Omit<JournaledRequest, 'event_count' | 'rest'>): void {
    this.#db
      .query(UPSERT_PROGRESS)
      .run(request.id, request.project_id, request.accepted, request.applied)
  }

  /** The next slice of a request, or null when all are applied. */
  firstSlice(request_id: number): (SliceTexts & { readonly id: number }) | null {
    return this.#db
      .query<SliceTexts & { readonly id: number }, [number]>(SELECT_SLICE)
      .get(request_id)
  }

  /** Whether a request has a slice that is not applied completely. */
  hasSlice(request_id: number): boolean {
    return (
      this.#db
        .query('select 1 from request_slices where request_id = ? limit 1')
        .get(request_id) !== null
    )
  }

  /** Deletes a slice that is applied. */
  removeSlice(slice_id: number): void {
    this.#db.query('delete from request_slices where id = ?').run(slice_id)
  }

  /** Removes one slice of a request, or the request when it has none: true then. */
  removeSome(request_id: number): boolean {
    if (this.#db.query(REMOVE_SOME).run(request_id).changes > 0) return false
    this.#db.query('delete from slice_progress where request_id = ?').run(request_id)
    this.#db.query('delete from sliced_requests where id = ?').run(request_id)
    return true
  }

  /** Lists all requests; those without a `rest` had not arrived completely when the process ended. */
  list(): readonly JournaledRequest[] {
    return this.#db.query<JournaledRequest, []>(SELECT_REQUESTS).all()
  }
}
