/** The clock of an ephemeral server. */

/** A clock that runs like the machine's, from the time it was set to. */
export class SettableClock {
  #offset_ms = 0

  readonly now = (): Date => new Date(Date.now() + this.#offset_ms)

  /** Null sets it back to the machine's time. */
  set(time: Date | null): void {
    this.#offset_ms = time === null ? 0 : time.getTime() - Date.now()
  }
}
