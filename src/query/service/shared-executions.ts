/** Queries being computed: who asks the same meanwhile joins, and the work stops when its last caller has left. */
import { Refusal } from '../../errors.ts'
import type { QueryProgressCounts } from '../engine/protocol.ts'
import { whenAborted } from './abort-signal.ts'
import type { BackgroundSlot } from './background-slots.ts'
import type { ComputedAnswer } from './cache.ts'

/** What a computation tells while it runs. */
export type RunningExecution = {
  readonly signal: AbortSignal
  /** Called when the engine has begun. */
  readonly onBegin: (probe: ProgressProbe) => void
}

/** Asks how far a running query is; null when it cannot be told. */
export type ProgressProbe = () => Promise<QueryProgressCounts | null>

/** How a query is computed; `now` is the time it is about. */
export type ComputeAnswer = (now: Date, running: RunningExecution) => Promise<ComputedAnswer>

/** One caller's hold on a computation. */
export type Subscription = {
  /** The answer. Refuses what the computation refuses, and with `query_cancelled` once its caller has left. */
  readonly answer: Promise<ComputedAnswer>
  /** Resolves when the engine has begun; never, when it does not come to that. */
  readonly begun: Promise<void>
  readonly probe: ProgressProbe
  /** True when it began before its project's past changed: its answer is for nobody who asks since. */
  readonly isOutdated: () => boolean
  /** The caller does not want it any more. Does nothing the second time. */
  readonly leave: () => void
}

/** What a computation is of, and for whom. */
export type ExecutionRequest = {
  readonly project_id: number
  readonly cache_key: string
  /** A computation that began longer ago is not joined; with 0, only one that has not begun. Milliseconds. */
  readonly patience_ms: number
  /** Takes a place among the background queries; null when somebody waits for the answer. */
  readonly takeSlot: (() => BackgroundSlot) | null
  readonly compute: ComputeAnswer
}

type SharedExecution = {
  readonly project_id: number
  /** Infinite before it begins: it will see everything committed by then. Milliseconds since 1970. */
  begun_ms: number
  readonly askers: Set<object>
  readonly stop: AbortController
  readonly answer: Promise<ComputedAnswer>
  readonly begun: Promise<void>
  readonly turn: BackgroundSlot | null
  probe: ProgressProbe
  /** The same query, asked by those for whom this computation began too early. */
  next: SharedExecution | null
}

/** When something began that nobody may join any more. */
const OUTDATED_MS = Number.NEGATIVE_INFINITY

export class SharedExecutions {
  readonly #now: () => Date
  /** The newest of each key comes last in its chain of `next`. */
  readonly #current = new Map<string, SharedExecution>()
  #started = 0

  constructor(now: () => Date) {
    this.#now = now
  }

  /** For health checks and tests. */
  get state(): { readonly running: number; readonly started: number } {
    return { running: this.#current.size, started: this.#started }
  }

  /** Joins the computation of a query, or starts one. */
  join(request: ExecutionRequest): Subscription {
    const current = this.#current.get(request.cache_key)
    const joined =
      current === undefined ? this.#start(request, null) : this.#joinOrFollow(request, current)
    if (request.takeSlot === null) joined.turn?.prioritize()
    return hold(joined, () => this.#forget(request.cache_key, joined))
  }

  /** From now on nobody joins what has begun by now about a project: its past has changed. */
  outdate(project_id: number): void {
    for (const computation of this.#current.values()) {
      const has_begun = Number.isFinite(computation.begun_ms)
      if (computation.project_id !== project_id || !has_begun) continue
      computation.begun_ms = OUTDATED_MS
    }
  }

  /** Of two that cannot share their time, the later one waits: it computes the same, and is for all who come meanwhile. */
  #joinOrFollow(request: ExecutionRequest, current: SharedExecution): SharedExecution {
    if (current.begun_ms > this.#now().getTime() - request.patience_ms) return current
    if (current.next !== null) return current.next
    current.next = this.#start(request, current)
    return current.next
  }

  #start(request: ExecutionRequest, before: SharedExecution | null): SharedExecution {
    const begun = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<ComputedAnswer>()
    // Its callers hear of a failure; when there are none left, nobody has to.
    answer.promise.catch(() => undefined)
    const computation: SharedExecution = {
      project_id: request.project_id,
      begun_ms: Number.POSITIVE_INFINITY,
      askers: new Set(),
      stop: new AbortController(),
      answer: answer.promise,
      begun: begun.promise,
      turn: request.takeSlot?.() ?? null,
      probe: async () => null,
      next: null,
    }
    if (before === null) this.#current.set(request.cache_key, computation)
    const running: RunningExecution = {
      signal: computation.stop.signal,
      onBegin: (probe) => {
        computation.probe = probe
        begun.resolve()
      },
    }
    this.#run(request, computation, { before, running })
      .finally(() => {
        computation.turn?.release()
        this.#forget(request.cache_key, computation)
      })
      .then(answer.resolve, answer.reject)
    return computation
  }

  async #run(
    { compute }: ExecutionRequest,
    computation: SharedExecution,
    {
      before,
      running,
    }: { readonly before: SharedExecution | null; readonly running: RunningExecution },
  ): Promise<ComputedAnswer> {
    const stopped = whenAborted(running.signal)
    if (before !== null) await Promise.race([before.answer.catch(() => undefined), stopped])
    if (computation.turn !== null) await Promise.race([computation.turn.granted, stopped])
    if (running.signal.aborted) throw cancelled()
    const now = this.#now()
    computation.begun_ms = now.getTime()
    this.#started += 1
    return compute(now, running)
  }

  /** The next one takes the place of a computation that is over or stopped. */
  #forget(cache_key: string, computation: SharedExecution): void {
    const current = this.#current.get(cache_key)
    if (current === computation) {
      if (computation.next === null) this.#current.delete(cache_key)
      else this.#current.set(cache_key, computation.next)
    } else if (current?.next === computation) current.next = null
  }
}

function hold(computation: SharedExecution, onLast: () => void): Subscription {
  const caller = {}
  const left = Promise.withResolvers<never>()
  left.promise.catch(() => undefined)
  computation.askers.add(caller)
  const answer = Promise.race([computation.answer, left.promise])
  answer.catch(() => undefined)
  return {
    answer,
    begun: computation.begun,
    probe: () => computation.probe(),
    isOutdated: () => computation.begun_ms === OUTDATED_MS,
    leave: () => {
      if (!computation.askers.delete(caller)) return
      left.reject(cancelled())
      if (computation.askers.size > 0) return
      onLast()
      computation.stop.abort()
    },
  }
}

function cancelled(): Refusal {
  return new Refusal('query_cancelled', 'The query was cancelled.')
}
