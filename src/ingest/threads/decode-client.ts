/** The main thread's handle on a decode thread, which starts with its first request. */
import { tryStartThread } from '../../threads/start-thread.ts'
import {
  type CommittedAnswers,
  type DataThreadSettings,
  type FromDecodeThread,
  type LongEntryLines,
  type NumberedCapture,
  packRequests,
  THREAD_OPTIONS,
  type ToDecodeThread,
  unpackRequests,
} from './messages.ts'

/** Bodies of this size and more are decoded on the decode thread; smaller ones cost less than the detour. */
export const DECODE_THREAD_BYTES_MIN = 8 * 1024

/** An entry is read again after this time when no thread can start for it. */
const RETRY_MS = 1000

/** Dependencies and callbacks of the handle. */
type DecodeClientContext = {
  readonly settings: DataThreadSettings
  /** Whether this thread takes what others pass on because it is long. */
  readonly is_for_large: boolean
  /** Sends the data thread its port of the channel between decode thread and data thread. */
  readonly link: (from_decode_thread: MessagePort) => void
  readonly answer: (committed: CommittedAnswers) => void
  /** Receives requests that are too large for this thread once they are unpacked. */
  readonly divert: (requests: readonly NumberedCapture[]) => void
  readonly breakDown: (message: string) => void
}

/** Starts, feeds and ends the decode thread. */
export class DecodeClient {
  readonly #context: DecodeClientContext
  #worker: Worker | null = null
  #is_ready = false
  /** Requests that were posted and are not answered. */
  readonly #unanswered = new Set<number>()
  readonly #closed = Promise.withResolvers<void>()
  #is_closed = false

  constructor(context: DecodeClientContext) {
    this.#context = context
  }

  /** Starts the decode thread at the first call, without waiting for it. True once it accepts requests. */
  ensureStarted(): boolean {
    if (this.#worker === null) this.#start()
    return this.#is_ready
  }

  /** Passes requests on to the thread. False when it cannot start, for want of a file handle: they are not taken. */
  take(requests: readonly NumberedCapture[]): boolean {
    this.ensureStarted()
    if (this.#worker === null) return false
    for (const { id } of requests) this.#unanswered.add(id)
    const { heads, bodies } = packRequests(requests)
    this.#send({ kind: 'requests', heads, bodies }, [bodies.buffer])
    return true
  }

  /** Has a long entry of an edge parsed; the data thread receives the outcome. */
  readEntry(lines: LongEntryLines): void {
    if (this.#is_closed) return
    this.ensureStarted()
    if (this.#worker === null) setTimeout(() => this.readEntry(lines), RETRY_MS).unref()
    else this.#send({ kind: 'entry', ...lines })
  }

  /** Reports answered requests to the decode thread, as far as it decoded them: their memory is free. */
  settle(ids: readonly number[]): void {
    const settled = ids.filter((id) => this.#unanswered.delete(id))
    if (settled.length > 0) this.#send({ kind: 'settled', ids: settled })
  }

  /** Makes the decode thread report all names again: a request with new ones was not written. */
  forget(): void {
    if (this.#is_ready) this.#send({ kind: 'forget' })
  }

  /** Ends the thread. All of its requests must be answered. */
  async close(): Promise<void> {
    this.#is_closed = true
    if (this.#worker === null) return
    if (this.#is_ready) {
      this.#send({ kind: 'close' })
      await this.#closed.promise
    }
    this.#worker.terminate()
  }

  #start(): void {
    const url = new URL('./decode-thread.ts', import.meta.url).href
    const worker = tryStartThread(url, THREAD_OPTIONS)
    if (worker === null) return
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
    const { settings, is_for_large } = this.#context
    this.#send({ kind: 'open', settings, is_for_large, to_data_thread: port1 }, [port1])
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
      case 'diverted':
        this.#divert(unpackRequests(message.heads, message.bodies))
        return
      case 'closed':
        this.#closed.resolve()
    }
  }

  #divert(requests: readonly NumberedCapture[]): void {
    for (const { id } of requests) this.#unanswered.delete(id)
    this.#context.divert(requests)
  }
}
