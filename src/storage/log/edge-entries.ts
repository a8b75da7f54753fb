/** The entries of an edge that its home has not confirmed: written by the edge's data thread, read by the forwarder. */
import type { Database, Statement } from 'bun:sqlite'
import { join } from 'node:path'
import { openReader } from '../sqlite/sqlite.ts'

/** An entry that is new: two lines of text, as they are sent after their number. */
export type NewEntry = {
  /** Time of the request's receipt, µs since 1970 UTC. */
  readonly received_at: number
  readonly event_count: number
  readonly text: string
}

/** Sums over the entries that are not confirmed. */
type EdgeBacklog = {
  readonly entries: number
  readonly events: number
  readonly bytes: number
}

/** An entry as it waits. */
type WaitingEntry = {
  readonly seq: number
  readonly epoch: string
  readonly event_count: number
  /** As it is sent: its number, and two lines as UTF-8. */
  readonly bytes: Uint8Array
}

const DELETE = `
delete from edge_entries
where seq in (select seq from edge_entries where epoch = ?1 and seq <= ?2 order by seq limit ?3)
returning event_count, octet_length(entry) as bytes`

/** Entries of a project, whose number their first line has, as JSON. */
const OF_PROJECT = "json_extract(substr(entry, 1, instr(entry, char(10)) - 1), '$.project')"

/** Entries of projects that another server has wait under this epoch, which is no start's. */
const SET_ASIDE = `
update edge_entries set epoch = 'moved'
where epoch = ?1 and seq > ?2 and seq <= ?3 and ${OF_PROJECT} = ?4`

/** Entries that are appended again in one transaction: each may have megabytes. */
const RESUMED_TOGETHER_MAX = 50

const SELECT_MOVED = `
select seq from edge_entries
where epoch = 'moved' and ${OF_PROJECT} = ?
order by seq`

const APPEND_AGAIN = `
insert into edge_entries (epoch, received_at, event_count, entry)
select ?1, received_at, event_count, entry from edge_entries where seq = ?2`

const ADD_BACKLOG = `
update edge_state
set entries = entries + ?, events = events + ?, bytes = bytes + ?
where id = 1`

/** The writer's side, inside transactions of the event log. */
export class EdgeEntries {
  /** Names the data folder; 32 hexadecimal digits. */
  readonly edge: string
  readonly #db: Database
  readonly #epoch: string
  readonly #insert: Statement
  readonly #delete: Statement<{ event_count: number; bytes: number }, [string, number, number]>
  readonly #add: Statement

  /** Begins an epoch: the entries of each start of an edge are numbered under a name that no other start has. */
  constructor(db: Database) {
    this.#db = db
    this.#epoch = randomId()
    db.query('insert or ignore into edge_identity (id, edge) values (1, ?)').run(randomId())
    db.query('update edge_state set epoch = ? where id = 1').run(this.#epoch)
    this.edge = readEdge(db)
    this.#insert = db.prepare(
      'insert into edge_entries (epoch, received_at, event_count, entry) values (?, ?, ?, ?)',
    )
    this.#delete = db.prepare(DELETE)
    this.#add = db.prepare(ADD_BACKLOG)
  }

  /** The backlog; read again after a rollback. */
  readBacklog(): EdgeBacklog {
    return readBacklog(this.#db)
  }

  /** Appends entries; returns their bytes. */
  append(entries: readonly NewEntry[]): number {
    let events = 0
    let bytes = 0
    for (const { received_at, event_count, text } of entries) {
      this.#insert.run(this.#epoch, received_at, event_count, text)
      events += event_count
      bytes += Buffer.byteLength(text)
    }
    if (entries.length > 0) this.#add.run(entries.length, events, bytes)
    return bytes
  }

  /** Deletes up to `rows_max` confirmed entries of an epoch. Returns their bytes; null when none was left. */
  confirm(epoch: string, up_to_seq: number, rows_max: number): number | null {
    const rows = this.#delete.all(epoch, up_to_seq, rows_max)
    if (rows.length === 0) return null
    let events = 0
    let bytes = 0
    for (const row of rows) {
      events += row.event_count
      bytes += row.bytes
    }
    this.#add.run(-rows.length, -events, -bytes)
    return bytes
  }

  /** Sets entries aside, where no position passes them and no confirmation deletes them. */
  setAside({ project_id, epoch, after_seq, up_to_seq }: MovedEntries): void {
    this.#db.query(SET_ASIDE).run(epoch, after_seq, up_to_seq, project_id)
  }

  /**
   * Appends some entries of a project again that were set aside, under new numbers: the home may have stored later ones
   * of theirs. False when none was left.
   */
  resume(project_id: number): boolean {
    const rows = this.#db
      .query<{ seq: number }, [number, number]>(`${SELECT_MOVED} limit ?`)
      .all(project_id, RESUMED_TOGETHER_MAX)
    for (const { seq } of rows) {
      this.#db.query(APPEND_AGAIN).run(this.#epoch, seq)
      this.#db.query('delete from edge_entries where seq = ?').run(seq)
    }
    return rows.length > 0
  }
}

/** Entries of a batch that belong to a project which another server has. */
export type MovedEntries = {
  readonly project_id: number
  readonly epoch: string
  readonly after_seq: number
  readonly up_to_seq: number
}

/** Selects bytes: a text would be decoded into a string here, and encoded again for the compression. */
const SELECT_WAITING = `
select seq, epoch, event_count, cast(seq || ' ' || entry as blob) as bytes
from edge_entries
where seq > ? and epoch <> 'moved'
order by seq`

/** The forwarder's side: a read-only connection. */
export class EdgeEntryReader {
  readonly edge: string
  readonly #db: Database
  readonly #waiting: Statement<WaitingEntry, [number]>
  readonly #oldest: Statement<{ received_at: number }, []>

  /** events.db must exist, opened by an edge's data thread. */
  constructor(data_dir: string) {
    this.#db = openReader(join(data_dir, 'events.db'))
    this.edge = readEdge(this.#db)
    this.#waiting = this.#db.prepare(SELECT_WAITING)
    this.#oldest = this.#db.prepare('select received_at from edge_entries order by seq limit 1')
  }

  /** The entries after a number, of one epoch, in order: as many as fit into `bytes_max`, but at least one. */
  readBatch(after_seq: number, bytes_max: number): readonly WaitingEntry[] {
    const batch: WaitingEntry[] = []
    let bytes = 0
    for (const row of this.#waiting.iterate(after_seq)) {
      const is_other = batch[0] !== undefined && batch[0].epoch !== row.epoch
      if (is_other || (batch.length > 0 && bytes + row.bytes.length > bytes_max)) break
      batch.push(row)
      bytes += row.bytes.length
    }
    return batch
  }

  /** Projects whose entries were set aside. */
  listMoved(): readonly number[] {
    return this.#db
      .query<{ project_id: number }, []>(
        `select distinct ${OF_PROJECT} as project_id from edge_entries where epoch = 'moved'`,
      )
      .all()
      .map(({ project_id }) => project_id)
  }

  /** Whether entries of a project were set aside. */
  hasMoved(project_id: number): boolean {
    return this.#db.query<object, [number]>(`${SELECT_MOVED} limit 1`).get(project_id) !== null
  }

  /** The current epoch. */
  readEpoch(): string {
    const row = this.#db
      .query<{ epoch: string }, []>('select epoch from edge_state where id = 1')
      .get()
    return row?.epoch ?? ''
  }

  readBacklog(): EdgeBacklog {
    return readBacklog(this.#db)
  }

  /** The receipt of the oldest waiting request, µs since 1970 UTC; null without any. */
  readOldest(): number | null {
    return this.#oldest.get()?.received_at ?? null
  }

  close(): void {
    this.#db.close(true)
  }
}

function readEdge(db: Database): string {
  const row = db.query<{ edge: string }, []>('select edge from edge_identity where id = 1').get()
  if (row === null) throw new Error('events.db has no identity of an edge')
  return row.edge
}

function readBacklog(db: Database): EdgeBacklog {
  const row = db
    .query<EdgeBacklog, []>('select entries, events, bytes from edge_state where id = 1')
    .get()
  if (row === null) throw new Error('events.db has no state of an edge')
  return row
}

function randomId(): string {
  return crypto.getRandomValues(new Uint8Array(16)).toHex()
}
