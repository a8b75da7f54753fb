/**
 * The data thread: a Worker, the only writer of events.db. This file is its message loop; `committer.ts` does the work.
 */

import type { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { errorMessage, findErrorCode } from '../../error-message.ts'
import { openGeoip } from '../../geoip.ts'
import {
  changePerson,
  type PersonChange,
  type PersonChanged,
  runParts,
} from '../../identity/changes.ts'
import { deleteGroup, type GroupDeletion } from '../../identity/group.ts'
import { ProjectTokens } from '../../storage/control/project-tokens.ts'
import { LogSync } from '../../storage/log/log-sync.ts'
import { writeShippingStep } from '../../storage/log/shipments.ts'
import {
  type CohortChange,
  storeDecidedCohort,
  storeDecidedOverrides,
} from '../../storage/persons/flag-rows.ts'
import { keepLogTail } from '../../storage/sqlite/log-shipping.ts'
import { isFailedSync } from '../../storage/sqlite/sqlite.ts'
import { Histogram } from '../../threads/histogram.ts'
import { beginWork, nameWork, startHeartbeat, type WorkName } from '../../threads/this-thread.ts'
import type { CommitTimings } from '../../threads/timings.ts'
import { DefinitionTracker } from '../notes/definition-tracker.ts'
import type { PropertyTypeChange } from '../notes/definitions.ts'
import { memoizeLocation } from '../pipeline/location.ts'
import { ProjectPlugins } from '../pipeline/plugins.ts'
import { clearStores, commit, type IngestStores, openStores } from '../write/apply.ts'
import { DedupWindow } from '../write/dedup-window.ts'
import { deleteProjectSlice } from '../write/delete-project.ts'
import { finishRemoval, type RemovalPosition, removeSlice } from '../write/event-removal.ts'
import { Committer } from './committer.ts'
import { stackOf } from './decode-queue.ts'
import { ForwardedBatches } from './forwarded-batches.ts'
import {
  type DataThreadSettings,
  type DecodedSlice,
  type FromDataThread,
  type NumberedCapture,
  packRequests,
  type ToDataThread,
  unpackRequests,
} from './messages.ts'
import { faultOf } from './storage-faults.ts'

declare const self: Worker

/** Rows deleted per transaction where rows of the log are deleted: requests wait a few milliseconds for one. */
const DELETED_TOGETHER_MAX = 2000

/** Rows per transaction when the log is trimmed, which happens all day: requests wait a millisecond for one. */
const TRIMMED_TOGETHER_MAX = 500
/** The pause between those transactions while requests come, as a multiple of the last one's time. */
const TRIM_PAUSES = 4

/** A transaction of a person's change takes no further part after this time; the rest follows in later ones. */
const PERSON_CHANGE_MS_MAX = 15

type DataThread = {
  readonly stores: IngestStores
  readonly sync: LogSync
  readonly tokens: ProjectTokens
  readonly committer: Committer
  readonly window: DedupWindow
  readonly plugins: ProjectPlugins
  /** Batches of edges; see `edge/README.md`. */
  readonly forwarded: ForwardedBatches
}

/** Names of the work in hand by kind of message, for the watchdog. The committer records requests one by one. */
const MESSAGE_WORK = new Map<ToDataThread['kind'], WorkName>()

let thread: DataThread | null = null
let is_turn_due = false
/** Whether requests or entries came since the last slice of a trim. */
let had_turns = false
let is_closing = false

self.addEventListener('message', (event: MessageEvent<ToDataThread>) => {
  const message = event.data
  if (message.kind === 'open') {
    open(message)
    return
  }
  if (thread === null) throw new Error(`the data thread is not open: ${message.kind}`)
  recordMessage(message)
  switch (message.kind) {
    case 'requests':
      thread.committer.receive(unpackRequests(message.heads, message.bodies))
      scheduleTurn(thread)
      return
    case 'property_type':
      changePropertyType(thread, message.call, message.change)
      return
    case 'link':
      listen(thread, message.from_decode_thread)
      return
    case 'forwarded':
      thread.forwarded.receive(message.call, message.batch)
      scheduleTurn(thread)
      return
    case 'files':
      reply(message.call, () => thread?.stores.log.commitFiles(message.files))
      return
    case 'shipping':
      write(thread, message.call, (db) => writeShippingStep(db, message.step))
      return
    case 'trim':
      trim(thread, message.call, message.up_to_seq)
      return
    case 'overrides':
      write(thread, message.call, (db) => storeDecidedOverrides(db, message.rows))
      return
    case 'cohort':
      writeCohort(thread, message.call, message.change)
      return
    case 'person':
      changeInParts(thread, message.call, prepareChange(thread.stores, message.change))
      return
    case 'forget':
      thread.committer.refuseProject(message.project_id)
      deleteProject(thread, message.call, message.project_id)
      return
    case 'remove_events':
      removeEvents(thread, message.call, message.removal_id)
      return
    case 'finish_removal':
      write(thread, message.call, (db) => finishRemoval(db, message.removal_id))
      return
    case 'checkpoint':
      checkpoint(message.tail_from)
      return
    case 'close':
      is_closing = true
      thread.forwarded.giveUpReading()
      scheduleTurn(thread)
  }
})

/** Runs a change until it is over, or as far as one transaction goes: null while parts of it are left. */
type RunChange = (isOver: () => boolean) => PersonChanged | null

function prepareChange(
  { groups, persons, removals }: IngestStores,
  change: GroupDeletion | PersonChange,
): RunChange {
  if (change.kind === 'delete_group') return () => deleteGroup(groups, change)
  const parts = changePerson(persons, removals, change)
  return (isOver) => runParts(parts, isOver)
}

function recordMessage(message: ToDataThread): void {
  const { kind } = message
  const name = MESSAGE_WORK.get(kind) ?? nameWork(`message: ${kind}`)
  MESSAGE_WORK.set(kind, name)
  beginWork(name, 'call' in message ? message.call : 0, projectOf(message))
}

/** The project of a message; 0 for a message about several projects or none. */
function projectOf(message: ToDataThread): number {
  if ('project_id' in message) return message.project_id
  return 'change' in message ? message.change.project_id : 0
}

function send(message: FromDataThread): void {
  self.postMessage(message, [])
}

/** Sends a message once everything committed by now is synced to the disk. */
function sendWhenSynced(message: FromDataThread): void {
  if (thread === null) send(message)
  else thread.sync.settle(() => send(message))
}

function open(settings: DataThreadSettings & { readonly timings: CommitTimings }): void {
  const { data_dir, limits, geoip_files, dedup_days, timings } = settings
  try {
    const locate = memoizeLocation(openGeoip(geoip_files).lookup)
    const tokens = new ProjectTokens(data_dir)
    const stores = openStores(data_dir, new Histogram(timings.commit))
    const breakDown = (message: string) => send({ kind: 'broken', message })
    const sync = new LogSync(
      join(data_dir, 'events.db-wal'),
      breakDown,
      new Histogram(timings.sync),
    )
    const names = new DefinitionTracker()
    const plugins = new ProjectPlugins(data_dir)
    const queue_times = new Histogram(timings.queue)
    const context = { stores, tokens, limits, locate, names, plugins, queue_times, divert }
    const wake = (): void => {
      if (thread !== null) scheduleTurn(thread)
    }
    const committer = new Committer({ ...context, answer: sendWhenSynced, breakDown, wake })
    const window = new DedupWindow(stores.log, dedup_days)
    const forwarded = openForwarded(stores, limits, committer)
    thread = { stores, sync, tokens, committer, window, plugins, forwarded }
    startHeartbeat(settings.event_loop)
    // The journal may have requests that a crash interrupted.
    if (committer.has_work) wake()
    send({ kind: 'opened', projects_with_events: stores.counters.projects_with_events })
  } catch (error) {
    send({ kind: 'open_failed', message: errorMessage(error), code: findErrorCode(error) })
  }
}

/** Batches of edges are answered like requests: after a sync. */
function openForwarded(
  stores: IngestStores,
  limits: DataThreadSettings['limits'],
  committer: Committer,
): ForwardedBatches {
  return new ForwardedBatches({
    stores,
    limits,
    isDeleted: (project_id) => committer.isDeleted(project_id),
    recover: (error) => committer.clearAfterRollback(error),
    answer(call_id, outcome) {
      const first_events = stores.counters.takeFirstEvents()
      const bytes_written = stores.log.takeLogBytes()
      sendWhenSynced({ kind: 'forwarded', call: call_id, outcome, first_events, bytes_written })
    },
    fail: (call_id, error) => send({ kind: 'done', call: call_id, error: stackOf(error) }),
    readElsewhere: (lines) => send({ kind: 'entry', ...lines }),
  })
}

/** Sends a request back to the main thread, which posts it to the decode thread. */
function divert(capture: NumberedCapture): void {
  send({ kind: 'diverted', ...packRequests([capture]) })
}

/** Receives decoded requests from the decode thread. */
function listen(open_thread: DataThread, from_decode_thread: MessagePort): void {
  from_decode_thread.addEventListener('message', (event) => {
    if (!(event instanceof MessageEvent)) return
    const message = event.data as DecodedSlice
    switch (message.kind) {
      case 'decoded':
        open_thread.committer.receivePacked(message.slice, message.project_id)
        scheduleTurn(open_thread)
        return
      case 'abandoned':
        open_thread.committer.abandon(message.id)
        return
      case 'entry':
        open_thread.forwarded.continueWith(message.call, message.outcome)
        scheduleTurn(open_thread)
    }
  })
  from_decode_thread.start()
}

/**
 * Group commit without a timer: all requests that arrive before the next turn of the event loop share its transaction.
 */
function scheduleTurn(open_thread: DataThread): void {
  had_turns = true
  if (is_turn_due) return
  is_turn_due = true
  setImmediate(() => {
    is_turn_due = false
    open_thread.committer.turn()
    open_thread.forwarded.turn()
    const has_work = open_thread.committer.has_work || open_thread.forwarded.has_work
    if (has_work) scheduleTurn(open_thread)
    else if (is_closing) open_thread.sync.settle(() => close(open_thread))
  })
}

function close(open_thread: DataThread): void {
  open_thread.window.stop()
  open_thread.sync.close()
  open_thread.plugins.close()
  try {
    open_thread.stores.log.close()
  } catch (error) {
    if (!isFailedSync(error)) throw error
    sendBroken(error)
    return
  }
  open_thread.tokens.close()
  thread = null
  send({ kind: 'closed' })
}

/**
 * Lets the write-ahead log start over, after the part that standbys lack was copied. After a failure the next checkpoint
 * does its work.
 */
function checkpoint(tail_from: number | null): void {
  if (thread === null) return
  const { log } = thread.stores
  // A standby that lacks the tail copies the whole database.
  if (tail_from !== null) tryWork(() => keepLogTail(log.db.filename, tail_from))
  try {
    log.checkpoint()
  } catch (error) {
    if (isFailedSync(error)) sendBroken(error)
  }
}

function sendBroken(error: unknown): void {
  send({ kind: 'broken', message: `events.db cannot be synced: ${String(error)}` })
}

/** Runs `work` in a separate transaction. */
function write({ stores }: DataThread, call_id: number, work: (db: Database) => void): void {
  reply(call_id, () => stores.log.transact(() => work(stores.log.db)))
}

/** Changes a cohort's members under a new change number, by which the query worker's replica finds the rows. */
function writeCohort(target: DataThread, call_id: number, change: CohortChange): void {
  write(target, call_id, (db) => {
    target.stores.log.nextChange()
    storeDecidedCohort(db, change)
  })
}

/** Changes a property's type in a separate transaction. */
function changePropertyType(
  { stores }: DataThread,
  call_id: number,
  change: PropertyTypeChange,
): void {
  reply(call_id, () => {
    try {
      commit(stores, () => stores.definitions.changeType(change))
    } catch (error) {
      clearStores(stores)
      throw error
    }
  })
}

/** Thrown to roll back the transaction of a preview. */
class PreviewedError extends Error {
  readonly outcome: PersonChanged

  constructor(outcome: PersonChanged) {
    super('only previewed')
    this.outcome = outcome
  }
}

/** Changes a person in one or more transactions, or previews that, or deletes a group; requests are committed between them. */
function changeInParts(open_thread: DataThread, call_id: number, run: RunChange): void {
  const { stores } = open_thread
  try {
    let outcome: PersonChanged | null = null
    commit(stores, () => {
      const deadline_ms = performance.now() + PERSON_CHANGE_MS_MAX
      outcome = run(() => performance.now() >= deadline_ms)
      if (outcome?.kind === 'previewed') throw new PreviewedError(outcome)
    })
    if (outcome === null) setImmediate(() => changeInParts(open_thread, call_id, run))
    else sendWhenSynced({ kind: 'person_changed', call: call_id, outcome })
  } catch (error) {
    clearStores(stores)
    if (error instanceof PreviewedError) {
      send({ kind: 'person_changed', call: call_id, outcome: error.outcome })
      return
    }
    if (faultOf(error) === null) send({ kind: 'done', call: call_id, error: String(error) })
    else send({ kind: 'person_changed', call: call_id, outcome: { kind: 'unavailable' } })
  }
}

/** Runs work outside of the turns, and replies with its outcome. */
function reply(call_id: number, work: () => void): void {
  const error = tryWork(work)
  sendWhenSynced({ kind: 'done', call: call_id, error })
}

/** Runs work. Returns the error as a text, or null. */
function tryWork(work: () => void): string | null {
  try {
    work()
    return null
  } catch (error) {
    return String(error)
  }
}

/**
 * Runs work slice by slice and replies when it is done; requests are committed between two slices. A slice returns the
 * pause in milliseconds before the next one, or null when it was the last.
 */
function runSlices(call_id: number, slice: () => number | null): void {
  try {
    const pause_ms = slice()
    if (pause_ms === null) sendWhenSynced({ kind: 'done', call: call_id, error: null })
    else if (pause_ms === 0) setImmediate(() => runSlices(call_id, slice))
    else setTimeout(() => runSlices(call_id, slice), pause_ms)
  } catch (error) {
    sendWhenSynced({ kind: 'done', call: call_id, error: String(error) })
  }
}

function deleteProject({ stores: { log } }: DataThread, call_id: number, project_id: number): void {
  runSlices(call_id, () => {
    const is_done = log.transact(() => deleteProjectSlice(log.db, project_id, DELETED_TOGETHER_MAX))
    return is_done ? null : 0
  })
}

/** Trims the log. While requests come, this takes a fifth of the thread's time. */
function trim({ stores: { log } }: DataThread, call_id: number, up_to_seq: number): void {
  runSlices(call_id, () => {
    const began_ms = performance.now()
    const is_done = log.trim(up_to_seq, TRIMMED_TOGETHER_MAX)
    const took_ms = performance.now() - began_ms
    const pause_ms = had_turns ? TRIM_PAUSES * took_ms : 0
    had_turns = false
    return is_done ? null : pause_ms
  })
}

/** Deletes the events of deleted persons. */
function removeEvents({ stores: { log } }: DataThread, call_id: number, removal_id: number): void {
  let after: RemovalPosition | null = { removal_id, after_seq: 0 }
  runSlices(call_id, () => {
    const begin = after
    if (begin !== null) after = log.transact(() => removeSlice(log.db, begin, DELETED_TOGETHER_MAX))
    return after === null ? null : 0
  })
}
