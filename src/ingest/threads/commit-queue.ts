/** The requests of a lane that wait for their commit: round robin among projects, so that one project's flood delays no other. */
import type { PreparedRequest } from './prepared-request.ts'

/** First in, first out within a project, round robin among projects. */
export class CommitQueue {
  readonly #queues = new Map<number, PreparedRequest[]>()

  /** Whether no project has a request, except blocked ones. */
  isEmpty(isBlocked: (project_id: number) => boolean): boolean {
    return !this.#queues.keys().some((project_id) => !isBlocked(project_id))
  }

  add(request: PreparedRequest): void {
    const queue = this.#queues.get(request.project_id)
    if (queue === undefined) this.#queues.set(request.project_id, [request])
    else queue.push(request)
  }

  /** Returns requests that were taken and not written: each goes to the head of its project's queue. */
  putBack(requests: readonly PreparedRequest[]): void {
    for (const request of requests.toReversed()) {
      const queue = this.#queues.get(request.project_id)
      if (queue === undefined) this.#queues.set(request.project_id, [request])
      else queue.unshift(request)
    }
  }

  /**
   * Takes the next requests, one of each project in turn, until they have `events_max` events; at least one. Skips
   * blocked projects.
   */
  take(events_max: number, isBlocked: (project_id: number) => boolean): readonly PreparedRequest[] {
    const taken: PreparedRequest[] = []
    const counts = new Map<number, number>()
    let room = events_max
    let is_full = false
    while (!is_full) {
      const before = taken.length
      for (const [project_id, queue] of this.#queues) {
        const count = counts.get(project_id) ?? 0
        const next = queue[count]
        if (next === undefined || isBlocked(project_id)) continue
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

  /** Removes the head of a project's queue, and moves the rest of it behind the other projects. */
  #remove(project_id: number, count: number): void {
    const rest = this.#queues.get(project_id)?.slice(count) ?? []
    this.#queues.delete(project_id)
    if (rest.length > 0) this.#queues.set(project_id, rest)
  }
}
