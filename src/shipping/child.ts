/** Keeps a shipping process for pieces of work, one after the other; it starts with the first one. */

import { killWhenStalled } from '../storage/process/kill-stalled.ts'
import { childCommand, ignoreClosedPipe } from '../storage/process/spawn-self.ts'
import { linesOf } from './lines.ts'
import type { ShippingAnswer, ShippingWork } from './protocol.ts'

type RunningProcess = {
  readonly child: Bun.Subprocess<'pipe', 'pipe', 'pipe'>
  readonly answers: AsyncIterator<string>
}

const LAST_WORDS_LENGTH = 500

export class ShippingChild {
  readonly #args: readonly string[]
  #running: RunningProcess | null = null
  #last: Promise<unknown> = Promise.resolve()
  #is_closed = false

  constructor(data_dir: string, is_confined: boolean) {
    this.#args = ['shipping-process', data_dir, ...(is_confined ? ['confined'] : [])]
  }

  /** The process id; null while none runs. */
  get pid(): number | null {
    return this.#running?.child.pid ?? null
  }

  /** Starts the process ahead of its first work: it takes half a second. */
  warmUp(): void {
    this.#running ??= this.#start()
  }

  /** Resolves with the answer of its kind. Rejects when the work fails or the process ends; the next work starts a new one. */
  async run<Kind extends ShippingAnswer['kind']>(
    kind: Kind,
    work: ShippingWork,
  ): Promise<Extract<ShippingAnswer, { kind: Kind }>> {
    const turn = this.#last.catch(() => undefined).then(() => this.#ask(work))
    this.#last = turn
    const answer = await turn
    if (isOfKind(answer, kind)) return answer
    const why = answer.kind === 'failed' ? answer.message : `answered ${answer.kind}`
    throw new Error(`the shipping process failed: ${why}`)
  }

  async #ask(work: ShippingWork): Promise<ShippingAnswer> {
    if (this.#is_closed) throw new Error('the server is stopping')
    this.#running ??= this.#start()
    const running = this.#running
    const { stdin } = running.child
    await ignoreClosedPipe(async () => {
      await stdin.write(`${JSON.stringify(work)}\n`)
      await stdin.flush()
    })
    const stopWatching = killWhenStalled(running.child)
    const { value, done } = await running.answers.next().finally(stopWatching)
    if (done !== true) return JSON.parse(value) as ShippingAnswer
    if (this.#running === running) this.#running = null
    const words = (await running.child.stderr.text()).trim().slice(-LAST_WORDS_LENGTH)
    throw new Error(`the shipping process ended with ${await running.child.exited}: ${words}`)
  }

  #start(): RunningProcess {
    const child = Bun.spawn({
      cmd: [...childCommand(this.#args)],
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'pipe',
      // Bun must not report crashes over the network.
      env: { BUN_ENABLE_CRASH_REPORTING: '0', DO_NOT_TRACK: '1' },
    })
    return { child, answers: linesOf(child.stdout) }
  }

  /** Ends the process: unfinished files are named nowhere. */
  async close(): Promise<void> {
    this.#is_closed = true
    this.#running?.child.kill('SIGKILL')
    await this.#running?.child.exited
  }
}

function isOfKind<Kind extends ShippingAnswer['kind']>(
  answer: ShippingAnswer,
  kind: Kind,
): answer is Extract<ShippingAnswer, { kind: Kind }> {
  return answer.kind === kind
}
