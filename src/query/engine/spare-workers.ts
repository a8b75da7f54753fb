/**
 * Idle workers, started ahead: a death then costs others no start of a process (80 ms of a processor, and 45 ms for the
 * engine's library). Each takes 24 MB of memory, so there are none before queries of two projects have run beside each
 * other, and none after some time without.
 */
import type { EngineWorker } from './queued-query.ts'

type Role = EngineWorker['role']

/** One to serve in place of a worker that ends, one for the first suspect. */
const ROLES: readonly Role[] = ['serving', 'trial']
/** After a spare that died by itself, none is started for this time. */
const PAUSE_MS = 30_000

type SpareOptions = {
  readonly spawn: (role: Role) => EngineWorker
  /** Spares that nothing wanted for this time are ended. */
  readonly kept_ms: number
}

export class SpareWorkers {
  readonly #options: SpareOptions
  readonly #spares = new Map<Role, EngineWorker>()
  #wanted_until_ms = 0
  #paused_until_ms = 0
  #trimmer: Timer | null = null

  constructor(options: SpareOptions) {
    this.#options = options
  }

  /** The process ids of spares that are ready. */
  get pids(): readonly number[] {
    const children = [...this.#spares.values()].map(({ child }) => child)
    return children.filter(({ is_ready }) => is_ready).map(({ pid }) => pid)
  }

  /** Notes that a death would now hurt bystanders. */
  want(): void {
    this.#wanted_until_ms = performance.now() + this.#options.kept_ms
  }

  get areMissing(): boolean {
    const is_full = this.#spares.size === ROLES.length
    return !is_full && this.#areWanted() && performance.now() >= this.#paused_until_ms
  }

  /** Starts the missing spares. */
  fill(): void {
    for (const role of ROLES) {
      if (!this.#spares.has(role)) this.#spares.set(role, this.#options.spawn(role))
    }
    this.#trimmer ??= this.#trimLater()
  }

  /** Takes the spare of a role, or starts a worker. */
  take(role: Role): EngineWorker {
    const spare = this.#spares.get(role)
    this.#spares.delete(role)
    return spare ?? this.#options.spawn(role)
  }

  /** Keeps a worker that is no longer needed, if it has run no query and its place is free; otherwise ends it. */
  giveBack(worker: EngineWorker): void {
    const is_kept = worker.query_count === 0 && this.#areWanted() && !this.#spares.has(worker.role)
    if (!is_kept) return worker.child.kill('closed')
    this.#spares.set(worker.role, worker)
    this.#trimmer ??= this.#trimLater()
  }

  /** Loads the engine in a spare that has become ready. */
  warm(worker: EngineWorker): void {
    if (this.#spares.get(worker.role) === worker) worker.child.send({ kind: 'warm' })
  }

  /** Forgets a worker that has exited. */
  forget(worker: EngineWorker): void {
    if (this.#spares.get(worker.role) !== worker) return
    this.#spares.delete(worker.role)
    this.#paused_until_ms = performance.now() + PAUSE_MS
  }

  /** Ends no process: the engine closes all. */
  close(): void {
    if (this.#trimmer !== null) clearTimeout(this.#trimmer)
    this.#wanted_until_ms = 0
  }

  #areWanted(): boolean {
    return performance.now() < this.#wanted_until_ms
  }

  #trimLater(): Timer {
    const timer = setTimeout(
      () => this.#trim(),
      Math.max(0, this.#wanted_until_ms - performance.now()) + 1,
    )
    timer.unref()
    return timer
  }

  #trim(): void {
    this.#trimmer = null
    if (this.#areWanted()) {
      this.#trimmer = this.#trimLater()
      return
    }
    const idle = [...this.#spares.values()]
    this.#spares.clear()
    for (const { child } of idle) child.kill('closed')
  }
}
