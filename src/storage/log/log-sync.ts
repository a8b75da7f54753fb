/**
 * Brings commits to the disk without holding up those that follow: a commit is written to the write-ahead log and counts
 * once the log was synced after it, which happens beside the next ones.
 */
import { closeSync, fdatasync, openSync } from 'node:fs'
import { join } from 'node:path'

/** Who waits for what was committed before they came. */
type SyncCallback = () => void

/** One call of the operating system, with those it settles: whoever had come by its start. */
type SyncFile = {
  /** Its own: a descriptor tells of each failure once, and two calls on the same one could share a failure. */
  readonly fd: number
  readonly waiting: readonly SyncCallback[]
}

/**
 * Calls that run at a time. With one alone a request that came just after its start waits for two of them; with two, a
 * disk that takes milliseconds took a third more single events per second, and with a fast one there is seldom a second.
 */
const SYNCS_MAX = 2

/** Whoever comes while all calls run shares the next one. */
export class LogSync {
  readonly #path: string
  readonly #fail: (message: string) => void
  readonly #free_fds: number[] = []
  #waiting: SyncCallback[] = []
  /** Those that still settle somebody, in the order in which they were started. */
  #unsettled: SyncFile[] = []
  #running_count = 0
  #has_failed = false
  #is_closed = false

  /** `fail` is told once when the disk refused: what was written since the last sync may be lost, and nobody is told it is stored. */
  constructor(data_dir: string, fail: (message: string) => void) {
    this.#path = join(data_dir, 'events.db-wal')
    this.#fail = fail
  }

  /** Calls `then` when everything that is committed by now would survive a power cut. */
  settle(then: SyncCallback): void {
    this.#waiting.push(then)
    this.#start()
  }

  /** Whoever waits now is not told. */
  close(): void {
    this.#is_closed = true
    for (const fd of this.#free_fds) closeSync(fd)
    this.#free_fds.length = 0
  }

  #start(): void {
    // After a failure the disk may say yes although it lost what it refused before.
    if (this.#has_failed || this.#is_closed) return
    if (this.#waiting.length === 0 || this.#running_count >= SYNCS_MAX) return
    // The log lives as long as the database is open, so it is the same file each time.
    const fd = this.#free_fds.pop() ?? openSync(this.#path, 'r')
    const sync = { fd, waiting: this.#waiting }
    this.#waiting = []
    this.#unsettled.push(sync)
    this.#running_count += 1
    fdatasync(fd, (error) => this.#finish(sync, error))
  }

  #finish(sync: SyncFile, error: Error | null | undefined): void {
    this.#running_count -= 1
    if (this.#is_closed) closeSync(sync.fd)
    else this.#free_fds.push(sync.fd)
    if (this.#has_failed || this.#is_closed) return
    if (error !== null && error !== undefined) {
      this.#has_failed = true
      this.#fail(`events.db-wal cannot be synced: ${error.message}`)
      return
    }
    // Whatever an earlier call waits for was written before this one began, so it is on the disk too.
    const settled = this.#unsettled.splice(0, this.#unsettled.indexOf(sync) + 1)
    for (const then of settled.flatMap(({ waiting }) => waiting)) {
      if (this.#is_closed) return
      then()
    }
    this.#start()
  }
}
