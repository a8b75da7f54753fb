/** A periodic task: rounds of work, one at a time, from `start` to `close`. */

type PeriodicTaskOptions = {
  readonly every_ms: number
  /** Log message for a failed round. The next round comes all the same. */
  readonly failure: string
  readonly log: { readonly error: (fields: object, message: string) => void }
}

/** Runs rounds on demand, at the start and periodically. */
export class PeriodicTask {
  readonly #options: PeriodicTaskOptions
  readonly #round: () => Promise<void>
  #timer: Timer | null = null
  #work: Promise<void> = Promise.resolve()
  #is_open = true

  constructor(options: PeriodicTaskOptions, round: () => Promise<void>) {
    this.#options = options
    this.#round = round
  }

  /** False after `close`; long rounds check it to end early. */
  get is_open(): boolean {
    return this.#is_open
  }

  /** Runs a round now, and then periodically. */
  start(): void {
    this.#timer = setInterval(() => void this.look(), this.#options.every_ms)
    this.#timer.unref()
    void this.look()
  }

  /** Runs a round after those under way. Resolves when it is over, failed or not. */
  look(): Promise<void> {
    this.#work = this.#work.then(() => this.#tryRound())
    return this.#work
  }

  /** Resolves when the round under way has ended. */
  async close(): Promise<void> {
    this.#is_open = false
    if (this.#timer !== null) clearInterval(this.#timer)
    await this.#work
  }

  async #tryRound(): Promise<void> {
    if (!this.#is_open) return
    try {
      await this.#round()
    } catch (err) {
      this.#options.log.error({ err }, this.#options.failure)
    }
  }
}
