/** Schedules checkpoints of a database on a thread of its own, and keeps the write-ahead log small. */
import { basename } from 'node:path'
import { MIB } from '../../bytes.ts'
import { tryStartThread } from '../../threads/start-thread.ts'
import { MINUTE_MS } from '../../time.ts'
import type { FromCheckpointThread, ToCheckpointThread } from './checkpoint-thread.ts'

/** Bytes committed between two checkpoints. */
const CHECKPOINT_EVERY_BYTES = 4 * MIB

/** At this many pages (4 kB each) the log cannot restart beside commits: the data thread pauses and checkpoints. */
const LOG_PAGES_MAX = 16_384

/**
 * After this time without a commit the log's space is given back. Not sooner: a log that grows again is synced with the file
 * system's journal, which takes twice as long, and ten times while other files are written.
 */
const IDLE_MS = 10 * MINUTE_MS

/** The shortest time between two checks of the whole database. */
const CHECK_EVERY_MS = MINUTE_MS

/** The main thread's handle on the checkpoint thread, which starts with its first work. */
export class Checkpoints {
  readonly #path: string
  readonly #idle_ms: number
  readonly #pauseCommits: () => void
  readonly #report: (message: string) => void
  readonly #fail: (message: string) => void
  #worker: Worker | null = null
  #ended = Promise.withResolvers<void>()
  #bytes = 0
  #is_running = false
  #is_closed = false
  /** The time from which the database may be checked again, ms. */
  #next_check_ms = 0
  #idle: Timer | null = null

  /**
   * For the database at `path`. `pauseCommits` makes its writer itself finish a checkpoint, after which the log starts over.
   * `report` gets the reason why a checkpoint failed; another one follows in any case. `fail` is called when the database file
   * cannot be synced: pages that earlier checkpoints copied may be lost, and the next one would let the log start over without
   * them. Only a process that opens the database again copies the whole log once more, so this one has to end.
   */
  constructor(
    path: string,
    pauseCommits: () => void,
    report: (message: string) => void,
    fail: (message: string) => void,
    idle_ms = IDLE_MS,
  ) {
    this.#path = path
    this.#idle_ms = idle_ms
    this.#pauseCommits = pauseCommits
    this.#report = report
    this.#fail = fail
  }

  /** Starts a checkpoint: a call to the data thread may have written much. */
  noteCall(): void {
    this.noteWritten(CHECKPOINT_EVERY_BYTES)
  }

  /** Counts the bytes of a commit, and starts a checkpoint when it is due. */
  noteWritten(bytes: number): void {
    if (this.#is_closed) return
    if (bytes > 0) this.#waitForIdle()
    this.#bytes += bytes
    if (this.#is_running || this.#bytes < CHECKPOINT_EVERY_BYTES) return
    this.#bytes = 0
    this.#is_running = true
    this.#send({ kind: 'checkpoint' })
  }

  /** Reads the whole database on the thread; `fail` is called when it is damaged. Calls within a minute make one check. */
  check(): void {
    const now_ms = performance.now()
    if (this.#is_closed || now_ms < this.#next_check_ms) return
    this.#next_check_ms = now_ms + CHECK_EVERY_MS
    this.#send({ kind: 'check' })
  }

  async close(): Promise<void> {
    this.#takeNoMore()
    if (this.#worker === null) return
    this.#send({ kind: 'close' })
    await this.#ended.promise
    this.#worker?.terminate()
  }

  #takeNoMore(): void {
    this.#is_closed = true
    if (this.#idle !== null) clearTimeout(this.#idle)
  }

  #waitForIdle(): void {
    if (this.#idle !== null) {
      this.#idle.refresh()
      return
    }
    this.#idle = setTimeout(() => this.#send({ kind: 'truncate' }), this.#idle_ms)
    this.#idle.unref()
  }

  #send(message: ToCheckpointThread): void {
    this.#worker ??= this.#tryStart()
    if (this.#worker !== null) {
      this.#worker.postMessage(message, [])
      return
    }
    // The next commits try again.
    this.#is_running = false
    this.#report('no file handle is free for the checkpoint thread')
  }

  #tryStart(): Worker | null {
    const worker = tryStartThread(new URL('./checkpoint-thread.ts', import.meta.url).href)
    if (worker === null) return null
    this.#ended = Promise.withResolvers()
    worker.addEventListener('message', (event: MessageEvent<FromCheckpointThread>) => {
      this.#receive(event.data)
    })
    worker.addEventListener('error', (event) => this.#breakDown(event.message))
    worker.postMessage({ kind: 'open', path: this.#path } satisfies ToCheckpointThread, [])
    return worker
  }

  /** Lets the next work start another thread: this one has ended by an error. */
  #breakDown(message: string): void {
    this.#worker = null
    this.#is_running = false
    this.#report(message)
    this.#ended.resolve()
  }

  #receive(message: FromCheckpointThread): void {
    switch (message.kind) {
      case 'checkpointed':
        // A closing thread takes no further work.
        if (message.pages > LOG_PAGES_MAX && !this.#is_closed) this.#send({ kind: 'sync' })
        else this.#is_running = false
        return
      case 'synced':
        this.#is_running = false
        // Few pages are left, but only a paused writer can finish them.
        this.#pauseCommits()
        return
      case 'truncated':
        // A reader was in the way.
        if (!message.is_empty) this.#idle?.refresh()
        return
      case 'failed':
        this.#is_running = false
        this.#report(message.message)
        return
      case 'unsynced':
        this.#takeNoMore()
        this.#fail(`${basename(this.#path)} cannot be synced: ${message.message}`)
        return
      case 'damaged':
        this.#takeNoMore()
        this.#fail(message.message)
        return
      case 'closed':
        this.#ended.resolve()
    }
  }
}
