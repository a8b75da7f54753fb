/** The main thread's side of ingestion: hands requests to the data thread and waits for their commits. */

import type { NewFiles } from '../../storage/log/event-log.ts'
import type { CohortChange, OverrideRow } from '../../storage/persons/flag-rows.ts'
import { Checkpoints } from '../../storage/sqlite/checkpoints.ts'
import { createEventLoops, type EventLoops } from '../../threads/loop-memory.ts'
import { DecodePool, PREPARED_APART_BYTES_MIN } from './decode-pool.ts'
import { UNPACKED_BYTES_MAX } from './decode-request.ts'
import {
  CAPTURE_LIMITS,
  type CaptureAnswer,
  type CaptureFailure,
  type CaptureLimits,
  type CommittedAnswers,
  type FromDataThread,
  type NumberedCapture,
  type PersonChange,
  type PersonChanged,
  packRequests,
  type RawCapture,
  THREAD_OPTIONS,
  type ToDataThread,
  UNAVAILABLE,
  unpackRequests,
} from './messages.ts'

export type {
  CaptureAnswer,
  CaptureLimits,
  CohortChange,
  NewFiles,
  OverrideRow,
  PersonChange,
  PersonChanged,
  RawCapture,
}

/** The part of a log that ingestion writes to. */
export type CaptureLog = {
  readonly error: (fields: object, message: string) => void
}

export type CaptureSettings = {
  readonly data_dir: string
  /** What differs from `CAPTURE_LIMITS`. */
  readonly limits?: Partial<CaptureLimits>
  /** Databases for locating events by their address (`findGeoipFiles`). */
  readonly geoip_files?: readonly string[]
  /** Days for which an event sent again with the same uuid is certainly stored once; 30 when not said. */
  readonly dedup_days?: number
  /** Where the threads of ingestion record their heartbeats; memory of its own when not given. */
  readonly event_loops?: Pick<EventLoops, 'data' | 'prepare'>
  readonly log: CaptureLog
  /** A project has events now; told for known projects at start and after each first event. */
  readonly onFirstEvent?: (project_id: number) => void
  /** The data thread cannot go on (damaged database, bug); every request is refused from now on. */
  readonly onBroken?: (message: string) => void
}

const DEDUP_DAYS = 30

type PendingCapture = {
  readonly bytes: number
  readonly resolve: (answer: CaptureAnswer) => void
  readonly reject: (error: Error) => void
}

type PendingChange = {
  readonly resolve: (outcome: PersonChanged | null) => void
  readonly reject: (error: Error) => void
}

/** Opens events.db on the data thread (migrations included) and its checkpoint thread. control.db must exist. */
export async function openCapture(settings: CaptureSettings): Promise<Capture> {
  const worker = new Worker(new URL('./data-thread.ts', import.meta.url).href, THREAD_OPTIONS)
  const capture = new Capture(worker, settings)
  await capture.opened
  return capture
}

/** Ingestion as the rest of the server sees it. */
export class Capture {
  readonly #worker: Worker
  readonly #settings: CaptureSettings
  readonly #limits: CaptureLimits
  readonly #waiting = new Map<number, PendingCapture>()
  readonly #calls = new Map<number, PendingChange>()
  readonly #checkpoints: Checkpoints
  readonly #preparation: DecodePool
  /** Resolves when the data thread is ready; rejects when it cannot open its databases. */
  readonly opened: Promise<void>
  readonly #closed = Promise.withResolvers<void>()
  /** Resolves when nobody waits any more and nobody can come. */
  readonly #answered = Promise.withResolvers<void>()
  readonly #opening = Promise.withResolvers<void>()
  #outbox: NumberedCapture[] = []
  #number = 0
  #in_flight_bytes = 0
  #is_open = true

  constructor(worker: Worker, settings: CaptureSettings) {
    this.#worker = worker
    this.#settings = settings
    this.#limits = { ...CAPTURE_LIMITS, ...settings.limits }
    this.#checkpoints = new Checkpoints(
      settings.data_dir,
      () => this.#post({ kind: 'checkpoint' }),
      (reason) => settings.log.error({ reason }, 'a checkpoint of events.db failed'),
    )
    this.opened = this.#opening.promise
    worker.addEventListener('message', (event: MessageEvent<FromDataThread>) => {
      this.#receive(event.data)
    })
    worker.addEventListener('error', (event) => this.#break(event.message))
    const thread_settings = {
      data_dir: settings.data_dir,
      limits: this.#limits,
      geoip_files: settings.geoip_files ?? [],
      dedup_days: settings.dedup_days ?? DEDUP_DAYS,
    }
    const event_loops = settings.event_loops ?? createEventLoops()
    this.#preparation = new DecodePool({
      settings: { ...thread_settings, event_loop: event_loops.prepare },
      link: (port) => this.#post({ kind: 'link', from_prepare_thread: port }, [port]),
      answer: (committed) => this.#deliver(committed),
      breakDown: (message) => this.#break(message),
    })
    this.#post({ kind: 'open', ...thread_settings, event_loop: event_loops.data })
  }

  /**
   * Stores a request's events: the answer comes after the commit. Requests of one event-loop turn
   * travel together. Rejects only for a bug; `storage_unavailable` says "not stored, send again".
   */
  send(request: RawCapture): Promise<CaptureAnswer> {
    const bytes = request.body.length
    const is_full = this.#in_flight_bytes + bytes > this.#limits.in_flight_bytes_max
    if (!this.#is_open || is_full) return Promise.resolve(UNAVAILABLE)
    this.#in_flight_bytes += bytes
    this.#number += 1
    const id = this.#number
    if (this.#outbox.length === 0) setImmediate(() => this.#flush())
    this.#outbox.push({ ...request, id })
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { bytes, resolve, reject })
    })
  }

  /** The manifest's transaction. */
  commitFiles(files: NewFiles): Promise<void> {
    return this.#call((call) => ({ kind: 'files', call, files }))
  }

  /** Deletes events up to a sequence number that the manifest says is in files, a few at a time. */
  trim(up_to_seq: number): Promise<void> {
    return this.#call((call) => ({ kind: 'trim', call, up_to_seq }))
  }

  /** Stores what people are hashed by for a flag, unless something is stored already. Resolves after the commit. */
  storeOverrides(rows: readonly OverrideRow[]): Promise<void> {
    return this.#call((call) => ({ kind: 'overrides', call, rows }))
  }

  /** Changes who is in a cohort. Resolves after the commit; hand over some thousand people at a time. */
  changeCohort(change: CohortChange): Promise<void> {
    return this.#call((call) => ({ kind: 'cohort', call, change }))
  }

  /** Splits, restores or deletes a person. Resolves after the commit; rejects only for a bug. */
  async changePerson(change: PersonChange): Promise<PersonChanged> {
    if (!this.#is_open) return { kind: 'unavailable' }
    const outcome = await this.#ask((call) => ({ kind: 'person', call, change }))
    return outcome ?? { kind: 'unavailable' }
  }

  /** Deletes everything events.db holds of a project that is gone, a few rows at a time. */
  forgetProject(project_id: number): Promise<void> {
    return this.#call((call) => ({ kind: 'forget', call, project_id }))
  }

  /** Deletes the events of an ordered removal from the log, a few at a time. */
  removeEvents(removal_id: number): Promise<void> {
    return this.#call((call) => ({ kind: 'remove_events', call, removal_id }))
  }

  /** Forgets an ordered removal: no file has its events any more either. */
  finishRemoval(removal_id: number): Promise<void> {
    return this.#call((call) => ({ kind: 'finish_removal', call, removal_id }))
  }

  /** Answers what was received, empties the write-ahead log, closes events.db and ends both threads. */
  async close(): Promise<void> {
    if (!this.#is_open) return
    this.#is_open = false
    this.#flush()
    if (this.#waiting.size > 0) await this.#answered.promise
    await this.#preparation.close()
    await this.#checkpoints.close()
    this.#post({ kind: 'close' })
    await this.#closed.promise
    this.#worker.terminate()
  }

  #post(message: ToDataThread, transfer: Bun.Transferable[] = []): void {
    this.#worker.postMessage(message, transfer)
  }

  #flush(): void {
    const { large = [], small = [] } = Object.groupBy(this.#outbox, ({ body }) =>
      body.length >= PREPARED_APART_BYTES_MIN &&
      (this.#preparation.offer() || body.length > UNPACKED_BYTES_MAX)
        ? 'large'
        : 'small',
    )
    this.#outbox = []
    if (large.length > 0) this.#preparation.take(large)
    if (small.length === 0) return
    const { heads, bodies } = packRequests(small)
    this.#post({ kind: 'requests', heads, bodies }, [bodies.buffer])
  }

  async #call(message: (call: number) => ToDataThread): Promise<void> {
    await this.#ask(message)
  }

  #ask(message: (call: number) => ToDataThread): Promise<PersonChanged | null> {
    if (!this.#is_open) return Promise.reject(new Error('ingestion is closed'))
    this.#number += 1
    const call = this.#number
    return new Promise((resolve, reject) => {
      this.#calls.set(call, { resolve, reject })
      this.#post(message(call))
    })
  }

  #receive(message: FromDataThread): void {
    switch (message.kind) {
      case 'opened':
        for (const project_id of message.projects_with_events) this.#first(project_id)
        this.#checkpoints.open().then(this.#opening.resolve, this.#opening.reject)
        return
      case 'open_failed':
        this.#is_open = false
        this.#worker.terminate()
        this.#opening.reject(new Error(message.message))
        return
      case 'answers':
        this.#deliver(message)
        return
      case 'diverted':
        this.#preparation.offer()
        this.#preparation.take(unpackRequests(message.heads, message.bodies))
        return
      case 'done':
        this.#finishCall(message.call, message.error)
        return
      case 'person_changed':
        this.#finishCall(message.call, null, message.outcome)
        return
      case 'broken':
        this.#break(message.message)
        return
      case 'closed':
        this.#closed.resolve()
    }
  }

  #deliver(committed: CommittedAnswers): void {
    this.#preparation.settle(committed.answers.map(([id]) => id))
    for (const [id, answer] of committed.answers) {
      const waiting = this.#waiting.get(id)
      if (waiting === undefined) continue
      this.#waiting.delete(id)
      this.#in_flight_bytes -= waiting.bytes
      if (answer.kind === 'failed') waiting.reject(new Error(answer.message))
      else waiting.resolve(answer)
      if (isLost(answer)) this.#preparation.forget()
    }
    if (!this.#is_open && this.#waiting.size === 0) this.#answered.resolve()
    for (const project_id of committed.first_events) this.#first(project_id)
    this.#checkpoints.noteWritten(committed.bytes_written)
  }

  #finishCall(number: number, error: string | null, outcome: PersonChanged | null = null): void {
    const call = this.#calls.get(number)
    this.#calls.delete(number)
    if (error === null) call?.resolve(outcome)
    else call?.reject(new Error(error))
  }

  #first(project_id: number): void {
    this.#settings.onFirstEvent?.(project_id)
  }

  /** Whether what waits was stored is unknown now: its senders may repeat it, uuids keep it from doubling. */
  #break(message: string): void {
    this.#settings.log.error({ reason: message }, 'ingestion has stopped')
    this.#is_open = false
    for (const waiting of this.#waiting.values()) waiting.resolve(UNAVAILABLE)
    for (const call of this.#calls.values()) call.reject(new Error(message))
    this.#waiting.clear()
    this.#calls.clear()
    this.#answered.resolve()
    this.#opening.reject(new Error(message))
    this.#closed.resolve()
    this.#settings.onBroken?.(message)
  }
}

/** Whether a request that was prepared has not been written. */
function isLost(answer: CaptureAnswer | CaptureFailure): boolean {
  if (answer.kind === 'refused') return answer.code === UNAVAILABLE.code
  return answer.kind === 'failed'
}
