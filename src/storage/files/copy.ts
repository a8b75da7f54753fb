/** Copies committed rows from events.db into DuckDB tables, in batches, in slices, in commit order. */
import type { Database } from 'bun:sqlite'
import type { DuckDBAppender } from '@duckdb/node-api'
import { KIB, MIB } from '../../bytes.ts'
import { Slices } from '../../threads/slices.ts'
import type { StatementWriter } from '../duckdb/duckdb.ts'

/**
 * The copy of one SQLite table's rows into one DuckDB table. Each call between the engines costs more than parsing,
 * so a row is transferred as two texts: a JSON array of fields, and its JSON properties.
 */
export type CopySource = {
  /**
   * Selects `position`, `fields` and `properties` of the rows after `$after` up to `$up_to`, in this order;
   * of one project where it names `$project_id`.
   */
  readonly select: string
  /** Statements that move the rows of `staged` into the table, after deleting their older versions. */
  readonly move: readonly string[]
  /** Positions that one read may pass over; required where rows of other projects lie between those of one. */
  readonly positions_max?: number
}

/** The range of rows; `after` (exclusive) and `up_to` are sequence or change numbers. */
type CopyRange = {
  /** Required exactly when the source's `select` names it. */
  readonly project_id?: number
  readonly after: number
  readonly up_to: number
  /** Stops after about this many characters; the caller copies the rest of the range later. */
  readonly length_max?: number
}

/**
 * Rows per batch; between batches, others have their turn when 8 ms are over. Neither reading from SQLite nor appending to
 * DuckDB lets the event loop run: 30,000 rows, and up to 32 MiB of wide ones, were one turn of 130 ms.
 */
const BATCH_ROWS = 512

/** Characters per batch, since rows may be large. */
const BATCH_LENGTH_MAX = 512 * KIB

/** Rows that an appender takes: opening one costs 0.4 ms, closing one writes its rows. */
const APPENDER_ROWS_MAX = 8192

/** Characters in `staged` before its rows are moved. */
const STAGED_LENGTH_MAX = 32 * MIB

type CopiedRow = { readonly position: number; readonly fields: string; readonly properties: string }

type CopyBatch = {
  readonly rows: readonly CopiedRow[]
  /** Characters. */
  readonly length: number
  /** The position up to which all rows of the range are read. */
  readonly up_to: number
}

/**
 * Copies a range of rows, and returns the position up to which they are copied. The table `staged` must exist. The
 * caller opens the transactions on both sides. It may open none on SQLite's side if the rows of the range do not
 * change: then each batch is read in a transaction of its own, and the write-ahead log can start over between batches.
 */
export async function copyRows(
  db: Database,
  writer: StatementWriter,
  source: CopySource,
  { length_max = Number.POSITIVE_INFINITY, ...range }: CopyRange,
): Promise<number> {
  const slices = new Slices()
  const staged = new StagedRows(writer)
  let length = 0
  try {
    for (let after = range.after; ; ) {
      const batch = readBatch(db, source, { ...range, after })
      await staged.add(batch)
      length += batch.length
      const is_last = batch.up_to >= range.up_to || length >= length_max
      if (is_last || staged.length >= STAGED_LENGTH_MAX) await staged.move(source)
      after = batch.up_to
      if (is_last) return after
      if (slices.isOver()) await slices.end()
    }
  } catch (error) {
    staged.discard()
    throw error
  }
}

/** Reads the next rows; those of one position are in one batch, since a copy continues after a position. */
function readBatch(db: Database, source: CopySource, range: CopyRange): CopyBatch {
  const { positions_max = Number.POSITIVE_INFINITY } = source
  const up_to = Math.min(range.up_to, range.after + positions_max)
  const rows: CopiedRow[] = []
  let length = 0
  for (const row of db.query<CopiedRow, CopyRange>(source.select).iterate({ ...range, up_to })) {
    const is_full = rows.length >= BATCH_ROWS || length >= BATCH_LENGTH_MAX
    const last = rows.at(-1)?.position
    if (is_full && last !== undefined && row.position !== last) return { rows, length, up_to: last }
    rows.push(row)
    length += row.fields.length + row.properties.length
  }
  return { rows, length, up_to }
}

/** The rows in the table `staged`. */
class StagedRows {
  readonly #writer: StatementWriter
  #appender: DuckDBAppender | null = null
  #appended = 0
  /** Characters. */
  length = 0

  constructor(writer: StatementWriter) {
    this.#writer = writer
  }

  async add({ rows, length }: CopyBatch): Promise<void> {
    if (rows.length === 0) return
    this.#appender ??= await this.#writer.connection.createAppender('staged')
    for (const { fields, properties } of rows) {
      this.#appender.appendVarchar(fields)
      this.#appender.appendVarchar(properties)
      this.#appender.endRow()
    }
    this.length += length
    this.#appended += rows.length
    if (this.#appended >= APPENDER_ROWS_MAX) this.close()
  }

  /** Moves the rows into the table of their source. */
  async move({ move }: CopySource): Promise<void> {
    this.close()
    if (this.length === 0) return
    for (const statement of move) await this.#writer.repeat(statement)
    await this.#writer.repeat('truncate staged')
    this.length = 0
  }

  /** Writes what was appended. An appender that stayed open would write it when it is collected, into a later transaction. */
  close(): void {
    const appender = this.#appender
    this.#appender = null
    this.#appended = 0
    appender?.closeSync()
  }

  /** Closes after an error, which a second one must not hide: closing writes the rows, and that fails too. */
  discard(): void {
    try {
      this.close()
    } catch {
      // The caller gets the first error.
    }
  }
}
