/**
 * Requests with many events: the whole request goes into a redo log, the journal of events.db, and is then applied one
 * slice per turn, so that small requests are committed in between.
 *
 * Slices arrive → all of them in the journal → each applied in one transaction or several, of which the last deletes it
 * → answered. Each step may be the last one before a crash: an incomplete request is dropped at the next start, a complete one is finished then.
 * So a request is stored as a whole or not at all, and no slice is applied twice.
 */

import { MIB } from '../../bytes.ts'
import type { JournaledRequest } from '../../storage/log/request-journal.ts'
import { beginWork, nameWork } from '../../threads/this-thread.ts'
import {
  type ApplyProgress,
  applyEvents,
  commit,
  finishRequest,
  type IngestStores,
  isFull,
} from '../write/apply.ts'
import type { OverflowLimiter } from '../write/overflow-limiter.ts'
import { failureOf, refuseDeletedProject } from './decode-queue.ts'
import {
  HEADS_PER_TURN_MAX,
  type PackedRequestRest,
  type PackedSlice,
  packEvents,
  unpackEvents,
  unpackRest,
} from './event-packing.ts'
import { type CaptureLimits, type NumberedAnswer, refuseForFault, UNAVAILABLE } from './messages.ts'
import type { PreparedEvent, PreparedRequest } from './prepared-request.ts'
import { RoundRobin } from './round-robin.ts'
import type { StorageFault } from './storage-faults.ts'
import { limitWork } from './work-time.ts'

const JOURNALING = nameWork('capture: writing down a large request')
const APPLYING = nameWork('capture: storing a part of a large request')

/** A slice's share of time for applying events at first; the rest is for writing persons and committing. */
const APPLYING_SHARE_FIRST = 0.5
/** The share is not reduced below this, however slow the disk is: each slice has costs of its own. */
const APPLYING_SHARE_MIN = 0.25
/** Weight of the last slice in the share. */
const LAST_SLICE_WEIGHT = 0.3
/** Bytes of the write-ahead log after which they are reported, although no request is finished. */
const REPORTED_BYTES = MIB
/** Delay of a retry after the disk failed. */
const RETRY_AFTER_MS = 1000
/** Failures in a row after which the request is answered 500: its outcome is open. */
const FAILURES_MAX = 5

/** Dependencies and callbacks of `SlicedRequests`. */
type SlicedRequestsContext = {
  readonly stores: IngestStores
  readonly limits: CaptureLimits
  readonly overflow: OverflowLimiter
  readonly isDeleted: (project_id: number) => boolean
  /** Also called without an answer, when much has been written: the write-ahead log has to be checkpointed meanwhile. */
  readonly answer: (answers: readonly NumberedAnswer[]) => void
  /** Clears caches after a rollback and classifies the error; null for a bug that this request met. */
  readonly recover: (error: unknown) => StorageFault | null
  /** Called when a retry is due. */
  readonly wake: () => void
}

/** A request in the journal. */
type SlicedRequest = Omit<JournaledRequest, 'rest'> & {
  readonly rest: PackedRequestRest
  /** Null if no client waits: answered 500 before, or found after a crash. */
  readonly answer_id: number | null
  /** Its first slice, while that is applied in part. */
  readonly open_slice: OpenSlice | null
}

/** A slice of the journal, unpacked once however many transactions apply it. */
type OpenSlice = {
  readonly id: number
  readonly events: readonly PreparedEvent[]
  /** Whether unpacking it took as long as a turn may: its first event is applied in the next one. */
  readonly is_long: boolean
}

const NEW_IN_JOURNAL = { applied: 0, open_slice: null }

/** A request after one of its slices; `answer` is null while slices remain. */
type SliceOutcome = { readonly request: SlicedRequest; readonly answer: NumberedAnswer[1] | null }

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
  readonly #complete = new Map<number, SlicedRequest[]>()
  /** Journal ids of requests whose rows are to be deleted. */
  readonly #dropped: number[] = []
  readonly #pieces = new RoundRobin([
    { hasWork: () => this.#arrived.length > 0, run: () => this.#journalSome() },
    { hasWork: () => this.#complete.size > 0, run: () => this.#applyNext() },
    { hasWork: () => this.#dropped.length > 0, run: () => this.#removeSome() },
  ])
  #applying_share = APPLYING_SHARE_FIRST
  #failures = 0
  #is_paused = false

  /** Enqueues the requests that a crash left in the journal. */
  constructor(context: SlicedRequestsContext) {
    this.#context = context
    for (const request of context.stores.journal.list()) {
      if (request.rest === '') this.#dropped.push(request.id)
      else {
        const rest = unpackRest(request.rest)
        this.#enqueue({ ...request, rest, answer_id: null, open_slice: null })
      }
    }
  }

  get has_work(): boolean {
    return !this.#is_paused && this.#pieces.hasWork()
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
  write(request: PreparedRequest, { applied, accepted }: ApplyProgress): SlicedRequest {
    const { journal } = this.#context.stores
    const { events, ...rest } = request
    const { id: answer_id, project_id } = request
    const id = journal.begin(project_id)
    const counts = { id, accepted, event_count: events.length }
    journal.add({ id, project_id }, packEvents(events.slice(applied)))
    journal.complete({ ...counts, rest: JSON.stringify(rest) })
    return { ...NEW_IN_JOURNAL, ...counts, project_id, rest, answer_id }
  }

  /** Enqueues a request that `write` has journaled. */
  adopt(request: SlicedRequest): void {
    this.#enqueue(request)
  }

  /** One turn: journals some slices, or applies a part of one, or deletes some rows of a dropped request. */
  turn(): void {
    if (!this.#is_paused) this.#pieces.run()
    if (this.#context.stores.log.log_bytes >= REPORTED_BYTES) this.#context.answer([])
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
      .map((id): NumberedAnswer => [id, UNAVAILABLE])
    if (answers.length > 0) this.#context.answer(answers)
  }

  /** Journals slices for the time of one that is applied, at least one. Each has about a megabyte at most. */
  #journalSome(): void {
    const deadline_ms = performance.now() + this.#context.limits.slice_ms_max
    for (const { slice, project_id } of takeUntil(this.#arrived, deadline_ms)) {
      this.#journalSlice(slice, project_id)
    }
  }

  #journalSlice(slice: PackedSlice, project_id: number): void {
    const { id: answer_id } = slice
    const is_last = slice.request !== ''
    if (this.#refused.has(answer_id)) {
      if (is_last) this.#refused.delete(answer_id)
      return
    }
    if (this.#context.isDeleted(project_id)) {
      this.#refuse(answer_id, is_last, refuseDeletedProject())
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
        stores.log.noteWrite(0, slice.heads.length + slice.texts.length)
        if (is_last) stores.journal.complete({ id, accepted: 0, event_count, rest: slice.request })
      })
      this.#journal_ids.set(answer_id, id)
      this.#event_counts.set(answer_id, event_count)
      if (!is_last) return
      this.#forgetArrival(answer_id)
      const rest = unpackRest(slice.request)
      this.#enqueue({
        ...NEW_IN_JOURNAL,
        id,
        project_id,
        accepted: 0,
        event_count,
        rest,
        answer_id,
      })
    } catch (error) {
      const fault = this.#context.recover(error)
      const answer = fault === null ? failureOf(error) : refuseForFault(error)
      this.#refuse(answer_id, is_last, answer)
    }
  }

  /** Applies one slice of the next project. */
  #applyNext(): void {
    const request = this.#next()
    if (request === null) return
    if (this.#context.isDeleted(request.project_id)) {
      this.#dropped.push(request.id)
      this.#answer(request, refuseDeletedProject())
      return
    }
    try {
      this.#settle(this.#applySlice(request))
      this.#failures = 0
    } catch (error) {
      const fault = this.#context.recover(error)
      if (fault === null) {
        this.#dropped.push(request.id)
        this.#answer(request, failureOf(error))
      } else this.#pause(request, error)
    }
  }

  /**
   * Applies events of a slice in one transaction, which takes `slice_ms_max` of processor time. Returns the request with its answer after
   * the last slice.
   */
  #applySlice(request: SlicedRequest): SliceOutcome {
    const { stores, limits } = this.#context
    beginWork(APPLYING, request.answer_id ?? 0, request.project_id)
    const started_ms = performance.now()
    const isOver = limitWork(limits.slice_ms_max * this.#applying_share)
    let outcome: SliceOutcome = { request, answer: null }
    let applied_ms = started_ms
    commit(stores, () => {
      const slice = request.open_slice ?? this.#openSlice(request)
      const is_opened_late = request.open_slice === null && (slice?.is_long === true || isOver())
      const next =
        slice === null || is_opened_late
          ? { ...request, open_slice: slice }
          : this.#applySome(request, slice, isOver)
      applied_ms = performance.now()
      // Definitions are written at the end, up to 4,000: in a transaction of their own unless there is time left.
      const has_room = !isOver() && !isFull(stores, limits)
      const is_finished = slice === null || (has_room && this.#isApplied(next))
      outcome = { request: next, answer: is_finished ? this.#finish(next) : null }
      if (!is_finished) stores.journal.noteProgress(next)
    })
    this.#adaptShare((applied_ms - started_ms) / (performance.now() - started_ms))
    return outcome
  }

  #isApplied({ id, open_slice }: SlicedRequest): boolean {
    return open_slice === null && !this.#context.stores.journal.hasSlice(id)
  }

  #openSlice({ id, project_id }: SlicedRequest): OpenSlice | null {
    const slice = this.#context.stores.journal.firstSlice(id)
    if (slice === null) return null
    const is_long = slice.heads.length > HEADS_PER_TURN_MAX
    return { id: slice.id, events: unpackEvents(slice, project_id), is_long }
  }

  /** Applies the next events of a slice until `isOver`, and deletes the slice after its last event. */
  #applySome(request: SlicedRequest, slice: OpenSlice, isOver: () => boolean): SlicedRequest {
    const { stores, limits, overflow } = this.#context
    const { project_id, rest } = request
    const events = slice.events.slice(request.applied)
    const { applied, accepted } = applyEvents(stores, rest, events, limits, isOver)
    const done = events.slice(0, applied)
    const overflow_warning = rest.is_historical
      ? null
      : overflow.findOverLimit(done, performance.now())
    if (overflow_warning !== null) stores.warnings.add(project_id, overflow_warning, rest.now)
    const next = { ...request, accepted: request.accepted + accepted }
    if (applied < events.length) {
      return { ...next, applied: request.applied + applied, open_slice: slice }
    }
    stores.journal.removeSlice(slice.id)
    return { ...next, applied: 0, open_slice: null }
  }

  #finish({ id, rest, event_count, accepted }: SlicedRequest): NumberedAnswer[1] {
    const { stores } = this.#context
    stores.journal.removeSome(id)
    return finishRequest(stores, rest, { applied: event_count, accepted })
  }

  /** Persons are written at the end of a transaction, which takes up to as long as applying their events. */
  #adaptShare(last: number): void {
    const mean = this.#applying_share * (1 - LAST_SLICE_WEIGHT) + last * LAST_SLICE_WEIGHT
    this.#applying_share = Math.max(APPLYING_SHARE_MIN, mean)
  }

  #settle({ request, answer }: SliceOutcome): void {
    if (answer === null) this.#enqueue(request)
    else this.#answer(request, answer)
  }

  /** Pauses after a disk failure. The request stays in the journal and is applied once the disk can be written. */
  #pause(request: SlicedRequest, error: unknown): void {
    this.#failures += 1
    let waiting = request
    if (this.#failures >= FAILURES_MAX) {
      // Its outcome is open: a 503 would make clients repeat it, which duplicates events without a uuid.
      this.#answer(request, failureOf(error))
      waiting = { ...request, answer_id: null }
    }
    this.#enqueue(waiting)
    this.#retryLater()
  }

  #retryLater(): void {
    this.#is_paused = true
    setTimeout(() => {
      this.#is_paused = false
      this.#context.wake()
    }, RETRY_AFTER_MS)
  }

  /** Deletes some rows of the first dropped request. */
  #removeSome(): void {
    const { stores, recover } = this.#context
    const id = this.#dropped[0]
    if (id === undefined) return
    let is_removed = true
    try {
      stores.log.transact(() => {
        is_removed = stores.journal.removeSome(id)
      })
    } catch (error) {
      // A bug would be met again: the next start deletes the remaining rows.
      is_removed = recover(error) === null
      if (!is_removed) this.#retryLater()
    }
    if (is_removed) this.#dropped.shift()
  }

  #refuse(answer_id: number, is_last: boolean, answer: NumberedAnswer[1]): void {
    if (!is_last) this.#refused.add(answer_id)
    this.#drop(answer_id)
    this.#context.answer([[answer_id, answer]])
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

  #answer({ answer_id }: SlicedRequest, answer: NumberedAnswer[1]): void {
    this.#context.answer(answer_id === null ? [] : [[answer_id, answer]])
  }

  /** Enqueues a request behind the other projects, and before later requests of its project. */
  #enqueue(request: SlicedRequest): void {
    const queue = this.#complete.get(request.project_id) ?? []
    this.#complete.delete(request.project_id)
    const in_order = [...queue, request].toSorted((one, other) => one.id - other.id)
    this.#complete.set(request.project_id, in_order)
  }

  #next(): SlicedRequest | null {
    for (const [project_id, [request, ...others]] of this.#complete) {
      this.#complete.delete(project_id)
      if (others.length > 0) this.#complete.set(project_id, others)
      if (request !== undefined) return request
    }
    return null
  }
}

/** Takes items off the list, one at least, until a deadline by `performance.now`. */
function* takeUntil<Item>(items: Item[], deadline_ms: number): Generator<Item> {
  do {
    const next = items.shift()
    if (next === undefined) return
    yield next
  } while (performance.now() < deadline_ms)
}
