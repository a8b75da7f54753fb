/** Probes whether ClickHouse answers queries, once one had no answer; GET /_readyz is 503 until one has. */

import { SECOND_MS } from '../../time.ts'

/** A server without queries becomes ready again by such a try. */
const TRY_EVERY_MS = 2 * SECOND_MS

/** Asks again and again after a query without an answer, until there is one or the server stops. */
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
    void this.#tryUntilAnswered()
  }

  async #tryUntilAnswered(): Promise<void> {
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
