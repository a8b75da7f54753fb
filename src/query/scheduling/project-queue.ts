/** The one waiting structure of queries: a queue with a limit of running entries, fair between projects. */

export type QueueEntry = { readonly id: number; readonly project_id: number }

export type QueueLimits = { readonly running_max: number; readonly waiting_max: number }

/** Entries wait until `takeNext` begins them, and run until `remove`. */
export class ProjectQueue<Entry extends QueueEntry> {
  readonly #limits: QueueLimits
  readonly #isAlone: (entry: Entry) => boolean
  #waiting: readonly Entry[] = []
  /** By id, in the order of their begins. */
  readonly #running = new Map<number, Entry>()

  /** An entry of which `isAlone` is true runs only while no other does, and is begun before all others. */
  constructor(limits: QueueLimits, isAlone: (entry: Entry) => boolean = () => false) {
    this.#limits = limits
    this.#isAlone = isAlone
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
    if (this.#running.size >= this.#limits.running_max) return null
    const next = this.#pick(this.#waiting.filter(mayBegin))
    if (next === null) return null
    this.remove(next)
    this.#running.set(next.id, next)
    return next
  }

  /** Ends an entry, running or waiting; does nothing when it has ended. */
  remove(entry: Entry): void {
    this.#running.delete(entry.id)
    this.#waiting = this.#waiting.filter((other) => other !== entry)
  }

  removeRunning(): readonly Entry[] {
    const entries = this.running
    this.#running.clear()
    return entries
  }

  removeWaiting(): readonly Entry[] {
    const entries = this.#waiting
    this.#waiting = []
    return entries
  }

  #pick(waiting: readonly Entry[]): Entry | null {
    const running = this.running
    if (running.some(this.#isAlone)) return null
    const alone = waiting.find(this.#isAlone)
    if (alone !== undefined) return running.length === 0 ? alone : null
    const load = new Map<number, number>()
    for (const { project_id } of running) load.set(project_id, (load.get(project_id) ?? 0) + 1)
    const loadOf = ({ project_id }: Entry): number => load.get(project_id) ?? 0
    return waiting.reduce<Entry | null>(
      (best, entry) => (best === null || loadOf(entry) < loadOf(best) ? entry : best),
      null,
    )
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
