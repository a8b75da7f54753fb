/** Single flight: equal queries share one execution, which stops when its last caller has left. */
import { Refusal } from '../../errors.ts'
import type { QueryProgressCounts } from '../engine/protocol.ts'
import { whenAborted } from './abort-signal.ts'
import type { BackgroundSlot } from './background-slots.ts'
import type { ComputedAnswer } from './cache.ts'

/** The connection between a running execution and its callers. */
export type RunningExecution = {
  readonly signal: AbortSignal
  /** The engine calls this when it begins the query. */
  readonly onBegin: (probe: ProgressProbe) => void
}

/** Reads the progress of a running query; null when it is not available. */
export type ProgressProbe = () => Promise<QueryProgressCounts | null>

/** Computes a query; `now` is the value of now() in it. */
export type ComputeAnswer = (now: Date, running: RunningExecution) => Promise<ComputedAnswer>

/** One caller's part in an execution. */
export type Subscription = {
  /** The answer. Refuses what the execution refuses, and with `query_cancelled` after `leave`. */
  readonly answer: Promise<ComputedAnswer>
  /** Resolves when the engine begins the query; pending for ever when it does not. */
  readonly begun: Promise<void>
  readonly probe: ProgressProbe
  /** True when stored events of the project changed after the execution began: later callers must not get its answer. */
  readonly isOutdated: () => boolean
  /** Ends the caller's part. Idempotent. */
  readonly leave: () => void
}

/** The query to execute, and how old a running execution may be to be shared. */
export type ExecutionRequest = {
  readonly project_id: number
  readonly cache_key: string
  /** An execution that began longer ago is not joined; with 0, only one that has not begun. Milliseconds. */
  readonly patience_ms: number
  /** Takes a slot among the background queries; null for a blocking query. */
  readonly takeSlot: (() => BackgroundSlot) | null
  readonly compute: ComputeAnswer
}

type SharedExecution = {
  readonly project_id: number
  /** Infinite before it begins, since it will read everything committed until then. Milliseconds since 1970. */
  begun_ms: number
  readonly callers: Set<object>
  readonly stop: AbortController
  readonly answer: Promise<ComputedAnswer>
  readonly begun: Promise<void>
  readonly slot: BackgroundSlot | null
  probe: ProgressProbe
  /** The next execution of the same query, for callers to whom this one began too early. */
  next: SharedExecution | null
}

/** The begin time of an execution that may not be joined. */
const OUTDATED_MS = Number.NEGATIVE_INFINITY

export class SharedExecutions {
  readonly #now: () => Date
  /** The running execution of each key; a newer one follows in `next`. */
  readonly #current = new Map<string, SharedExecution>()
  #started = 0

  constructor(now: () => Date) {
    this.#now = now
  }

  /** For health checks and tests. */
  get state(): { readonly running: number; readonly started: number } {
    return { running: this.#current.size, started: this.#started }
  }

  /** Joins the execution of a query, or starts one. */
  join(request: ExecutionRequest): Subscription {
    const current = this.#current.get(request.cache_key)
    const execution =
      current === undefined ? this.#start(request, null) : this.#joinOrFollow(request, current)
    if (request.takeSlot === null) execution.slot?.prioritize()
    return subscribe(execution, () => this.#remove(request.cache_key, execution))
  }

  /** Closes the running executions of a project to new callers, because stored events of the project have changed. */
  outdate(project_id: number): void {
    for (const execution of this.#current.values()) {
      const has_begun = Number.isFinite(execution.begun_ms)
      if (execution.project_id !== project_id || !has_begun) continue
      execution.begun_ms = OUTDATED_MS
    }
  }

  /** Joins an execution that began recently enough; otherwise starts one that waits for its end, shared by all who come until then. */
  #joinOrFollow(request: ExecutionRequest, current: SharedExecution): SharedExecution {
    if (current.begun_ms > this.#now().getTime() - request.patience_ms) return current
    if (current.next !== null) return current.next
    current.next = this.#start(request, current)
    return current.next
  }

  #start(request: ExecutionRequest, previous: SharedExecution | null): SharedExecution {
    const begun = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<ComputedAnswer>()
    // Subscriptions receive a failure; without any, the rejection needs no handler.
    answer.promise.catch(() => undefined)
    const execution: SharedExecution = {
      project_id: request.project_id,
      begun_ms: Number.POSITIVE_INFINITY,
      callers: new Set(),
      stop: new AbortController(),
      answer: answer.promise,
      begun: begun.promise,
      slot: request.takeSlot?.() ?? null,
      probe: async () => null,
      next: null,
    }
    if (previous === null) this.#current.set(request.cache_key, execution)
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
    { compute }: ExecutionRequest,
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
    if (running.signal.aborted) throw queryCancelled()
    const now = this.#now()
    execution.begun_ms = now.getTime()
    this.#started += 1
    return compute(now, running)
  }

  /** Replaces an execution that has ended or was stopped by the next one of the same query. */
  #remove(cache_key: string, execution: SharedExecution): void {
    const current = this.#current.get(cache_key)
    if (current === execution) {
      if (execution.next === null) this.#current.delete(cache_key)
      else this.#current.set(cache_key, execution.next)
    } else if (current?.next === execution) current.next = null
  }
}

function subscribe(execution: SharedExecution, onLast: () => void): Subscription {
  const caller = {}
  const left = Promise.withResolvers<never>()
  left.promise.catch(() => undefined)
  execution.callers.add(caller)
  const answer = Promise.race([execution.answer, left.promise])
  answer.catch(() => undefined)
  return {
    answer,
    begun: execution.begun,
    probe: () => execution.probe(),
    isOutdated: () => execution.begun_ms === OUTDATED_MS,
    leave: () => {
      if (!execution.callers.delete(caller)) return
      left.reject(queryCancelled())
      if (execution.callers.size > 0) return
      onLast()
      execution.stop.abort()
    },
  }
}

function queryCancelled(): Refusal {
  return new Refusal('query_cancelled', 'The query was cancelled.')
}
