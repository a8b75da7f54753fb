/** Exponential back-off per project, after a query of the project ended the worker process. */
import { HOUR_MS } from '../../time.ts'

const WAIT_MS_MIN = 2000
const WAIT_MS_MAX = 300_000
/** After this time without a strike, a project begins with the shortest wait again. */
const FORGIVEN_AFTER_MS = HOUR_MS
/** Maximum number of projects with strikes; the one with the oldest last strike is removed first. */
const PROJECTS_MAX = 10_000

type Strikes = { readonly count: number; readonly until_ms: number }

export class ProjectBackOff {
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

  /** Milliseconds until a project's next query may begin; 0 when it may begin now. */
  waitMs(project_id: number): number {
    return Math.max(0, (this.#strikes.get(project_id)?.until_ms ?? 0) - this.#now_ms())
  }
}
