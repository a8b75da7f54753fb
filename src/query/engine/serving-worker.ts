/**
 * The worker that takes new queries, from its start to the next one's:
 *
 *   worn, or a query that does not stop  → a successor starts while it still serves, then takes its place
 *   it died                              → the successor, a spare, or a new one at once
 *   it died before its first message     → a new one after a delay that doubles; waiting queries are refused after the third
 *   no query came for `idle_ms`          → it ends, and the next query, or page that will send one, starts another
 */
import { describeFailedStart } from './engine-refusals.ts'
import type { EngineWorker } from './queued-query.ts'
import type { SpareWorkers } from './spare-workers.ts'
import type { ChildExit } from './worker-client.ts'

type ServingOptions = {
  readonly spawn: () => EngineWorker
  readonly spares: SpareWorkers
  /** It ends after this time without a query, and returns its memory. */
  readonly idle_ms: number
  /** True when no query waits or runs. */
  readonly isIdle: () => boolean
  /** Called when waiting queries should be refused, since no worker starts. */
  readonly onGivenUp: () => void
}

/** After this many workers in a row that died before their first message, waiting queries are refused. */
const FAILED_STARTS_MAX = 3
/** Doubles with each failed start. */
const RESTART_DELAY_MS_MIN = 200
const RESTART_DELAY_MS_MAX = 30_000
/** The engine counts as not ready after this time without a worker; an ordinary restart takes far less. */
const RESTART_GRACE_MS = 5000

export class ServingWorker {
  readonly #options: ServingOptions
  #worker: EngineWorker | null
  /** Will take new queries once it is ready, in place of a worn worker. */
  #successor: EngineWorker | null = null
  #failed_starts = 0
  /** Since when there has been no ready worker although there should be; null otherwise. Milliseconds. */
  #down_since: number | null = performance.now()
  #is_ended_idle = false
  /** Time of the last query, or of the last notice that one is about to come. */
  #used_ms = performance.now()
  #idle_timer: Timer | null = null
  #is_closed = false

  /** Starts the first worker. */
  constructor(options: ServingOptions) {
    this.#options = options
    this.#worker = options.spawn()
    this.#endIdleAfter(options.idle_ms)
  }

  /** Null between its end and the start of the next. */
  get worker(): EngineWorker | null {
    return this.#worker
  }

  /** True while FAILED_STARTS_MAX starts have failed in a row. */
  get is_given_up(): boolean {
    return this.#failed_starts >= FAILED_STARTS_MAX
  }

  /** The reason why queries cannot be answered now; null while they can, also where the next one starts a worker. */
  get unready(): string | null {
    if (this.#failed_starts > 0) return describeFailedStart()
    const down_ms = this.#down_since === null ? 0 : performance.now() - this.#down_since
    return down_ms > RESTART_GRACE_MS ? 'The query engine is starting.' : null
  }

  /** Notes a query, or that one is about to come, and starts a worker when the last one ended for want of queries. */
  noteUse(): void {
    this.#used_ms = performance.now()
    if (!this.#is_ended_idle) return
    this.#is_ended_idle = false
    this.replace()
    this.#endIdleAfter(this.#options.idle_ms)
  }

  /** Starts the worker that will take its place. True when it is ready. */
  prepareSuccessor(): boolean {
    this.#successor ??= this.#options.spares.take('serving')
    return this.#successor.child.is_ready
  }

  /** Gives the successor back to the spares when the worker needs no replacement: its query has stopped after all. */
  releaseSuccessor(hasStoppedQueries: (worker: EngineWorker) => boolean): void {
    if (this.#successor === null || this.#worker === null || this.#worker.is_worn) return
    if (hasStoppedQueries(this.#worker)) return
    this.#options.spares.giveBack(this.#successor)
    this.#successor = null
  }

  /** Gives new queries to the next worker. */
  replace(): void {
    this.#worker = this.#successor ?? this.#options.spares.take('serving')
    this.#successor = null
    if (!this.#worker.child.is_ready) this.#down_since ??= performance.now()
  }

  /** Notes the first message of a worker. */
  noteReady(worker: EngineWorker): void {
    this.#failed_starts = 0
    if (worker === this.#worker) this.#down_since = null
  }

  /** Starts the next worker when this one served. */
  noteExit(worker: EngineWorker, { was_ready }: ChildExit): void {
    if (worker === this.#successor) this.#successor = null
    if (worker === this.#worker) this.#restart(was_ready)
  }

  /** Starts no more workers. */
  close(): void {
    this.#is_closed = true
    if (this.#idle_timer !== null) clearTimeout(this.#idle_timer)
  }

  /** Starts the next worker at once, or after a delay that doubles with each failed start. */
  #restart(was_ready: boolean): void {
    this.#down_since ??= performance.now()
    this.#failed_starts = was_ready ? 0 : this.#failed_starts + 1
    const may_take_spare = this.#failed_starts === 0
    this.#worker = this.#successor ?? (may_take_spare ? this.#options.spares.take('serving') : null)
    this.#successor = null
    if (this.#worker?.child.is_ready === true) this.#down_since = null
    if (this.#worker !== null) return
    if (this.is_given_up) this.#options.onGivenUp()
    const delay_ms = RESTART_DELAY_MS_MIN * 2 ** (this.#failed_starts - 1)
    setTimeout(
      () => {
        if (!this.#is_closed) this.#worker ??= this.#options.spawn()
      },
      Math.min(RESTART_DELAY_MS_MAX, delay_ms),
    ).unref()
  }

  #endIdleAfter(wait_ms: number): void {
    this.#idle_timer = setTimeout(() => this.#endIdle(), wait_ms)
    this.#idle_timer.unref()
  }

  /** No query is lost: the worker takes no more of them from the moment at which it has none. */
  #endIdle(): void {
    const { idle_ms, isIdle } = this.#options
    const worker = this.#worker
    const left_ms = this.#used_ms + idle_ms - performance.now()
    const is_needed = left_ms > 0 || this.#successor !== null || !isIdle()
    if (is_needed || worker?.child.is_ready !== true) {
      return this.#endIdleAfter(left_ms > 0 ? left_ms + 1 : idle_ms)
    }
    this.#worker = null
    this.#is_ended_idle = true
    worker.retiring = 'idle'
    worker.child.kill('idle')
  }
}
