/** The server's side of the engine: keeps one worker process alive, queues queries for it, and stops those that take too long. */
import { Refusal } from '../../errors.ts'
import type { Confinement } from '../../storage/process/confinement/confine.ts'
import { ProjectQueue } from '../scheduling/project-queue.ts'
import { ProjectBackoff } from './backoff.ts'
import {
  busy,
  cancelled,
  cannotStart,
  ENGINE_EXHAUSTED,
  ENGINE_FAULT,
  EngineFault,
  engineCrashed,
  exhausted,
  heldBack,
  interrupted,
  OPENING_FAILED,
  readCode,
  stopping,
  timedOut,
} from './engine-refusals.ts'
import type {
  FromQueryProcess,
  QueryProgressCounts,
  WorkerAnswer,
  WorkerQuery,
} from './protocol.ts'
import { findSpillFault } from './spill-watch.ts'
import { type ChildExit, type ChildOptions, type KillReason, QueryChild } from './worker-client.ts'

export type QuerySettings = {
  /** Memory that all queries may use together, in MiB. */
  readonly memory_mb: number
  /** Disk that all queries may use together when they do not fit into memory, in MiB. */
  readonly spill_mb: number
  /** Threads that compute; 0 for one per processor core. */
  readonly threads: number
  readonly result_bytes_max: number
  readonly running_max: number
  /** Queries beyond these are refused with `throttled`. */
  readonly waiting_max: number
}

/** The part of a pino logger that the engine uses. */
export type EngineLog = {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

export type EngineOptions = {
  readonly data_dir: string
  readonly settings: QuerySettings
  readonly log: EngineLog
  /** Files a project may gain before its DuckDB instance is opened again. */
  readonly spare_slots?: number
  /** False starts the worker with every right of the server's user. */
  readonly is_confined?: boolean
}

export type RunOptions = {
  /** Counted from the call, waiting included. */
  readonly timeout_ms: number
  /** Aborting cancels the query. */
  readonly signal?: AbortSignal
  /** Queues the query even when the queue is full: for callers that limit their number themselves. */
  readonly is_patient?: boolean
  /** Called at every begin of the query; `probe` reads its progress, null when that is not available. */
  readonly onBegin?: (probe: () => Promise<QueryProgressCounts | null>) => void
  /** Receives the parts of a streamed answer; the next part is requested when the promise resolves. */
  readonly onPart?: (bytes: Uint8Array) => Promise<void>
}

/** The worker is killed when an interrupted query still runs after this time. */
const INTERRUPT_TIME_MS = 2000
/** How often the spilled bytes are added up while queries run. */
const SPILL_WATCH_MS = 250
/** Projects open in the worker at a time: each has a DuckDB instance with threads and tables. */
const PROJECTS_MAX = 16
const SPARE_SLOTS = 256
/** A query is begun once more when the worker died while it ran. */
const ATTEMPTS_MAX = 2
/** A query is begun again this often after its worker was ended because of others; then it is refused with a 503. */
const INTERRUPTIONS_MAX = 5
/** A worker that will be replaced gets this time to finish its other queries. */
const DRAIN_TIME_MS = 2000
/** After this many workers in a row that died before their first message, waiting queries are refused. */
const FAILED_STARTS_MAX = 3
/** Doubles with each failed start. */
const RESTART_DELAY_MS_MIN = 200
const RESTART_DELAY_MS_MAX = 30_000
/** The engine counts as not ready after this time without a worker; an ordinary restart takes far less. */
const RESTART_GRACE_MS = 5000
/** When new workers could not open this many projects, the fault is not in one project. */
const UNOPENED_PROJECTS_MAX = 2

/** A query in the engine, waiting or running. */
type QueuedQuery = {
  readonly id: number
  readonly project_id: number
  readonly query: WorkerQuery
  /** Number of begins, except those whose worker was ended because of other queries. */
  attempts: number
  /** Number of times its worker was ended because of other queries. */
  interruptions: number
  /** `suspect`: the worker died while it ran, perhaps because of it; it runs alone. `stopped`: its caller has been refused. */
  state: 'fresh' | 'stopped' | 'suspect'
  readonly onBegin: (() => void) | null
  /** Receives a part of the answer; the next part is requested when the promise resolves. */
  readonly onPart: ((bytes: Uint8Array) => Promise<void>) | null
  has_parts: boolean
  readonly resolve: (answer: WorkerAnswer) => void
  readonly reject: (refusal: EngineFault | Refusal) => void
}

export class QueryEngine {
  readonly #child_options: ChildOptions
  readonly #log: EngineLog
  readonly #queue: ProjectQueue<QueuedQuery>
  readonly #adoptions = new Map<number, () => void>()
  readonly #probes = new Map<number, (progress: QueryProgressCounts | null) => void>()
  #child: QueryChild | null = null
  #children = 0
  #failed_starts = 0
  /** Why the worker takes no more queries and will be killed; null while it serves. */
  #retiring: KillReason | null = null
  /** The worker has little address space left and is replaced as soon as nothing runs. */
  #is_worn = false
  /** Queries begun in the current worker. */
  #begun_here = 0
  #confinement: Confinement = { landlock: 0, seccomp: false }
  /** Since when there has been no ready worker; null while there is one. Milliseconds. */
  #down_since: number | null = null
  readonly #backoff = new ProjectBackoff(() => performance.now())
  readonly #ended = new Map<string, number>()
  #opening_failures = 0
  /** Projects refused since the last answer because new workers could not open them. */
  readonly #unopened = new Set<number>()
  readonly #spill_watch: Timer
  #last_id = 0
  #is_closing = false

  constructor({ data_dir, settings, log, spare_slots, is_confined }: EngineOptions) {
    this.#queue = new ProjectQueue(settings, ({ state }) => state === 'suspect')
    this.#log = log
    this.#child_options = {
      data_dir,
      memory_mb: settings.memory_mb,
      spill_mb: settings.spill_mb,
      threads: settings.threads || navigator.hardwareConcurrency,
      result_bytes_max: settings.result_bytes_max,
      projects_max: PROJECTS_MAX,
      spare_slots: spare_slots ?? SPARE_SLOTS,
      is_confined: is_confined ?? true,
      // One call per query for DuckDB, and one for reading the event log.
      blocking_calls_max: 2 * settings.running_max,
    }
    this.#spill_watch = setInterval(() => this.#watchSpilling(), SPILL_WATCH_MS)
    this.#spill_watch.unref()
    this.#start()
  }

  /** For health checks, metrics and tests. */
  get state() {
    const pid = this.#child?.is_ready ? this.#child.pid : null
    return {
      pid,
      ...this.#queue.state,
      processes_started: this.#children,
      /** Ends of processes by reason: how we killed them, or `died`. */
      processes_ended: Object.fromEntries(this.#ended),
      opening_failures: this.#opening_failures,
      /** The confinement that the worker reached on this system. */
      confinement: this.#confinement,
      /** Why queries cannot be answered now; null while they can. */
      unready: this.#unready(),
    }
  }

  #unready(): string | null {
    if (this.#failed_starts > 0) return 'The query engine does not start.'
    const down_ms = this.#down_since === null ? 0 : performance.now() - this.#down_since
    if (down_ms > RESTART_GRACE_MS) return 'The query engine is starting.'
    return this.#unopened.size >= UNOPENED_PROJECTS_MAX
      ? 'The query engine cannot open projects.'
      : null
  }

  /**
   * Answers a query with what is committed at the time of the call, or later. Refuses with query_timeout,
   * query_cancelled, query_memory, query_too_large, query_failed, throttled, or storage_unavailable; throws EngineFault.
   * A query that runs when its process is ended because of others is begun again.
   */
  ask(query: WorkerQuery, options: RunOptions): Promise<WorkerAnswer> {
    const { timeout_ms, signal, onBegin, onPart } = options
    if (this.#is_closing) return Promise.reject(stopping())
    if (signal?.aborted) return Promise.reject(cancelled())
    const { project_id } = query
    const is_full = this.#queue.isFull(project_id)
    if (is_full && options.is_patient !== true) return Promise.reject(busy())
    if (this.#isGivenUp()) return Promise.reject(cannotStart())
    const wait_ms = this.#backoff.waitMs(project_id)
    if (wait_ms > 0 && options.is_patient !== true) return Promise.reject(heldBack(wait_ms))
    const { promise, resolve, reject } = Promise.withResolvers<WorkerAnswer>()
    this.#last_id += 1
    const id = this.#last_id
    const task: QueuedQuery = {
      id,
      project_id,
      query,
      attempts: 0,
      interruptions: 0,
      state: 'fresh',
      onBegin: onBegin === undefined ? null : () => onBegin(() => this.#probe(id)),
      onPart: onPart ?? null,
      has_parts: false,
      resolve,
      reject,
    }
    const onTimeout = (): void => this.#stop(task, refuseLate(task, timeout_ms))
    const timer = setTimeout(onTimeout, timeout_ms)
    const onAbort = (): void => this.#stop(task, cancelled())
    signal?.addEventListener('abort', onAbort)
    this.#queue.add(task)
    this.#begin()
    return promise.finally(() => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    })
  }

  /** Resolves when no later answer is computed from an older manifest than the one committed now. */
  adoptManifest(): Promise<void> {
    const child = this.#child
    // A worker that is not ready yet will begin with the newest manifest.
    if (child === null || !child.is_ready) return Promise.resolve()
    this.#last_id += 1
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#adoptions.set(this.#last_id, resolve)
    child.send({ kind: 'adopt', id: this.#last_id })
    return promise
  }

  /** Makes the worker check the project's files again, because one of them was found damaged. */
  reopenProject(project_id: number): void {
    if (this.#child?.is_ready) this.#child.send({ kind: 'reopen', project_id })
  }

  /** Refuses the waiting and running queries, and ends the worker. */
  async close(): Promise<void> {
    this.#is_closing = true
    clearInterval(this.#spill_watch)
    const { waiting, running } = this.#queue
    for (const task of [...waiting, ...running]) task.reject(stopping())
    this.#queue.removeWaiting()
    await this.#child?.close()
  }

  /** Sends waiting queries until `running_max` run. */
  #begin(): void {
    const is_idle = this.#queue.state.running === 0
    if (this.#is_worn && is_idle) this.#retire('worn')
    if (this.#retiring !== null) {
      if (is_idle) this.#child?.kill(this.#retiring)
      return
    }
    while (this.#child?.is_ready) {
      const task = this.#queue.takeNext(({ project_id }) => this.#backoff.waitMs(project_id) === 0)
      if (task === null) return
      task.attempts += 1
      this.#begun_here += 1
      this.#child.send({ kind: 'ask', id: task.id, query: task.query })
      task.onBegin?.()
    }
  }

  /** Stops the queries of the project with the most spilled bytes, when the total exceeds the limit. */
  #watchSpilling(): void {
    const child = this.#child
    if (child === null || this.#queue.state.running === 0) return
    const { data_dir, spill_mb } = this.#child_options
    const fault = findSpillFault(child.spill_dir, { data_dir, spill_mb })
    if (fault === null) return
    const { project_id, refusal } = fault
    const tasks = this.#queue.running.filter((task) => task.project_id === project_id)
    // Queries stopped before are about to end, or the worker will be killed soon.
    if (tasks.some(({ state }) => state === 'stopped')) return
    this.#log.warn({ project_id, detail: refusal.detail }, 'queries have spilled too much')
    for (const task of tasks) this.#stop(task, refusal)
    if (tasks.length === 0) this.reopenProject(project_id)
  }

  #probe(id: number): Promise<QueryProgressCounts | null> {
    const child = this.#child
    if (child === null || this.#queue.findRunning(id) === null) return Promise.resolve(null)
    this.#last_id += 1
    const { promise, resolve } = Promise.withResolvers<QueryProgressCounts | null>()
    this.#probes.set(this.#last_id, resolve)
    child.send({ kind: 'probe', id, probe: this.#last_id })
    return promise
  }

  #stop(task: QueuedQuery, refusal: Refusal): void {
    task.reject(refusal)
    if (this.#queue.findRunning(task.id) === null) return this.#queue.remove(task)
    task.state = 'stopped'
    const child = this.#child
    child?.send({ kind: 'interrupt', id: task.id })
    setTimeout(() => {
      if (this.#queue.findRunning(task.id) !== task || child !== this.#child) return
      this.#strike(task.project_id)
      this.#kill('unresponsive')
    }, INTERRUPT_TIME_MS)
  }

  /** Kills the worker at once. */
  #kill(reason: KillReason): void {
    this.#retiring ??= reason
    this.#child?.kill(reason)
  }

  /** Ends the worker when its running queries have ended, or after DRAIN_TIME_MS. */
  #retire(reason: KillReason): void {
    if (this.#retiring !== null) return
    this.#retiring = reason
    const child = this.#child
    setTimeout(() => {
      if (child === this.#child) child?.kill(reason)
    }, DRAIN_TIME_MS)
  }

  /** Puts a project into exponential back-off, including its waiting queries. */
  #strike(project_id: number): void {
    const wait_ms = this.#backoff.strike(project_id)
    this.#log.warn({ project_id, wait_ms }, 'a project waits: its query ended the query process')
    // A timer may fire a fraction of a millisecond early.
    setTimeout(() => this.#begin(), wait_ms + 1).unref()
  }

  #start(): void {
    this.#children += 1
    this.#down_since ??= performance.now()
    this.#retiring = null
    this.#is_worn = false
    this.#begun_here = 0
    const child = new QueryChild(this.#child_options, this.#children, {
      onMessage: (head, rest) => this.#receive(head, rest),
      onDeath: (death) => this.#handleExit(child, death),
    })
    this.#child = child
  }

  #receive(head: FromQueryProcess, rest: Uint8Array): void {
    if (head.kind === 'ready') {
      this.#failed_starts = 0
      this.#down_since = null
      this.#log.info(
        {
          pid: this.#child?.pid,
          memory_is_limited: head.memory_is_limited,
          confinement: head.confinement,
        },
        'query process ready',
      )
      this.#confinement = head.confinement
      return this.#begin()
    }
    if (head.kind === 'worn') {
      this.#is_worn = true
      return this.#begin()
    }
    if (head.kind === 'adopted') {
      this.#adoptions.get(head.id)?.()
      this.#adoptions.delete(head.id)
      return
    }
    if (head.kind === 'progress') {
      this.#probes.get(head.probe)?.(head.progress)
      this.#probes.delete(head.probe)
      return
    }
    const task = this.#queue.findRunning(head.id)
    if (task === null) return
    if (head.kind === 'part') return this.#takePart(task, rest)
    this.#queue.remove(task)
    if (head.kind === 'answer') {
      const { row_count, has_more, timings } = head
      this.#unopened.clear()
      task.resolve({ rows_json: rest, row_count, has_more, timings })
    } else this.#refuse(task, head)
    this.#begin()
  }

  #refuse(
    task: QueuedQuery,
    { code, detail }: { readonly code: string; readonly detail: string },
  ): void {
    const { project_id } = task
    switch (code) {
      case ENGINE_FAULT:
        task.reject(new EngineFault(detail))
        // After an internal error DuckDB refuses every statement.
        this.#strike(project_id)
        return this.#kill('fault')
      case OPENING_FAILED:
        this.#opening_failures += 1
        this.#log.warn(
          { project_id, detail },
          'a project cannot be opened: the process is replaced',
        )
        return this.#repeatFresh(task)
      case ENGINE_EXHAUSTED:
        this.#log.warn({ project_id, detail }, 'the query process has no room: it is replaced')
        return this.#repeatFresh(task)
      default:
        // Alone in a new worker the query had all the memory there is: replacing the last worker did not help.
        if (code === 'query_memory' && this.#hasAllRoom(task)) this.#strike(project_id)
        task.reject(new Refusal(readCode(code), detail))
    }
  }

  /** The worker is out of memory: the query runs once more, alone in the next worker. */
  #repeatFresh(task: QueuedQuery): void {
    this.#retire('exhausted')
    if (task.state === 'stopped') return
    if (!task.has_parts && !this.#hasAllRoom(task)) {
      task.attempts = 0
      task.state = 'suspect'
      this.#queue.putBack(task)
      return
    }
    this.#unopened.add(task.project_id)
    if (this.#hasAllRoom(task)) this.#strike(task.project_id)
    task.reject(exhausted())
  }

  /** True for a query that runs alone in a worker that was started for it. */
  #hasAllRoom({ state }: QueuedQuery): boolean {
    return state === 'suspect' && this.#begun_here === 1
  }

  #takePart(task: QueuedQuery, bytes: Uint8Array): void {
    const child = this.#child
    task.has_parts = true
    const received = task.onPart?.(bytes) ?? Promise.resolve()
    // A rejection means that the reader has left and the query was stopped.
    received.then(
      () => child?.send({ kind: 'more', id: task.id }),
      () => undefined,
    )
  }

  /** The worker has exited: its queries run once more in the next one. */
  #handleExit(child: QueryChild, death: ChildExit): void {
    if (child !== this.#child) return
    this.#child = null
    for (const resolve of this.#adoptions.values()) resolve()
    this.#adoptions.clear()
    for (const resolve of this.#probes.values()) resolve(null)
    this.#probes.clear()
    const orphans = this.#queue.removeRunning().filter(({ state }) => state !== 'stopped')
    if (this.#is_closing) return
    const reason = death.reason ?? 'died'
    this.#ended.set(reason, (this.#ended.get(reason) ?? 0) + 1)
    if (death.reason === 'worn') this.#log.info({}, 'query process replaced')
    else this.#log.warn({ ...death, questions: orphans.length }, 'query process died')
    for (const task of orphans.toReversed()) this.#requeue(task, death, orphans.length === 1)
    this.#restart(death)
  }

  /** Puts a query that ran when the worker died back at the front of the queue, or refuses it. */
  #requeue(task: QueuedQuery, death: ChildExit, was_alone: boolean): void {
    const is_ours = death.reason !== null && death.reason !== 'memory'
    if (is_ours || !was_alone) {
      task.attempts -= 1
      task.interruptions += 1
      // Parts that were sent cannot be recalled.
      if (task.has_parts || task.interruptions > INTERRUPTIONS_MAX)
        return task.reject(interrupted())
    } else if (task.state === 'suspect' || task.attempts >= ATTEMPTS_MAX || task.has_parts) {
      this.#strike(task.project_id)
      return task.reject(engineCrashed(death))
    }
    // When the worker died by itself, any of its queries may be the cause: each runs again alone.
    if (!is_ours) task.state = 'suspect'
    this.#queue.putBack(task)
  }

  /** Starts the next worker at once, or after a delay that doubles with each failed start. */
  #restart({ was_ready }: ChildExit): void {
    this.#down_since ??= performance.now()
    this.#failed_starts = was_ready ? 0 : this.#failed_starts + 1
    if (this.#failed_starts === 0) return this.#start()
    if (this.#isGivenUp()) {
      for (const task of this.#queue.removeWaiting()) task.reject(cannotStart())
    }
    const delay_ms = RESTART_DELAY_MS_MIN * 2 ** (this.#failed_starts - 1)
    setTimeout(
      () => {
        if (!this.#is_closing && this.#child === null) this.#start()
      },
      Math.min(RESTART_DELAY_MS_MAX, delay_ms),
    ).unref()
  }

  /** True while FAILED_STARTS_MAX starts have failed in a row. */
  #isGivenUp(): boolean {
    return this.#failed_starts >= FAILED_STARTS_MAX
  }
}

/** Chooses the refusal of a query that was not answered in time. */
function refuseLate({ attempts, interruptions }: QueuedQuery, timeout_ms: number): Refusal {
  if (interruptions > 0) return interrupted()
  return attempts > 0 ? timedOut(timeout_ms) : busy()
}
