/**
 * Group commit with asynchronous sync: a commit is written to the write-ahead log, and is durable after the next
 * fdatasync of the log, which runs beside the following commits.
 */
import { closeSync, fdatasync, openSync } from 'node:fs'
import { basename } from 'node:path'
import { Histogram } from '../../threads/histogram.ts'

/** Called when everything committed before its registration is durable. */
type SyncCallback = () => void

/** One fdatasync, with the callbacks registered before its start. */
type SyncFile = {
  /** A descriptor for this call: the kernel reports each failure once per descriptor, so two calls must not share one. */
  readonly fd: number
  readonly started_ms: number
  readonly waiting: readonly SyncCallback[]
}

/**
 * Concurrent calls. With one, a request that arrives just after its start waits for two calls. With two, a disk with
 * syncs of milliseconds stored a third more single events per second; on a fast disk the second is rare.
 */
const SYNCS_MAX = 2

/** Callbacks registered while all calls run share the next one. */
export class LogSync {
  readonly #path: string
  readonly #fail: (message: string) => void
  readonly #times: Histogram
  readonly #free_fds: number[] = []
  #waiting: SyncCallback[] = []
  /** Calls with callbacks left, in the order of their start. */
  #unsettled: SyncFile[] = []
  #running_count = 0
  #has_failed = false
  #is_closed = false

  /**
   * Syncs the write-ahead log at `path`, which is there. `fail` is called once when a sync fails: writes since the last sync may be lost,
   * and their callbacks are never called. `times` records how long each sync takes.
   */
  constructor(path: string, fail: (message: string) => void, times = new Histogram()) {
    this.#path = path
    this.#fail = fail
    this.#times = times
    // Opened ahead: with many connections the process may have no free file handle when the first event comes.
    this.#free_fds.push(openSync(path, 'r'))
  }

  /** Calls `then` when everything committed by now is durable. */
  settle(then: SyncCallback): void {
    this.#waiting.push(then)
    this.#start()
  }

  /** Closes the descriptors; waiting callbacks are not called. */
  close(): void {
    this.#is_closed = true
    for (const fd of this.#free_fds) closeSync(fd)
    this.#free_fds.length = 0
  }

  #start(): void {
    // After a failure a later sync may succeed although the failed writes are lost.
    if (this.#has_failed || this.#is_closed) return
    if (this.#waiting.length === 0 || this.#running_count >= SYNCS_MAX) return
    const fd = this.#takeDescriptor()
    // The end of the call that runs starts the next one.
    if (fd === null) return
    const sync = { fd, started_ms: performance.now(), waiting: this.#waiting }
    this.#waiting = []
    this.#unsettled.push(sync)
    this.#running_count += 1
    fdatasync(fd, (error) => this.#finish(sync, error))
  }

  /**
   * A descriptor of the write-ahead log, which exists as long as the database is open, so that it is always the same file. Null
   * while all are in use and the process has no free file handle for another one.
   */
  #takeDescriptor(): number | null {
    const free = this.#free_fds.pop()
    if (free !== undefined) return free
    try {
      return openSync(this.#path, 'r')
    } catch (error) {
      if (this.#running_count === 0) throw error
      return null
    }
  }

  #finish(sync: SyncFile, error: Error | null | undefined): void {
    this.#running_count -= 1
    if (this.#is_closed) closeSync(sync.fd)
    else this.#free_fds.push(sync.fd)
    if (this.#has_failed || this.#is_closed) return
    if (error !== null && error !== undefined) {
      this.#has_failed = true
      this.#fail(`${basename(this.#path)} cannot be synced: ${error.message}`)
      return
    }
    this.#times.record((performance.now() - sync.started_ms) / 1000)
    // The writes of earlier calls preceded this call's start, so they are durable too.
    const settled = this.#unsettled.splice(0, this.#unsettled.indexOf(sync) + 1)
    for (const then of settled.flatMap(({ waiting }) => waiting)) {
      if (this.#is_closed) return
      then()
    }
    this.#start()
  }
}
