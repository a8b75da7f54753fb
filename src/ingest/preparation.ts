/** The main thread's handle on the prepare thread, which starts when there is work for it. */
import {
  type Committed,
  type DataThreadSettings,
  type FromPrepareThread,
  type NumberedCapture,
  packRequests,
  THREAD_OPTIONS,
  type ToPrepareThread,
} from './messages.ts'

/** A body of this size is worth the way over another thread. */
export const PREPARED_APART_BYTES_MIN = 8 * 1024

/** What the handle needs, and whom it tells. */
export type PreparationNeeds = {
  readonly settings: DataThreadSettings
  /** Gives the data thread its end of the line from the prepare thread. */
  readonly link: (from_prepare_thread: MessagePort) => void
  readonly answer: (committed: Committed) => void
  readonly breakDown: (message: string) => void
}

/** Starts, feeds and ends the prepare thread. */
export class Preparation {
  readonly #needs: PreparationNeeds
  #worker: Worker | null = null
  #is_ready = false
  /** Requests that were handed over and are not answered. */
  readonly #taken = new Set<number>()
  readonly #closed = Promise.withResolvers<void>()

  constructor(needs: PreparationNeeds) {
    this.#needs = needs
  }

  /** Whether the prepare thread can take requests now. The first one to ask starts it and does not wait for it. */
  offer(): boolean {
    if (this.#worker === null) this.#start()
    return this.#is_ready
  }

  take(requests: readonly NumberedCapture[]): void {
    for (const { id } of requests) this.#taken.add(id)
    const { heads, bodies } = packRequests(requests)
    this.#tell({ kind: 'requests', heads, bodies }, [bodies.buffer])
  }

  /** These requests are answered, some of them perhaps by what was prepared here. */
  settle(ids: readonly number[]): void {
    const settled = ids.filter((id) => this.#taken.delete(id))
    if (settled.length > 0) this.#tell({ kind: 'settled', ids: settled })
  }

  /** Something that was prepared has not been written after all. */
  forget(): void {
    if (this.#is_ready) this.#tell({ kind: 'forget' })
  }

  /** Ends the thread, which must have nothing left to do. */
  async close(): Promise<void> {
    if (this.#worker === null) return
    if (this.#is_ready) {
      this.#tell({ kind: 'close' })
      await this.#closed.promise
    }
    this.#worker.terminate()
  }

  #start(): void {
    const worker = new Worker(new URL('./prepare-thread.ts', import.meta.url).href, THREAD_OPTIONS)
    worker.addEventListener('message', (event: MessageEvent<FromPrepareThread>) => {
      this.#hear(event.data)
    })
    worker.addEventListener('error', (event) => {
      this.#closed.resolve()
      this.#needs.breakDown(event.message)
    })
    this.#worker = worker
    const { port1, port2 } = new MessageChannel()
    this.#needs.link(port2)
    const { settings } = this.#needs
    this.#tell({ kind: 'open', settings, to_data_thread: port1 }, [port1])
  }

  #tell(message: ToPrepareThread, transfer: Bun.Transferable[] = []): void {
    this.#worker?.postMessage(message, transfer)
  }

  #hear(message: FromPrepareThread): void {
    switch (message.kind) {
      case 'opened':
        this.#is_ready = true
        return
      case 'answers':
        this.#needs.answer(message)
        return
      case 'closed':
        this.#closed.resolve()
    }
  }
}
