/** Background queries take turns: a few at a time, the projects alternating, so that nobody else waits for them. */
import { Refusal } from '../../errors.ts'
import { isOverShare } from './fair-share.ts'

/** A query's place in the queue. */
export type BackgroundSlot = {
  /** Resolves when it may begin. */
  readonly granted: Promise<void>
  /** It may begin now: somebody waits for it. */
  readonly prioritize: () => void
  /** It is over, or was never wanted; the next one's turn comes. Does nothing the second time. */
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

  /** Queues a query. Refuses with `throttled` when too many wait already, of this project more than its part. */
  take(project_id: number): BackgroundSlot {
    const waiting = this.#waiting.map((place) => place.project_id)
    if (isOverShare(waiting, project_id, this.#waiting_max)) {
      const detail = 'Too many background queries are waiting. Try again soon.'
      throw new Refusal('throttled', detail, { retry_after_s: RETRY_AFTER_S })
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    const place: QueuedSlot = { project_id, begin: resolve }
    this.#waiting = [...this.#waiting, place]
    this.#beginNext()
    return {
      granted: promise,
      prioritize: () => {
        // Whoever is waited for is counted with those who are answered at once.
        this.#forget(place)
        place.begin()
      },
      release: () => this.#forget(place),
    }
  }

  #forget(place: QueuedSlot): void {
    this.#running.delete(place)
    this.#waiting = this.#waiting.filter((other) => other !== place)
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

  /** The oldest of the project that has the fewest running. */
  #pick(): QueuedSlot | null {
    const load = new Map<number, number>()
    for (const { project_id } of this.#running) {
      load.set(project_id, (load.get(project_id) ?? 0) + 1)
    }
    const loadOf = ({ project_id }: QueuedSlot): number => load.get(project_id) ?? 0
    return this.#waiting.reduce<QueuedSlot | null>(
      (best, place) => (best === null || loadOf(place) < loadOf(best) ? place : best),
      null,
    )
  }
}
