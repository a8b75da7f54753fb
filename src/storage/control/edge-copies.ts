/** Writes an edge's copies of its home's definitions: the rows that differ, in one transaction with their ETag. */
import type { Database, SQLQueryBindings } from 'bun:sqlite'
import { join } from 'node:path'
import { openWriter } from '../sqlite/sqlite.ts'

/** The rows of a table as the home has them: columns by name. */
type TableCopy = {
  readonly table: string
  readonly rows: readonly Readonly<Record<string, unknown>>[]
}

/** The version of the home's definitions that the copies have; `checked_at` in ms since 1970 UTC. */
type CopyState = { readonly etag: string; readonly checked_at: number }

type StoredRow = Readonly<Record<string, SQLQueryBindings>>

/** A connection without foreign keys, so that replacing a row does not delete the rows that refer to it. */
export class EdgeCopies {
  readonly #db: Database

  /** control.db must exist, with all of its tables. */
  constructor(data_dir: string) {
    this.#db = openWriter(join(data_dir, 'control.db'))
    this.#db.run('pragma foreign_keys = off')
  }

  /** The state of the copies; null before the first. */
  readState(): CopyState | null {
    return this.#db
      .query<CopyState, []>('select etag, checked_at from edge_definitions where id = 1')
      .get()
  }

  /** The ids of the copied projects. */
  listProjects(): readonly number[] {
    const rows = this.#db.query<{ id: number }, []>('select id from projects order by id').all()
    return rows.map(({ id }) => id)
  }

  /** Records that the home's definitions were unchanged at this time. */
  noteChecked(checked_at: number): void {
    this.#db.query('update edge_definitions set checked_at = ? where id = 1').run(checked_at)
  }

  /** Replaces the rows of tables. Throws if a row does not fit: then everything stays as it was. */
  replace(copies: readonly TableCopy[], { etag, checked_at }: CopyState): void {
    this.#db
      .transaction(() => {
        const plans = copies.map((copy) => this.#plan(copy))
        // Deletions go first: a new row may have the unique name or token of a deleted one.
        for (const { remove, removed } of plans) for (const id of removed) remove.run(id)
        for (const { rows, write } of plans) for (const row of rows) write(row)
        // A trigger creates a dashboard for each new project; an edge serves none.
        this.#db.run('delete from dashboards')
        this.#db
          .query(
            `insert into edge_definitions (id, etag, checked_at) values (1, ?, ?)
            on conflict (id) do update set etag = excluded.etag, checked_at = excluded.checked_at`,
          )
          .run(etag, checked_at)
      })
      .immediate()
  }

  close(): void {
    this.#db.close()
  }

  /** Compares one table with its copy from the home: the ids to delete, the rows to write, and the statements for both. */
  #plan({ table, rows }: TableCopy) {
    const columns = this.#db
      .query<{ name: string }, []>(`pragma table_info(${table})`)
      .all()
      .map(({ name }) => name)
      // A home of an earlier version has fewer columns: the others keep their defaults.
      .filter((name) => rows.every((row) => Object.hasOwn(row, name)))
    const stored = new Map(
      this.#db
        .query<StoredRow, []>(`select * from ${table}`)
        .all()
        .map((row) => [row['id'], JSON.stringify(columns.map((column) => row[column] ?? null))]),
    )
    const sent = rows.map((row) => columns.map((column) => bindable(row[column])))
    const id_at = columns.indexOf('id')
    const changed = sent.filter((row) => stored.get(row[id_at] ?? null) !== JSON.stringify(row))
    const ids = new Set(sent.map((row) => row[id_at] ?? null))
    const gone = [...stored.keys()].flatMap((id = null) => (ids.has(id) ? [] : [id]))
    const names = columns.join(', ')
    const values = columns.map(() => '?').join(', ')
    const insert = this.#db.prepare(`insert into ${table} (${names}) values (${values})`)
    const update = this.#db.prepare(`update ${table} set (${names}) = (${values}) where id = ?`)
    return {
      remove: this.#db.prepare(`delete from ${table} where id = ?`),
      removed: [...gone, ...changed.map((row) => row[id_at] ?? null)],
      rows: changed,
      write: (row: readonly SQLQueryBindings[]): void => {
        insert.run(...row)
        // Triggers fill in columns of inserted rows: the update restores the values from the home.
        update.run(...row, row[id_at] ?? null)
      },
    }
  }
}

function bindable(value: unknown): SQLQueryBindings {
  return typeof value === 'string' || typeof value === 'number' ? value : null
}
