/** Checks and measures rows and files before another file is written from them. */
import type { DuckDBConnection } from '@duckdb/node-api'
import { type CheckedFile, damageOf } from '../../storage/files/file-damage.ts'
import type { FilePart } from './publish-file.ts'

/** Refuses damaged inputs: DuckDB would read flipped bytes as values, and the new file would have a valid checksum. */
export async function requireChecked(data_dir: string, file: CheckedFile): Promise<void> {
  const damage = await damageOf(data_dir, file)
  if (damage !== null) throw new Error(`snapshot file ${file.id} ${damage}`)
}

/** Measures the rows of `source`, all of one project and month, for a file that takes its time from the files it replaces. */
export async function measure(
  connection: DuckDBConnection,
  source: string,
  { project_id, month, created_at }: Pick<FilePart, 'created_at' | 'month' | 'project_id'>,
): Promise<FilePart> {
  const reader = await connection.runAndReadAll(`
select
  count(*), min(seq), max(seq),
  epoch_us(date_trunc('second', min("timestamp"))),
  epoch_us(date_trunc('second', max("timestamp"))) + 1000000
from ${source}`)
  const [row_count = 0, first_seq = 0, last_seq = 0, min_timestamp = 0, max_timestamp = 0] = (
    reader.getRows()[0] ?? []
  ).map(Number)
  const times = { min_timestamp, max_timestamp, created_at }
  return { project_id, month, row_count, first_seq, last_seq, ...times }
}
