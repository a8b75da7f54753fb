/** Writes a range of the log into Parquet files, one per project and month. */
import type { Database } from 'bun:sqlite'
import type { DuckDBConnection } from '@duckdb/node-api'
import { StatementWriter } from '../../storage/duckdb/duckdb.ts'
import { textLiteral } from '../../storage/duckdb/duckdb-text.ts'
import { copyRows } from '../../storage/files/copy.ts'
import type { PropertyColumn } from '../../storage/files/property-columns.ts'
import { CREATE_STAGED, LOG } from '../../storage/files/replication-sources.ts'
import type { FileRow } from '../../storage/log/event-log.ts'
import { reachFaultPoint } from '../fault-injection.ts'
import { chooseColumns } from './choose-columns.ts'
import { type FilePart, type PublishOptions, publishRows } from './publish-file.ts'

export type WriteOptions = PublishOptions & {
  /** Events after this one … */
  readonly after_seq: number
  /** … up to this one are written, or fewer when they are large. */
  readonly up_to_seq: number
  /** Characters per write. */
  readonly length_max: number
  /** Maximum number of property columns per project. */
  readonly columns_max: number
}

/**
 * Reports each file after it is published; no manifest names it yet.
 * Returns the last event that is in the files.
 */
export async function writeFiles(
  db: Database,
  connection: DuckDBConnection,
  options: WriteOptions,
  send: (file: FileRow) => void,
): Promise<number> {
  const { after_seq, up_to_seq, length_max, fault } = options
  reachFaultPoint('begun', fault)
  await connection.run(CREATE_STAGED)
  await connection.run(LOG.create)
  const range = { after: after_seq, up_to: up_to_seq, length_max }
  const last_seq = await copyRows(db, new StatementWriter(connection), LOG, range)
  await writeLogTable(db, connection, options, send)
  return last_seq
}

/** The options of a snapshot's files. */
type LogTableOptions = PublishOptions & Pick<WriteOptions, 'columns_max'>

/** Writes the rows of the table `log` into files, and reports each as `writeFiles` does. */
export async function writeLogTable(
  db: Database,
  connection: DuckDBConnection,
  options: LogTableOptions,
  send: (file: FileRow) => void,
): Promise<void> {
  const chosen = new Map<number, readonly PropertyColumn[]>()
  const parts = await listParts(connection)
  for (const part of parts) {
    const { project_id, month } = part
    const columns =
      chosen.get(project_id) ??
      (await chooseColumns(db, connection, {
        project_id,
        source: `log where project_id = ${project_id}`,
        row_count: parts
          .filter((other) => other.project_id === project_id)
          .reduce((sum, other) => sum + other.row_count, 0),
        columns_max: options.columns_max,
      }))
    chosen.set(project_id, columns)
    const source = `log where project_id = ${project_id} and month = ${textLiteral(month)}`
    send(await publishRows(part, { source, columns }, connection, options))
    reachFaultPoint('reported', options.fault)
  }
}

async function listParts(connection: DuckDBConnection): Promise<readonly FilePart[]> {
  const reader = await connection.runAndReadAll(`
select
  project_id, month, count(*) as row_count,
  min(seq) as first_seq, max(seq) as last_seq,
  epoch_us(date_trunc('second', min("timestamp"))) as min_timestamp,
  epoch_us(date_trunc('second', max("timestamp"))) + 1000000 as max_timestamp
from log
group by all
order by project_id, month`)
  const created_at = Date.now() * 1000
  return reader.getRowObjects().map((row) => ({
    project_id: Number(row['project_id']),
    month: String(row['month']),
    row_count: Number(row['row_count']),
    first_seq: Number(row['first_seq']),
    last_seq: Number(row['last_seq']),
    min_timestamp: Number(row['min_timestamp']),
    max_timestamp: Number(row['max_timestamp']),
    created_at,
  }))
}
