/** Inserts events many to a statement: that saves a fifth of what the rows would cost one by one. */
import type { Database, SQLQueryBindings, Statement } from 'bun:sqlite'

/** Rows per statement. */
const ROWS = 16

const COLUMNS = `seq, project_id, uuid, event, distinct_id, person_id, person_mode, timestamp, created_at,
  properties, elements_chain, group_0, group_1, group_2, group_3, group_4`
const COLUMN_COUNT = 16

/** Most events belong to no group; columns that are left out cost nothing. */
const LONE_COLUMNS = COLUMNS.replace(/, group_.*$/s, '')
const LONE_COLUMN_COUNT = 11

/** Keeps rows until there are enough for a statement. What it keeps must be flushed before the commit. */
export class EventRows {
  readonly #insert_many: Statement
  readonly #insert_one: Statement
  readonly #insert_grouped: Statement
  #values: SQLQueryBindings[] = []

  constructor(db: Database) {
    this.#insert_many = db.prepare(insertSql(LONE_COLUMNS, LONE_COLUMN_COUNT, ROWS))
    this.#insert_one = db.prepare(insertSql(LONE_COLUMNS, LONE_COLUMN_COUNT, 1))
    this.#insert_grouped = db.prepare(insertSql(COLUMNS, COLUMN_COUNT, 1))
  }

  /** Adds the values of a row without groups, in the order of the columns. */
  add(values: readonly SQLQueryBindings[]): void {
    for (const value of values) this.#values.push(value)
    if (this.#values.length < ROWS * LONE_COLUMN_COUNT) return
    // Handed over as a list: spread, they would cost a tenth of the insert.
    this.#insert_many.run(this.#values)
    this.#values = []
  }

  /** Inserts a row with groups. */
  addGrouped(values: readonly SQLQueryBindings[]): void {
    this.#insert_grouped.run(values)
  }

  /** Inserts what is kept. */
  flush(): void {
    for (let start = 0; start < this.#values.length; start += LONE_COLUMN_COUNT) {
      this.#insert_one.run(this.#values.slice(start, start + LONE_COLUMN_COUNT))
    }
    this.#values = []
  }

  /** Forgets what is kept: it was rolled back. */
  clear(): void {
    this.#values = []
  }
}

function insertSql(columns: string, column_count: number, row_count: number): string {
  const row = `(${Array.from({ length: column_count }, () => '?').join(', ')})`
  const rows = Array.from({ length: row_count }, () => row).join(',\n')
  return `insert into events (\n  ${columns}\n) values ${rows}`
}
