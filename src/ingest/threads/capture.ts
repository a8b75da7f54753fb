/**
 * The main thread's side of ingestion: posts requests to the data thread and resolves each with the answer of its
 * commit.
 */

import { join } from 'node:path'
import type { PersonChange, PersonChanged } from '../../identity/changes.ts'
import type { GroupDeletion } from '../../identity/group.ts'
import type { NewFiles } from '../../storage/log/event-log.ts'
import type { ShippingStep } from '../../storage/log/shipments.ts'
import type { CohortChange, OverrideRow } from '../../storage/persons/flag-rows.ts'
import { Checkpoints } from '../../storage/sqlite/checkpoints.ts'
import { FairBudget } from '../../threads/fair-budget.ts'
import { createEventLoops, type EventLoops } from '../../threads/loop-memory.ts'
import { type CommitTimings, createTimings } from '../../threads/timings.ts'
import { SECOND_MS } from '../../time.ts'
import type { PropertyTypeChange } from '../notes/definitions.ts'
import { guessToken } from '../pipeline/token.ts'
import { type DataWorker, startDataWorker } from './data-worker.ts'
import { DECODE_THREAD_BYTES_MIN, DecodeClient } from './decode-client.ts'
import { UNPACKED_BYTES_MAX } from './decode-request.ts'
import {
  CAPTURE_LIMITS,
  type CaptureAnswer,
  type CaptureFailure,
  type CaptureLimits,
  type CommitEffects,
  type CommittedAnswers,
  type ForwardedBatch,
  type ForwardedOutcome,
  type FromDataThread,
  type NumberedCapture,
  packRequests,
  type RawCapture,
  refuseForFault,
  type ToDataThread,
  UNAVAILABLE,
  unpackRequests,
} from './messages.ts'

/** The methods of a logger that ingestion calls. */
type CaptureLog = {
  readonly error: (fields: object, message: string) => void
}

export type CaptureSettings = {
  readonly data_dir: string
  /** Overrides of `CAPTURE_LIMITS`. */
  readonly limits?: Partial<CaptureLimits>
  /** Databases for locating events by their address (`findGeoipFiles`). */
  readonly geoip_files?: readonly string[]
  /** Days after its receipt for which a repeated uuid is stored once only; default 30. */
  readonly dedup_days?: number
  /** Shared memory in which the threads of ingestion record their heartbeats; allocated here when missing. */
  readonly event_loops?: Omit<EventLoops, 'main'>
  /** Shared memory in which the data thread records how long it takes; allocated here when missing. */
  readonly timings?: CommitTimings
  /** The data thread, when it was started before. */
  readonly data_worker?: DataWorker
  readonly log: CaptureLog
  /** Called before the write-ahead log has to start over; returns the frame from which standbys lack it, or null. */
  readonly releaseLog?: () => number | null
  /** Called with each project that has events: at the start, and at a project's first event. */
  readonly onFirstEvent?: (project_id: number) => void
  /** Called when the data thread cannot continue (damaged database, bug): every request is refused from then on. */
  readonly onBroken?: (message: string) => void
  /** Called when the storage refuses events, not more often than every few seconds. */
  readonly onStorageFault?: () => void
}

const DEDUP_DAYS = 30

/**
 * Requests of one message. The data thread begins with them while this thread receives the next. With all requests of a
 * turn in one message, 256 connections waited for each thread and the disk in turn: an eighth fewer requests per second.
 * Smaller messages make more commits, each of 0.2 ms of processor time.
 */
const MESSAGE_REQUESTS_MAX = 32

/** The shortest time between two log lines about faults of the storage. */
const FAULT_LOG_MS = 5 * SECOND_MS

/** Smaller bodies are charged to no owner: finding it costs up to 70 µs, and connections bound their sum. */
const OWNED_BYTES_MIN = 64 * 1024
const NO_OWNERS: readonly string[] = []

type PendingCapture = {
  readonly bytes: number
  readonly owners: readonly string[]
  readonly resolve: (answer: CaptureAnswer) => void
  readonly reject: (error: Error) => void
}

type CallOutcome = ForwardedOutcome | PersonChanged | null

/** The bytes that a call adds to the write-ahead log: few, beside those that the data thread reports with the next commit, or perhaps many. */
type CallSize = 'small' | 'unknown'

type PendingCall = {
  readonly size: CallSize
  readonly resolve: (outcome: CallOutcome) => void
  readonly reject: (error: Error) => void
}

/** Opens events.db on the data thread (migrations included). control.db must exist. */
export async function openCapture(settings: CaptureSettings): Promise<Capture> {
  const capture = new Capture(settings.data_worker ?? startDataWorker(), settings)
  await capture.opened
  return capture
}

/** The interface of ingestion for the other rooms. */
export class Capture {
  readonly #worker: Worker
  readonly #settings: CaptureSettings
  readonly #limits: CaptureLimits
  readonly #pending = new Map<number, PendingCapture>()
  readonly #calls = new Map<number, PendingCall>()
  readonly #checkpoints: Checkpoints
  readonly #decoder: DecodeClient
  /** Parses bodies of more than `UNPACKED_BYTES_MAX`, and long entries of edges. */
  readonly #large_decoder: DecodeClient
  readonly #in_flight: FairBudget
  /** Resolves when the data thread is ready; rejects when it cannot open its databases. */
  readonly opened: Promise<void>
  readonly #closed = Promise.withResolvers<void>()
  /** Resolves when capture is closed and every request is answered. */
  readonly #answered = Promise.withResolvers<void>()
  readonly #opening = Promise.withResolvers<void>()
  #outbox: NumberedCapture[] = []
  #last_id = 0
  /** The time from which the next fault of the storage is logged again, ms. */
  #next_fault_ms = 0
  #is_open = true

  constructor({ worker, broken }: DataWorker, settings: CaptureSettings) {
    this.#worker = worker
    this.#settings = settings
    this.#limits = { ...CAPTURE_LIMITS, ...settings.limits }
    this.#in_flight = new FairBudget(this.#limits.in_flight_bytes_max)
    this.#checkpoints = new Checkpoints(
      join(settings.data_dir, 'events.db'),
      () => this.#post({ kind: 'checkpoint', tail_from: settings.releaseLog?.() ?? null }),
      (reason) => settings.log.error({ reason }, 'a checkpoint of events.db failed'),
      (message) => this.#break(message),
    )
    this.opened = this.#opening.promise
    worker.addEventListener('message', (event: MessageEvent<FromDataThread>) => {
      this.#receive(event.data)
    })
    void broken.then((message) => this.#break(message))
    const thread_settings = {
      data_dir: settings.data_dir,
      limits: this.#limits,
      geoip_files: settings.geoip_files ?? [],
      dedup_days: settings.dedup_days ?? DEDUP_DAYS,
    }
    const event_loops = settings.event_loops ?? createEventLoops()
    const decoding = {
      link: (port: MessagePort) => this.#post({ kind: 'link', from_decode_thread: port }, [port]),
      answer: (committed: CommittedAnswers) => this.#deliver(committed),
      divert: (requests: readonly NumberedCapture[]) => this.#divert(requests),
      breakDown: (message: string) => this.#break(message),
    }
    this.#decoder = new DecodeClient({
      ...decoding,
      settings: { ...thread_settings, event_loop: event_loops.prepare },
      is_for_large: false,
    })
    this.#large_decoder = new DecodeClient({
      ...decoding,
      settings: { ...thread_settings, event_loop: event_loops.prepare_large },
      is_for_large: true,
    })
    const timings = settings.timings ?? createTimings().commits
    this.#post({ kind: 'open', ...thread_settings, event_loop: event_loops.data, timings })
  }

  /**
   * Stores a request's events: the answer comes after the commit. Up to `MESSAGE_REQUESTS_MAX` requests of one
   * event-loop turn travel together. Rejects only for a bug; `storage_unavailable` means "not stored, send again".
   */
  send(request: RawCapture): Promise<CaptureAnswer> {
    const bytes = request.body.length
    const owners = bytes < OWNED_BYTES_MIN ? NO_OWNERS : ownersOf(request)
    const has_room = this.#in_flight.hasRoom(bytes) && this.#in_flight.isFair(owners, bytes)
    if (!this.#is_open || !has_room) return Promise.resolve(UNAVAILABLE)
    this.#in_flight.take(owners, bytes)
    this.#last_id += 1
    const id = this.#last_id
    if (this.#outbox.length === 0) setImmediate(() => this.#flush())
    this.#outbox.push({ ...request, id })
    if (this.#outbox.length >= MESSAGE_REQUESTS_MAX) this.#flush()
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { bytes, owners, resolve, reject })
    })
  }

  /** The manifest's transaction. */
  commitFiles(files: NewFiles): Promise<void> {
    return this.#call((call) => ({ kind: 'files', call, files }))
  }

  /** Notes how far the log has been carried to ClickHouse. Resolves after the commit. */
  commitShipping(step: ShippingStep): Promise<void> {
    return this.#call((call) => ({ kind: 'shipping', call, step }), 'small')
  }

  /** Deletes events up to a sequence number from the log, in bounded transactions. The manifest has them in files. */
  trim(up_to_seq: number): Promise<void> {
    return this.#call((call) => ({ kind: 'trim', call, up_to_seq }), 'small')
  }

  /** Stores hash key overrides of persons and flags; a stored one stays. Resolves after the commit. */
  storeOverrides(rows: readonly OverrideRow[]): Promise<void> {
    return this.#call((call) => ({ kind: 'overrides', call, rows }))
  }

  /**
   * Adds persons to a cohort or removes them. Resolves after the commit. A call should name a few thousand persons at
   * most.
   */
  changeCohort(change: CohortChange): Promise<void> {
    return this.#call((call) => ({ kind: 'cohort', call, change }))
  }

  /** Changes the type with which a property is read. Resolves after the commit. */
  changePropertyType(change: PropertyTypeChange): Promise<void> {
    return this.#call((call) => ({ kind: 'property_type', call, change }))
  }

  /** Splits, restores or deletes a person. Resolves after the commit; rejects only for a bug. */
  changePerson(change: PersonChange): Promise<PersonChanged> {
    return this.#change(change)
  }

  /** Deletes a group. Resolves after the commit; rejects only for a bug. */
  deleteGroup(group: Omit<GroupDeletion, 'kind'>): Promise<PersonChanged> {
    return this.#change({ kind: 'delete_group', ...group })
  }

  async #change(change: GroupDeletion | PersonChange): Promise<PersonChanged> {
    if (!this.#is_open) return { kind: 'unavailable' }
    const outcome = await this.#request((call) => ({ kind: 'person', call, change }))
    return outcome === null || isForwarded(outcome) ? { kind: 'unavailable' } : outcome
  }

  /**
   * Stores the events that an edge sends, from the position that it has reached. Resolves after the commit; rejects only
   * for a bug.
   * A refused batch may be stored in part: its edge sends it again.
   */
  async forward(batch: ForwardedBatch): Promise<ForwardedOutcome> {
    if (!this.#is_open) return UNAVAILABLE
    // A copy of a view alone: the buffer leaves this thread.
    const { entries } = batch
    const is_whole = entries.byteLength === entries.buffer.byteLength
    const sent = is_whole ? batch : { ...batch, entries: entries.slice() }
    const outcome = await this.#request(
      (call) => ({ kind: 'forwarded', call, batch: sent }),
      'small',
      [sent.entries.buffer],
    )
    return outcome !== null && isForwarded(outcome) ? outcome : UNAVAILABLE
  }

  /** Deletes every row of a deleted project from events.db, in bounded transactions. */
  forgetProject(project_id: number): Promise<void> {
    return this.#call((call) => ({ kind: 'forget', call, project_id }))
  }

  /** Deletes the events of a pending removal from the log, in bounded transactions. */
  removeEvents(removal_id: number): Promise<void> {
    return this.#call((call) => ({ kind: 'remove_events', call, removal_id }))
  }

  /** Deletes a pending removal, once no file contains its events either. */
  finishRemoval(removal_id: number): Promise<void> {
    return this.#call((call) => ({ kind: 'finish_removal', call, removal_id }))
  }

  /** Answers every request received, empties the write-ahead log, closes events.db and ends the threads. */
  async close(): Promise<void> {
    if (!this.#is_open) return
    this.#is_open = false
    this.#flush()
    if (this.#pending.size > 0) await this.#answered.promise
    await this.#decoder.close()
    await this.#large_decoder.close()
    await this.#checkpoints.close()
    this.#post({ kind: 'close' })
    await this.#closed.promise
    this.#worker.terminate()
  }

  #post(message: ToDataThread, transfer: Bun.Transferable[] = []): void {
    this.#worker.postMessage(message, transfer)
  }

  #flush(): void {
    const {
      large = [],
      ordinary = [],
      small = [],
    } = Object.groupBy(this.#outbox, ({ body }) => this.#classOf(body.length))
    this.#outbox = []
    if (large.length > 0) this.#divert(large)
    if (ordinary.length > 0) this.#decoder.take(ordinary)
    if (small.length === 0) return
    const { heads, bodies } = packRequests(small)
    this.#post({ kind: 'requests', heads, bodies }, [bodies.buffer])
  }

  /** Small bodies are for the data thread; so are ordinary ones until the decode thread is ready. */
  #classOf(bytes: number): 'large' | 'ordinary' | 'small' {
    if (bytes > UNPACKED_BYTES_MAX) return 'large'
    if (bytes < DECODE_THREAD_BYTES_MIN) return 'small'
    return this.#decoder.ensureStarted() ? 'ordinary' : 'small'
  }

  #divert(requests: readonly NumberedCapture[]): void {
    if (this.#large_decoder.take(requests)) return
    const refused = refuseForFault('no file handle is free for the decode thread')
    this.#answer(requests.map(({ id }) => [id, refused] as const))
  }

  async #call(message: (call: number) => ToDataThread, size: CallSize = 'unknown'): Promise<void> {
    await this.#request(message, size)
  }

  #request(
    message: (call: number) => ToDataThread,
    size: CallSize = 'unknown',
    transfer: Bun.Transferable[] = [],
  ): Promise<CallOutcome> {
    if (!this.#is_open) return Promise.reject(new Error('ingestion is closed'))
    this.#last_id += 1
    const call = this.#last_id
    return new Promise((resolve, reject) => {
      this.#calls.set(call, { size, resolve, reject })
      this.#post(message(call), transfer)
    })
  }

  #receive(message: FromDataThread): void {
    switch (message.kind) {
      case 'opened':
        for (const project_id of message.projects_with_events) this.#reportFirstEvent(project_id)
        this.#opening.resolve()
        return
      case 'open_failed':
        this.#is_open = false
        this.#worker.terminate()
        // Messages between threads lose the code of an error, by which the command line says what to do.
        this.#opening.reject(Object.assign(new Error(message.message), { code: message.code }))
        return
      case 'answers':
        this.#deliver(message)
        return
      case 'diverted':
        this.#divert(unpackRequests(message.heads, message.bodies))
        return
      case 'entry':
        this.#large_decoder.readEntry(message)
        return
      case 'done':
        this.#finishCall(message.call, message.error)
        return
      case 'person_changed':
        this.#finishCall(message.call, null, message.outcome)
        return
      case 'forwarded':
        if (message.outcome.kind === 'refused' && message.outcome.reason !== undefined)
          this.#noteFault(message.outcome.reason)
        this.#finishCall(message.call, null, message.outcome)
        this.#noteCommit(message)
        return
      case 'broken':
        this.#break(message.message)
        return
      case 'closed':
        this.#closed.resolve()
    }
  }

  #deliver(committed: CommittedAnswers): void {
    const ids = committed.answers.map(([id]) => id)
    this.#decoder.settle(ids)
    this.#large_decoder.settle(ids)
    this.#answer(committed.answers)
    this.#noteCommit(committed)
  }

  #answer(answers: CommittedAnswers['answers']): void {
    for (const [id, answer] of answers) {
      const pending = this.#pending.get(id)
      if (pending === undefined) continue
      this.#pending.delete(id)
      this.#in_flight.release(pending.owners, pending.bytes)
      if (answer.kind === 'refused' && answer.reason !== undefined) this.#noteFault(answer.reason)
      if (answer.kind === 'failed') pending.reject(new Error(answer.message))
      else pending.resolve(answer)
      if (isLost(answer)) this.#forgetNames()
    }
    if (!this.#is_open && this.#pending.size === 0) this.#answered.resolve()
  }

  /** Logs why the storage refuses requests, not more often than every few seconds: a full disk refuses all of them. */
  #noteFault(reason: string): void {
    const now_ms = performance.now()
    if (now_ms < this.#next_fault_ms) return
    this.#next_fault_ms = now_ms + FAULT_LOG_MS
    this.#settings.log.error({ reason }, 'the storage refused events, clients send them again')
    this.#settings.onStorageFault?.()
  }

  #forgetNames(): void {
    this.#decoder.forget()
    this.#large_decoder.forget()
  }

  #noteCommit({ first_events, bytes_written }: CommitEffects): void {
    for (const project_id of first_events) this.#reportFirstEvent(project_id)
    this.#checkpoints.noteWritten(bytes_written)
  }

  #finishCall(number: number, error: string | null, outcome: CallOutcome = null): void {
    const call = this.#calls.get(number)
    this.#calls.delete(number)
    if (call?.size === 'small') this.#checkpoints.noteWritten(1)
    else this.#checkpoints.noteCall()
    if (error === null) call?.resolve(outcome)
    else call?.reject(new Error(error))
  }

  #reportFirstEvent(project_id: number): void {
    this.#settings.onFirstEvent?.(project_id)
  }

  /**
   * Refuses all pending requests. It is unknown whether they were stored: clients may repeat them, uuids prevent
   * duplicates.
   */
  #break(message: string): void {
    this.#settings.log.error({ reason: message }, 'ingestion has stopped')
    this.#is_open = false
    for (const pending of this.#pending.values()) pending.resolve(UNAVAILABLE)
    for (const call of this.#calls.values()) call.reject(new Error(message))
    this.#pending.clear()
    this.#calls.clear()
    this.#answered.resolve()
    this.#opening.reject(new Error(message))
    this.#closed.resolve()
    this.#settings.onBroken?.(message)
  }
}

/**
 * Those to whom a request in flight is charged: its project, as far as it shows, and its address, since a client may
 * name any project.
 */
function ownersOf(request: RawCapture): readonly string[] {
  return [`project ${guessToken(request) ?? ''}`, `address ${request.client_ip}`]
}

function isForwarded(outcome: ForwardedOutcome | PersonChanged): outcome is ForwardedOutcome {
  return outcome.kind === 'forwarded' || outcome.kind === 'refused'
}

/** Whether a request was decoded but not written. */
function isLost(answer: CaptureAnswer | CaptureFailure): boolean {
  if (answer.kind === 'refused') return answer.code === UNAVAILABLE.code
  return answer.kind === 'failed'
}
