/**
 * Requests with many events: the whole request goes into a redo log, the journal of events.db, and is then applied one
 * slice per turn, so that small requests are committed in between.
 *
 * Slices arrive → all of them in the journal → each applied in a transaction that deletes it → answered. Each step may
 * be the last one before a crash: an incomplete request is dropped at the next start, a complete one is finished then.
 * So a request is stored as a whole or not at all, and no slice is applied twice.
 */

import type { JournaledRequest } from '../../storage/log/request-journal.ts'
import { beginWork, nameWork } from '../../threads/this-thread.ts'
import {
  type ApplyProgress,
  applyEvents,
  bytesOf,
  commit,
  finishRequest,
  type IngestStores,
} from '../write/apply.ts'
import type { OverflowLimiter } from '../write/overflow-limiter.ts'
import type { PreparedRequest } from './batch.ts'
import { type PackedSlice, packEvents, unpackEvents, unpackRest } from './event-packing.ts'
import type { CaptureFailure, CaptureLimits, NumberedAnswer } from './messages.ts'
import type { StorageFault } from './storage-faults.ts'

const JOURNALING = nameWork('capture: writing down a large request')
const APPLYING = nameWork('capture: storing a part of a large request')

/** Slices journaled per turn, each of about a megabyte. */
const JOURNALED_PER_TURN_MAX = 2
/** Delay of a retry after the disk failed. */
const RETRY_AFTER_MS = 1000
/** Failures in a row after which the request is answered 500: its outcome is open. */
const FAILURES_MAX = 5

/** Dependencies and callbacks of `SlicedRequests`. */
export type SlicedRequestsContext = {
  readonly stores: IngestStores
  readonly limits: CaptureLimits
  readonly overflow: OverflowLimiter
  readonly isDeleted: (project_id: number) => boolean
  /** `bytes`: written to the database since the last call, estimated. */
  readonly answer: (answers: readonly NumberedAnswer[], bytes: number) => void
  /** The answer to a request of a deleted project. */
  readonly refusal: () => NumberedAnswer[1]
  /** Clears caches after a rollback and classifies the error; null for a bug that this request met. */
  readonly recover: (error: unknown) => StorageFault | null
  readonly unavailable: NumberedAnswer[1]
  readonly failed: (error: unknown) => CaptureFailure
  /** Called when a retry is due. */
  readonly wake: () => void
}

/** A request in the journal. `answer_id` is null if no client waits: answered 500 before, or found after a crash. */
type Sliced = JournaledRequest & { readonly answer_id: number | null }

/** A request after one of its slices; `answer` is null while slices remain. */
type SliceOutcome = { readonly request: Sliced; readonly answer: NumberedAnswer[1] | null }

/** The large requests, from their first slice to their answer. */
export class SlicedRequests {
  readonly #context: SlicedRequestsContext
  /** Requests whose last slice has not arrived, by answer id. */
  readonly #arriving = new Set<number>()
  /** Slices that are not in the journal yet. */
  #arrived: { readonly slice: PackedSlice; readonly project_id: number }[] = []
  /** Journal ids of requests that are in the journal in part, by answer id. */
  readonly #journal_ids = new Map<number, number>()
  /** Number of their events in the journal. */
  readonly #event_counts = new Map<number, number>()
  /** Requests that were refused before their last slice arrived. */
  readonly #refused = new Set<number>()
  /** Complete requests by project, round robin: the first project is next. */
  readonly #complete = new Map<number, Sliced[]>()
  /** Journal ids of requests whose rows are to be deleted. */
  readonly #dropped: number[] = []
  #failures = 0
  #is_paused = false
  #bytes = 0

  /** Enqueues the requests that a crash left in the journal. */
  constructor(context: SlicedRequestsContext) {
    this.#context = context
    for (const request of context.stores.journal.list()) {
      if (request.rest === '') this.#dropped.push(request.id)
      else this.#enqueue({ ...request, answer_id: null })
    }
  }

  get has_work(): boolean {
    if (this.#is_paused) return false
    return this.#arrived.length > 0 || this.#complete.size > 0 || this.#dropped.length > 0
  }

  /** Whether some slices of a request have arrived, but not its last one. */
  isArriving(id: number): boolean {
    return this.#arriving.has(id)
  }

  /** Whether a large request of this project is waiting or being applied. */
  isApplying(project_id: number): boolean {
    return !this.#is_paused && this.#complete.has(project_id)
  }

  receive(slice: PackedSlice, project_id: number): void {
    if (slice.request === '') this.#arriving.add(slice.id)
    else this.#arriving.delete(slice.id)
    this.#arrived.push({ slice, project_id })
  }

  /** Drops a request that was refused while it was decoded; no slice of it has been applied. */
  abandon(id: number): void {
    this.#arrived = this.#arrived.filter((one) => one.slice.id !== id)
    this.#arriving.delete(id)
    this.#refused.delete(id)
    this.#drop(id)
  }

  /** Journals the remaining events of a slow request, inside the caller's transaction. `adopt` it after the commit. */
  write(request: PreparedRequest, { applied, accepted }: ApplyProgress): Sliced {
    const { journal } = this.#context.stores
    const { events, ...rest } = request
    const { id: answer_id, project_id } = request
    const id = journal.begin(project_id)
    const sliced = { id, accepted, event_count: events.length, rest: JSON.stringify(rest) }
    journal.add({ id, project_id }, packEvents(events.slice(applied)))
    journal.save(sliced)
    return { ...sliced, project_id, answer_id }
  }

  /** Enqueues a request that `write` has journaled. */
  adopt(request: Sliced): void {
    this.#enqueue(request)
  }

  /** One turn: journals some slices, applies one, deletes some rows of a dropped request. */
  turn(): void {
    if (this.#is_paused) return
    for (const { slice, project_id } of this.#arrived.splice(0, JOURNALED_PER_TURN_MAX)) {
      this.#journalSlice(slice, project_id)
    }
    this.#applyNext()
    const dropped = this.#dropped[0]
    if (dropped !== undefined) this.#removeSome(dropped)
  }

  /** Answers every request "unavailable": the database is damaged and must not be written. */
  giveUp(): void {
    const waiting = [...this.#complete.values()].flat().map((one) => one.answer_id)
    const ids = new Set([...this.#arrived.map((one) => one.slice.id), ...waiting])
    this.#arrived = []
    this.#complete.clear()
    this.#dropped.length = 0
    const answers = [...ids]
      .filter((id) => id !== null)
      .map((id): NumberedAnswer => [id, this.#context.unavailable])
    if (answers.length > 0) this.#context.answer(answers, 0)
  }

  #journalSlice(slice: PackedSlice, project_id: number): void {
    const { id: answer_id } = slice
    const is_last = slice.request !== ''
    if (this.#refused.has(answer_id)) {
      if (is_last) this.#refused.delete(answer_id)
      return
    }
    if (this.#context.isDeleted(project_id)) {
      this.#refuse(answer_id, is_last, this.#context.refusal())
      return
    }
    const { stores } = this.#context
    beginWork(JOURNALING, answer_id, project_id)
    const before = this.#journal_ids.get(answer_id)
    const event_count = (this.#event_counts.get(answer_id) ?? 0) + slice.count
    try {
      let id = before ?? 0
      stores.log.transact(() => {
        if (before === undefined) id = stores.journal.begin(project_id)
        stores.journal.add({ id, project_id }, slice)
        if (is_last) stores.journal.save({ id, accepted: 0, event_count, rest: slice.request })
      })
      this.#journal_ids.set(answer_id, id)
      this.#event_counts.set(answer_id, event_count)
      this.#bytes += slice.heads.length + slice.texts.length
      if (!is_last) return
      this.#forgetArrival(answer_id)
      this.#enqueue({ id, project_id, accepted: 0, event_count, rest: slice.request, answer_id })
    } catch (error) {
      const fault = this.#context.recover(error)
      const answer = fault === null ? this.#context.failed(error) : this.#context.unavailable
      this.#refuse(answer_id, is_last, answer)
    }
  }

  /** Applies one slice of the next project. */
  #applyNext(): void {
    const request = this.#next()
    if (request === null) return
    if (this.#context.isDeleted(request.project_id)) {
      this.#dropped.push(request.id)
      this.#answer(request, this.#context.refusal())
      return
    }
    try {
      this.#settle(this.#applySlice(request))
      this.#failures = 0
    } catch (error) {
      const fault = this.#context.recover(error)
      if (fault === null) {
        this.#dropped.push(request.id)
        this.#answer(request, this.#context.failed(error))
      } else this.#pause(request, error)
    }
  }

  /**
   * Applies a slice in one transaction, until its deadline. Returns the request with its answer after the last slice.
   */
  #applySlice(request: Sliced): SliceOutcome {
    const { stores, limits, overflow } = this.#context
    beginWork(APPLYING, request.answer_id ?? 0, request.project_id)
    const rest = unpackRest(request.rest)
    const { project_id } = request
    let next = request
    let answer: NumberedAnswer[1] | null = null
    let bytes = 0
    commit(stores, () => {
      const slice = stores.journal.firstSlice(request.id)
      const events = slice === null ? [] : unpackEvents(slice, project_id)
      const deadline_ms = performance.now() + limits.slice_ms_max
      const { applied, accepted } = applyEvents(stores, rest, events, limits, deadline_ms)
      next = { ...request, accepted: request.accepted + accepted }
      const rest_events = events.slice(applied)
      if (slice !== null) {
        stores.journal.keep(slice.id, rest_events.length === 0 ? null : packEvents(rest_events))
      }
      const done = events.slice(0, applied)
      const limited_id = rest.is_historical ? null : overflow.findOverLimit(done, performance.now())
      if (limited_id !== null) stores.warnings.add(project_id, limited_id, rest.now)
      bytes = bytesOf(done)
      if (stores.journal.firstSlice(request.id) !== null) stores.journal.save(next)
      else {
        answer = finishRequest(stores, rest, { applied: next.event_count, accepted: next.accepted })
        stores.journal.removeSome(request.id)
      }
    })
    this.#bytes += bytes
    return { request: next, answer }
  }

  #settle({ request, answer }: SliceOutcome): void {
    if (answer === null) this.#enqueue(request)
    else this.#answer(request, answer)
  }

  /** Pauses after a disk failure. The request stays in the journal and is applied once the disk can be written. */
  #pause(request: Sliced, error: unknown): void {
    this.#failures += 1
    let waiting = request
    if (this.#failures >= FAILURES_MAX) {
      // Its outcome is open: a 503 would make clients repeat it, which duplicates events without a uuid.
      this.#answer(request, this.#context.failed(error))
      waiting = { ...request, answer_id: null }
    }
    this.#enqueue(waiting)
    this.#is_paused = true
    setTimeout(() => {
      this.#is_paused = false
      this.#context.wake()
    }, RETRY_AFTER_MS)
  }

  #removeSome(id: number): void {
    const { stores, recover } = this.#context
    let is_removed = true
    try {
      stores.log.transact(() => {
        is_removed = stores.journal.removeSome(id)
      })
    } catch (error) {
      // The next start deletes the remaining rows.
      recover(error)
    }
    if (is_removed) this.#dropped.shift()
  }

  #refuse(answer_id: number, is_last: boolean, answer: NumberedAnswer[1]): void {
    if (!is_last) this.#refused.add(answer_id)
    this.#drop(answer_id)
    this.#context.answer([[answer_id, answer]], 0)
  }

  #drop(answer_id: number): void {
    const id = this.#journal_ids.get(answer_id)
    if (id !== undefined) this.#dropped.push(id)
    this.#forgetArrival(answer_id)
  }

  #forgetArrival(answer_id: number): void {
    this.#journal_ids.delete(answer_id)
    this.#event_counts.delete(answer_id)
  }

  #answer({ answer_id }: Sliced, answer: NumberedAnswer[1]): void {
    const bytes = this.#bytes
    this.#bytes = 0
    this.#context.answer(answer_id === null ? [] : [[answer_id, answer]], bytes)
  }

  /** Enqueues a request behind the other projects, and before later requests of its project. */
  #enqueue(request: Sliced): void {
    const queue = this.#complete.get(request.project_id) ?? []
    this.#complete.delete(request.project_id)
    const in_order = [...queue, request].toSorted((one, other) => one.id - other.id)
    this.#complete.set(request.project_id, in_order)
  }

  #next(): Sliced | null {
    for (const [project_id, [request, ...others]] of this.#complete) {
      this.#complete.delete(project_id)
      if (others.length > 0) this.#complete.set(project_id, others)
      if (request !== undefined) return request
    }
    return null
  }
}
