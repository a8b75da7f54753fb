/** The statuses of blocking queries after their end, kept in memory. */
import {
  changeStatus,
  type QueryStatus,
  type StatusEvent,
  type StatusKey,
  statusKeyText,
} from './status.ts'

/** Number of ended blocking queries whose status can still be read. */
export const ENDED_STATUSES_MAX = 1000

/**
 * Keeps the statuses of blocking queries that have ended: a caller who polls one, to show progress, would otherwise get
 * the answer that the query is unknown.
 */
export class EndedStatuses {
  /** The oldest first. */
  readonly #ended = new Map<string, QueryStatus>()

  keep(status: QueryStatus, event: StatusEvent, now_ms: number): void {
    const ended = changeStatus(status, event, now_ms)
    if (ended === null) return
    const key = statusKeyText(status)
    this.#ended.delete(key)
    this.#ended.set(key, ended)
    const [oldest] = this.#ended.keys()
    if (this.#ended.size > ENDED_STATUSES_MAX && oldest !== undefined) this.#ended.delete(oldest)
  }

  /** Finds the status of an ended query; null for an unknown, cancelled or expired id. */
  find(key: StatusKey, now_ms: number): QueryStatus | null {
    const ended = this.#ended.get(statusKeyText(key))
    return ended === undefined ? null : changeStatus(ended, { kind: 'expire' }, now_ms)
  }
}
