/**
 * The least a server can do that keeps what it answers: parse the bodies of a turn of the event loop, insert them in one
 * transaction that waits for the disk, and answer. One thread, no person, no token, no repeated uuid.
 */
import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import type { SentEvent } from './events.ts'

type WaitingEvent = { readonly sent: SentEvent; readonly resolve: () => void }

const db = new Database(join(process.argv[2] ?? '.', 'durable.db'), { create: true, strict: true })
db.run('pragma journal_mode = wal')
db.run('pragma synchronous = full')
db.run(
  'create table events (seq integer primary key, project_id integer, uuid blob, event text, distinct_id text, timestamp integer, properties text)',
)
db.run('create index events_by_uuid on events (project_id, uuid)')
const insert = db.query(
  'insert into events (project_id, uuid, event, distinct_id, timestamp, properties) values (1, ?, ?, ?, ?, ?)',
)
let waiting: WaitingEvent[] = []

const commit = db.transaction((events: readonly WaitingEvent[]) => {
  for (const { sent } of events) {
    const uuid = new Uint8Array(Bun.randomUUIDv7('buffer'))
    const { event, distinct_id, timestamp, properties } = sent
    insert.run(uuid, event, distinct_id, Date.parse(timestamp), JSON.stringify(properties))
  }
})

function commitWaiting(): void {
  const events = waiting
  waiting = []
  commit(events)
  for (const { resolve } of events) resolve()
}

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const sent: SentEvent = JSON.parse(await request.text())
    if (waiting.length === 0) setImmediate(commitWaiting)
    await new Promise<void>((resolve) => {
      waiting.push({ sent, resolve })
    })
    return Response.json({ status: 1 })
  },
})
process.stdout.write(`${server.port}\n`)
