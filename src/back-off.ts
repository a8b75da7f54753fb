/** Growing waits between tries, which end early on a stop. */

/** Waits that double from `min_ms` to `max_ms`, each shortened by up to a half at random, so that callers spread. */
export class BackOff {
  readonly #min_ms: number
  readonly #max_ms: number
  #failures = 0

  constructor(min_ms: number, max_ms: number) {
    this.#min_ms = min_ms
    this.#max_ms = max_ms
  }

  /** Forgets the failures. */
  reset(): void {
    this.#failures = 0
  }

  /** The next wait, ms. */
  next(): number {
    const full_ms = Math.min(this.#max_ms, this.#min_ms * 2 ** Math.min(this.#failures, 30))
    this.#failures += 1
    return full_ms * (0.5 + Math.random() / 2)
  }
}

/** Waits; ends early when the signal is aborted. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', finish)
      resolve()
    }
    const timer = setTimeout(finish, ms)
    signal.addEventListener('abort', finish, { once: true })
  })
}
