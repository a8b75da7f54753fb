/** A question comes in: answered from the cache, computed while its asker waits, or in the background. Interface §4.3. */
import type { Database } from 'bun:sqlite'
import { Refusal } from '../errors.ts'
import { resumeWork } from '../threads/this-thread.ts'
import type { HowAsked, HowExported, ServiceParts, ServiceSettings } from './asked.ts'
import { AnswerCache, type Computed } from './cache.ts'
import { openCacheDB } from './cache-db.ts'
import { Computations, type Hold } from './computations.ts'
import type { QueryEngine } from './engine.ts'
import { stopping } from './engine-refusals.ts'
import { answerBody, noAnswerBody, statusBody } from './envelope.ts'
import { type Flight, Flights, readProgress, statusOf } from './flights.ts'
import { exportInTurn } from './formats/exports.ts'
import type { RowForm } from './frames.ts'
import type { Prepared } from './prepared.ts'
import { cacheState, moveOf, patienceMs, type RefreshMode } from './refresh.ts'
import {
  isComplete,
  LOST,
  moveStatus,
  newId,
  newStatus,
  OUTDATED,
  type QueryStatus,
  type StatusEvent,
  type StatusKey,
} from './status.ts'
import { StatusStore } from './status-store.ts'
import { Turns } from './turns.ts'
import { waitFor } from './waiting.ts'

type Body = Uint8Array<ArrayBuffer>

/** As much of an unknown id as its refusal repeats. */
const SHOWN_ID_LENGTH_MAX = 100

export class QueryService {
  readonly #engine: Pick<QueryEngine, 'ask'>
  readonly #settings: ServiceSettings
  readonly #log: ServiceParts['log']
  readonly #now: () => Date
  readonly #db: Database
  readonly #cache: AnswerCache
  readonly #statuses: StatusStore
  readonly #computations: Computations
  readonly #turns: Turns
  readonly #flights = new Flights()
  #is_closed = false

  constructor({ data_dir, engine, settings, log, now }: ServiceParts) {
    this.#engine = engine
    this.#settings = settings
    this.#log = log
    this.#now = now
    this.#db = openCacheDB(data_dir)
    this.#cache = new AnswerCache(this.#db, settings.cache_bytes_max)
    this.#statuses = new StatusStore(this.#db, settings.cache_bytes_max)
    this.#statuses.restart(this.#now().getTime())
    this.#computations = new Computations(now)
    this.#turns = new Turns(settings.background_running_max, settings.background_waiting_max)
  }

  /** For health checks and tests. */
  get state() {
    return {
      ...this.#computations.state,
      asked: this.#flights.size,
      cache: this.#cache.state,
      background: this.#turns.state,
    }
  }

  /** Answers with a whole response body. Refuses what the question's kind and the engine refuse, and `throttled`. */
  async ask(question: Prepared, how: HowAsked): Promise<Body> {
    if (this.#is_closed) throw stopping()
    const { project_id, cache_key, freshness } = question
    const now_ms = this.#now().getTime()
    const known = this.#findAsked(question, how)
    if (known !== null) return this.#statusBody(known)
    const last_refresh_ms = this.#note(() => this.#cache.age(project_id, cache_key))
    const state = cacheState(how.mode, freshness, last_refresh_ms, now_ms)
    switch (moveOf(how.mode, state)) {
      case 'answer':
        return this.#cached(question, null)
      case 'answer_and_start':
        return this.#cached(question, this.#start(question, how, how.client_query_id ?? cache_key))
      case 'compute':
        return this.#compute(question, how)
      case 'miss':
        return noAnswerBody(question, null)
      case 'start':
        return noAnswerBody(question, this.#start(question, how, how.client_query_id ?? newId()))
    }
  }

  /**
   * Answers with rows as they come, in its turn among the background questions; `onEnd` is called when nothing more
   * comes. Refuses what the engine refuses at first, and questions whose answers are no rows.
   */
  async export(
    { project_id, sentInParts }: Prepared,
    form: RowForm,
    { signal, onEnd }: HowExported,
  ): Promise<ReadableStream<Uint8Array>> {
    if (sentInParts === null)
      throw new Refusal('invalid_input', `No ${form} for this kind of query.`)
    const { background_timeout_ms: timeout_ms, export_rows_max } = this.#settings
    const sent = sentInParts(form, export_rows_max, this.#now())
    // Readers may be slow: they never hold all places of the engine.
    const turn = this.#turns.take(project_id)
    return exportInTurn(this.#engine, sent, { timeout_ms, signal, onEnd, turn })
  }

  /** The body that tells the status of a question; refuses an id nobody asked under. */
  async readStatus(key: StatusKey, show_progress: boolean): Promise<Body> {
    const flight = this.#flights.find(key).at(-1)
    const stored = this.#findStored(key)
    const status = stored ?? (flight === undefined ? null : statusOf(flight))
    if (status === null) {
      const id = key.id.slice(0, SHOWN_ID_LENGTH_MAX)
      throw new Refusal('not_found', `Query ${id} not found for team ${key.project_id}`)
    }
    if (!show_progress || flight === undefined || isComplete(status))
      return this.#statusBody(status)
    return statusBody(status, null, await readProgress(flight, this.#now().getTime()))
  }

  /** Forgets a question, and stops its work unless others wait for the same. An unknown id is as good as cancelled. */
  cancel(key: StatusKey): void {
    const now_ms = this.#now().getTime()
    const status = this.#statuses.find(key, now_ms)
    if (status !== null) this.#note(() => this.#statuses.move(status, { kind: 'cancel' }, now_ms))
    for (const { hold } of this.#flights.find(key)) hold.leave()
  }

  /** Answers no question about a project from what was computed until now, as when a person's events are deleted. */
  forgetAnswers(project_id: number): void {
    this.#computations.outdate(project_id)
    this.#note(() => this.#cache.forget(project_id, this.#now().getTime()))
    this.#note(() => this.#statuses.forgetAnswered(project_id))
  }

  /** Forgets every answer and every question about a project, as when its data was deleted. */
  dropProject(project_id: number): void {
    for (const { hold } of this.#flights.ofProject(project_id)) hold.leave()
    this.#note(() => this.#cache.dropProject(project_id))
    this.#note(() => this.#statuses.dropProject(project_id))
  }

  /** Writes down what is under way as interrupted. Callers who wait are answered as the engine answers them. */
  close(): void {
    if (this.#is_closed) return
    this.#is_closed = true
    this.#statuses.restart(this.#now().getTime())
    this.#cache.flush()
    this.#db.close()
  }

  /** The status of an earlier question under the same id, for those who would only be told a status. */
  #findAsked({ project_id, caller }: Prepared, how: HowAsked): QueryStatus | null {
    const { mode, client_query_id: id } = how
    if (id === null || moveOf(mode, 'none') !== 'start') return null
    return this.#findStored({ project_id, caller, id })
  }

  /** What is known of a background question. One whose end could not be written down has failed. */
  #findStored(key: StatusKey): QueryStatus | null {
    const now_ms = this.#now().getTime()
    const status = this.#statuses.find(key, now_ms)
    if (status === null || isComplete(status)) return status
    const flights = this.#flights.find(key)
    if (flights.some((flight) => flight.status.task_id === status.task_id)) return status
    return moveStatus(status, { kind: 'fail', message: LOST }, now_ms)
  }

  #cached(question: Prepared, status: QueryStatus | null): Body {
    const { project_id, cache_key } = question
    const found = this.#cache.find(project_id, cache_key, this.#now().getTime())
    if (found === null) throw new Error('an answer left the cache while it was looked at')
    this.#note(() => this.#cache.flushMany())
    return answerBody(question, found, { is_cached: true, status })
  }

  async #compute(question: Prepared, how: HowAsked): Promise<Body> {
    this.#flights.requireRoom(question.project_id)
    const hold = this.#join(question, how.mode, null)
    const id = how.client_query_id ?? newId()
    const flight = this.#fly(question, hold, { id, is_async: false })
    try {
      const { timeout_ms } = this.#settings
      const computed = await waitFor(flight, { timeout_ms, signal: how.signal })
      resumeWork()
      return answerBody(question, computed, { is_cached: false, status: null })
    } finally {
      this.#flights.remove(flight)
    }
  }

  /** Starts a background question; one that is under way under the same id goes on instead. */
  #start(question: Prepared, how: HowAsked, id: string): QueryStatus {
    const { project_id, caller } = question
    const known = this.#findStored({ project_id, caller, id })
    if (known !== null && !isComplete(known)) return known
    this.#flights.requireRoom(question.project_id)
    const hold = this.#join(question, how.mode, () => this.#turns.take(question.project_id))
    const flight = this.#fly(question, hold, { id, is_async: true })
    if (this.#note(() => this.#statuses.add(flight.status)) === null) {
      // Nobody could be told what becomes of it.
      hold.leave()
      this.#flights.remove(flight)
      throw new Refusal('storage_unavailable', 'The query cannot be remembered now. Try again.')
    }
    void this.#follow(question, flight)
    return flight.status
  }

  /** Writes down what becomes of a background question. */
  async #follow(question: Prepared, flight: Flight): Promise<void> {
    const { status, hold } = flight
    const at = (): number => this.#now().getTime()
    const note = (event: StatusEvent, results?: Body): void => {
      this.#note(() => this.#statuses.move(status, event, at(), results))
    }
    void hold.begun.then(() => note({ kind: 'start' }))
    try {
      const computed = await hold.answer
      if (hold.isOutdated()) note({ kind: 'fail', message: OUTDATED })
      else
        note({ kind: 'finish' }, answerBody(question, computed, { is_cached: false, status: null }))
    } catch (error) {
      note({ kind: 'fail', message: this.#messageOf(error) })
    } finally {
      this.#flights.remove(flight)
    }
  }

  /** Reads or writes what may be lost: a disk that is full or broken fails no question. Null when it did not work. */
  #note<T>(work: () => T): T | null {
    if (this.#is_closed) return null
    try {
      return work()
    } catch (err) {
      this.#log.error({ err }, 'cache.db cannot be used')
      return null
    }
  }

  /** What the reader of a status is told; faults of ours go to the log, under an id that the message names. */
  #messageOf(error: unknown): string {
    if (error instanceof Refusal) return error.detail
    const error_id = crypto.randomUUID()
    this.#log.error({ err: error, error_id }, 'a background query failed')
    return `A server error occurred. (error id ${error_id})`
  }

  #join(
    question: Prepared,
    mode: RefreshMode,
    takeTurn: (() => ReturnType<Turns['take']>) | null,
  ): Hold {
    const { project_id, cache_key, freshness } = question
    const { background_timeout_ms: timeout_ms } = this.#settings
    return this.#computations.join({
      project_id,
      cache_key,
      patience_ms: patienceMs(mode, freshness, Number.NEGATIVE_INFINITY),
      takeTurn,
      compute: async (now, { signal, onBegin }) => {
        const is_patient = takeTurn !== null
        const computed = await question.compute(async (asked) => {
          const answer = await this.#engine.ask(asked, {
            timeout_ms,
            signal,
            onBegin,
            is_patient,
          })
          resumeWork()
          return answer
        }, now)
        this.#keep(project_id, cache_key, computed, signal)
        return computed
      },
    })
  }

  #keep(project_id: number, cache_key: string, computed: Computed, signal: AbortSignal): void {
    // A project may have been deleted meanwhile; then all who asked have left.
    if (signal.aborted) return
    this.#note(() => this.#cache.put(project_id, cache_key, computed, this.#now().getTime()))
  }

  #fly(
    question: Prepared,
    hold: Hold,
    { id, is_async }: { id: string; is_async: boolean },
  ): Flight {
    const { project_id, caller, labels } = question
    const asked = { id, project_id, caller, labels, query_async: is_async, task_id: newId() }
    let begun_ms: number | null = null
    void hold.begun.then(() => (begun_ms = this.#now().getTime()))
    const status = newStatus(asked, this.#now().getTime())
    const flight: Flight = { status, hold, begun_ms: () => begun_ms }
    this.#flights.add(flight)
    return flight
  }

  #statusBody(status: QueryStatus): Body {
    const results = isComplete(status) ? this.#statuses.findResults(status) : null
    return statusBody(status, results, null)
  }
}
