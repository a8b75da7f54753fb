/** Copies committed rows from events.db into DuckDB tables, in batches, in the order in which they were committed. */
import type { Database } from 'bun:sqlite'
import type { DuckDBAppender } from '@duckdb/node-api'
import type { Writer } from './duckdb.ts'

/**
 * How the rows of one SQLite table become rows of one DuckDB table. Every call across the border of the
 * two engines costs more than parsing, so a row crosses as two texts: a JSON array, and its JSON properties.
 */
export type CopySource = {
  /** Selects `fields` and `properties` after `$after` up to `$up_to`, oldest first; of `$project_id` where it is named. */
  readonly select: string
  /** Statements that move the rows of `staged` into the table; older versions of them leave first. */
  readonly move: readonly string[]
}

/** Which rows: `after` (exclusive) and `up_to` are sequence or change numbers. */
export type CopyRange = {
  /** Given exactly where the source's `select` names it. */
  readonly project_id?: number
  readonly after: number
  readonly up_to: number
}

/** Rows that cross before the event loop gets its turn (about 40 ms of work). */
const BATCH_ROWS = 8192

/** Characters that may wait in `staged` before they become columns. */
const STAGED_LENGTH_MAX = 32 * 1024 * 1024

type Row = { readonly fields: string; readonly properties: string }

/**
 * Copies a range of rows; the table `staged` must exist. Runs in the transactions that its caller opened on
 * both sides. Returns how many rows were copied.
 */
export async function copyRows(
  db: Database,
  writer: Writer,
  source: CopySource,
  range: CopyRange,
): Promise<number> {
  let copied = 0
  let staged_length = 0
  for (const batch of batchesOf(db.query<Row, CopyRange>(source.select).iterate(range))) {
    staged_length += await stageRows(writer, batch)
    copied += batch.length
    if (staged_length > STAGED_LENGTH_MAX) {
      await moveStaged(writer, source)
      staged_length = 0
    }
  }
  if (staged_length > 0) await moveStaged(writer, source)
  return copied
}

function* batchesOf(rows: Iterable<Row>): Iterable<readonly Row[]> {
  let batch: Row[] = []
  for (const row of rows) {
    batch.push(row)
    if (batch.length < BATCH_ROWS) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

/** Returns the length of what was appended. */
async function stageRows({ connection }: Writer, rows: readonly Row[]): Promise<number> {
  const appender = await connection.createAppender('staged')
  const length = rows.reduce((sum, row) => sum + appendRow(appender, row), 0)
  appender.closeSync()
  return length
}

function appendRow(appender: DuckDBAppender, { fields, properties }: Row): number {
  appender.appendVarchar(fields)
  appender.appendVarchar(properties)
  appender.endRow()
  return fields.length + properties.length
}

async function moveStaged(writer: Writer, source: CopySource): Promise<void> {
  for (const statement of source.move) await writer.repeat(statement)
  await writer.repeat('truncate staged')
}
