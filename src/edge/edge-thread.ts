/** An edge's data thread: a Worker, the only writer of its events.db. This file is its message loop. */
import { join } from 'node:path'
import { errorMessage, findErrorCode } from '../error-message.ts'
import { openGeoip } from '../geoip.ts'
import { DefinitionTracker } from '../ingest/notes/definition-tracker.ts'
import { memoizeLocation } from '../ingest/pipeline/location.ts'
import { ProjectPlugins } from '../ingest/pipeline/plugins.ts'
import {
  type DataThreadSettings,
  type DecodedSlice,
  type FromDataThread,
  type NumberedCapture,
  packRequests,
  unpackRequests,
} from '../ingest/threads/messages.ts'
import { faultOf } from '../ingest/threads/storage-faults.ts'
import { ProjectTokens } from '../storage/control/project-tokens.ts'
import { EdgeEntries } from '../storage/log/edge-entries.ts'
import { EventLog } from '../storage/log/event-log.ts'
import { LogSync } from '../storage/log/log-sync.ts'
import { storeCopies, storeGroupTypes } from '../storage/persons/edge-persons.ts'
import type { OverrideRow } from '../storage/persons/flag-rows.ts'
import { Histogram } from '../threads/histogram.ts'
import { startHeartbeat } from '../threads/this-thread.ts'
import type { CommitTimings } from '../threads/timings.ts'
import { EntryWriter } from './entry-writer.ts'
import type { ToEdgeThread } from './messages.ts'

declare const self: Worker

type EdgeThread = {
  readonly log: EventLog
  readonly sync: LogSync
  readonly tokens: ProjectTokens
  readonly plugins: ProjectPlugins
  readonly writer: EntryWriter
}

let thread: EdgeThread | null = null
let bytes_max = 0
let is_turn_due = false
let is_closing = false

self.addEventListener('message', (event: MessageEvent<ToEdgeThread>) => {
  const message = event.data
  switch (message.kind) {
    case 'limit':
      bytes_max = message.bytes_max
      return
    case 'open':
      open(message)
      return
    case 'requests':
      thread?.writer.receive(unpackRequests(message.heads, message.bodies))
      break
    case 'link':
      listen(message.from_decode_thread)
      return
    case 'confirmed':
      thread?.writer.confirm(message)
      break
    case 'moved':
      store(() => thread?.writer.setAside(message.entries))
      return
    case 'resume':
      thread?.writer.resume(message.project_id)
      break
    case 'replicate':
      store((log) => storeCopies(log, message.copies, Date.now() * 1000))
      return
    case 'group_types':
      store((log) => storeGroupTypes(log, message.types))
      return
    case 'overrides':
      storeOverrides(message.call, message.rows)
      return
    case 'checkpoint':
      thread?.log.checkpoint()
      return
    case 'close':
      is_closing = true
  }
  scheduleTurn()
})

/** Stores copies. On a full disk they are dropped; the edge asks its home for them again. */
function store(work: (log: EventLog) => void): void {
  if (thread === null) return
  const { log } = thread
  try {
    log.transact(() => work(log))
  } catch (error) {
    if (faultOf(error) !== 'unavailable') send({ kind: 'broken', message: String(error) })
  }
}

/** Stores overrides that flags decided here, and answers the call once they are on the disk. */
function storeOverrides(call: number, rows: readonly OverrideRow[]): void {
  if (thread === null) return
  const { sync, writer } = thread
  const error = writer.storeOverrides(rows)
  sync.settle(() => send({ kind: 'done', call, error }))
}

function send(message: FromDataThread): void {
  self.postMessage(message, [])
}

function open(settings: DataThreadSettings & { readonly timings: CommitTimings }): void {
  const { data_dir, limits, geoip_files, timings } = settings
  try {
    const log = new EventLog(data_dir, new Histogram(timings.commit))
    const breakDown = (message: string): void => send({ kind: 'broken', message })
    const sync = new LogSync(
      join(data_dir, 'events.db-wal'),
      breakDown,
      new Histogram(timings.sync),
    )
    const tokens = new ProjectTokens(data_dir)
    const plugins = new ProjectPlugins(data_dir)
    const writer = new EntryWriter({
      data_dir,
      log,
      entries: new EdgeEntries(log.db),
      bytes_max,
      tokens,
      limits,
      locate: memoizeLocation(openGeoip(geoip_files).lookup),
      names: new DefinitionTracker(),
      plugins,
      divert,
      answer: (committed) => sync.settle(() => send(committed)),
      breakDown,
    })
    thread = { log, sync, tokens, plugins, writer }
    startHeartbeat(settings.event_loop)
    send({ kind: 'opened', projects_with_events: [] })
  } catch (error) {
    send({ kind: 'open_failed', message: errorMessage(error), code: findErrorCode(error) })
  }
}

/** Sends a request back to the main thread, which posts it to the decode thread. */
function divert(capture: NumberedCapture): void {
  send({ kind: 'diverted', ...packRequests([capture]) })
}

/** Receives decoded requests from the decode thread. */
function listen(from_decode_thread: MessagePort): void {
  from_decode_thread.addEventListener('message', (event) => {
    if (!(event instanceof MessageEvent)) return
    const message = event.data as DecodedSlice
    if (message.kind === 'decoded') thread?.writer.receivePacked(message.slice)
    else if (message.kind === 'abandoned') thread?.writer.abandon(message.id)
    scheduleTurn()
  })
  from_decode_thread.start()
}

/** Group commit without a timer: all requests that arrive before the next turn share its transaction. */
function scheduleTurn(): void {
  if (is_turn_due) return
  is_turn_due = true
  setImmediate(() => {
    is_turn_due = false
    if (thread === null) return
    thread.writer.turn()
    if (thread.writer.has_work) scheduleTurn()
    else if (is_closing) thread.sync.settle(close)
  })
}

function close(): void {
  thread?.sync.close()
  thread?.plugins.close()
  thread?.log.close()
  thread?.tokens.close()
  thread = null
  send({ kind: 'closed' })
}
