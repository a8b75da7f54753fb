/** The writer of events.db in the data thread: the clock, event rows, the exactly-once index and the manifest. */
import type { Database, Statement } from 'bun:sqlite'
import { join } from 'node:path'
import { findErrorCode } from '../../error-message.ts'
import { Histogram } from '../../threads/histogram.ts'
import { readColumns } from '../files/property-columns.ts'
import type { FileLayout } from '../files/property-layout.ts'
import { type NewReplicaFiles, recordReplicaFiles } from '../files/replica-files.ts'
import { EVENTS_MIGRATIONS } from '../sqlite/sql-files.ts'
import { migrate, openWriter } from '../sqlite/sqlite.ts'
import { DedupIndex } from './dedup-index.ts'
import { EventRows } from './event-rows.ts'

/** One committed event. Times are microseconds since 1970 UTC; ids are 16 bytes. */
export type EventRow = {
  readonly project_id: number
  readonly uuid: Uint8Array
  readonly event: string
  readonly distinct_id: string
  readonly person_id: Uint8Array
  readonly person_mode: 'full' | 'propertyless' | 'force_upgrade'
  readonly timestamp: number
  readonly created_at: number
  readonly properties: string
  readonly elements_chain: string
  readonly groups: GroupKeys
}

/** The keys of the groups an event belongs to, by group type index. */
export type GroupKeys = readonly (string | null)[]

/** The groups of an event without groups; compared by identity. */
export const NO_GROUPS: GroupKeys = []

/** One snapshot file in the manifest. */
export type FileRow = {
  readonly id: string
  readonly project_id: number
  readonly month: string
  readonly first_seq: number
  readonly last_seq: number
  readonly row_count: number
  readonly byte_count: number
  readonly sha256: string
  readonly min_timestamp: number
  readonly max_timestamp: number
  readonly created_at: number
  /** Its property columns, as `writeColumns` writes them. */
  readonly columns: string
  readonly layout: FileLayout
  /** The encodings of its event columns, as `writeEncodings` writes them; empty for files of older versions. */
  readonly own: string
}

/** A step of the manifest: added files, removed files, and the position up to which events are in files. */
export type NewFiles = {
  /** All events up to this sequence number are in files; null leaves the position unchanged (a compaction). */
  readonly flushed_seq: number | null
  readonly added: readonly FileRow[]
  readonly removed: readonly string[]
  /** Replica files: persons, distinct ids, groups, cohort memberships. */
  readonly replica?: NewReplicaFiles
}

/**
 * SQLite's page cache of the writer: it contains the upper pages of the exactly-once index, and no more. Once pages are
 * used again, most commits put the pages of a split into order, after which SQLite walks through the whole cache: 64 MiB of
 * it cost each commit 0.3 ms.
 */
const CACHE_KIB = 16 * 1024

/**
 * A row that is written in random order, such as a person, usually changes a page that no other row changes: 2.6 kB of the log
 * in a request of 100,000 new persons.
 */
const PAGE_BYTES = 4096
/** Bytes that an event adds to the log beside its properties: events follow one another on a page. */
const EVENT_BYTES = 400
/** Bytes that deleting an event adds to the log: most of its page is not written again. */
const TRIMMED_BYTES = 350

/**
 * The write-ahead log's file is cut to this size when it starts over; otherwise it would keep its largest size. The limit is
 * above the size at which a log has to start over (`sqlite/checkpoints.ts`), because a file that neither shrinks nor grows is
 * synced without the file system's journal.
 */
const LOG_FILE_BYTES = 80 * 1024 * 1024

const INSERT_FILE = `
insert into files (
  id, project_id, month, first_seq, last_seq, row_count, byte_count, sha256,
  min_timestamp, max_timestamp, created_at, columns, layout, own
) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

/** The writer of events.db. Opened once, by the data thread. */
export class EventLog {
  readonly db: Database
  /** Size of the running transaction, estimated: rows, and bytes of properties. */
  #written = { rows: 0, bytes: 0 }
  #log_bytes = 0
  /** The last sequence number of an event, and the last change number of a replicated row. */
  #seq = 0
  #change = 0
  readonly #begin: Statement
  readonly #commit: Statement
  readonly #rows: EventRows
  readonly #uuids: DedupIndex
  readonly #update_clock: Statement
  readonly #times: Histogram

  /** `times` records how long each transaction takes. */
  constructor(data_dir: string, times = new Histogram()) {
    this.#times = times
    this.db = openWriter(join(data_dir, 'events.db'))
    // LogSync syncs the write-ahead log before a request is answered; no commit waits for the sync of the previous one.
    this.db.run('pragma synchronous = normal')
    // The checkpoint thread checkpoints, so that no commit waits for it.
    this.db.run('pragma wal_autocheckpoint = 0')
    this.db.run(`pragma journal_size_limit = ${LOG_FILE_BYTES}`)
    this.db.run(`pragma cache_size = -${CACHE_KIB}`)
    migrate(this.db, EVENTS_MIGRATIONS)
    this.#begin = this.db.prepare('begin immediate')
    this.#commit = this.db.prepare('commit')
    this.#rows = new EventRows(this.db)
    this.#uuids = new DedupIndex(this.db)
    this.#update_clock = this.db.prepare('update clock set seq = ?, change = ? where id = 1')
    this.readClock()
  }

  /** Reads the clock from the database again, as after a rollback. */
  readClock(): void {
    const clock = this.db
      .query<{ seq: number; change: number }, []>('select seq, change from clock where id = 1')
      .get()
    if (clock === null) throw new Error('events.db has no clock row')
    this.#seq = clock.seq
    this.#change = clock.change
  }

  /** Runs `work` in one transaction, which includes the clock, and returns its result. An error of `work` rolls all of it back. */
  transact<Result>(work: () => Result): Result {
    const started_ms = performance.now()
    this.#begin.run()
    this.#written = { rows: 0, bytes: 0 }
    try {
      const result = work()
      this.#rows.flush()
      this.#uuids.flush()
      this.#update_clock.run(this.#seq, this.#change)
      this.#commit.run()
      this.#times.record((performance.now() - started_ms) / 1000)
      return result
    } catch (error) {
      this.#rows.clear()
      this.#uuids.clear()
      // On a full disk, SQLite has already rolled back.
      if (this.db.inTransaction) this.db.run('rollback')
      this.readClock()
      throw error
    }
  }

  /** Charges the running transaction with rows that it will write, and the bytes of their properties. */
  noteWrite(rows: number, bytes: number, row_bytes = PAGE_BYTES): void {
    this.#written.rows += rows
    this.#written.bytes += bytes
    this.#log_bytes += rows * row_bytes + bytes
  }

  /** The bytes that transactions have added to the write-ahead log since the last `takeLogBytes`, estimated. */
  get log_bytes(): number {
    return this.#log_bytes
  }

  /** Returns `log_bytes` and counts from zero again. */
  takeLogBytes(): number {
    const bytes = this.#log_bytes
    this.#log_bytes = 0
    return bytes
  }

  /** Rows and bytes that the running transaction was charged with. */
  get written(): { readonly rows: number; readonly bytes: number } {
    return this.#written
  }

  /** The last sequence number of an event. */
  get seq(): number {
    return this.#seq
  }

  /** Returns the next change number, for a write to a replicated row. */
  nextChange(): number {
    this.#change += 1
    return this.#change
  }

  /** Claims a uuid for a project; false when it is already stored. */
  claimUuid(project_id: number, uuid: Uint8Array, received_day: number): boolean {
    return this.#uuids.claim(project_id, uuid, received_day)
  }

  /** Stores a uuid that was generated for an event. */
  rememberUuid(project_id: number, uuid: Uint8Array, received_day: number): void {
    this.#uuids.add(project_id, uuid, received_day)
  }

  append(row: EventRow): void {
    this.#seq += 1
    this.noteWrite(1, row.properties.length + row.elements_chain.length, EVENT_BYTES)
    const values = [
      this.#seq,
      row.project_id,
      row.uuid,
      row.event,
      row.distinct_id,
      row.person_id,
      row.person_mode,
      row.timestamp,
      row.created_at,
      row.properties,
      row.elements_chain,
    ]
    if (row.groups === NO_GROUPS) this.#rows.add(values)
    else this.#rows.addGrouped([...values, ...row.groups])
  }

  /** Commits a step of the manifest: added files replace removed ones atomically. */
  commitFiles(files: NewFiles): void {
    this.transact(() => {
      const insert = this.db.query(INSERT_FILE)
      const insert_column = this.db.query(
        'insert or ignore into property_columns (project_id, kind, name) values (?, ?, ?)',
      )
      for (const file of files.added) {
        insert.run(...fileValues(file))
        for (const { kind, name } of readColumns(file.columns)) {
          insert_column.run(file.project_id, kind, name)
        }
      }
      const remove = this.db.query('delete from files where id = ?')
      for (const id of files.removed) remove.run(id)
      if (files.replica !== undefined) recordReplicaFiles(this.db, files.replica)
      this.db
        .query(
          'update manifest set version = version + 1, flushed_seq = coalesce(?, flushed_seq) where id = 1',
        )
        .run(files.flushed_seq)
    })
  }

  /** Deletes up to `rows_max` of the events up to `up_to_seq`, oldest first. True when all of them are deleted. */
  trim(up_to_seq: number, rows_max: number): boolean {
    return this.transact(() => {
      const manifest = this.db
        .query<{ flushed_seq: number; trimmed_seq: number }, []>(
          'select flushed_seq, trimmed_seq from manifest where id = 1',
        )
        .get()
      if (manifest === null || up_to_seq > manifest.flushed_seq) {
        throw new Error(`events up to ${up_to_seq} are not all in files: refusing to trim them`)
      }
      const end = Math.min(up_to_seq, manifest.trimmed_seq + rows_max)
      if (up_to_seq <= manifest.trimmed_seq) return true
      this.noteWrite(end - manifest.trimmed_seq, 0, TRIMMED_BYTES)
      this.db.query('delete from events where seq <= ?').run(end)
      this.db.query('update manifest set trimmed_seq = ? where id = 1').run(end)
      return end === up_to_seq
    })
  }

  /** Checkpoints the write-ahead log as far as readers allow, without waiting for them. */
  checkpoint(): void {
    this.db.run('pragma wal_checkpoint(passive)')
  }

  /** Empties the write-ahead log, unless the disk is full, and closes; only `close(true)` closes the file at once. */
  close(): void {
    try {
      this.db.run('pragma wal_checkpoint(truncate)')
    } catch (error) {
      if (findErrorCode(error) !== 'SQLITE_FULL') throw error
    }
    this.db.close(true)
  }
}

function fileValues(file: FileRow): (string | number)[] {
  return [
    file.id,
    file.project_id,
    file.month,
    file.first_seq,
    file.last_seq,
    file.row_count,
    file.byte_count,
    file.sha256,
    file.min_timestamp,
    file.max_timestamp,
    file.created_at,
    file.columns,
    file.layout,
    file.own,
  ]
}
