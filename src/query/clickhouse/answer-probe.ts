/** Finds out whether ClickHouse answers queries at all, after one had no answer: a load balancer sends them elsewhere meanwhile. */

import { SECOND_MS } from '../../time.ts'

/** Without queries, only the next try can say that the answers are back. */
const TRY_EVERY_MS = 2 * SECOND_MS

export class AnswerProbe {
  /** Asks for no row. */
  readonly #ask: () => Promise<unknown>
  readonly #leaving: AbortSignal
  #is_trying = false
  #has_failed = false

  constructor(ask: () => Promise<unknown>, leaving: AbortSignal) {
    this.#ask = ask
    this.#leaving = leaving
  }

  /** Whether the last try had no answer either. */
  get has_failed(): boolean {
    return this.#has_failed
  }

  /** Called when a query had no answer. Tries until there is one. */
  start(): void {
    if (this.#is_trying) return
    this.#is_trying = true
    void this.#tryOn()
  }

  async #tryOn(): Promise<void> {
    while (!this.#leaving.aborted) {
      this.#has_failed = await this.#ask().then(
        () => false,
        () => true,
      )
      if (!this.#has_failed) break
      await Bun.sleep(TRY_EVERY_MS)
    }
    this.#is_trying = false
  }
}
