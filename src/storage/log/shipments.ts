/** The position up to which the log is in ClickHouse, and the batches on their way there: tables of events.db. */
import type { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { openReader, openWriter } from '../sqlite/sqlite.ts'

/** A batch of events that ClickHouse has not confirmed; its file is named by its id. Times are µs. */
export type Shipment = {
  readonly id: string
  readonly log_id: string
  /** The events after this one, up to `last_seq`. */
  readonly after_seq: number
  readonly last_seq: number
  readonly row_count: number
  readonly byte_count: number
  readonly sha256: string
  readonly min_timestamp: number
  readonly max_timestamp: number
  /** 0 when something of it may be there already, although this batch was never sent. */
  readonly created_at: number
}

/** One committed step of shipping. */
export type ShippingStep =
  /** The folder begins to hold its events in ClickHouse. */
  | { readonly kind: 'begin' }
  | { readonly kind: 'add'; readonly shipment: Shipment }
  /** The file of a batch is lost; its events are still in the log. */
  | { readonly kind: 'drop'; readonly id: string }
  /** Events up to this one are there; with the batch that had the last of them. */
  | { readonly kind: 'shipped'; readonly seq: number; readonly id: string | null }
  /** Rows of persons up to this change are there, under the newest log id. */
  | { readonly kind: 'persons'; readonly change: number; readonly log_id: string }

/** Writes a step, inside a transaction of the data thread. */
export function writeShippingStep(db: Database, step: ShippingStep): void {
  switch (step.kind) {
    case 'begin':
      db.run(
        "insert or ignore into shipping select 1, flushed_seq, 0, '' from manifest where id = 1",
      )
      return
    case 'add':
      db.query(INSERT_SHIPMENT).run(...valuesOf(step.shipment))
      return
    case 'drop':
      db.query('delete from shipments where id = ?').run(step.id)
      return
    case 'shipped':
      db.query('delete from shipments where id = ?').run(step.id)
      db.query('update shipping set shipped_seq = ? where id = 1').run(step.seq)
      // Events that are there need not be written into files: the log may be trimmed.
      db.query('update manifest set flushed_seq = ? where id = 1').run(step.seq)
      return
    case 'persons':
      db.query('update shipping set shipped_change = ?, persons_log_id = ? where id = 1').run(
        step.change,
        step.log_id,
      )
  }
}

const INSERT_SHIPMENT = `
insert into shipments (
  id, log_id, after_seq, last_seq, row_count, byte_count, sha256, min_timestamp, max_timestamp, created_at
) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

function valuesOf(shipment: Shipment): (string | number)[] {
  return [
    shipment.id,
    shipment.log_id,
    shipment.after_seq,
    shipment.last_seq,
    shipment.row_count,
    shipment.byte_count,
    shipment.sha256,
    shipment.min_timestamp,
    shipment.max_timestamp,
    shipment.created_at,
  ]
}

export type ShippingPosition = {
  readonly shipped_seq: number
  readonly shipped_change: number
  readonly persons_log_id: string
}

/** Reads how far the folder has been carried; null for a folder that holds its events itself. */
export function findShippingPosition(db: Database): ShippingPosition | null {
  return db
    .query<ShippingPosition, []>(
      'select shipped_seq, shipped_change, persons_log_id from shipping where id = 1',
    )
    .get()
}

/** Finds the batch with the events after a sequence number. */
export function findShipment(db: Database, after_seq: number): Shipment | null {
  return db
    .query<Shipment, [number]>(
      'select * from shipments where after_seq >= ? order by after_seq limit 1',
    )
    .get(after_seq)
}

/** Lists the ids of all batches. */
export function listShipmentIds(db: Database): readonly string[] {
  return db
    .query<{ id: string }, []>('select id from shipments order by id')
    .all()
    .map(({ id }) => id)
}

/** The name under which an event is known, and the last event that can have it: null for the newest name. */
type LogName = { readonly log_id: string; readonly last_seq: number | null }

/** Finds the name of the event `seq`. */
export function getLogName(db: Database, seq: number): LogName {
  const name = db
    .query<LogName, [number]>(
      `select log_id, (select min(first_seq) - 1 from log_ids as later where later.first_seq > log_ids.first_seq) as last_seq
from log_ids
where first_seq <= ?
order by first_seq desc
limit 1`,
    )
    .get(seq)
  if (name === null) throw new Error('events.db has no log id')
  return name
}

/** Lists all names of the log, the newest last. */
export function listLogIds(db: Database): readonly string[] {
  return db
    .query<{ log_id: string }, []>('select log_id from log_ids order by first_seq')
    .all()
    .map(({ log_id }) => log_id)
}

/** Finds the name of events to come. */
export function newestLogId(db: Database): string {
  return getLogName(db, Number.MAX_SAFE_INTEGER).log_id
}

/**
 * Begins a new name of the log with the next event, in a folder that is a copy of another one and may be behind it: its
 * numbers were given out before. events.db must exist, and no server may run.
 */
export function beginLogId(data_dir: string): void {
  using db = openWriter(join(data_dir, 'events.db'))
  // A copy of an earlier version has no such table until a server starts on it.
  if (!hasTable(db, 'log_ids')) return
  db.transaction(() => {
    db.run(
      'insert or replace into log_ids (first_seq, log_id) select seq + 1, lower(hex(randomblob(12))) from clock where id = 1',
    )
    // Their files are not copied.
    db.run('delete from shipments')
  }).immediate()
}

function hasTable(db: Database, name: 'log_ids' | 'shipping'): boolean {
  const its = "select 1 from sqlite_schema where type = 'table' and name = ?"
  return db.query(its).get(name) !== null
}

/** True for a folder that holds its events in ClickHouse. events.db must exist. */
export function isShipped(data_dir: string): boolean {
  using db = openReader(join(data_dir, 'events.db'))
  return hasTable(db, 'shipping') && findShippingPosition(db) !== null
}

/** Counts the snapshot files of a folder. events.db must exist. */
export function countFiles(data_dir: string): number {
  using db = openReader(join(data_dir, 'events.db'))
  return db.query<{ count: number }, []>('select count(*) as count from files').get()?.count ?? 0
}
