/** Decides when the write-ahead log of events.db is moved into the database, by whom, and that it stays small. */
import type { FromCheckpointThread, ToCheckpointThread } from './checkpoint-thread.ts'

const MIB = 1024 * 1024

/** Bytes committed between two checkpoints. */
const CHECKPOINT_EVERY_BYTES = 4 * MIB

/** A log of this many pages (4 kB each) never got its turn to start over: commits have to pause for a moment. */
const LOG_PAGES_MAX = 16_384

/** The main thread's handle on the checkpoint thread. */
export class Checkpoints {
  readonly #data_dir: string
  readonly #pauseCommits: () => void
  readonly #report: (message: string) => void
  #worker: Worker | null = null
  #opened = Promise.withResolvers<void>()
  #closed = Promise.withResolvers<void>()
  #bytes = 0
  #is_running = false

  /**
   * `pauseCommits` makes the data thread itself finish a checkpoint, after which the log starts over.
   * `report` is told why a checkpoint failed; another one follows in any case.
   */
  constructor(data_dir: string, pauseCommits: () => void, report: (message: string) => void) {
    this.#data_dir = data_dir
    this.#pauseCommits = pauseCommits
    this.#report = report
  }

  open(): Promise<void> {
    const worker = new Worker(new URL('./checkpoint-thread.ts', import.meta.url).href)
    worker.addEventListener('message', (event: MessageEvent<FromCheckpointThread>) => {
      this.#receive(event.data)
    })
    worker.addEventListener('error', (event) => this.#opened.reject(new Error(event.message)))
    this.#worker = worker
    this.#send({ kind: 'open', data_dir: this.#data_dir })
    return this.#opened.promise
  }

  /** Told after each commit how much it wrote. */
  noteWritten(bytes: number): void {
    this.#bytes += bytes
    if (this.#is_running || this.#bytes < CHECKPOINT_EVERY_BYTES) return
    this.#bytes = 0
    this.#is_running = true
    this.#send({ kind: 'checkpoint' })
  }

  async close(): Promise<void> {
    if (this.#worker === null) return
    this.#send({ kind: 'close' })
    await this.#closed.promise
    this.#worker.terminate()
    this.#worker = null
  }

  #send(message: ToCheckpointThread): void {
    this.#worker?.postMessage(message, [])
  }

  #receive(message: FromCheckpointThread): void {
    switch (message.kind) {
      case 'opened':
        this.#opened.resolve()
        return
      case 'checkpointed':
        this.#is_running = false
        // What the thread left over is little, and only a writer that holds still can finish it.
        if (message.pages > LOG_PAGES_MAX) this.#pauseCommits()
        return
      case 'failed':
        this.#is_running = false
        this.#report(message.message)
        return
      case 'closed':
        this.#closed.resolve()
    }
  }
}
