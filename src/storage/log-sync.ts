/**
 * Brings commits to the disk without holding up those that follow: a commit is written to the write-ahead log and counts
 * once the log was synced after it, which happens beside the next one (contract C1).
 */
import { closeSync, fdatasync, openSync } from 'node:fs'
import { join } from 'node:path'

/** Who waits for what was committed before they came. */
type Waiting = () => void

/** One sync runs at a time; whoever comes meanwhile shares the next one. */
export class LogSync {
  readonly #path: string
  readonly #fail: (message: string) => void
  #fd: number | null = null
  #waiting: Waiting[] = []
  #is_running = false
  #has_failed = false
  #is_closed = false

  /** `fail` is told once when the disk refused: what was written since the last sync may be lost, and nobody is told it is stored. */
  constructor(data_dir: string, fail: (message: string) => void) {
    this.#path = join(data_dir, 'events.db-wal')
    this.#fail = fail
  }

  /** Calls `then` when everything that is committed by now would survive a power cut. */
  settle(then: Waiting): void {
    this.#waiting.push(then)
    if (!this.#is_running) this.#run()
  }

  /** Whoever waits now is not told. */
  close(): void {
    this.#is_closed = true
    if (this.#fd !== null) closeSync(this.#fd)
    this.#fd = null
  }

  #run(): void {
    // After a failure the disk may say yes although it lost what it refused before.
    if (this.#has_failed || this.#is_closed) return
    const settled = this.#waiting
    this.#waiting = []
    this.#is_running = true
    // The log lives as long as the database is open, so it is the same file each time.
    this.#fd ??= openSync(this.#path, 'r')
    fdatasync(this.#fd, (error) => {
      this.#is_running = false
      if (error !== null && error !== undefined) {
        this.#has_failed = true
        this.#fail(`events.db-wal cannot be synced: ${error.message}`)
        return
      }
      for (const then of settled) then()
      if (this.#waiting.length > 0 && !this.#is_running) this.#run()
    })
  }
}
