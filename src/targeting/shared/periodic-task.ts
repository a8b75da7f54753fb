/** Work that comes back: rounds of it, one at a time, from `start` to `close`. */

export type RoundsOptions = {
  readonly every_ms: number
  /** What the log is told when a round fails. The next one comes all the same. */
  readonly failure: string
  readonly log: { readonly error: (fields: object, message: string) => void }
}

/** Does a round when told to, and by itself at the start and every so often. */
export class Rounds {
  readonly #options: RoundsOptions
  readonly #round: () => Promise<void>
  #timer: Timer | null = null
  #work: Promise<void> = Promise.resolve()
  #is_open = true

  constructor(options: RoundsOptions, round: () => Promise<void>) {
    this.#options = options
    this.#round = round
  }

  /** False once it closes: a long round ends early. */
  get is_open(): boolean {
    return this.#is_open
  }

  /** Looks now, and from then on every so often. */
  start(): void {
    this.#timer = setInterval(() => void this.look(), this.#options.every_ms)
    this.#timer.unref()
    void this.look()
  }

  /** Looks for what is due, after the rounds under way. Resolves when that is done, also when it failed. */
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
