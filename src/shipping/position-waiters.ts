/** Queries that wait until ClickHouse has the events committed before they were asked. */

/** A position in the log, and in the writes to rows of persons. */
export type LogPosition = { readonly seq: number; readonly change: number }

type PositionWaiter = LogPosition & { readonly resolve: (is_reached: boolean) => void }

/** No more than there may be queries: each waits for two seconds at most. */
export class PositionWaiters {
  readonly #waiting = new Set<PositionWaiter>()

  get has_waiting(): boolean {
    return this.#waiting.size > 0
  }

  /** Resolves to true when the position is reached, to false after `wait_ms` or at `close`. */
  async wait(position: LogPosition, wait_ms: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const waiter = { ...position, resolve }
    this.#waiting.add(waiter)
    const timer = setTimeout(() => resolve(false), wait_ms)
    try {
      return await promise
    } finally {
      clearTimeout(timer)
      this.#waiting.delete(waiter)
    }
  }

  /** Wakes those whose position is reached. */
  reach({ seq, change }: LogPosition): void {
    for (const waiter of this.#waiting)
      if (waiter.seq <= seq && waiter.change <= change) waiter.resolve(true)
  }

  close(): void {
    for (const { resolve } of this.#waiting) resolve(false)
  }
}
