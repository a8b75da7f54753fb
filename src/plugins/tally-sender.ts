/** Sends the tallies of transformations to the main thread, at most once a second. */
import { type Tally, type Transformations, takeTallies } from './transformations.ts'

const SEND_EVERY_MS = 1000

/** The name of the channel. It has the folder, because several servers may share a process. */
export function tallyChannel(data_dir: string): string {
  return `tidemark tallies of ${data_dir}`
}

/** The sending end of the channel on one thread. */
export class TallySender {
  readonly #channel: BroadcastChannel
  readonly #due = new Set<Transformations>()
  #timer: Timer | null = null

  constructor(data_dir: string) {
    this.#channel = new BroadcastChannel(tallyChannel(data_dir))
  }

  /** Schedules the tallies of a project that has events now. */
  expect(transformations: Transformations): void {
    if (transformations.steps.length === 0) return
    this.#due.add(transformations)
    this.#timer ??= setTimeout(() => this.send(), SEND_EVERY_MS)
  }

  /** Sends all scheduled tallies now. */
  send(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    const tallies: Tally[] = [...this.#due].flatMap((transformations) =>
      takeTallies(transformations),
    )
    this.#due.clear()
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- channels have none
    if (tallies.length > 0) this.#channel.postMessage(tallies)
  }

  close(): void {
    this.send()
    this.#channel.close()
  }
}
