/**
 * Requests with many events: each is written down whole, then applied a slice per turn, so that others pass in between.
 *
 * Slices arrive → all of them in the journal → each applied in a transaction that removes it → answered. Each step may
 * be the last one before a crash: a request that is not whole is dropped at the next start, any other one is finished
 * then. So it is stored as a whole or not at all, and no slice is applied twice.
 */

import type { JournaledRequest } from '../../storage/log/request-journal.ts'
import { beginWork, nameWork } from '../../threads/this-thread.ts'
import {
  applyEvents,
  bytesOf,
  commit,
  finishRequest,
  type IngestStores,
  type Progress,
} from '../write/apply.ts'
import type { OverflowLimiter } from '../write/overflow-limiter.ts'
import type { PreparedRequest } from './batch.ts'
import { type PackedSlice, packEvents, unpackEvents, unpackRest } from './event-packing.ts'
import type { CaptureFailure, CaptureLimits, NumberedAnswer } from './messages.ts'
import type { StorageFault } from './storage-faults.ts'

const WRITING_DOWN = nameWork('capture: writing down a large request')
const APPLYING = nameWork('capture: storing a part of a large request')

/** Slices written down per turn, each of about a megabyte. */
const WRITTEN_PER_TURN_MAX = 2
/** After the disk failed, slices are tried again after this time. */
const RETRY_AFTER_MS = 1000
/** How often that is before senders are answered that the outcome is open. */
const RETRIES_MAX = 5

/** What it takes to write slices, and where answers go. */
export type SlicedNeeds = {
  readonly stores: IngestStores
  readonly limits: CaptureLimits
  readonly spikes: OverflowLimiter
  readonly isGone: (project_id: number) => boolean
  /** `bytes`: what was written to the database. */
  readonly answer: (answers: readonly NumberedAnswer[], bytes: number) => void
  /** The answer to a request of a project that is gone. */
  readonly refusal: () => NumberedAnswer[1]
  /** Deals with an error after which the stores cannot be believed; null for a bug, which is the request's. */
  readonly recover: (error: unknown) => StorageFault | null
  readonly unavailable: NumberedAnswer[1]
  readonly failed: (error: unknown) => CaptureFailure
  /** There is work again. */
  readonly wake: () => void
}

/** A request in the journal. `answer_id` is null for one whose sender is gone. */
type Sliced = JournaledRequest & { readonly answer_id: number | null }

type Applied = { readonly left: Sliced; readonly answer: NumberedAnswer[1] | null }

/** Holds requests from their first slice to their answer. */
export class SlicedRequests {
  readonly #context: SlicedNeeds
  /** Requests of which slices are still to come, by the number their answer will carry. */
  readonly #arriving = new Set<number>()
  /** Slices that are to be written down. */
  #arrived: { readonly slice: PackedSlice; readonly project_id: number }[] = []
  /** Journal numbers of requests that are not all written down. */
  readonly #begun = new Map<number, number>()
  /** Events of these that are in the journal. */
  readonly #event_counts = new Map<number, number>()
  /** Requests that were refused while slices of them were on their way. */
  readonly #refused = new Set<number>()
  /** Whole requests by project; the first project is the next one. */
  readonly #whole = new Map<number, Sliced[]>()
  /** Requests whose rows are to be removed. */
  readonly #dropped: number[] = []
  #failures = 0
  #is_paused = false
  #bytes = 0

  /** Takes up what the journal has from before a crash. */
  constructor(context: SlicedNeeds) {
    this.#context = context
    for (const request of context.stores.journal.list()) {
      if (request.rest === '') this.#dropped.push(request.id)
      else this.#enqueue({ ...request, answer_id: null })
    }
  }

  get has_work(): boolean {
    if (this.#is_paused) return false
    return this.#arrived.length > 0 || this.#whole.size > 0 || this.#dropped.length > 0
  }

  /** Whether a slice of this request has come, and its last one has not. */
  isArriving(id: number): boolean {
    return this.#arriving.has(id)
  }

  /** Whether a request of this project is being applied. */
  isApplying(project_id: number): boolean {
    return !this.#is_paused && this.#whole.has(project_id)
  }

  receive(slice: PackedSlice, project_id: number): void {
    if (slice.request === '') this.#arriving.add(slice.id)
    else this.#arriving.delete(slice.id)
    this.#arrived.push({ slice, project_id })
  }

  /** Forgets a request that turned out to be refused; nothing of it has been applied. */
  abandon(id: number): void {
    this.#arrived = this.#arrived.filter((one) => one.slice.id !== id)
    this.#arriving.delete(id)
    this.#refused.delete(id)
    this.#drop(id)
  }

  /** Writes down, inside a transaction, what is left of a request that takes long. It is to be `adopt`ed after that. */
  write(request: PreparedRequest, { applied, accepted }: Progress): Sliced {
    const { journal } = this.#context.stores
    const { events, ...rest } = request
    const { id: answer_id, project_id } = request
    const id = journal.begin(project_id)
    const sliced = { id, accepted, event_count: events.length, rest: JSON.stringify(rest) }
    journal.add({ id, project_id }, packEvents(events.slice(applied)))
    journal.save(sliced)
    return { ...sliced, project_id, answer_id }
  }

  /** Takes over a request that has been written. */
  adopt(request: Sliced): void {
    this.#enqueue(request)
  }

  /** Does a bounded amount of work. */
  turn(): void {
    if (this.#is_paused) return
    for (const { slice, project_id } of this.#arrived.splice(0, WRITTEN_PER_TURN_MAX)) {
      this.#writeDown(slice, project_id)
    }
    this.#applyNext()
    const dropped = this.#dropped[0]
    if (dropped !== undefined) this.#removeSome(dropped)
  }

  /** The database must not be written any more: nothing is finished by this process. */
  giveUp(): void {
    const waiting = [...this.#whole.values()].flat().map((one) => one.answer_id)
    const ids = new Set([...this.#arrived.map((one) => one.slice.id), ...waiting])
    this.#arrived = []
    this.#whole.clear()
    this.#dropped.length = 0
    const answers = [...ids]
      .filter((id) => id !== null)
      .map((id): NumberedAnswer => [id, this.#context.unavailable])
    if (answers.length > 0) this.#context.answer(answers, 0)
  }

  #writeDown(slice: PackedSlice, project_id: number): void {
    const { id: answer_id } = slice
    const is_last = slice.request !== ''
    if (this.#refused.has(answer_id)) {
      if (is_last) this.#refused.delete(answer_id)
      return
    }
    if (this.#context.isGone(project_id)) {
      this.#refuse(answer_id, is_last, this.#context.refusal())
      return
    }
    const { stores } = this.#context
    beginWork(WRITING_DOWN, answer_id, project_id)
    const before = this.#begun.get(answer_id)
    const event_count = (this.#event_counts.get(answer_id) ?? 0) + slice.count
    try {
      let id = before ?? 0
      stores.log.transact(() => {
        if (before === undefined) id = stores.journal.begin(project_id)
        stores.journal.add({ id, project_id }, slice)
        if (is_last) stores.journal.save({ id, accepted: 0, event_count, rest: slice.request })
      })
      this.#begun.set(answer_id, id)
      this.#event_counts.set(answer_id, event_count)
      this.#bytes += slice.heads.length + slice.texts.length
      if (!is_last) return
      this.#forget(answer_id)
      this.#enqueue({ id, project_id, accepted: 0, event_count, rest: slice.request, answer_id })
    } catch (error) {
      const fault = this.#context.recover(error)
      const answer = fault === null ? this.#context.failed(error) : this.#context.unavailable
      this.#refuse(answer_id, is_last, answer)
    }
  }

  /** Applies one slice of the project whose turn it is. */
  #applyNext(): void {
    const request = this.#next()
    if (request === null) return
    if (this.#context.isGone(request.project_id)) {
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

  /** The request with what is left of it, and its answer once nothing is. */
  #applySlice(request: Sliced): Applied {
    const { stores, limits, spikes } = this.#context
    beginWork(APPLYING, request.answer_id ?? 0, request.project_id)
    const rest = unpackRest(request.rest)
    const { project_id } = request
    let left = request
    let answer: NumberedAnswer[1] | null = null
    let bytes = 0
    commit(stores, () => {
      const slice = stores.journal.firstSlice(request.id)
      const events = slice === null ? [] : unpackEvents(slice, project_id)
      const deadline_ms = performance.now() + limits.slice_ms_max
      const { applied, accepted } = applyEvents(stores, rest, events, limits, deadline_ms)
      left = { ...request, accepted: request.accepted + accepted }
      const later = events.slice(applied)
      if (slice !== null) {
        stores.journal.keep(slice.id, later.length === 0 ? null : packEvents(later))
      }
      const done = events.slice(0, applied)
      const limited_id = rest.is_historical ? null : spikes.findLoud(done, performance.now())
      if (limited_id !== null) stores.warnings.add(project_id, limited_id, rest.now)
      bytes = bytesOf(done)
      if (stores.journal.firstSlice(request.id) !== null) stores.journal.save(left)
      else {
        answer = finishRequest(stores, rest, { applied: left.event_count, accepted: left.accepted })
        stores.journal.removeSome(request.id)
      }
    })
    this.#bytes += bytes
    return { left, answer }
  }

  #settle({ left, answer }: Applied): void {
    if (answer === null) this.#enqueue(left)
    else this.#answer(left, answer)
  }

  /** The disk cannot be written: the request is in the journal, and will be applied when it can be again. */
  #pause(request: Sliced, error: unknown): void {
    this.#failures += 1
    let waiting = request
    if (this.#failures >= RETRIES_MAX) {
      // What becomes of it is open: "send again" would double events that have no uuid.
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
      // What is left is removed at the next start.
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
    const id = this.#begun.get(answer_id)
    if (id !== undefined) this.#dropped.push(id)
    this.#forget(answer_id)
  }

  #forget(answer_id: number): void {
    this.#begun.delete(answer_id)
    this.#event_counts.delete(answer_id)
  }

  #answer({ answer_id }: Sliced, answer: NumberedAnswer[1]): void {
    const bytes = this.#bytes
    this.#bytes = 0
    this.#context.answer(answer_id === null ? [] : [[answer_id, answer]], bytes)
  }

  /** Behind the other projects, before later requests of its own. */
  #enqueue(request: Sliced): void {
    const queue = this.#whole.get(request.project_id) ?? []
    this.#whole.delete(request.project_id)
    const in_order = [...queue, request].toSorted((one, other) => one.id - other.id)
    this.#whole.set(request.project_id, in_order)
  }

  #next(): Sliced | null {
    for (const [project_id, [request, ...others]] of this.#whole) {
      this.#whole.delete(project_id)
      if (others.length > 0) this.#whole.set(project_id, others)
      if (request !== undefined) return request
    }
    return null
  }
}
