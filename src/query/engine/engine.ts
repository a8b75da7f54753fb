/** The server's side of the engine: keeps a worker process alive, queues queries for it, and stops those that take too long. */
import { Refusal } from '../../errors.ts'
import type { Confinement } from '../../storage/process/confinement/confine.ts'
import { outsideRequests } from '../../threads/this-thread.ts'
import { ProjectQueue } from '../scheduling/project-queue.ts'
import {
  cannotStart,
  ENGINE_EXHAUSTED,
  ENGINE_FAULT,
  EngineFault,
  engineCrashed,
  NO_ROOM,
  OPENING_FAILED,
  readCode,
  refuseCancelled,
  refuseFullQueue,
  refuseInBackOff,
  refuseInterrupted,
  refuseUnopened,
  stopping,
} from './engine-refusals.ts'
import { ProjectBackOff } from './project-back-off.ts'
import type {
  FromQueryProcess,
  QueryProgressCounts,
  WorkerAnswer,
  WorkerQuery,
} from './protocol.ts'
import { type EngineWorker, type QueuedQuery, refuseLate } from './queued-query.ts'
import { retryAfterEnd, retryInNextWorker } from './retries.ts'
import { ServingWorker } from './serving-worker.ts'
import { SpareWorkers } from './spare-workers.ts'
import { findSpillFault } from './spill-watch.ts'
import { exonerate, Trials } from './trials.ts'
import { WorkerCalls } from './worker-calls.ts'
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
type EngineLog = {
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
  /** Spare workers end after this time without queries of two projects beside each other. */
  readonly spares_kept_ms?: number
  /** The query process ends after this time without a query, and starts with the next one. */
  readonly idle_ms?: number
}

type RunOptions = {
  /** Counted from the call, waiting included. */
  readonly timeout_ms: number
  /** Aborting cancels the query. */
  readonly signal?: AbortSignal
  /** Queues the query even when the queue is full or its project is in back-off: for callers that limit their number themselves. */
  readonly is_background?: boolean
  /** Called at every begin of the query; `probe` reads its progress, null when that is not available. */
  readonly onBegin?: (probe: () => Promise<QueryProgressCounts | null>) => void
  /** Receives the parts of a streamed answer; the next part is requested when the promise resolves. */
  readonly onPart?: (bytes: Uint8Array) => Promise<void>
}

/** The worker takes no more queries when an interrupted one still runs after this time. */
const INTERRUPT_TIME_MS = 2000
/** The next worker is started when an interrupted query still runs after this time. */
const PREPARE_TIME_MS = 1000
/** The spilled bytes are added up this often while queries run. */
const SPILL_WATCH_MS = 250
/** Queries that may run beyond `running_max` where no other query of their project runs. */
const EXTRA_MAX = 1
/** Projects open in the worker at a time: each has a DuckDB instance with threads and tables. */
const PROJECTS_MAX = 16
const SPARE_SLOTS = 256
/** A worker that takes no more queries gets this time to finish its others, while the next one serves. */
const DRAIN_TIME_MS = 2000
/** A trial worker's share of the memory, and the least that DuckDB works with. */
const TRIAL_SHARE = 0.5
const TRIAL_MB_MIN = 64
const SPARES_KEPT_MS = 600_000
/**
 * A query process takes 90 to 150 MB. The query that starts another one takes 0.3 s, not 0.01: long enough that people who
 * read what a page shows, and pages that refresh themselves, rarely wait for it.
 */
const IDLE_MS = 600_000
/** When new workers could not open this many projects, the fault is not in one project. */
const UNOPENED_PROJECTS_MAX = 2

export class QueryEngine {
  readonly #child_options: ChildOptions
  readonly #log: EngineLog
  readonly #queue: ProjectQueue<QueuedQuery>
  readonly #workers = new Set<EngineWorker>()
  readonly #serving: ServingWorker
  readonly #trials: Trials
  readonly #spares: SpareWorkers
  /** Number of workers that died by themselves. */
  #deaths = 0
  readonly #calls = new WorkerCalls()
  #children = 0
  #confinement: Confinement = { landlock: 0, seccomp: false }
  readonly #back_off = new ProjectBackOff(() => performance.now())
  readonly #ended = new Map<string, number>()
  #opening_failures = 0
  /** Projects refused since the last answer because new workers could not open them. */
  readonly #unopened = new Set<number>()
  readonly #spill_watch: Timer
  #last_id = 0
  #is_closing = false

  constructor({ data_dir, settings, log, ...others }: EngineOptions) {
    // Queries in draining and trial workers do not count against `running_max`.
    this.#queue = new ProjectQueue({ ...settings, extra_max: EXTRA_MAX }, ({ worker }) => {
      return worker === this.#serving.worker
    })
    this.#log = log
    this.#child_options = {
      data_dir,
      memory_mb: settings.memory_mb,
      spill_mb: settings.spill_mb,
      threads: settings.threads || navigator.hardwareConcurrency,
      result_bytes_max: settings.result_bytes_max,
      projects_max: PROJECTS_MAX,
      spare_slots: others.spare_slots ?? SPARE_SLOTS,
      is_confined: others.is_confined ?? true,
      // One call per query for DuckDB, and one for reading the event log.
      blocking_calls_max: 2 * (settings.running_max + EXTRA_MAX),
    }
    this.#spill_watch = setInterval(() => this.#watchSpilling(), SPILL_WATCH_MS)
    this.#spill_watch.unref()
    this.#spares = new SpareWorkers({
      spawn: (role) => this.#spawn(role),
      kept_ms: others.spares_kept_ms ?? SPARES_KEPT_MS,
    })
    this.#trials = new Trials({
      queue: this.#queue,
      spares: this.#spares,
      send: (task, worker) => this.#send(task, worker),
      areOthersServed: () => this.#serving.worker?.child.is_ready === true,
    })
    this.#serving = new ServingWorker({
      spawn: () => this.#spawn('serving'),
      spares: this.#spares,
      idle_ms: others.idle_ms ?? IDLE_MS,
      isIdle: () => this.#queue.state.running + this.#queue.state.waiting === 0,
      onGivenUp: () => {
        for (const task of this.#queue.removeWaiting()) task.reject(cannotStart())
      },
    })
  }

  /** For health checks, metrics and tests. */
  get state() {
    const child = this.#serving.worker?.child
    return {
      /** The process that takes new queries. */
      pid: child?.is_ready ? child.pid : null,
      /** The processes that wait for a death of another one. */
      spare_pids: this.#spares.pids,
      ...this.#queue.state,
      processes_started: this.#children,
      /** Ends of processes by reason: how we killed them, or `died`. */
      processes_ended: Object.fromEntries(this.#ended),
      opening_failures: this.#opening_failures,
      /** The confinement that the worker reached on this system. */
      confinement: this.#confinement,
      /** The reason why queries cannot be answered now; null while they can. */
      unready: this.#unready(),
    }
  }

  #runningIn(worker: EngineWorker): readonly QueuedQuery[] {
    return this.#queue.running.filter((task) => task.worker === worker)
  }

  #unready(): string | null {
    const cannot_open = this.#unopened.size >= UNOPENED_PROJECTS_MAX
    return this.#serving.unready ?? (cannot_open ? 'The query engine cannot open projects.' : null)
  }

  /**
   * Answers a query with what is committed at the time of the call, or later. Refuses with query_timeout,
   * query_cancelled, query_memory, query_too_large, query_failed, throttled, or storage_unavailable; throws EngineFault.
   * A query that runs when its process is ended because of others is begun again.
   */
  run(query: WorkerQuery, options: RunOptions): Promise<WorkerAnswer> {
    const { timeout_ms, signal, onBegin, onPart } = options
    if (this.#is_closing) return Promise.reject(stopping())
    if (signal?.aborted) return Promise.reject(refuseCancelled())
    const { project_id } = query
    const is_full = this.#queue.isFull(project_id)
    if (is_full && options.is_background !== true) return Promise.reject(refuseFullQueue())
    if (this.#serving.is_given_up) return Promise.reject(cannotStart())
    const wait_ms = this.#back_off.waitMs(project_id)
    if (wait_ms > 0 && options.is_background !== true)
      return Promise.reject(refuseInBackOff(wait_ms))
    const { promise, resolve, reject } = Promise.withResolvers<WorkerAnswer>()
    this.#last_id += 1
    const id = this.#last_id
    const task: QueuedQuery = {
      id,
      project_id,
      query,
      worker: null,
      begun_ms: 0,
      ran_ms: 0,
      attempts: 0,
      interruptions: 0,
      state: 'fresh',
      suspected_in: null,
      onBegin: onBegin === undefined ? null : () => onBegin(() => this.#probe(id)),
      onPart: onPart ?? null,
      has_parts: false,
      resolve,
      reject,
    }
    const onTimeout = (): void => this.#stop(task, refuseLate(task, timeout_ms))
    const timer = setTimeout(onTimeout, timeout_ms)
    const onAbort = (): void => this.#stop(task, refuseCancelled())
    signal?.addEventListener('abort', onAbort)
    this.#queue.add(task)
    this.#serving.noteUse()
    this.#begin()
    return promise.finally(() => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    })
  }

  /** Starts the process that ended for want of queries, for one that is about to come: a start takes 0.3 s. */
  wake(): void {
    if (!this.#is_closing) this.#serving.noteUse()
  }

  /** Resolves when no later answer is computed from an older manifest than the one committed now. */
  adoptManifest(): Promise<void> {
    // A worker that is not ready yet will begin with the newest manifest.
    return this.#calls.adopt(this.#readyChildren())
  }

  /** Makes the workers check the project's files again, because one of them was found damaged. */
  reopenProject(project_id: number): void {
    for (const child of this.#readyChildren()) child.send({ kind: 'reopen', project_id })
  }

  #readyChildren(): readonly QueryChild[] {
    return [...this.#workers].map(({ child }) => child).filter(({ is_ready }) => is_ready)
  }

  /** Refuses the waiting and running queries, and ends the workers. */
  async close(): Promise<void> {
    this.#is_closing = true
    clearInterval(this.#spill_watch)
    this.#serving.close()
    this.#spares.close()
    const { waiting, running } = this.#queue
    for (const task of [...waiting, ...running]) task.reject(stopping())
    this.#queue.removeWaiting()
    await Promise.all([...this.#workers].map(({ child }) => child.close()))
  }

  /** Begins waiting queries: suspects in workers of their own, the others in the serving worker. */
  #begin(): void {
    if (this.#is_closing) return
    this.#replaceWorn()
    const mayBegin = ({ project_id }: QueuedQuery) => this.#back_off.waitMs(project_id) === 0
    this.#trials.begin(mayBegin)
    const serving = this.#serving.worker
    if (serving === null) return
    while (serving.child.is_ready && serving === this.#serving.worker) {
      const task = this.#queue.takeNext((it) => it.state === 'fresh' && mayBegin(it))
      if (task === null) break
      this.#send(task, serving)
    }
    if (this.#spares.areMissing && this.#isCalm()) this.#spares.fill()
  }

  /** True when nothing waits for a worker to start: a spare would take the processor from it. */
  #isCalm(): boolean {
    const is_starting = [...this.#workers].some(({ child }) => !child.is_ready)
    return !is_starting && this.#queue.waiting.every(({ state }) => state !== 'suspect')
  }

  #send(task: QueuedQuery, worker: EngineWorker): void {
    task.worker = worker
    worker.query_count += 1
    if (this.#runningIn(worker).some(({ project_id }) => project_id !== task.project_id)) {
      this.#spares.want()
    }
    task.attempts += 1
    task.begun_ms = performance.now()
    worker.child.send({ kind: 'run', id: task.id, query: task.query })
    task.onBegin?.()
  }

  /** Replaces a worn worker when its successor is ready, unless the one before still drains. */
  #replaceWorn(): void {
    const is_draining = [...this.#workers].some(({ retiring }) => retiring === 'worn')
    const serving = this.#serving.worker
    if (serving?.is_worn !== true || is_draining) return
    // The worn worker goes on with its queries, each of which has a time limit.
    if (this.#serving.prepareSuccessor()) this.#retire(serving, 'worn', null)
  }

  #releaseSuccessor(): void {
    this.#serving.releaseSuccessor((worker) =>
      this.#runningIn(worker).some(({ state }) => state === 'stopped'),
    )
  }

  /** Stops the queries of the project with the most spilled bytes, when the total exceeds the limit. */
  #watchSpilling(): void {
    for (const worker of this.#workers) this.#watchSpillingOf(worker)
  }

  #watchSpillingOf(worker: EngineWorker): void {
    const running = this.#runningIn(worker)
    if (running.length === 0) return
    const { data_dir, spill_mb } = this.#child_options
    const fault = findSpillFault(worker.child.spill_dir, { data_dir, spill_mb })
    if (fault === null) return
    const { project_id, refusal } = fault
    const tasks = running.filter((task) => task.project_id === project_id)
    // Queries stopped before are about to end, or the worker will be killed soon.
    if (tasks.some(({ state }) => state === 'stopped')) return
    this.#log.warn({ project_id, detail: refusal.detail }, 'queries have spilled too much')
    for (const task of tasks) this.#stop(task, refusal)
    // Without a running query, the bytes belong to one that has ended: opening the project again frees them.
    if (tasks.length === 0) this.reopenProject(project_id)
  }

  #probe(id: number): Promise<QueryProgressCounts | null> {
    const worker = this.#queue.findRunning(id)?.worker ?? null
    return worker === null ? Promise.resolve(null) : this.#calls.readProgress(worker.child, id)
  }

  #stop(task: QueuedQuery, refusal: Refusal): void {
    task.reject(refusal)
    const { worker } = task
    if (worker === null || this.#queue.findRunning(task.id) === null) {
      return this.#queue.remove(task)
    }
    task.state = 'stopped'
    worker.child.send({ kind: 'interrupt', id: task.id })
    const isStillRunning = () => this.#queue.findRunning(task.id) === task
    setTimeout(() => {
      if (isStillRunning() && worker === this.#serving.worker) this.#serving.prepareSuccessor()
    }, PREPARE_TIME_MS).unref()
    setTimeout(() => {
      if (!isStillRunning()) return
      this.#strike(task.project_id)
      this.#retire(worker, 'unresponsive', DRAIN_TIME_MS)
    }, INTERRUPT_TIME_MS)
  }

  /** Gives new queries to the next worker, and ends this one when its running queries have ended, or after `drain_ms`. */
  #retire(worker: EngineWorker, reason: KillReason, drain_ms: number | null): void {
    if (worker.retiring === null && worker === this.#serving.worker) this.#serving.replace()
    worker.retiring ??= reason
    if (drain_ms !== null) setTimeout(() => worker.child.kill(reason), drain_ms).unref()
    this.#endRetired(worker)
    this.#begin()
  }

  /** Kills a worker that takes no more queries once only stopped ones run in it. */
  #endRetired(worker: EngineWorker): void {
    if (worker.retiring === null) return
    const is_done = this.#runningIn(worker).every(({ state }) => state === 'stopped')
    if (is_done) worker.child.kill(worker.retiring)
  }

  /** Puts a project into exponential back-off, including its waiting queries. */
  #strike(project_id: number): void {
    const wait_ms = this.#back_off.strike(project_id)
    this.#spares.want()
    this.#log.warn({ project_id, wait_ms }, 'a project waits: its query ended the query process')
    // A timer may fire a fraction of a millisecond early.
    setTimeout(() => this.#begin(), wait_ms + 1).unref()
  }

  #spawn(role: EngineWorker['role']): EngineWorker {
    this.#children += 1
    const { memory_mb, ...others } = this.#child_options
    const trial_mb = Math.max(TRIAL_MB_MIN, Math.floor(memory_mb * TRIAL_SHARE))
    const options = { ...others, memory_mb: role === 'trial' ? trial_mb : memory_mb }
    // Log lines of a process are not about the request whose query started it.
    const child = outsideRequests(
      () =>
        new QueryChild(options, this.#children, {
          onMessage: (head, rest) => this.#receive(worker, head, rest),
          onDeath: (death) => this.#handleExit(worker, death),
        }),
    )
    const worker: EngineWorker = { child, role, retiring: null, is_worn: false, query_count: 0 }
    this.#workers.add(worker)
    return worker
  }

  #receive(worker: EngineWorker, head: FromQueryProcess, rest: Uint8Array): void {
    if (head.kind === 'ready') return this.#takeReady(worker, head)
    if (head.kind === 'worn') {
      worker.is_worn = true
      if (worker.role === 'trial') this.#retire(worker, 'closed', null)
      return this.#begin()
    }
    if (head.kind === 'adopted' || head.kind === 'progress') {
      return this.#calls.receive(worker.child, head)
    }
    const task = this.#queue.findRunning(head.id)
    if (task === null || task.worker !== worker) return
    if (head.kind === 'part') return this.#takePart(worker, task, rest)
    this.#queue.remove(task)
    if (head.kind === 'answer') {
      const { row_count, has_more, timings } = head
      this.#unopened.clear()
      task.resolve({ rows_json: rest, row_count, has_more, timings })
    } else this.#handleFailure(worker, task, head)
    this.#endRetired(worker)
    this.#releaseSuccessor()
    this.#begin()
  }

  #takeReady(
    worker: EngineWorker,
    { memory_is_limited, confinement }: Extract<FromQueryProcess, { readonly kind: 'ready' }>,
  ): void {
    const { pid } = worker.child
    this.#log.info({ pid, memory_is_limited, confinement }, 'query process ready')
    this.#confinement = confinement
    this.#serving.noteReady(worker)
    this.#releaseSuccessor()
    this.#spares.warm(worker)
    this.#begin()
  }

  #handleFailure(
    worker: EngineWorker,
    task: QueuedQuery,
    { code, detail }: { readonly code: string; readonly detail: string },
  ): void {
    const { project_id } = task
    switch (code) {
      case ENGINE_FAULT:
        task.reject(new EngineFault(detail))
        // After an internal error DuckDB refuses every statement.
        this.#strike(project_id)
        return this.#retire(worker, 'fault', 0)
      case OPENING_FAILED:
        this.#opening_failures += 1
        this.#log.warn(
          { project_id, detail },
          'a project cannot be opened: the process is replaced',
        )
        return this.#repeatInNextWorker(worker, task)
      case ENGINE_EXHAUSTED:
      case NO_ROOM:
        this.#log.warn({ project_id, detail }, 'the query process has no room: it is replaced')
        return this.#repeatInNextWorker(worker, task, code !== NO_ROOM)
      default:
        // Replacing the last worker did not help: the query itself had used up its room.
        if (code === 'query_memory' && worker.role === 'trial') this.#strike(project_id)
        task.reject(new Refusal(readCode(code), detail))
    }
  }

  /**
   * The worker cannot go on: it has no address space left, or could not open the project. The query runs once more in the
   * next worker, or alone if it may have used the memory.
   */
  #repeatInNextWorker(worker: EngineWorker, task: QueuedQuery, has_begun = true): void {
    if (worker.role === 'serving') this.#retire(worker, 'exhausted', DRAIN_TIME_MS)
    if (task.state === 'stopped') return
    if (worker.role === 'trial') this.#retire(worker, 'exhausted', 0)
    const is_first_of_trial = worker.role === 'trial' && worker.query_count === 1
    const refused = retryInNextWorker(task, { is_first_of_trial, has_begun })
    if (refused === null) return this.#queue.putBack(task)
    this.#unopened.add(task.project_id)
    if (is_first_of_trial) this.#strike(task.project_id)
    task.reject(refuseUnopened())
  }

  #takePart({ child }: EngineWorker, task: QueuedQuery, bytes: Uint8Array): void {
    task.has_parts = true
    const received = task.onPart?.(bytes) ?? Promise.resolve()
    // A rejection means that the reader has left and the query was stopped.
    received.then(
      () => child.send({ kind: 'more', id: task.id }),
      () => undefined,
    )
  }

  /** The worker has exited: its queries run once more in the next one. */
  #handleExit(worker: EngineWorker, death: ChildExit): void {
    this.#workers.delete(worker)
    this.#calls.forget(worker.child)
    const ended = this.#runningIn(worker)
    for (const task of ended) this.#queue.remove(task)
    const orphans = ended.filter(({ state }) => state !== 'stopped')
    if (this.#is_closing) return
    this.#noteExit(worker, death, orphans.length)
    if (death.reason === null || death.reason === 'memory') {
      this.#deaths += 1
      this.#spares.want()
    }
    for (const task of orphans.toReversed()) this.#requeue(task, death, orphans.length === 1)
    this.#spares.forget(worker)
    this.#trials.forget(worker, death)
    this.#serving.noteExit(worker, death)
    this.#begin()
  }

  #noteExit({ role, query_count }: EngineWorker, death: ChildExit, queries: number): void {
    const reason = death.reason ?? 'died'
    if (reason === 'closed' && query_count === 0) return
    if (reason === 'idle') return this.#log.info({}, 'query process ended: nothing was asked')
    this.#ended.set(reason, (this.#ended.get(reason) ?? 0) + 1)
    if (reason === 'worn' || reason === 'closed') this.#log.info({ role }, 'query process replaced')
    else this.#log.warn({ ...death, role, queries }, 'query process died')
  }

  /** Puts a query that ran when the worker died back at the front of the queue, or refuses it. */
  #requeue(task: QueuedQuery, death: ChildExit, was_alone: boolean): void {
    const was_killed_for_others = death.reason !== null && death.reason !== 'memory'
    const end = { was_killed_for_others, was_alone, death: this.#deaths }
    const refused = retryAfterEnd(task, end)
    if (refused === null) return this.#queue.putBack(task)
    if (refused === 'interrupted') return task.reject(refuseInterrupted())
    if (task.suspected_in !== null) exonerate(this.#queue.waiting, task.suspected_in)
    this.#strike(task.project_id)
    task.reject(engineCrashed(death))
  }
}
