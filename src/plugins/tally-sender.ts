/** Tells the main thread what transformations did, at most once a second however many events there are. */
import { type Tally, type Transformations, takeTallies } from './transformations.ts'

const SEND_EVERY_MS = 1000

/** Servers on different folders may share a process. */
export function tallyChannel(data_dir: string): string {
  return `tidemark tallies of ${data_dir}`
}

/** One thread's end of the channel. */
export class TallySender {
  readonly #channel: BroadcastChannel
  readonly #due = new Set<Transformations>()
  #timer: Timer | null = null

  constructor(data_dir: string) {
    this.#channel = new BroadcastChannel(tallyChannel(data_dir))
  }

  /** Events of a project with transformations are being prepared. */
  expect(transformations: Transformations): void {
    if (transformations.steps.length === 0) return
    this.#due.add(transformations)
    this.#timer ??= setTimeout(() => this.send(), SEND_EVERY_MS)
  }

  /** Sends what there is. */
  send(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    const tallies: Tally[] = [...this.#due].flatMap((one) => takeTallies(one))
    this.#due.clear()
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- channels have none
    if (tallies.length > 0) this.#channel.postMessage(tallies)
  }

  close(): void {
    this.send()
    this.#channel.close()
  }
}
