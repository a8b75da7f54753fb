/** A semaphore for background queries: a few run at a time, projects alternate, and blocking queries are not delayed. */
import { Refusal } from '../../errors.ts'
import { isOverShare } from './fair-share.ts'

/** One background query in the queue. */
export type BackgroundSlot = {
  /** Resolves when the query may begin. */
  readonly granted: Promise<void>
  /** Lets the query begin at once, because a blocking caller now waits for the same answer. */
  readonly prioritize: () => void
  /** Frees the slot for the next query, after the end of this one or instead of it. Idempotent. */
  readonly release: () => void
}

type QueuedSlot = { readonly project_id: number; readonly begin: () => void }

const RETRY_AFTER_S = 5

export class BackgroundSlots {
  readonly #running_max: number
  readonly #waiting_max: number
  #waiting: readonly QueuedSlot[] = []
  readonly #running = new Set<QueuedSlot>()

  constructor(running_max: number, waiting_max: number) {
    this.#running_max = running_max
    this.#waiting_max = waiting_max
  }

  get state(): { readonly running: number; readonly waiting: number } {
    return { running: this.#running.size, waiting: this.#waiting.length }
  }

  /** Queues a query. Refuses with `throttled` when the queue is full and the project has its fair share of it. */
  take(project_id: number): BackgroundSlot {
    const waiting = this.#waiting.map((slot) => slot.project_id)
    if (isOverShare(waiting, project_id, this.#waiting_max)) {
      const detail = 'Too many background queries are waiting. Try again soon.'
      throw new Refusal('throttled', detail, { retry_after_s: RETRY_AFTER_S })
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    const slot: QueuedSlot = { project_id, begin: resolve }
    this.#waiting = [...this.#waiting, slot]
    this.#beginNext()
    return {
      granted: promise,
      prioritize: () => {
        // It no longer counts against the background limit: the engine's queue limits blocking queries.
        this.#remove(slot)
        slot.begin()
      },
      release: () => this.#remove(slot),
    }
  }

  #remove(slot: QueuedSlot): void {
    this.#running.delete(slot)
    this.#waiting = this.#waiting.filter((other) => other !== slot)
    this.#beginNext()
  }

  #beginNext(): void {
    while (this.#running.size < this.#running_max) {
      const next = this.#pick()
      if (next === null) return
      this.#waiting = this.#waiting.filter((other) => other !== next)
      this.#running.add(next)
      next.begin()
    }
  }

  /** Picks the oldest waiting query of the project with the fewest running ones. */
  #pick(): QueuedSlot | null {
    const load = new Map<number, number>()
    for (const { project_id } of this.#running) {
      load.set(project_id, (load.get(project_id) ?? 0) + 1)
    }
    const loadOf = ({ project_id }: QueuedSlot): number => load.get(project_id) ?? 0
    return this.#waiting.reduce<QueuedSlot | null>(
      (best, slot) => (best === null || loadOf(slot) < loadOf(best) ? slot : best),
      null,
    )
  }
}
