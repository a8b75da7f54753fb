/** Background questions take turns: a few at a time, the projects alternating, so that nobody else waits for them. */
import { Refusal } from '../errors.ts'
import { isOverShare } from './fair-share.ts'

/** A question's place in the queue. */
export type Turn = {
  /** Resolves when it may begin. */
  readonly come: Promise<void>
  /** It may begin now: somebody waits for it. */
  readonly hurry: () => void
  /** It is over, or was never wanted; the next one's turn comes. Does nothing the second time. */
  readonly leave: () => void
}

type Place = { readonly project_id: number; readonly begin: () => void }

const RETRY_AFTER_S = 5

export class Turns {
  readonly #running_max: number
  readonly #waiting_max: number
  #waiting: readonly Place[] = []
  readonly #running = new Set<Place>()

  constructor(running_max: number, waiting_max: number) {
    this.#running_max = running_max
    this.#waiting_max = waiting_max
  }

  get state(): { readonly running: number; readonly waiting: number } {
    return { running: this.#running.size, waiting: this.#waiting.length }
  }

  /** Queues a question. Refuses with `throttled` when too many wait already, of this project more than its part. */
  take(project_id: number): Turn {
    const waiting = this.#waiting.map((place) => place.project_id)
    if (isOverShare(waiting, project_id, this.#waiting_max)) {
      const detail = 'Too many background queries are waiting. Try again soon.'
      throw new Refusal('throttled', detail, { retry_after_s: RETRY_AFTER_S })
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    const place: Place = { project_id, begin: resolve }
    this.#waiting = [...this.#waiting, place]
    this.#beginNext()
    return {
      come: promise,
      hurry: () => {
        // Whoever is waited for is counted with those who are answered at once.
        this.#forget(place)
        place.begin()
      },
      leave: () => this.#forget(place),
    }
  }

  #forget(place: Place): void {
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
  #pick(): Place | null {
    const load = new Map<number, number>()
    for (const { project_id } of this.#running) {
      load.set(project_id, (load.get(project_id) ?? 0) + 1)
    }
    const loadOf = ({ project_id }: Place): number => load.get(project_id) ?? 0
    return this.#waiting.reduce<Place | null>(
      (best, place) => (best === null || loadOf(place) < loadOf(best) ? place : best),
      null,
    )
  }
}
