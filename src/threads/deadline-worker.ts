/** Runs jobs of one kind on a Worker: one at a time, a bounded queue, a deadline per job. */
import { Refusal } from '../errors.ts'
import { type JobMessage, type JobResult, refusalFromData } from './messages.ts'
import { tryStartThread } from './start-thread.ts'

type DeadlineWorkerSettings = {
  /** The address of the Worker's file: `new URL('./x-thread.ts', import.meta.url).href`. */
  readonly url: string
  /** Jobs that may wait. When all places are taken, an owner with less than an equal share still gets one. */
  readonly waiting_max: number
  /** The Worker ends after this long without a job. */
  readonly idle_ms: number
  /** The refusal of a job that ran longer than its deadline. */
  readonly refuseLate: (deadline_ms: number) => Refusal
}

export type JobOptions = {
  /** The jobs of different owners take turns: usually the id of a project. */
  readonly owner: number
  /** The time the job may run, from when it begins. */
  readonly deadline_ms: number
  /** Aborting says that the caller has left: a waiting job is dropped, a running one is terminated. */
  readonly signal?: AbortSignal
}

type Job<Input, Output> = {
  readonly input: Input
  readonly options: JobOptions
  readonly resolve: (output: Output) => void
  readonly reject: (error: Error) => void
}

const RETRY_AFTER_S = 1

/** The main thread's handle on a Worker that may be terminated at any time: it keeps no state between jobs. */
export class DeadlineWorker<Input, Output> {
  readonly #settings: DeadlineWorkerSettings
  #worker: Worker | null = null
  #waiting: readonly Job<Input, Output>[] = []
  #running: Job<Input, Output> | null = null
  /** The start of each waiting owner's last job, as a count of jobs. */
  readonly #last_begun = new Map<number, number>()
  #begun = 0
  #deadline: Timer | null = null
  #idle: Timer | null = null
  #is_closed = false

  constructor(settings: DeadlineWorkerSettings) {
    this.#settings = settings
  }

  /** For health checks and tests. */
  get state(): {
    readonly running: number
    readonly waiting: number
    readonly is_started: boolean
  } {
    return {
      running: this.#running === null ? 0 : 1,
      waiting: this.#waiting.length,
      is_started: this.#worker !== null,
    }
  }

  /**
   * Runs one job. Refuses what its work refuses, `throttled` when too many wait, `query_cancelled` when the signal is
   * aborted, `storage_unavailable` after `close` and while no Worker can start, and what the settings say when it runs
   * longer than its deadline.
   */
  run(input: Input, options: JobOptions): Promise<Output> {
    if (this.#is_closed) return Promise.reject(closed())
    if (options.signal?.aborted === true) return Promise.reject(cancelled())
    if (this.#isFull(options.owner)) return Promise.reject(full())
    const { promise, resolve, reject } = Promise.withResolvers<Output>()
    const job: Job<Input, Output> = { input, options, resolve, reject }
    const onAbort = (): void => this.#abort(job)
    options.signal?.addEventListener('abort', onAbort, { once: true })
    this.#waiting = [...this.#waiting, job]
    this.#beginNext()
    return promise.finally(() => options.signal?.removeEventListener('abort', onAbort))
  }

  /** Ends the Worker; jobs that wait or run are refused. */
  close(): void {
    this.#is_closed = true
    const jobs = [...this.#waiting, ...(this.#running === null ? [] : [this.#running])]
    this.#waiting = []
    this.#running = null
    this.#terminate()
    for (const job of jobs) job.reject(closed())
  }

  #isFull(owner: number): boolean {
    const owners = this.#waiting.map((job) => job.options.owner)
    if (owners.length < this.#settings.waiting_max) return false
    const own = owners.filter((other) => other === owner).length
    return own >= this.#settings.waiting_max / new Set([...owners, owner]).size
  }

  #beginNext(): void {
    if (this.#running !== null) return
    const job = this.#pick()
    if (job === null) {
      this.#last_begun.clear()
      this.#endWhenIdle()
      return
    }
    this.#waiting = this.#waiting.filter((other) => other !== job)
    this.#running = job
    this.#begun += 1
    this.#last_begun.set(job.options.owner, this.#begun)
    this.#begin(job)
  }

  /** The oldest job of the owner whose last one began longest ago. */
  #pick(): Job<Input, Output> | null {
    const turnOf = (job: Job<Input, Output>): number => this.#last_begun.get(job.options.owner) ?? 0
    return this.#waiting.reduce<Job<Input, Output> | null>(
      (best, job) => (best === null || turnOf(job) < turnOf(best) ? job : best),
      null,
    )
  }

  #begin(job: Job<Input, Output>): void {
    const { deadline_ms } = job.options
    if (this.#idle !== null) clearTimeout(this.#idle)
    const worker = this.#worker ?? this.#tryStart()
    if (worker === null) {
      this.#finish((unstarted) => unstarted.reject(cannotStart()))
      return
    }
    worker.ref()
    this.#deadline = setTimeout(() => {
      this.#stop(this.#settings.refuseLate(deadline_ms))
    }, deadline_ms)
    const message: JobMessage<Input> = { id: this.#begun, input: job.input }
    try {
      worker.postMessage(message, [])
    } catch (error) {
      this.#finish((failed) => failed.reject(asError(error)))
    }
  }

  #tryStart(): Worker | null {
    const worker = tryStartThread(this.#settings.url, { smol: true })
    if (worker === null) return null
    worker.addEventListener('message', (event: MessageEvent<JobResult<Output>>) => {
      if (worker === this.#worker) this.#receive(event.data)
    })
    // The file cannot be loaded, or an error was thrown outside of any job.
    worker.addEventListener('error', (event) => {
      if (worker === this.#worker) this.#stop(new Error(event.message))
    })
    this.#worker = worker
    return worker
  }

  #receive(result: JobResult<Output>): void {
    if (result.id !== this.#begun) return
    this.#finish((job) => {
      if (result.kind === 'done') job.resolve(result.output)
      else if (result.kind === 'refused') job.reject(refusalFromData(result.refusal))
      else job.reject(new Error(result.message))
    })
  }

  #abort(job: Job<Input, Output>): void {
    if (job === this.#running) {
      this.#stop(cancelled())
      return
    }
    this.#waiting = this.#waiting.filter((other) => other !== job)
    job.reject(cancelled())
  }

  /** Ends the Worker under the running job; the next one gets a new Worker. */
  #stop(error: Error): void {
    this.#terminate()
    this.#finish((job) => job.reject(error))
  }

  #finish(settle: (job: Job<Input, Output>) => void): void {
    const job = this.#running
    if (this.#deadline !== null) clearTimeout(this.#deadline)
    this.#running = null
    if (job !== null) settle(job)
    this.#beginNext()
  }

  #endWhenIdle(): void {
    // A Worker without a job keeps no process alive.
    this.#worker?.unref()
    if (this.#idle !== null) clearTimeout(this.#idle)
    this.#idle = setTimeout(() => this.#terminate(), this.#settings.idle_ms)
    this.#idle.unref()
  }

  #terminate(): void {
    if (this.#deadline !== null) clearTimeout(this.#deadline)
    if (this.#idle !== null) clearTimeout(this.#idle)
    this.#worker?.terminate()
    this.#worker = null
  }
}

const asError = (error: unknown): Error =>
  error instanceof Error ? error : new Error(String(error))

function cancelled(): Refusal {
  return new Refusal('query_cancelled', 'The work was cancelled.')
}

function cannotStart(): Refusal {
  const extras = { retry_after_s: RETRY_AFTER_S }
  return new Refusal(
    'storage_unavailable',
    'The server has no file handle left. Try again.',
    extras,
  )
}

function closed(): Refusal {
  const extras = { retry_after_s: RETRY_AFTER_S }
  return new Refusal('storage_unavailable', 'The server is stopping.', extras)
}

function full(): Refusal {
  const extras = { retry_after_s: RETRY_AFTER_S }
  return new Refusal('throttled', 'Too much work of this kind is waiting. Try again soon.', extras)
}
