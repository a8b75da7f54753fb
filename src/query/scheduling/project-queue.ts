/** A queue with a limit of running entries, fair between projects: queries wait in no other structure. */

export type QueueEntry = { readonly id: number; readonly project_id: number }

type QueueLimits = {
  readonly running_max: number
  readonly waiting_max: number
  /** Entries that may run beyond `running_max` when none of their project runs: no project keeps the others waiting. */
  readonly extra_max?: number
}

/** Entries wait until `takeNext` begins them, and run until `remove`. */
export class ProjectQueue<Entry extends QueueEntry> {
  readonly #limits: QueueLimits
  readonly #takesPlace: (entry: Entry) => boolean
  #waiting: readonly Entry[] = []
  /** By id, in the order of their begins. */
  readonly #running = new Map<number, Entry>()

  /** Running entries of which `takesPlace` is false do not count towards `running_max`. */
  constructor(limits: QueueLimits, takesPlace: (entry: Entry) => boolean = () => true) {
    this.#limits = limits
    this.#takesPlace = takesPlace
  }

  get state(): { readonly running: number; readonly waiting: number } {
    return { running: this.#running.size, waiting: this.#waiting.length }
  }

  get waiting(): readonly Entry[] {
    return this.#waiting
  }

  get running(): readonly Entry[] {
    return [...this.#running.values()]
  }

  findRunning(id: number): Entry | null {
    return this.#running.get(id) ?? null
  }

  /** True when all places to run and to wait are taken, and the project has its share of them. */
  isFull(project_id: number): boolean {
    const taken = [...this.#running.values(), ...this.#waiting].map((entry) => entry.project_id)
    return isOverShare(taken, project_id, this.#limits.running_max + this.#limits.waiting_max)
  }

  /** True when all places to wait are taken, and the project has its share of them. */
  isWaitingFull(project_id: number): boolean {
    const taken = this.#waiting.map((entry) => entry.project_id)
    return isOverShare(taken, project_id, this.#limits.waiting_max)
  }

  add(entry: Entry): void {
    this.#waiting = [...this.#waiting, entry]
  }

  /** Lets an entry that was removed wait again, before all others. */
  putBack(entry: Entry): void {
    this.#waiting = [entry, ...this.#waiting]
  }

  /** Begins the oldest entry of the project with the fewest running ones; null when none may begin now. */
  takeNext(mayBegin: (entry: Entry) => boolean = () => true): Entry | null {
    const { running_max, extra_max = 0 } = this.#limits
    const load = new Map<number, number>()
    const placed = this.running.filter(this.#takesPlace)
    for (const { project_id } of placed) load.set(project_id, (load.get(project_id) ?? 0) + 1)
    const loadOf = ({ project_id }: Entry): number => load.get(project_id) ?? 0
    const next = this.#waiting
      .filter(mayBegin)
      .reduce<Entry | null>(
        (best, entry) => (best === null || loadOf(entry) < loadOf(best) ? entry : best),
        null,
      )
    if (next === null) return null
    const room = loadOf(next) === 0 ? running_max + extra_max : running_max
    if (placed.length >= room) return null
    this.begin(next)
    return next
  }

  /** Begins a waiting entry out of turn. */
  begin(entry: Entry): void {
    this.remove(entry)
    this.#running.set(entry.id, entry)
  }

  /** Ends an entry, running or waiting; does nothing when it has ended. */
  remove(entry: Entry): void {
    this.#running.delete(entry.id)
    this.#waiting = this.#waiting.filter((other) => other !== entry)
  }

  removeWaiting(): readonly Entry[] {
    const entries = this.#waiting
    this.#waiting = []
    return entries
  }
}

/**
 * True when a project may take no more: all `max` units are taken, and the project has its equal part of them. `taken`
 * has the project's id for each unit. A project below its part still gets one, so the sum may exceed `max` a little.
 */
export function isOverShare(taken: readonly number[], project_id: number, max: number): boolean {
  if (taken.length < max) return false
  const projects = new Set([...taken, project_id])
  const used = taken.filter((other) => other === project_id).length
  return used >= max / projects.size
}
