/**
 * The scheduler: which queries run, wait, share one execution or are cancelled.
 *
 * A query is found under its caller's id until it ends. It joins the execution of an equal query (single flight), or
 * starts one in its lane; an execution stops when its last caller has left. An execution may send the worker several
 * statements, and each waits for a place there (engine.ts). Both waits are a `ProjectQueue`. The first cannot be left to the
 * second: now() is the begin of an execution, so that nothing of it is compiled before its turn.
 *
 * The limits are settings: queries_running_max, of which the background has half, queries_waiting_max for statements and
 * queries_background_max.
 */

import { Refusal } from '../../errors.ts'
import { refuseCancelled } from '../engine/engine-refusals.ts'
import type { ComputedAnswer } from '../service/cache.ts'
import { type QueryStatus, type StatusKey, statusKeyText } from '../service/status.ts'
import { whenAborted } from './abort-signal.ts'
import { isOverShare, ProjectQueue, type QueueEntry } from './project-queue.ts'
import type { ProgressProbe, ScheduledQuery } from './scheduled-query.ts'

/**
 * `interactive`: the caller waits, the execution begins at once, and the engine's queue refuses it when that is full.
 * `background`: the execution begins when its project has its turn, and so never takes all of the engine's capacity.
 */
export type Lane = 'interactive' | 'background'

export type SchedulerLimits = {
  /** Executions and exports in the background at a time. */
  readonly background_running_max: number
  /** Those that may wait to begin. */
  readonly background_waiting_max: number
}

/** Maximum number of queries. Queries that share an execution count too, since each takes memory. */
export const QUERIES_MAX = 10_000
const RETRY_AFTER_S = 5

/** The connection between a running execution and its callers. */
export type RunningExecution = {
  readonly signal: AbortSignal
  /** The engine calls this when it begins the query. */
  readonly onBegin: (probe: ProgressProbe) => void
}

/** Computes a query; `now` is the value of now() in it. */
type ComputeAnswer = (now: Date, running: RunningExecution) => Promise<ComputedAnswer>

/** The query to execute, and how old a running execution may be to be shared. */
type ScheduleRequest = {
  /** Has the project, and the id under which the query is found and cancelled. */
  readonly status: QueryStatus
  /** Queries with the same key share an execution. */
  readonly cache_key: string
  /**
   * The greatest age of an execution that the query may join, in milliseconds; with 0 it joins only an execution that
   * waits.
   */
  readonly max_age_ms: number
  readonly lane: Lane
  readonly compute: ComputeAnswer
}

/** A place in the background lane. */
export type BackgroundSlot = {
  /** Resolves when the holder may begin. */
  readonly granted: Promise<void>
  /** Lets the holder begin at once, because a blocking caller now waits for the same answer. */
  readonly prioritize: () => void
  /** Frees the slot for the next one, after the end of its holder or instead of it. Idempotent. */
  readonly release: () => void
}

type QueuedSlot = QueueEntry & { readonly begin: () => void }

type SharedExecution = {
  readonly project_id: number
  /** Infinite before it begins, since it will read everything committed until then. Milliseconds since 1970. */
  begun_ms: number
  readonly callers: Set<object>
  readonly stop: AbortController
  readonly answer: Promise<ComputedAnswer>
  readonly begun: Promise<void>
  /** Null in the interactive lane. */
  readonly slot: BackgroundSlot | null
  probe: ProgressProbe
  /** The next execution of the same query, for callers to whom this one began too early. */
  next: SharedExecution | null
}

/** The begin time of an execution that may not be joined. */
const OUTDATED_MS = Number.NEGATIVE_INFINITY

export class Scheduler {
  readonly #now: () => Date
  readonly #background: ProjectQueue<QueuedSlot>
  /** The running execution of each cache key; a newer one follows in `next`. */
  readonly #executions = new Map<string, SharedExecution>()
  /** By project, caller and id: a caller may have sent several under the same id. */
  readonly #queries = new Map<string, readonly ScheduledQuery[]>()
  #query_count = 0
  #started = 0
  #last_slot_id = 0

  constructor(limits: SchedulerLimits, now: () => Date) {
    this.#now = now
    this.#background = new ProjectQueue({
      running_max: limits.background_running_max,
      waiting_max: limits.background_waiting_max,
    })
  }

  /** For health checks and tests: executions that run or wait, those begun so far, queries, and the background lane. */
  get state() {
    return {
      running: this.#executions.size,
      started: this.#started,
      requests: this.#query_count,
      background: this.#background.state,
    }
  }

  /**
   * Joins the execution of an equal query, or starts one. Refuses with `throttled` when there are too many queries, or
   * too many wait in the background, and the project has its fair share of them.
   */
  schedule(request: ScheduleRequest): ScheduledQuery {
    this.#requireRoom(request.status.project_id)
    const { cache_key, lane } = request
    const current = this.#executions.get(cache_key)
    const execution =
      current === undefined ? this.#start(request, null) : this.#joinOrFollow(request, current)
    if (lane === 'interactive') execution.slot?.prioritize()
    return this.#register(request, execution)
  }

  /** Takes a place in the background lane, as exports do. Refuses with `throttled` when too many wait. */
  takeSlot(project_id: number): BackgroundSlot {
    if (this.#background.isWaitingFull(project_id)) {
      const detail = 'Too many background queries are waiting. Try again soon.'
      throw new Refusal('throttled', detail, { retry_after_s: RETRY_AFTER_S })
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#last_slot_id += 1
    const slot: QueuedSlot = { id: this.#last_slot_id, project_id, begin: resolve }
    this.#background.add(slot)
    this.#beginSlots()
    const release = (): void => {
      this.#background.remove(slot)
      this.#beginSlots()
    }
    return {
      granted: promise,
      prioritize: () => {
        // It no longer counts against the background limit: the engine's queue limits blocking queries.
        release()
        slot.begin()
      },
      release,
    }
  }

  /** Finds the queries under an id. */
  find(key: StatusKey): readonly ScheduledQuery[] {
    return this.#queries.get(statusKeyText(key)) ?? []
  }

  /** All queries that run or wait, in the order in which they were asked. */
  list(): readonly ScheduledQuery[] {
    return [...this.#queries.values()].flat()
  }

  /** Cancels the queries under an id; an execution that others share goes on. Ignores an unknown id. */
  cancel(key: StatusKey): void {
    for (const query of this.find(key)) query.leave()
  }

  /** Cancels all queries about a project. */
  cancelProject(project_id: number): void {
    for (const query of [...this.#queries.values()].flat()) {
      if (query.status.project_id === project_id) query.leave()
    }
  }

  /** Closes the running executions of a project to new callers, because stored events of the project have changed. */
  outdate(project_id: number): void {
    for (const execution of this.#executions.values()) {
      const has_begun = Number.isFinite(execution.begun_ms)
      if (execution.project_id !== project_id || !has_begun) continue
      execution.begun_ms = OUTDATED_MS
    }
  }

  #requireRoom(project_id: number): void {
    if (this.#query_count < QUERIES_MAX) return
    const taken = [...this.#queries.values()].flat().map(({ status }) => status.project_id)
    if (!isOverShare(taken, project_id, QUERIES_MAX)) return
    const detail = 'Too many queries are being asked. Try again soon.'
    throw new Refusal('throttled', detail, { retry_after_s: RETRY_AFTER_S })
  }

  #beginSlots(): void {
    for (let slot = this.#background.takeNext(); slot !== null; slot = this.#background.takeNext())
      slot.begin()
  }

  /** Joins an execution that began recently enough; otherwise starts one that waits for its end, shared by all who come until then. */
  #joinOrFollow(request: ScheduleRequest, current: SharedExecution): SharedExecution {
    if (current.begun_ms > this.#now().getTime() - request.max_age_ms) return current
    if (current.next !== null) return current.next
    current.next = this.#start(request, current)
    return current.next
  }

  #start(request: ScheduleRequest, previous: SharedExecution | null): SharedExecution {
    const { project_id } = request.status
    const begun = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<ComputedAnswer>()
    // Callers receive a failure; without any, the rejection needs no handler.
    answer.promise.catch(() => undefined)
    const execution: SharedExecution = {
      project_id,
      begun_ms: Number.POSITIVE_INFINITY,
      callers: new Set(),
      stop: new AbortController(),
      answer: answer.promise,
      begun: begun.promise,
      slot: request.lane === 'background' ? this.takeSlot(project_id) : null,
      probe: async () => null,
      next: null,
    }
    if (previous === null) this.#executions.set(request.cache_key, execution)
    const running: RunningExecution = {
      signal: execution.stop.signal,
      onBegin: (probe) => {
        execution.probe = probe
        begun.resolve()
      },
    }
    this.#run(request, execution, { previous, running })
      .finally(() => {
        execution.slot?.release()
        this.#remove(request.cache_key, execution)
      })
      .then(answer.resolve, answer.reject)
    return execution
  }

  async #run(
    { compute }: ScheduleRequest,
    execution: SharedExecution,
    {
      previous,
      running,
    }: { readonly previous: SharedExecution | null; readonly running: RunningExecution },
  ): Promise<ComputedAnswer> {
    const stop_requested = whenAborted(running.signal)
    if (previous !== null)
      await Promise.race([previous.answer.catch(() => undefined), stop_requested])
    if (execution.slot !== null) await Promise.race([execution.slot.granted, stop_requested])
    if (running.signal.aborted) throw refuseCancelled()
    const now = this.#now()
    execution.begun_ms = now.getTime()
    this.#started += 1
    return compute(now, running)
  }

  /** Replaces an execution that has ended or was stopped by the next one of the same query. */
  #remove(cache_key: string, execution: SharedExecution): void {
    const current = this.#executions.get(cache_key)
    if (current === execution) {
      if (execution.next === null) this.#executions.delete(cache_key)
      else this.#executions.set(cache_key, execution.next)
    } else if (current?.next === execution) current.next = null
  }

  /** Makes a caller one of an execution's, and its query findable. */
  #register({ status, cache_key }: ScheduleRequest, execution: SharedExecution): ScheduledQuery {
    const caller = {}
    const left = Promise.withResolvers<never>()
    left.promise.catch(() => undefined)
    execution.callers.add(caller)
    const answer = Promise.race([execution.answer, left.promise])
    answer.catch(() => undefined)
    let begun_ms: number | null = null
    void execution.begun.then(() => (begun_ms = this.#now().getTime()))
    const query: ScheduledQuery = {
      status,
      answer,
      begun: execution.begun,
      begun_ms: () => begun_ms,
      probe: () => execution.probe(),
      isOutdated: () => execution.begun_ms === OUTDATED_MS,
      leave: () => {
        if (!execution.callers.delete(caller)) return
        left.reject(refuseCancelled())
        if (execution.callers.size > 0) return
        this.#remove(cache_key, execution)
        execution.stop.abort()
      },
      end: () => this.#unregister(query),
    }
    const key = statusKeyText(status)
    this.#queries.set(key, [...(this.#queries.get(key) ?? []), query])
    this.#query_count += 1
    return query
  }

  #unregister(query: ScheduledQuery): void {
    const key = statusKeyText(query.status)
    const before = this.#queries.get(key) ?? []
    const others = before.filter((other) => other !== query)
    this.#query_count -= before.length - others.length
    if (others.length === 0) this.#queries.delete(key)
    else this.#queries.set(key, others)
  }
}
