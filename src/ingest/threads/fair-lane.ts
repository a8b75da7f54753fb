/** A queue of requests that takes turns among projects: one project's flood keeps no other waiting. */
import type { PreparedRequest } from './batch.ts'

/** First in, first out for each project; round robin among them. */
export class FairLane {
  readonly #queues = new Map<number, PreparedRequest[]>()

  /** Whether there is nothing to take, projects aside that are held. */
  isEmpty(isHeld: (project_id: number) => boolean): boolean {
    return !this.#queues.keys().some((project_id) => !isHeld(project_id))
  }

  add(request: PreparedRequest): void {
    const queue = this.#queues.get(request.project_id)
    if (queue === undefined) this.#queues.set(request.project_id, [request])
    else queue.push(request)
  }

  /** Requests that were taken and not written after all: they come before others of their projects. */
  putBack(requests: readonly PreparedRequest[]): void {
    for (const request of requests.toReversed()) {
      const queue = this.#queues.get(request.project_id)
      if (queue === undefined) this.#queues.set(request.project_id, [request])
      else queue.unshift(request)
    }
  }

  /** The next requests, one of each project in turn, as far as their events fit; at least one. None of a held project. */
  take(events_max: number, isHeld: (project_id: number) => boolean): readonly PreparedRequest[] {
    const taken: PreparedRequest[] = []
    const counts = new Map<number, number>()
    let room = events_max
    let is_full = false
    while (!is_full) {
      const before = taken.length
      for (const [project_id, queue] of this.#queues) {
        const count = counts.get(project_id) ?? 0
        const next = queue[count]
        if (next === undefined || isHeld(project_id)) continue
        room -= next.events.length
        is_full = taken.length > 0 && room < 0
        if (is_full) break
        taken.push(next)
        counts.set(project_id, count + 1)
      }
      if (taken.length === before) break
    }
    for (const [project_id, count] of counts) this.#remove(project_id, count)
    return taken
  }

  /** Removes the head of a project's queue; what is left of it goes behind those of others. */
  #remove(project_id: number, count: number): void {
    const left = this.#queues.get(project_id)?.slice(count) ?? []
    this.#queues.delete(project_id)
    if (left.length > 0) this.#queues.set(project_id, left)
  }
}
