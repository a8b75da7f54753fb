/** Exponential back-off: a project whose query ended the query process waits before its next one, each time longer. */

const WAIT_MS_MIN = 2000
const WAIT_MS_MAX = 300_000
/** A project that ended no process for so long after its wait begins with the shortest wait again. */
const FORGIVEN_AFTER_MS = 3_600_000
/** Projects that are remembered; the one whose last strike is the oldest is forgotten first. */
const PROJECTS_MAX = 10_000

type Strikes = { readonly count: number; readonly until_ms: number }

export class ProjectBackoff {
  readonly #now_ms: () => number
  /** In the order of the last strikes. */
  readonly #strikes = new Map<number, Strikes>()

  /** `now_ms` is a clock that only goes forward, in milliseconds. */
  constructor(now_ms: () => number) {
    this.#now_ms = now_ms
  }

  /** Makes a project wait, twice as long as the last time. Returns the milliseconds. */
  strike(project_id: number): number {
    const now_ms = this.#now_ms()
    const last = this.#strikes.get(project_id)
    const is_forgiven = last === undefined || now_ms > last.until_ms + FORGIVEN_AFTER_MS
    const count = is_forgiven ? 1 : last.count + 1
    const wait_ms = Math.min(WAIT_MS_MAX, WAIT_MS_MIN * 2 ** (count - 1))
    this.#strikes.delete(project_id)
    this.#strikes.set(project_id, { count, until_ms: now_ms + wait_ms })
    const [oldest = project_id] = this.#strikes.keys()
    if (this.#strikes.size > PROJECTS_MAX) this.#strikes.delete(oldest)
    return wait_ms
  }

  /** Milliseconds that a project still has to wait; 0 when it may go on. */
  waitMs(project_id: number): number {
    return Math.max(0, (this.#strikes.get(project_id)?.until_ms ?? 0) - this.#now_ms())
  }
}
