/**
 * Suspects are queries that ran when a worker died by itself. Each runs again alone in a trial worker; if that dies too,
 * its query is the cause, and the other suspects of the same death are cleared.
 */
import type { ProjectQueue } from '../scheduling/project-queue.ts'
import { cannotStart } from './engine-refusals.ts'
import type { EngineWorker, QueuedQuery } from './queued-query.ts'
import type { SpareWorkers } from './spare-workers.ts'
import type { ChildExit } from './worker-client.ts'

/** Trials at a time, each of another project. */
const TRIALS_MAX = 3

type TrialOptions = {
  readonly queue: ProjectQueue<QueuedQuery>
  readonly spares: SpareWorkers
  readonly send: (task: QueuedQuery, worker: EngineWorker) => void
  /** True when the queries that are no suspects have a worker. */
  readonly areOthersServed: () => boolean
}

export class Trials {
  readonly #options: TrialOptions
  readonly #workers = new Set<EngineWorker>()

  constructor(options: TrialOptions) {
    this.#options = options
  }

  /** Begins waiting suspects, one per project, and ends the workers that have nothing left to try. */
  begin(mayBegin: (task: QueuedQuery) => boolean): void {
    const { queue, spares, send } = this.#options
    if (this.#workers.size === 0 && !queue.waiting.some(isSuspect)) return
    const in_trial = queue.running.filter(({ worker }) => worker?.role === 'trial')
    const suspects = nextSuspects(queue.waiting.filter(mayBegin), in_trial)
    const idle = [...this.#workers].filter(
      (trial) => trial.retiring === null && in_trial.every(({ worker }) => worker !== trial),
    )
    while (idle.length < suspects.length && this.#mayAdd()) {
      const trial = spares.take('trial')
      this.#workers.add(trial)
      idle.push(trial)
    }
    const ready_first = idle.toSorted((one, other) => +other.child.is_ready - +one.child.is_ready)
    for (const [index, trial] of ready_first.entries()) {
      const task = suspects[index]
      if (task === undefined) {
        // The suspects were cleared, tried by other workers, or cancelled meanwhile.
        this.#workers.delete(trial)
        spares.giveBack(trial)
      } else if (trial.child.is_ready) {
        queue.begin(task)
        send(task, trial)
      }
    }
  }

  /** Forgets a worker that has exited. One that could not start names no cause: all suspects are refused. */
  forget(worker: EngineWorker, { was_ready, reason }: ChildExit): void {
    if (!this.#workers.delete(worker) || was_ready || reason !== null) return
    const { queue } = this.#options
    for (const task of queue.waiting.filter(isSuspect)) {
      queue.remove(task)
      task.reject(cannotStart())
    }
  }

  /** The serving worker starts before a second trial: more queries wait for it. */
  #mayAdd(): boolean {
    const { size } = this.#workers
    return size === 0 || (size < TRIALS_MAX && this.#options.areOthersServed())
  }
}

/**
 * The waiting suspects to try next, one per project that has none in trial. Least attained service first: a short query
 * waits for no long one, and one that ends its worker at once shows itself before the others are tried.
 */
function nextSuspects(
  waiting: readonly QueuedQuery[],
  in_trial: readonly QueuedQuery[],
): readonly QueuedQuery[] {
  const projects = new Set(in_trial.map(({ project_id }) => project_id))
  return waiting
    .filter(isSuspect)
    .toSorted((one, other) => one.ran_ms - other.ran_ms)
    .filter(({ project_id }) => {
      const is_first = !projects.has(project_id)
      projects.add(project_id)
      return is_first
    })
}

/** Clears the suspects of a death whose cause is known: two causes at once are rare, and the next death shows the other. */
export function exonerate(waiting: readonly QueuedQuery[], death: number): void {
  for (const task of waiting) {
    if (isSuspect(task) && task.suspected_in === death) task.state = 'fresh'
  }
}

function isSuspect({ state }: QueuedQuery): boolean {
  return state === 'suspect'
}
