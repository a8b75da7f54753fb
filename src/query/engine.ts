/** Answers compiled questions: keeps a query process alive, queues what it cannot take yet, and stops what takes too long. */
import { Refusal } from '../errors.ts'
import { type ChildOptions, type Death, QueryChild } from './child.ts'
import {
  busy,
  cancelled,
  cannotStart,
  diedUnder,
  ENGINE_FAULT,
  EngineFault,
  readCode,
  stopping,
  timedOut,
} from './engine-refusals.ts'
import type { Answer, FromQueryProcess, Progress, SentQuestion } from './frames.ts'
import { isFull, pickNext, type Task } from './queue.ts'

export type QuerySettings = {
  /** Memory that all questions may use together. */
  readonly memory_mb: number
  /** Threads that compute; 0 for one per processor core. */
  readonly threads: number
  readonly result_bytes_max: number
  readonly running_max: number
  /** Questions beyond these are refused with `throttled`. */
  readonly waiting_max: number
}

/** What is written to the log; a pino logger fits. */
export type EngineLog = {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

export type EngineOptions = {
  readonly data_dir: string
  readonly settings: QuerySettings
  readonly log: EngineLog
  /** Files a project may gain before its DuckDB instance is opened anew. */
  readonly spare_slots?: number
}

export type AskOptions = {
  /** From now on, waiting included. */
  readonly timeout_ms: number
  /** Aborting cancels the question. */
  readonly signal?: AbortSignal
  /** Waits however many others do: for those who limit their number themselves. */
  readonly is_patient?: boolean
  /** Called when the question is begun, also a second time; `probe` tells how far it is, null when it cannot. */
  readonly onBegin?: (probe: () => Promise<Progress | null>) => void
  /** Takes the parts of an answer sent in parts; the next one is sent for when it resolves. */
  readonly onPart?: (bytes: Uint8Array) => Promise<void>
}

/** A question that does not stop when interrupted costs the process its life after this. */
const INTERRUPT_TIME_MS = 2000
/** Each project open in the query process has threads and tables of its own. */
const PROJECTS_MAX = 16
const SPARE_SLOTS = 256
/** How often a question is begun: once more when the process died under it. */
const ATTEMPTS_MAX = 2
/** After so many processes in a row that died before their first word, waiting questions are refused. */
const FAILED_STARTS_MAX = 3
const RESTART_DELAY_MS = 200

export class QueryEngine {
  readonly #child_options: ChildOptions
  readonly #settings: QuerySettings
  readonly #log: EngineLog
  #waiting: readonly Task[] = []
  readonly #running = new Map<number, Task>()
  readonly #adoptions = new Map<number, () => void>()
  readonly #probes = new Map<number, (progress: Progress | null) => void>()
  #child: QueryChild | null = null
  #children = 0
  #failed_starts = 0
  #last_id = 0
  #is_closing = false

  constructor({ data_dir, settings, log, spare_slots }: EngineOptions) {
    this.#settings = settings
    this.#log = log
    this.#child_options = {
      data_dir,
      memory_mb: settings.memory_mb,
      threads: settings.threads || navigator.hardwareConcurrency,
      result_bytes_max: settings.result_bytes_max,
      projects_max: PROJECTS_MAX,
      spare_slots: spare_slots ?? SPARE_SLOTS,
      // One more per question for the log that it follows.
      blocking_calls_max: 2 * settings.running_max,
    }
    this.#start()
  }

  /** For health checks and tests. */
  get state() {
    const pid = this.#child?.is_ready ? this.#child.pid : null
    return {
      pid,
      running: this.#running.size,
      waiting: this.#waiting.length,
      processes_started: this.#children,
    }
  }

  /**
   * Answers a question with what is committed at the time of the call, or later. Refuses with query_timeout,
   * query_cancelled, query_memory, query_too_large, query_failed, throttled, or storage_unavailable; throws EngineFault.
   */
  ask(question: SentQuestion, options: AskOptions): Promise<Answer> {
    const { timeout_ms, signal, onBegin, onPart } = options
    if (this.#is_closing) return Promise.reject(stopping())
    if (signal?.aborted) return Promise.reject(cancelled())
    const tasks = [...this.#running.values(), ...this.#waiting]
    const is_full = isFull(tasks, question.project_id, this.#settings)
    if (is_full && options.is_patient !== true) return Promise.reject(busy())
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    this.#last_id += 1
    const id = this.#last_id
    const task: Task = {
      id,
      question,
      attempts: 0,
      state: 'fresh',
      onBegin: onBegin === undefined ? null : () => onBegin(() => this.#probe(id)),
      onPart: onPart ?? null,
      has_parts: false,
      resolve,
      reject,
    }
    const onTimeout = (): void =>
      this.#stop(task, task.attempts > 0 ? timedOut(timeout_ms) : busy())
    const timer = setTimeout(onTimeout, timeout_ms)
    const onAbort = (): void => this.#stop(task, cancelled())
    signal?.addEventListener('abort', onAbort)
    this.#waiting = [...this.#waiting, task]
    this.#begin()
    return promise.finally(() => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    })
  }

  /** Resolves when no answer will be computed any more from an older manifest than the one committed now. */
  adoptManifest(): Promise<void> {
    const child = this.#child
    // A process that has not begun yet will begin with the newest.
    if (child === null || !child.is_ready) return Promise.resolve()
    this.#last_id += 1
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#adoptions.set(this.#last_id, resolve)
    child.send({ kind: 'adopt', id: this.#last_id })
    return promise
  }

  /** Has the project's files looked at anew, since one of them was found damaged. */
  reopenProject(project_id: number): void {
    if (this.#child?.is_ready) this.#child.send({ kind: 'reopen', project_id })
  }

  /** Refuses what is waiting or running, and ends the process. */
  async close(): Promise<void> {
    this.#is_closing = true
    for (const task of [...this.#waiting, ...this.#running.values()]) task.reject(stopping())
    this.#waiting = []
    await this.#child?.close()
  }

  /** Sends waiting questions as long as there is room. */
  #begin(): void {
    if (this.#child === null) this.#start()
    while (this.#child?.is_ready && this.#running.size < this.#settings.running_max) {
      const task = pickNext(this.#waiting, [...this.#running.values()])
      if (task === null) return
      this.#waiting = this.#waiting.filter((other) => other !== task)
      task.attempts += 1
      this.#running.set(task.id, task)
      this.#child.send({ kind: 'ask', id: task.id, question: task.question })
      task.onBegin?.()
    }
  }

  #probe(id: number): Promise<Progress | null> {
    const child = this.#child
    if (child === null || !this.#running.has(id)) return Promise.resolve(null)
    this.#last_id += 1
    const { promise, resolve } = Promise.withResolvers<Progress | null>()
    this.#probes.set(this.#last_id, resolve)
    child.send({ kind: 'probe', id, probe: this.#last_id })
    return promise
  }

  #stop(task: Task, refusal: Refusal): void {
    task.reject(refusal)
    if (!this.#running.has(task.id)) {
      this.#waiting = this.#waiting.filter((other) => other !== task)
      return
    }
    task.state = 'stopped'
    const child = this.#child
    child?.send({ kind: 'interrupt', id: task.id })
    setTimeout(() => {
      if (this.#running.get(task.id) === task && child === this.#child) child?.kill('unresponsive')
    }, INTERRUPT_TIME_MS)
  }

  #start(): void {
    this.#children += 1
    const child = new QueryChild(this.#child_options, this.#children, {
      onMessage: (head, rest) => this.#hear(head, rest),
      onDeath: (death) => this.#bury(child, death),
    })
    this.#child = child
  }

  #hear(head: FromQueryProcess, rest: Uint8Array): void {
    if (head.kind === 'ready') {
      this.#failed_starts = 0
      this.#log.info(
        { pid: this.#child?.pid, memory_is_limited: head.memory_is_limited },
        'query process ready',
      )
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
    const task = this.#running.get(head.id)
    if (task === undefined) return
    if (head.kind === 'part') return this.#takePart(task, rest)
    this.#running.delete(task.id)
    if (head.kind === 'answer') {
      const { row_count, has_more, timings } = head
      task.resolve({ rows_json: rest, row_count, has_more, timings })
    } else if (head.code === ENGINE_FAULT) {
      task.reject(new EngineFault(head.detail))
      // After a fault the engine refuses everything.
      this.#child?.kill('fault')
    } else task.reject(new Refusal(readCode(head.code), head.detail))
    this.#begin()
  }

  #takePart(task: Task, bytes: Uint8Array): void {
    const child = this.#child
    task.has_parts = true
    const taken = task.onPart?.(bytes) ?? Promise.resolve()
    // Whoever does not take it has left, and the question was stopped.
    taken.then(
      () => child?.send({ kind: 'more', id: task.id }),
      () => undefined,
    )
  }

  /** The process is gone: what it was answering is asked again of the next one, once. */
  #bury(child: QueryChild, death: Death): void {
    if (child !== this.#child) return
    this.#child = null
    for (const resolve of this.#adoptions.values()) resolve()
    this.#adoptions.clear()
    for (const resolve of this.#probes.values()) resolve(null)
    this.#probes.clear()
    const orphans = [...this.#running.values()].filter(({ state }) => state !== 'stopped')
    this.#running.clear()
    if (this.#is_closing) return
    this.#log.warn({ ...death, questions: orphans.length }, 'query process died')
    for (const task of orphans) this.#giveBack(task, death)
    this.#restart(death)
  }

  #giveBack(task: Task, death: Death): void {
    // Parts that were sent cannot be taken back.
    if (task.attempts >= ATTEMPTS_MAX || task.has_parts) return task.reject(diedUnder(death))
    // Whose fault was it? When we did not do it ourselves, each is asked again alone.
    if (death.reason !== 'unresponsive' && death.reason !== 'fault') task.state = 'suspect'
    this.#waiting = [task, ...this.#waiting]
  }

  #restart({ was_ready }: Death): void {
    this.#failed_starts = was_ready ? 0 : this.#failed_starts + 1
    if (this.#failed_starts === 0) return this.#start()
    if (this.#failed_starts >= FAILED_STARTS_MAX) {
      for (const task of this.#waiting) task.reject(cannotStart())
      this.#waiting = []
      // The next question tries again.
      return
    }
    setTimeout(() => {
      if (!this.#is_closing && this.#child === null) this.#start()
    }, RESTART_DELAY_MS)
  }
}
