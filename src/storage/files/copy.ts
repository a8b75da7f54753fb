/** Copies committed rows from events.db into DuckDB tables, in batches, in commit order. */
import type { Database } from 'bun:sqlite'
import type { DuckDBAppender } from '@duckdb/node-api'
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

/** Rows per batch; the event loop runs between batches (about 40 ms of work). */
const BATCH_ROWS = 8192

/** Characters per batch, since rows may be large. */
const BATCH_LENGTH_MAX = 8 * 1024 * 1024

/** Characters in `staged` before its rows are moved. */
const STAGED_LENGTH_MAX = 32 * 1024 * 1024

type CopiedRow = { readonly position: number; readonly fields: string; readonly properties: string }

type CopyBatch = {
  readonly rows: readonly CopiedRow[]
  /** Characters. */
  readonly length: number
  /** No row of the range follows. */
  readonly is_last: boolean
}

/**
 * Copies a range of rows; the table `staged` must exist. Runs in the transactions that its caller opened on both sides.
 * Without one on SQLite's side it reads each batch in a transaction of its own, so that the write-ahead log can start
 * over between batches; the rows of the range must not change meanwhile. Returns up to which position it is copied.
 */
export async function copyRows(
  db: Database,
  writer: StatementWriter,
  source: CopySource,
  { length_max = Number.POSITIVE_INFINITY, ...range }: CopyRange,
): Promise<number> {
  let length = 0
  let staged_length = 0
  for (let after = range.after; ; ) {
    const batch = readBatch(db, source, { ...range, after })
    await stageRows(writer, batch.rows)
    length += batch.length
    staged_length += batch.length
    const is_last = batch.is_last || length >= length_max
    if (staged_length > 0 && (is_last || staged_length >= STAGED_LENGTH_MAX)) {
      await moveStaged(writer, source)
      staged_length = 0
    }
    after = batch.rows.at(-1)?.position ?? range.up_to
    if (is_last) return batch.is_last ? range.up_to : after
  }
}

/** Reads the next rows; those of one position are in one batch, since a copy continues after a position. */
function readBatch(db: Database, source: CopySource, range: CopyRange): CopyBatch {
  const rows: CopiedRow[] = []
  let length = 0
  for (const row of db.query<CopiedRow, CopyRange>(source.select).iterate(range)) {
    const is_full = rows.length >= BATCH_ROWS || length >= BATCH_LENGTH_MAX
    if (is_full && row.position !== rows.at(-1)?.position) return { rows, length, is_last: false }
    rows.push(row)
    length += row.fields.length + row.properties.length
  }
  return { rows, length, is_last: true }
}

async function stageRows(
  { connection }: StatementWriter,
  rows: readonly CopiedRow[],
): Promise<void> {
  if (rows.length === 0) return
  const appender = await connection.createAppender('staged')
  for (const row of rows) appendRow(appender, row)
  appender.closeSync()
}

function appendRow(appender: DuckDBAppender, { fields, properties }: CopiedRow): void {
  appender.appendVarchar(fields)
  appender.appendVarchar(properties)
  appender.endRow()
}

async function moveStaged(writer: StatementWriter, source: CopySource): Promise<void> {
  for (const statement of source.move) await writer.repeat(statement)
  await writer.repeat('truncate staged')
}
