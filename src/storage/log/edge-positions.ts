/** The positions up to which entries of edges are stored, and the last reports of edges. Written by the data thread. */
import type { Database, Statement } from 'bun:sqlite'

/** One run of an edge, and the user whose key it sends. */
export type EdgeEpoch = {
  readonly user_id: number
  /** Names the edge's data folder; 32 hexadecimal digits. */
  readonly edge: string
  /** Names one start of it; 32 hexadecimal digits. */
  readonly epoch: string
}

/** Entries up to `seq` are stored, and `events_done` events of the next one. */
type EdgePosition = { readonly seq: number; readonly events_done: number }

/** Starts of one edge that are remembered; an entry of an older one is only recognized by the uuids of its events. */
const EPOCHS_MAX = 10_000

const UPSERT_POSITION = `
insert into edge_positions (user_id, edge, epoch, seq, events_done, stored_at)
values (?, ?, ?, ?, ?, ?)
on conflict (user_id, edge, epoch) do update set
  seq = excluded.seq, events_done = excluded.events_done, stored_at = excluded.stored_at`

const FORGET_EPOCHS = `
delete from edge_positions
where user_id = ?1 and edge = ?2 and epoch in (
  select epoch from edge_positions where user_id = ?1 and edge = ?2
  order by stored_at desc
  limit -1 offset ${EPOCHS_MAX}
)`

/** Edges that are listed for one user. A new one replaces the edge that has been silent longest. */
const EDGES_MAX = 100

const FORGET_EDGES = `
delete from edge_reports
where user_id = ?1 and edge in (
  select edge from edge_reports where user_id = ?1
  order by seen_at desc
  limit -1 offset ${EDGES_MAX}
)`

/** Each edge of a stored position has a report: a key could name any number of edges. */
const FORGET_POSITIONS = `
delete from edge_positions
where user_id = ?1 and edge <> ?2
  and edge not in (select edge from edge_reports where user_id = ?1)`

const UPSERT_REPORT = `
insert into edge_reports (user_id, edge, report, seen_at)
values (?, ?, ?, ?)
on conflict (user_id, edge) do update set report = excluded.report, seen_at = excluded.seen_at`

const NOTHING_STORED: EdgePosition = { seq: 0, events_done: 0 }

/** Reads and writes inside the data thread's transactions. */
export class EdgePositions {
  readonly #select: Statement<EdgePosition, [number, string, string]>
  readonly #upsert: Statement
  readonly #forget: Statement
  readonly #report: Statement
  readonly #forget_edges: Statement
  readonly #forget_positions: Statement

  constructor(db: Database) {
    this.#select = db.prepare(
      'select seq, events_done from edge_positions where user_id = ? and edge = ? and epoch = ?',
    )
    this.#upsert = db.prepare(UPSERT_POSITION)
    this.#forget = db.prepare(FORGET_EPOCHS)
    this.#report = db.prepare(UPSERT_REPORT)
    this.#forget_edges = db.prepare(FORGET_EDGES)
    this.#forget_positions = db.prepare(FORGET_POSITIONS)
  }

  /** The position of an epoch; zero for one that is new. */
  read({ user_id, edge, epoch }: EdgeEpoch): EdgePosition {
    return this.#select.get(user_id, edge, epoch) ?? NOTHING_STORED
  }

  /** Moves the position of an epoch. `now` is in µs since 1970 UTC. */
  write(
    { user_id, edge, epoch }: EdgeEpoch,
    { seq, events_done }: EdgePosition,
    now: number,
  ): void {
    this.#upsert.run(user_id, edge, epoch, seq, events_done, now)
  }

  /** Stores an edge's report (JSON), and forgets its oldest epochs, and other edges beyond their number. */
  writeReport({ user_id, edge }: EdgeEpoch, report: string, now: number): void {
    this.#report.run(user_id, edge, report, now)
    if (this.#forget_edges.run(user_id).changes > 0) this.#forget_positions.run(user_id, edge)
    this.#forget.run(user_id, edge)
  }
}
