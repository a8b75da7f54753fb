/** The query service: answers from the cache, computes while the caller waits, or in the background, as REFRESH decides. */

import type { Database } from 'bun:sqlite'
import { Refusal } from '../../errors.ts'
import { currentSpan, resumeWork } from '../../threads/this-thread.ts'
import { secondsSince, type Timings } from '../../threads/timings.ts'
import type { RequestSpan } from '../../threads/traces.ts'
import type { QueryEngine } from '../engine/engine.ts'
import { stopping } from '../engine/engine-refusals.ts'
import { exportWithBackpressure } from '../engine/exports.ts'
import type { RowForm } from '../engine/protocol.ts'
import type { PreparedQuery, RunQuery } from '../kinds/prepared-query.ts'
import {
  awaitAnswer,
  readProgress,
  type ScheduledQuery,
  statusOf,
} from '../scheduling/scheduled-query.ts'
import { type Lane, Scheduler, type SchedulerLimits } from '../scheduling/scheduler.ts'
import { AnswerCache, type ComputedAnswer, openCacheDB } from './cache.ts'
import { EndedStatuses } from './ended-statuses.ts'
import {
  type AnswerParts,
  answerParts,
  cachedAnswerParts,
  joinParts,
  noAnswerParts,
  statusBody,
} from './envelope.ts'
import { actionOf, cacheState, maxAgeMs, type RefreshMode } from './refresh.ts'
import { SlowQueries, type SlowQuerySettings } from './slow-queries.ts'
import {
  changeStatus,
  isComplete,
  LOST,
  newId,
  newStatus,
  OUTDATED,
  type QueryStatus,
  type StatusEvent,
  type StatusKey,
} from './status.ts'
import { StatusStore } from './status-store.ts'

type ServiceSettings = SchedulerLimits &
  SlowQuerySettings & {
    /** The time that a caller waits for an answer. */
    readonly timeout_ms: number
    /** The time that a query may take in the background. */
    readonly background_timeout_ms: number
    /** Bytes of cached answers, and as many again for results of background queries. */
    readonly cache_bytes_max: number
    /** Rows of an export; 0 for no limit. */
    readonly export_rows_max: number
    /** Bytes that an export may send. */
    readonly export_bytes_max: number
    /** The time that an export may take, its reader included. */
    readonly export_timeout_ms: number
  }

type ServiceContext = {
  readonly data_dir: string
  readonly engine: Pick<QueryEngine, 'run'>
  readonly settings: ServiceSettings
  readonly timings: Pick<Timings, 'queries' | 'query_waits'>
  readonly log: {
    error(fields: object, message: string): void
    warn(fields: object, message: string): void
  }
  readonly now: () => Date
}

/** The options of a request for its query. */
type QueryRequestOptions = {
  readonly mode: RefreshMode
  /** The id under which the query's status is read and the query is cancelled; null lets the service choose one. */
  readonly client_query_id: string | null
  /** Aborted when the caller has left. */
  readonly signal: AbortSignal
}

type ExportRequestOptions = {
  /** Aborted when the reader has left. */
  readonly signal: AbortSignal
  /** Called when the stream has ended; not when the export is refused. */
  readonly onEnd: () => void
}

type ServiceBody = Uint8Array<ArrayBuffer>

/** A LIMIT that no export reaches: one row more is still a whole number without loss. */
const UNLIMITED_ROWS = Number.MAX_SAFE_INTEGER - 1

/** A query as an operator sees it, without its text. */
type RunningQuery = {
  readonly id: string
  readonly project_id: number
  readonly lane: Lane
  /** Its kind, and the name that its caller gave it. */
  readonly labels: readonly string[]
  readonly state: QueryStatus['state']
  readonly elapsed_ms: number
}

const NO_CACHE = 'cache.db cannot be opened: answers are kept in memory until the next start'

/** A refusal repeats an unknown id up to this length. */
const SHOWN_ID_LENGTH_MAX = 100

export class QueryService {
  readonly #engine: Pick<QueryEngine, 'run'>
  readonly #settings: ServiceSettings
  readonly #timings: ServiceContext['timings']
  readonly #log: ServiceContext['log']
  readonly #now: () => Date
  readonly #db: Database
  readonly #cache: AnswerCache
  readonly #statuses: StatusStore
  readonly #scheduler: Scheduler
  readonly #ended = new EndedStatuses()
  readonly #slow: SlowQueries
  #is_closed = false

  constructor({ data_dir, engine, settings, timings, log, now }: ServiceContext) {
    this.#engine = engine
    this.#settings = settings
    this.#timings = timings
    this.#log = log
    this.#now = now
    this.#db = openCacheDB(data_dir, (err) => log.error({ err }, NO_CACHE))
    this.#cache = new AnswerCache(this.#db, settings.cache_bytes_max)
    this.#statuses = new StatusStore(this.#db, settings.cache_bytes_max)
    this.#tryCache(() => this.#statuses.restart(this.#now().getTime()))
    this.#scheduler = new Scheduler(settings, now)
    const limits = { timeout_ms: settings.timeout_ms, is_background: true }
    this.#slow = new SlowQueries(settings, log, (query) => engine.run(query, limits))
  }

  /** For health checks and tests. */
  get state() {
    return { ...this.#scheduler.state, cache: this.#cache.state }
  }

  /** Answers with a whole response body. Refuses what the query's kind and the engine refuse, and `throttled`. */
  async answer(query: PreparedQuery, how: QueryRequestOptions): Promise<ServiceBody> {
    if (this.#is_closed) throw stopping()
    const earlier = this.#findEarlier(query, how)
    return earlier === null
      ? joinParts(await this.answerInParts(query, how))
      : this.#statusBody(earlier)
  }

  /**
   * Answers with the results beside the rest of the body, for callers who put them into an answer of their own. Refuses as
   * `answer` does.
   */
  async answerInParts(query: PreparedQuery, how: QueryRequestOptions): Promise<AnswerParts> {
    if (this.#is_closed) throw stopping()
    const { project_id, cache_key, freshness } = query
    const now_ms = this.#now().getTime()
    const answer = this.#tryCache(() => this.#cache.findTimes(project_id, cache_key))
    const state = cacheState(how.mode, freshness, answer, now_ms)
    switch (actionOf(how.mode, state)) {
      case 'answer':
        return this.#answerFromCache(query, null)
      case 'answer_and_start':
        return this.#answerFromCache(
          query,
          this.#start(query, how, how.client_query_id ?? cache_key),
        )
      case 'compute':
        return this.#compute(query, how)
      case 'miss':
        return noAnswerParts(query, null)
      case 'start':
        return noAnswerParts(query, this.#start(query, how, how.client_query_id ?? newId()))
    }
  }

  /**
   * Streams rows as the engine produces them, in a slot of the background queries. Refuses what the engine refuses
   * before the first byte, and queries whose answers are not rows.
   */
  async export(
    { project_id, buildExport }: PreparedQuery,
    form: RowForm,
    { signal, onEnd }: ExportRequestOptions,
  ): Promise<ReadableStream<Uint8Array>> {
    if (buildExport === null)
      throw new Refusal('invalid_input', `This kind of query has no ${form}.`)
    const { export_timeout_ms: timeout_ms, export_bytes_max: bytes_max } = this.#settings
    const input = buildExport(form, this.#settings.export_rows_max || UNLIMITED_ROWS, this.#now())
    // Readers may be slow: as background queries, exports never take all of the engine's capacity.
    const slot = this.#scheduler.takeSlot(project_id)
    const onBreak = (err: unknown): void =>
      this.#log.warn({ project_id, form, err }, 'an export broke off')
    const options = { timeout_ms, bytes_max, signal, onEnd, onBreak, slot }
    return exportWithBackpressure(this.#engine, input, options)
  }

  /** Builds the body with the status of a query; refuses an unknown id with `not_found`. */
  async readStatus(key: StatusKey, show_progress: boolean): Promise<ServiceBody> {
    const now_ms = this.#now().getTime()
    const running = this.#scheduler.find(key).at(-1)
    const status =
      this.#findStored(key) ??
      (running === undefined ? this.#ended.find(key, now_ms) : statusOf(running))
    if (status === null) {
      const id = key.id.slice(0, SHOWN_ID_LENGTH_MAX)
      throw new Refusal('not_found', `Query ${id} not found for team ${key.project_id}`)
    }
    if (!show_progress || running === undefined || isComplete(status))
      return this.#statusBody(status)
    return statusBody(status, null, await readProgress(running, now_ms))
  }

  /** Cancels a query, and stops its execution unless other callers share it. Ignores an unknown id. */
  cancel(key: StatusKey): void {
    const now_ms = this.#now().getTime()
    const status = this.#statuses.find(key, now_ms)
    if (status !== null)
      this.#tryCache(() => this.#statuses.move(status, { kind: 'cancel' }, now_ms))
    this.#scheduler.cancel(key)
  }

  /** Every query that runs or waits, of all projects, in the order in which they were asked. For operators. */
  listRunning(): readonly RunningQuery[] {
    const now_ms = this.#now().getTime()
    return this.#scheduler.list().map((query) => {
      const { task_id, project_id, query_async, labels, state, start_ms } = statusOf(query)
      const lane = query_async ? 'background' : 'interactive'
      return { id: task_id, project_id, lane, labels, state, elapsed_ms: now_ms - start_ms }
    })
  }

  /** Cancels the query with an id of `listRunning`; false when there is none. */
  cancelRunning(id: string): boolean {
    const query = this.#scheduler.list().find(({ status }) => status.task_id === id)
    if (query === undefined) return false
    const { project_id, caller, id: own_id } = query.status
    this.cancel({ project_id, caller, id: own_id })
    return true
  }

  /** Invalidates every answer about a project that was computed until now, as when a person's events are deleted. */
  forgetAnswers(project_id: number): void {
    this.#scheduler.outdate(project_id)
    this.#tryCache(() => this.#cache.forget(project_id, this.#now().getTime()))
    this.#tryCache(() => this.#statuses.forgetAnswered(project_id))
  }

  /** Deletes every answer and cancels every query about a project, as when its data is deleted. */
  dropProject(project_id: number): void {
    this.#scheduler.cancelProject(project_id)
    this.#tryCache(() => this.#cache.dropProject(project_id))
    this.#tryCache(() => this.#statuses.dropProject(project_id))
  }

  /** Marks background queries as interrupted. The engine answers the callers that still wait. */
  close(): void {
    if (this.#is_closed) return
    this.#tryCache(() => this.#cache.write())
    this.#tryCache(() => this.#cache.flush())
    this.#tryCache(() => this.#statuses.restart(this.#now().getTime()))
    this.#is_closed = true
    this.#db.close()
  }

  /** The status of an earlier query under the same id, in modes that would answer with a status only. */
  #findEarlier(
    { project_id, caller }: PreparedQuery,
    how: QueryRequestOptions,
  ): QueryStatus | null {
    const { mode, client_query_id: id } = how
    if (id === null || actionOf(mode, 'none') !== 'start') return null
    return this.#findStored({ project_id, caller, id })
  }

  /** Finds the status of a background query. A query whose end could not be stored has failed. */
  #findStored(key: StatusKey): QueryStatus | null {
    const now_ms = this.#now().getTime()
    const status = this.#statuses.find(key, now_ms)
    if (status === null || isComplete(status)) return status
    const running_queries = this.#scheduler.find(key)
    if (running_queries.some((running) => running.status.task_id === status.task_id)) return status
    return changeStatus(status, { kind: 'fail', message: LOST }, now_ms)
  }

  #answerFromCache(query: PreparedQuery, status: QueryStatus | null): AnswerParts {
    const { project_id, cache_key } = query
    const answer = this.#cache.find(project_id, cache_key, this.#now().getTime())
    if (answer === null) throw new Error('an answer left the cache between two reads')
    this.#tryCache(() => this.#cache.flushWhenMany())
    return status === null
      ? cachedAnswerParts(query, answer)
      : answerParts(query, answer, { is_cached: true, status })
  }

  async #compute(query: PreparedQuery, how: QueryRequestOptions): Promise<AnswerParts> {
    const id = how.client_query_id ?? newId()
    const running = this.#schedule(query, { mode: how.mode, id, lane: 'interactive' })
    const keepEnd = (event: StatusEvent): void => {
      if (how.client_query_id === null) return
      this.#ended.keep(running.status, event, this.#now().getTime())
    }
    try {
      const { timeout_ms } = this.#settings
      const computed = await awaitAnswer(running, { timeout_ms, signal: how.signal })
      keepEnd({ kind: 'finish' })
      resumeWork()
      return answerParts(query, computed, { is_cached: false, status: null })
    } catch (error) {
      if (error instanceof Refusal && error.code !== 'query_cancelled')
        keepEnd({ kind: 'fail', message: error.detail })
      throw error
    } finally {
      running.end()
    }
  }

  /** Starts a background query, unless one with the same id still runs. */
  #start(query: PreparedQuery, how: QueryRequestOptions, id: string): QueryStatus {
    const { project_id, caller } = query
    const stored = this.#findStored({ project_id, caller, id })
    if (stored !== null && !isComplete(stored)) return stored
    const running = this.#schedule(query, { mode: how.mode, id, lane: 'background' })
    if (this.#tryCache(() => this.#statuses.add(running.status)) === null) {
      // Without a stored status no caller could read the result.
      running.leave()
      running.end()
      throw new Refusal('storage_unavailable', 'The query cannot be remembered now. Try again.')
    }
    void this.#follow(query, running)
    return running.status
  }

  /** Stores the begin and the end of a background query. */
  async #follow(query: PreparedQuery, running: ScheduledQuery): Promise<void> {
    const { status } = running
    const at = (): number => this.#now().getTime()
    const move = (event: StatusEvent, results?: ServiceBody): void => {
      this.#tryCache(() => this.#statuses.move(status, event, at(), results))
    }
    void running.begun.then(() => move({ kind: 'start' }))
    try {
      const computed = await running.answer
      if (running.isOutdated()) move({ kind: 'fail', message: OUTDATED })
      else {
        const parts = answerParts(query, computed, { is_cached: false, status: null })
        move({ kind: 'finish' }, joinParts(parts))
      }
    } catch (error) {
      move({ kind: 'fail', message: this.#messageOf(error) })
    } finally {
      running.end()
    }
  }

  /** Reads or writes cache.db; returns null on an error, so that a full or broken disk fails no query. */
  #tryCache<T>(work: () => T): T | null {
    if (this.#is_closed) return null
    try {
      return work()
    } catch (err) {
      this.#log.error({ err }, 'cache.db cannot be used')
      return null
    }
  }

  /** The message of a failed query. An unexpected error goes to the log under an id that the message repeats. */
  #messageOf(error: unknown): string {
    if (error instanceof Refusal) return error.detail
    const error_id = crypto.randomUUID()
    this.#log.error({ err: error, error_id }, 'a background query failed')
    return `A server error occurred. (error id ${error_id})`
  }

  #schedule(
    query: PreparedQuery,
    { mode, id, lane }: { readonly mode: RefreshMode; readonly id: string; readonly lane: Lane },
  ): ScheduledQuery {
    const { project_id, caller, labels, cache_key, freshness } = query
    const { background_timeout_ms: timeout_ms } = this.#settings
    const is_background = lane === 'background'
    const options = { id, project_id, caller, labels, query_async: is_background, task_id: newId() }
    const scheduled_ms = performance.now()
    const span = currentSpan()
    return this.#scheduler.schedule({
      status: newStatus(options, this.#now().getTime()),
      cache_key,
      max_age_ms: maxAgeMs(mode, freshness, null),
      lane,
      compute: async (now, { signal, onBegin }) => {
        this.#timings.query_waits.with(lane).record(secondsSince(scheduled_ms))
        span?.addPart('query wait', scheduled_ms, { 'tidemark.lane': lane })
        const run: RunQuery = async (statement) => {
          const limits = { timeout_ms, signal, onBegin, is_background }
          const answer = await this.#engine.run(statement, limits)
          resumeWork()
          return answer
        }
        const computed = await this.#timeExecution({ lane, span }, () =>
          this.#slow.watch(query, run, now),
        )
        this.#cacheAnswer(project_id, cache_key, computed, signal)
        return computed
      },
    })
  }

  /** Records how long an execution takes. Its outcome is `done`, a refusal's code, or `failed`. */
  async #timeExecution<T>(
    { lane, span }: { readonly lane: Lane; readonly span: RequestSpan | null },
    execute: () => Promise<T>,
  ): Promise<T> {
    const started_ms = performance.now()
    let outcome = 'failed'
    try {
      const result = await execute()
      outcome = 'done'
      return result
    } catch (error) {
      if (error instanceof Refusal) outcome = error.code
      throw error
    } finally {
      this.#timings.queries.with(lane, outcome).record(secondsSince(started_ms))
      const attributes = { 'tidemark.lane': lane, 'tidemark.outcome': outcome }
      span?.addPart('query', started_ms, attributes, outcome === 'failed')
    }
  }

  #cacheAnswer(
    project_id: number,
    cache_key: string,
    computed: ComputedAnswer,
    signal: AbortSignal,
  ): void {
    // The project may have been deleted meanwhile; dropProject has then ended every subscription.
    if (signal.aborted) return
    const is_first = this.#cache.keep(project_id, cache_key, computed, this.#now().getTime())
    if (is_first) setImmediate(() => this.#tryCache(() => this.#cache.write()))
  }

  #statusBody(status: QueryStatus): ServiceBody {
    const results = isComplete(status) ? this.#statuses.findResults(status) : null
    return statusBody(status, results, null)
  }
}
