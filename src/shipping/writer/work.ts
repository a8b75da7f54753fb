/** Does one piece of work of the shipping process. */

import type { Database } from 'bun:sqlite'
import type { DuckDBConnection } from '@duckdb/node-api'
import { StatementWriter } from '../../storage/duckdb/duckdb.ts'
import { copyRows } from '../../storage/files/copy.ts'
import { filePath } from '../../storage/files/parquet.ts'
import { CREATE_STAGED, LOG } from '../../storage/files/replication-sources.ts'
import type { FileRow } from '../../storage/log/event-log.ts'
import { selectEvents, storedShape } from '../../storage/log/event-select.ts'
import type { EventSums, ShippingAnswer, ShippingWork, WrittenBatch } from '../protocol.ts'
import { writeEventBatch, writeRestOfBatch } from './event-batch.ts'
import { writePersonLines } from './person-lines.ts'

/** Characters of events in one batch, beyond which it has fewer rows. */
const BATCH_LENGTH_MAX = 64 * 1024 * 1024

/** Does the work. Throws when it cannot be done; nothing that it has written is then used. */
export async function runShippingWork(
  work: ShippingWork,
  db: Database,
  connection: DuckDBConnection,
  data_dir: string,
): Promise<ShippingAnswer> {
  const { fault = null } = work
  switch (work.kind) {
    case 'events':
      return writeLogBatch(work, db, connection)
    case 'rest':
      return writeRestOfBatch(connection, { ...work, fault })
    case 'file': {
      const { file, offset, rows_max, path, log_id } = work
      const rows = `(select ${file.project_id} as project_id, * from (${rowsOfFiles([file], data_dir)}) order by seq limit ${rows_max} offset ${offset})`
      return writeEventBatch(connection, { source: rows, log_id, path, fault })
    }
    case 'sums':
      return { kind: 'sums', sums: await addUp(connection, rowsOfFiles(work.files, data_dir)) }
    case 'persons':
      return { kind: 'persons', files: writePersonLines(db, work.folder, work) }
  }
}

async function writeLogBatch(
  { path, log_id, after_seq, up_to_seq, fault = null }: Extract<ShippingWork, { kind: 'events' }>,
  db: Database,
  connection: DuckDBConnection,
): Promise<WrittenBatch> {
  await connection.run(CREATE_STAGED.replace('table', 'or replace table'))
  await connection.run(LOG.create.replace('table', 'or replace table'))
  const writer = new StatementWriter(connection)
  const range = { after: after_seq, up_to: up_to_seq, length_max: BATCH_LENGTH_MAX }
  const last_seq = await copyRows(db, writer, LOG, range)
  const written = await writeEventBatch(connection, { source: 'log', log_id, path, fault })
  await connection.run('truncate log')
  return { ...written, last_seq }
}

const rowsOfFiles = (files: readonly FileRow[], data_dir: string): string =>
  storedShape(files, (file) => filePath(data_dir, file))
    .map((shape) => selectEvents(shape))
    .join(' union all ')

async function addUp(connection: DuckDBConnection, rows: string): Promise<EventSums> {
  const reader = await connection.runAndReadAll(`
select
  count(*)::varchar,
  (coalesce(sum(seq), 0)::hugeint % 18446744073709551616)::varchar,
  (coalesce(sum(('0x' || right(replace(uuid::varchar, '-', ''), 16))::ubigint), 0)::hugeint % 18446744073709551616)::varchar,
  coalesce(sum(strlen(properties)), 0)::varchar
from (${rows})`)
  const [count = '0', seqs = '0', uuids = '0', property_bytes = '0'] = (
    reader.getRows()[0] ?? []
  ).map(String)
  return { rows: count, seqs, uuids, property_bytes }
}
