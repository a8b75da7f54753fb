/** The least a store can do with events: insert the rows, fsynced, a thousand to a transaction. The measure for batches. */
import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { seeded, someEvent } from './events.ts'

const ROWS_PER_TRANSACTION = 1000

/** Rows per second of a bare loop over prepared rows, in a new database in this folder. */
export function bareInsertRate(folder: string, row_count: number): number {
  const db = new Database(join(folder, 'bare.db'), { create: true, strict: true })
  db.run('pragma journal_mode = wal')
  db.run('pragma synchronous = full')
  db.run(
    'create table events (seq integer primary key, project_id integer, uuid blob, event text, distinct_id text, timestamp integer, properties text)',
  )
  db.run('create index events_by_uuid on events (project_id, uuid)')
  const random = seeded(1)
  const rows = Array.from({ length: row_count }, () => {
    const sent = someEvent(random, 10_000)
    const uuid = new Uint8Array(Buffer.from(Bun.randomUUIDv7('buffer')))
    return [
      uuid,
      sent.event,
      sent.distinct_id,
      Date.parse(sent.timestamp),
      sent.properties,
    ] as const
  })
  const insert = db.query(
    'insert into events (project_id, uuid, event, distinct_id, timestamp, properties) values (1, ?, ?, ?, ?, ?)',
  )
  const started = performance.now()
  for (let first = 0; first < rows.length; first += ROWS_PER_TRANSACTION) {
    db.transaction(() => {
      for (const [uuid, event, distinct_id, at, properties] of rows.slice(
        first,
        first + ROWS_PER_TRANSACTION,
      )) {
        insert.run(uuid, event, distinct_id, at, JSON.stringify(properties))
      }
    })()
  }
  const rate = Math.round(rows.length / ((performance.now() - started) / 1000))
  db.close()
  return rate
}
