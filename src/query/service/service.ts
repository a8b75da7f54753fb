/** A query comes in: answered from the cache, computed while its caller waits, or in the background. */

import type { Database } from 'bun:sqlite'
import { Refusal } from '../../errors.ts'
import { resumeWork } from '../../threads/this-thread.ts'
import type { QueryEngine } from '../engine/engine.ts'
import { stopping } from '../engine/engine-refusals.ts'
import { exportWithBackpressure } from '../engine/exports.ts'
import type { RowForm } from '../engine/protocol.ts'
import type { PreparedQuery } from '../kinds/prepared-query.ts'
import { awaitResult } from './await-result.ts'
import { BackgroundSlots } from './background-slots.ts'
import { AnswerCache, type ComputedAnswer, openCacheDB } from './cache.ts'
import { type AnswerParts, answerParts, joinParts, noAnswerParts, statusBody } from './envelope.ts'
import { cacheState, moveOf, patienceMs, type RefreshMode } from './refresh.ts'
import { RunningQueries, type RunningQuery, readProgress, statusOf } from './running-queries.ts'
import { SharedExecutions, type Subscription } from './shared-executions.ts'
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

export type ServiceSettings = {
  /** How long a caller waits for an answer. */
  readonly timeout_ms: number
  /** How long a query may take in the background. */
  readonly background_timeout_ms: number
  readonly background_running_max: number
  readonly background_waiting_max: number
  /** Bytes of answers kept, and as much again for results of background queries. */
  readonly cache_bytes_max: number
  readonly export_rows_max: number
}

export type ServiceContext = {
  readonly data_dir: string
  readonly engine: Pick<QueryEngine, 'ask'>
  readonly settings: ServiceSettings
  readonly log: { error(fields: object, message: string): void }
  readonly now: () => Date
}

/** How a query is asked. */
export type QueryRequestOptions = {
  readonly mode: RefreshMode
  /** The name under which its status is read and it is cancelled; null for one of our own. */
  readonly client_query_id: string | null
  /** Aborting says that the caller does not wait any more. */
  readonly signal: AbortSignal
}

export type ExportRequestOptions = {
  /** Aborting says that nobody reads any more. */
  readonly signal: AbortSignal
  /** Called when nothing more comes; not when the export is refused. */
  readonly onEnd: () => void
}

type ServiceBody = Uint8Array<ArrayBuffer>

/** As much of an unknown id as its refusal repeats. */
const SHOWN_ID_LENGTH_MAX = 100

export class QueryService {
  readonly #engine: Pick<QueryEngine, 'ask'>
  readonly #settings: ServiceSettings
  readonly #log: ServiceContext['log']
  readonly #now: () => Date
  readonly #db: Database
  readonly #cache: AnswerCache
  readonly #statuses: StatusStore
  readonly #computations: SharedExecutions
  readonly #turns: BackgroundSlots
  readonly #flights = new RunningQueries()
  #is_closed = false

  constructor({ data_dir, engine, settings, log, now }: ServiceContext) {
    this.#engine = engine
    this.#settings = settings
    this.#log = log
    this.#now = now
    this.#db = openCacheDB(data_dir)
    this.#cache = new AnswerCache(this.#db, settings.cache_bytes_max)
    this.#statuses = new StatusStore(this.#db, settings.cache_bytes_max)
    this.#statuses.restart(this.#now().getTime())
    this.#computations = new SharedExecutions(now)
    this.#turns = new BackgroundSlots(
      settings.background_running_max,
      settings.background_waiting_max,
    )
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

  /** Answers with a whole response body. Refuses what the query's kind and the engine refuse, and `throttled`. */
  async ask(query: PreparedQuery, how: QueryRequestOptions): Promise<ServiceBody> {
    if (this.#is_closed) throw stopping()
    const known = this.#findAsked(query, how)
    return known === null ? joinParts(await this.askInParts(query, how)) : this.#statusBody(known)
  }

  /**
   * Answers with the results beside the rest of the body, for callers who put them into an answer of their own. Refuses as
   * `ask` does.
   */
  async askInParts(query: PreparedQuery, how: QueryRequestOptions): Promise<AnswerParts> {
    if (this.#is_closed) throw stopping()
    const { project_id, cache_key, freshness } = query
    const now_ms = this.#now().getTime()
    const last_refresh_ms = this.#note(() => this.#cache.age(project_id, cache_key))
    const state = cacheState(how.mode, freshness, last_refresh_ms, now_ms)
    switch (moveOf(how.mode, state)) {
      case 'answer':
        return this.#cached(query, null)
      case 'answer_and_start':
        return this.#cached(query, this.#start(query, how, how.client_query_id ?? cache_key))
      case 'compute':
        return this.#compute(query, how)
      case 'miss':
        return noAnswerParts(query, null)
      case 'start':
        return noAnswerParts(query, this.#start(query, how, how.client_query_id ?? newId()))
    }
  }

  /**
   * Answers with rows as they come, in its turn among the background queries; `onEnd` is called when nothing more
   * comes. Refuses what the engine refuses at first, and queries whose answers are no rows.
   */
  async export(
    { project_id, sentInParts }: PreparedQuery,
    form: RowForm,
    { signal, onEnd }: ExportRequestOptions,
  ): Promise<ReadableStream<Uint8Array>> {
    if (sentInParts === null)
      throw new Refusal('invalid_input', `No ${form} for this kind of query.`)
    const { background_timeout_ms: timeout_ms, export_rows_max } = this.#settings
    const input = sentInParts(form, export_rows_max, this.#now())
    // Readers may be slow: they never hold all places of the engine.
    const slot = this.#turns.take(project_id)
    return exportWithBackpressure(this.#engine, input, { timeout_ms, signal, onEnd, turn: slot })
  }

  /** The body that tells the status of a query; refuses an id nobody asked under. */
  async readStatus(key: StatusKey, show_progress: boolean): Promise<ServiceBody> {
    const running = this.#flights.find(key).at(-1)
    const stored = this.#findStored(key)
    const status = stored ?? (running === undefined ? null : statusOf(running))
    if (status === null) {
      const id = key.id.slice(0, SHOWN_ID_LENGTH_MAX)
      throw new Refusal('not_found', `Query ${id} not found for team ${key.project_id}`)
    }
    if (!show_progress || running === undefined || isComplete(status))
      return this.#statusBody(status)
    return statusBody(status, null, await readProgress(running, this.#now().getTime()))
  }

  /** Forgets a query, and stops its work unless others wait for the same. An unknown id is as good as cancelled. */
  cancel(key: StatusKey): void {
    const now_ms = this.#now().getTime()
    const status = this.#statuses.find(key, now_ms)
    if (status !== null) this.#note(() => this.#statuses.move(status, { kind: 'cancel' }, now_ms))
    for (const { subscription } of this.#flights.find(key)) subscription.leave()
  }

  /** Answers no query about a project from what was computed until now, as when a person's events are deleted. */
  forgetAnswers(project_id: number): void {
    this.#computations.outdate(project_id)
    this.#note(() => this.#cache.forget(project_id, this.#now().getTime()))
    this.#note(() => this.#statuses.forgetAnswered(project_id))
  }

  /** Forgets every answer and every query about a project, as when its data was deleted. */
  dropProject(project_id: number): void {
    for (const { subscription } of this.#flights.ofProject(project_id)) subscription.leave()
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

  /** The status of an earlier query under the same id, for those who would only be told a status. */
  #findAsked({ project_id, caller }: PreparedQuery, how: QueryRequestOptions): QueryStatus | null {
    const { mode, client_query_id: id } = how
    if (id === null || moveOf(mode, 'none') !== 'start') return null
    return this.#findStored({ project_id, caller, id })
  }

  /** What is known of a background query. One whose end could not be written down has failed. */
  #findStored(key: StatusKey): QueryStatus | null {
    const now_ms = this.#now().getTime()
    const status = this.#statuses.find(key, now_ms)
    if (status === null || isComplete(status)) return status
    const flights = this.#flights.find(key)
    if (flights.some((running) => running.status.task_id === status.task_id)) return status
    return moveStatus(status, { kind: 'fail', message: LOST }, now_ms)
  }

  #cached(query: PreparedQuery, status: QueryStatus | null): AnswerParts {
    const { project_id, cache_key } = query
    const found = this.#cache.find(project_id, cache_key, this.#now().getTime())
    if (found === null) throw new Error('an answer left the cache while it was looked at')
    this.#note(() => this.#cache.flushMany())
    return answerParts(query, found, { is_cached: true, status })
  }

  async #compute(query: PreparedQuery, how: QueryRequestOptions): Promise<AnswerParts> {
    this.#flights.requireRoom(query.project_id)
    const subscription = this.#join(query, how.mode, null)
    const id = how.client_query_id ?? newId()
    const running = this.#fly(query, subscription, { id, is_async: false })
    try {
      const { timeout_ms } = this.#settings
      const computed = await awaitResult(running, { timeout_ms, signal: how.signal })
      resumeWork()
      return answerParts(query, computed, { is_cached: false, status: null })
    } finally {
      this.#flights.remove(running)
    }
  }

  /** Starts a background query; one that is under way under the same id goes on instead. */
  #start(query: PreparedQuery, how: QueryRequestOptions, id: string): QueryStatus {
    const { project_id, caller } = query
    const known = this.#findStored({ project_id, caller, id })
    if (known !== null && !isComplete(known)) return known
    this.#flights.requireRoom(query.project_id)
    const subscription = this.#join(query, how.mode, () => this.#turns.take(query.project_id))
    const running = this.#fly(query, subscription, { id, is_async: true })
    if (this.#note(() => this.#statuses.add(running.status)) === null) {
      // Nobody could be told what becomes of it.
      subscription.leave()
      this.#flights.remove(running)
      throw new Refusal('storage_unavailable', 'The query cannot be remembered now. Try again.')
    }
    void this.#follow(query, running)
    return running.status
  }

  /** Writes down what becomes of a background query. */
  async #follow(query: PreparedQuery, running: RunningQuery): Promise<void> {
    const { status, subscription } = running
    const at = (): number => this.#now().getTime()
    const note = (event: StatusEvent, results?: ServiceBody): void => {
      this.#note(() => this.#statuses.move(status, event, at(), results))
    }
    void subscription.begun.then(() => note({ kind: 'start' }))
    try {
      const computed = await subscription.answer
      if (subscription.isOutdated()) note({ kind: 'fail', message: OUTDATED })
      else {
        const parts = answerParts(query, computed, { is_cached: false, status: null })
        note({ kind: 'finish' }, joinParts(parts))
      }
    } catch (error) {
      note({ kind: 'fail', message: this.#messageOf(error) })
    } finally {
      this.#flights.remove(running)
    }
  }

  /** Reads or writes what may be lost: a disk that is full or broken fails no query. Null when it did not work. */
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
    query: PreparedQuery,
    mode: RefreshMode,
    takeTurn: (() => ReturnType<BackgroundSlots['take']>) | null,
  ): Subscription {
    const { project_id, cache_key, freshness } = query
    const { background_timeout_ms: timeout_ms } = this.#settings
    return this.#computations.join({
      project_id,
      cache_key,
      patience_ms: patienceMs(mode, freshness, Number.NEGATIVE_INFINITY),
      takeSlot: takeTurn,
      compute: async (now, { signal, onBegin }) => {
        const is_patient = takeTurn !== null
        const computed = await query.compute(async (options) => {
          const answer = await this.#engine.ask(options, {
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

  #keep(
    project_id: number,
    cache_key: string,
    computed: ComputedAnswer,
    signal: AbortSignal,
  ): void {
    // A project may have been deleted meanwhile; then all who asked have left.
    if (signal.aborted) return
    this.#note(() => this.#cache.put(project_id, cache_key, computed, this.#now().getTime()))
  }

  #fly(
    query: PreparedQuery,
    subscription: Subscription,
    { id, is_async }: { id: string; is_async: boolean },
  ): RunningQuery {
    const { project_id, caller, labels } = query
    const options = { id, project_id, caller, labels, query_async: is_async, task_id: newId() }
    let begun_ms: number | null = null
    void subscription.begun.then(() => (begun_ms = this.#now().getTime()))
    const status = newStatus(options, this.#now().getTime())
    const running: RunningQuery = { status, subscription, begun_ms: () => begun_ms }
    this.#flights.add(running)
    return running
  }

  #statusBody(status: QueryStatus): ServiceBody {
    const results = isComplete(status) ? this.#statuses.findResults(status) : null
    return statusBody(status, results, null)
  }
}
