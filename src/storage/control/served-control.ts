/**
 * The server's control.db. A commit does not wait for the disk, since all other requests of the main thread would wait with
 * it: 200 to 400 ms while the disk writes much else. The answer waits instead, beside the work of other requests.
 */
import type { Database, Statement } from 'bun:sqlite'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { MIB } from '../../bytes.ts'
import { SECOND_MS } from '../../time.ts'
import { LogSync } from '../log/log-sync.ts'
import { Checkpoints } from '../sqlite/checkpoints.ts'
import { isFailedSync } from '../sqlite/sqlite.ts'
import { type ControlDB, openConnection } from './control-db.ts'

/** Size of the write-ahead log from which it is checkpointed; SQLite's own limit is as high. */
const LOG_BYTES_MAX = 4 * MIB

/** The longest time until commits that no answer waits for, such as results of alerts and logs of plugins, are on the disk. */
const LOOK_MS = 5 * SECOND_MS

type ServedControlSettings = {
  readonly data_dir: string
  /** Called once when the disk fails or the file is damaged: what was committed since may be lost, and is not answered. */
  readonly fail: (message: string) => void
  /** Called with the reason why a checkpoint failed; another one follows. */
  readonly report: (message: string) => void
  /** The time between two looks for commits that no answer waits for. */
  readonly look_ms?: number
}

export class ServedControl {
  readonly db: ControlDB
  readonly #connection: Database
  readonly #sync: LogSync
  readonly #checkpoints: Checkpoints
  readonly #log_path: string
  readonly #changes: Statement<{ changes: number }, []>
  readonly #look_ms: number
  #looks: Timer | null = null
  /** The number of changed rows when the last sync began; null while commits still wait for the disk. */
  #synced_changes: number | null = null
  #has_failed = false
  /** The last sync, until it has ended. */
  #syncing: Promise<void> | null = null

  constructor({ data_dir, fail, report, look_ms = LOOK_MS }: ServedControlSettings) {
    const path = join(data_dir, 'control.db')
    const connection = openConnection(data_dir)
    this.#connection = connection
    this.#look_ms = look_ms
    this.db = drizzle({ client: connection })
    this.#changes = connection.prepare('select total_changes() as changes')
    this.#log_path = `${path}-wal`
    const breakDown = (message: string): void => {
      this.#has_failed = true
      fail(message)
    }
    this.#sync = new LogSync(this.#log_path, breakDown)
    this.#checkpoints = new Checkpoints(path, () => this.#checkpoint(breakDown), report, breakDown)
  }

  /**
   * Resolves when everything committed by now is on the disk; null when it is already. Commits
   * wait for the disk by themselves until the first call: what a start makes and prints is kept.
   */
  settle(): Promise<void> | null {
    const changes = this.#changes.get()?.changes ?? 0
    if (this.#synced_changes === null) {
      this.#stopWaiting()
      this.#synced_changes = changes
    }
    // The change of this answer may be part of a sync that another answer began.
    if (changes === this.#synced_changes) return this.#syncing
    this.#synced_changes = changes
    if (statSync(this.#log_path).size >= LOG_BYTES_MAX) this.#checkpoints.noteCall()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#syncing = promise
    this.#sync.settle(() => {
      if (this.#syncing === promise) this.#syncing = null
      resolve()
    })
    return promise
  }

  /** Looks whether the file is damaged, after an error of the storage; `fail` is called when it is. */
  check(): void {
    this.#checkpoints.check()
  }

  /** From now on commits do not wait. Without the looks, the log of a server that only gets events would grow for ever. */
  #stopWaiting(): void {
    this.#connection.run('pragma synchronous = normal')
    this.#connection.run('pragma wal_autocheckpoint = 0')
    this.#looks = setInterval(() => void this.settle(), this.#look_ms)
    this.#looks.unref()
  }

  /** After any failure but that of a sync the next checkpoint does its work. */
  #checkpoint(breakDown: (message: string) => void): void {
    try {
      this.#connection.run('pragma wal_checkpoint(passive)')
    } catch (error) {
      if (isFailedSync(error)) breakDown(`control.db cannot be synced: ${String(error)}`)
    }
  }

  /**
   * Ends the threads and closes the database, whose log is then empty. After a failed sync it stays open until the process
   * ends: closing would copy the log, of which pages may be lost, and delete it.
   */
  async close(): Promise<void> {
    if (this.#looks !== null) clearInterval(this.#looks)
    await this.#checkpoints.close()
    this.#sync.close()
    if (this.#has_failed) return
    this.#changes.finalize()
    this.#connection.close()
  }
}
