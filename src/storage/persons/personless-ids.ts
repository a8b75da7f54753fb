/** Distinct ids that were used without a person profile: a later merge of such an id takes over its events. */
import type { Database, Statement } from 'bun:sqlite'
import { ClockCache } from '../clock-cache.ts'

/** Cached ids. */
const CACHED_MAX = 100_000

/** Reads and writes inside the data thread's transactions. */
export class PersonlessIds {
  readonly #db: Database
  readonly #insert: Statement
  readonly #known = new ClockCache<true>(CACHED_MAX)

  constructor(db: Database) {
    this.#db = db
    this.#insert = db.prepare(
      'insert or ignore into personless_ids (project_id, distinct_id) values (?, ?)',
    )
  }

  /** Stores that an id was used without a profile. */
  add(project_id: number, distinct_id: string): void {
    const key = `${project_id}:${distinct_id}`
    if (this.#known.get(key) !== undefined) return
    this.#insert.run(project_id, distinct_id)
    this.#known.set(key, true)
  }

  has(project_id: number, distinct_id: string): boolean {
    if (this.#known.get(`${project_id}:${distinct_id}`) !== undefined) return true
    return (
      this.#db
        .query('select 1 from personless_ids where project_id = ? and distinct_id = ?')
        .get(project_id, distinct_id) !== null
    )
  }

  /** Drops everything in memory, after a rollback. */
  forget(): void {
    this.#known.clear()
  }
}
