/** Which uuids a project has stored: what is there is not stored again. */
import type { Database, SQLQueryBindings, Statement } from 'bun:sqlite'

/** Rows per statement: that halves what a row costs whose uuid follows those before. */
const ROWS = 20
const COLUMN_COUNT = 3

const INSERT = 'insert or ignore into event_uuids (project_id, uuid, received_day) values'

/** Claims uuids inside a transaction. What it keeps must be flushed before the commit. */
export class DedupIndex {
  readonly #insert_one: Statement
  readonly #insert_many: Statement
  #values: SQLQueryBindings[] = []

  constructor(db: Database) {
    const row = '(?, ?, ?)'
    this.#insert_one = db.prepare(`${INSERT} ${row}`)
    this.#insert_many = db.prepare(
      `${INSERT} ${Array.from({ length: ROWS }, () => row).join(', ')}`,
    )
  }

  /** Claims a uuid that a client gave; false when it was stored before. */
  claim(project_id: number, uuid: Uint8Array, received_day: number): boolean {
    return this.#insert_one.run(project_id, uuid, received_day).changes === 1
  }

  /** Remembers a uuid that was made just now and is nobody else's. Clients may send it back one day. */
  add(project_id: number, uuid: Uint8Array, received_day: number): void {
    this.#values.push(project_id, uuid, received_day)
    if (this.#values.length < ROWS * COLUMN_COUNT) return
    this.#insert_many.run(this.#values)
    this.#values = []
  }

  /** Writes what is kept. */
  flush(): void {
    for (let start = 0; start < this.#values.length; start += COLUMN_COUNT) {
      this.#insert_one.run(this.#values.slice(start, start + COLUMN_COUNT))
    }
    this.#values = []
  }

  /** Forgets what is kept: it was rolled back. */
  clear(): void {
    this.#values = []
  }
}
