/** Questions being computed: who asks the same meanwhile joins, and the work stops when its last asker has left. */
import { Refusal } from '../errors.ts'
import type { Computed } from './cache.ts'
import type { Progress } from './frames.ts'
import type { Turn } from './turns.ts'
import { aborted } from './waiting.ts'

/** What a computation tells while it runs. */
export type Running = {
  readonly signal: AbortSignal
  /** Called when the engine has begun. */
  readonly onBegin: (probe: Probe) => void
}

/** Asks how far a running question is; null when it cannot be told. */
export type Probe = () => Promise<Progress | null>

/** How a question is computed; `now` is the time it is about. */
export type Compute = (now: Date, running: Running) => Promise<Computed>

/** One asker's hold on a computation. */
export type Hold = {
  /** The answer. Refuses what the computation refuses, and with `query_cancelled` once its asker has left. */
  readonly answer: Promise<Computed>
  /** Resolves when the engine has begun; never, when it does not come to that. */
  readonly begun: Promise<void>
  readonly probe: Probe
  /** True when it began before its project's past changed: its answer is for nobody who asks since. */
  readonly isOutdated: () => boolean
  /** The asker does not want it any more. Does nothing the second time. */
  readonly leave: () => void
}

/** What a computation is of, and for whom. */
export type Wanted = {
  readonly project_id: number
  readonly cache_key: string
  /** A computation that began longer ago is not joined; with 0, only one that has not begun. Milliseconds. */
  readonly patience_ms: number
  /** Takes a place among the background questions; null when somebody waits for the answer. */
  readonly takeTurn: (() => Turn) | null
  readonly compute: Compute
}

type Computation = {
  readonly project_id: number
  /** Infinite before it begins: it will see everything committed by then. Milliseconds since 1970. */
  begun_ms: number
  readonly askers: Set<object>
  readonly stop: AbortController
  readonly answer: Promise<Computed>
  readonly begun: Promise<void>
  readonly turn: Turn | null
  probe: Probe
  /** The same question, asked by those for whom this computation began too early. */
  next: Computation | null
}

/** When something began that nobody may join any more. */
const OUTDATED_MS = Number.NEGATIVE_INFINITY

export class Computations {
  readonly #now: () => Date
  /** The newest of each key comes last in its chain of `next`. */
  readonly #current = new Map<string, Computation>()
  #started = 0

  constructor(now: () => Date) {
    this.#now = now
  }

  /** For health checks and tests. */
  get state(): { readonly running: number; readonly started: number } {
    return { running: this.#current.size, started: this.#started }
  }

  /** Joins the computation of a question, or starts one. */
  join(wanted: Wanted): Hold {
    const current = this.#current.get(wanted.cache_key)
    const joined =
      current === undefined ? this.#start(wanted, null) : this.#joinOrFollow(wanted, current)
    if (wanted.takeTurn === null) joined.turn?.hurry()
    return hold(joined, () => this.#forget(wanted.cache_key, joined))
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
  #joinOrFollow(wanted: Wanted, current: Computation): Computation {
    if (current.begun_ms > this.#now().getTime() - wanted.patience_ms) return current
    if (current.next !== null) return current.next
    current.next = this.#start(wanted, current)
    return current.next
  }

  #start(wanted: Wanted, before: Computation | null): Computation {
    const begun = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<Computed>()
    // Its askers hear of a failure; when there are none left, nobody has to.
    answer.promise.catch(() => undefined)
    const computation: Computation = {
      project_id: wanted.project_id,
      begun_ms: Number.POSITIVE_INFINITY,
      askers: new Set(),
      stop: new AbortController(),
      answer: answer.promise,
      begun: begun.promise,
      turn: wanted.takeTurn?.() ?? null,
      probe: async () => null,
      next: null,
    }
    if (before === null) this.#current.set(wanted.cache_key, computation)
    const running: Running = {
      signal: computation.stop.signal,
      onBegin: (probe) => {
        computation.probe = probe
        begun.resolve()
      },
    }
    this.#run(wanted, computation, { before, running })
      .finally(() => {
        computation.turn?.leave()
        this.#forget(wanted.cache_key, computation)
      })
      .then(answer.resolve, answer.reject)
    return computation
  }

  async #run(
    { compute }: Wanted,
    computation: Computation,
    { before, running }: { readonly before: Computation | null; readonly running: Running },
  ): Promise<Computed> {
    const stopped = aborted(running.signal)
    if (before !== null) await Promise.race([before.answer.catch(() => undefined), stopped])
    if (computation.turn !== null) await Promise.race([computation.turn.come, stopped])
    if (running.signal.aborted) throw cancelled()
    const now = this.#now()
    computation.begun_ms = now.getTime()
    this.#started += 1
    return compute(now, running)
  }

  /** The next one takes the place of a computation that is over or stopped. */
  #forget(cache_key: string, computation: Computation): void {
    const current = this.#current.get(cache_key)
    if (current === computation) {
      if (computation.next === null) this.#current.delete(cache_key)
      else this.#current.set(cache_key, computation.next)
    } else if (current?.next === computation) current.next = null
  }
}

function hold(computation: Computation, onLast: () => void): Hold {
  const asker = {}
  const left = Promise.withResolvers<never>()
  left.promise.catch(() => undefined)
  computation.askers.add(asker)
  const answer = Promise.race([computation.answer, left.promise])
  answer.catch(() => undefined)
  return {
    answer,
    begun: computation.begun,
    probe: () => computation.probe(),
    isOutdated: () => computation.begun_ms === OUTDATED_MS,
    leave: () => {
      if (!computation.askers.delete(asker)) return
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
