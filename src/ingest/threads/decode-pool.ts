/** The main thread's handle on the prepare thread, which starts when there is work for it. */
import {
  type CommittedAnswers,
  type DataThreadSettings,
  type FromDecodeThread,
  type NumberedCapture,
  packRequests,
  THREAD_OPTIONS,
  type ToDecodeThread,
} from './messages.ts'

/** A body of this size is worth the way over another thread. */
export const PREPARED_APART_BYTES_MIN = 8 * 1024

/** What the handle needs, and whom it tells. */
export type DecodePoolContext = {
  readonly settings: DataThreadSettings
  /** Gives the data thread its end of the line from the prepare thread. */
  readonly link: (from_prepare_thread: MessagePort) => void
  readonly answer: (committed: CommittedAnswers) => void
  readonly breakDown: (message: string) => void
}

/** Starts, feeds and ends the prepare thread. */
export class DecodePool {
  readonly #context: DecodePoolContext
  #worker: Worker | null = null
  #is_ready = false
  /** Requests that were handed over and are not answered. */
  readonly #taken = new Set<number>()
  readonly #closed = Promise.withResolvers<void>()

  constructor(context: DecodePoolContext) {
    this.#context = context
  }

  /** Whether the prepare thread can take requests now. The first one to ask starts it and does not wait for it. */
  offer(): boolean {
    if (this.#worker === null) this.#start()
    return this.#is_ready
  }

  take(requests: readonly NumberedCapture[]): void {
    for (const { id } of requests) this.#taken.add(id)
    const { heads, bodies } = packRequests(requests)
    this.#send({ kind: 'requests', heads, bodies }, [bodies.buffer])
  }

  /** These requests are answered, some of them perhaps by what was prepared here. */
  settle(ids: readonly number[]): void {
    const settled = ids.filter((id) => this.#taken.delete(id))
    if (settled.length > 0) this.#send({ kind: 'settled', ids: settled })
  }

  /** Something that was prepared has not been written after all. */
  forget(): void {
    if (this.#is_ready) this.#send({ kind: 'forget' })
  }

  /** Ends the thread, which must have nothing left to do. */
  async close(): Promise<void> {
    if (this.#worker === null) return
    if (this.#is_ready) {
      this.#send({ kind: 'close' })
      await this.#closed.promise
    }
    this.#worker.terminate()
  }

  #start(): void {
    const worker = new Worker(new URL('./decode-thread.ts', import.meta.url).href, THREAD_OPTIONS)
    worker.addEventListener('message', (event: MessageEvent<FromDecodeThread>) => {
      this.#receive(event.data)
    })
    worker.addEventListener('error', (event) => {
      this.#closed.resolve()
      this.#context.breakDown(event.message)
    })
    this.#worker = worker
    const { port1, port2 } = new MessageChannel()
    this.#context.link(port2)
    const { settings } = this.#context
    this.#send({ kind: 'open', settings, to_data_thread: port1 }, [port1])
  }

  #send(message: ToDecodeThread, transfer: Bun.Transferable[] = []): void {
    this.#worker?.postMessage(message, transfer)
  }

  #receive(message: FromDecodeThread): void {
    switch (message.kind) {
      case 'opened':
        this.#is_ready = true
        return
      case 'answers':
        this.#context.answer(message)
        return
      case 'closed':
        this.#closed.resolve()
    }
  }
}
