/** Detects changes of control.db by this process or by the command line. */
import type { Database, Statement } from 'bun:sqlite'
import { join } from 'node:path'
import { openReader } from '../sqlite/sqlite.ts'

/** A connection that reads `data_version`, which SQLite changes with every commit of other connections. */
export class ControlChanges {
  readonly #db: Database
  readonly #data_version: Statement<{ data_version: number }, []>
  #version: number | null = null

  /** control.db must exist. */
  constructor(data_dir: string) {
    this.#db = openReader(join(data_dir, 'control.db'))
    this.#data_version = this.#db.prepare('pragma data_version')
  }

  /**
   * A number that changes with every commit of any process. Read once per turn of the event loop: no client knows yet of
   * another process's commit in this turn. `expectChange` announces commits of this process.
   */
  version(): number {
    if (this.#version !== null) return this.#version
    setImmediate(() => {
      this.#version = null
    })
    this.#version = this.#data_version.get()?.data_version ?? -1
    return this.#version
  }

  /** Looks again, also within this turn. */
  expectChange(): void {
    this.#version = null
  }

  close(): void {
    this.#db.close(true)
  }
}
