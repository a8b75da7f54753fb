/** Puts files of one project and month together into one, sorted, with the columns that are chosen today. */
import type { Database } from 'bun:sqlite'
import type { DuckDBConnection } from '@duckdb/node-api'
import type { FileRow } from '../storage/event-log.ts'
import { heldIn, selectEvents, selectHeld } from '../storage/event-relations.ts'
import { filePath } from '../storage/parquet.ts'
import { inOrder, writeColumns } from '../storage/property-columns.ts'
import { chooseColumns } from './choose-columns.ts'
import { reach } from './faults.ts'
import { measure, requireChecked } from './measure.ts'
import { placeFile } from './place-file.ts'
import type { PlaceOptions } from './placing.ts'

export type CompactOptions = PlaceOptions & {
  /** Files of one project and month. */
  readonly files: readonly FileRow[]
  readonly columns_max: number
}

/**
 * Rows that are equal in these are one event that was sent again after its uuid had been forgotten (contract C4);
 * the first one stays.
 */
const SAME = `uuid, event, distinct_id, "timestamp"::date`

/** Tells of the new file when it is whole and under its name. Throws, naming it, when an input is damaged. */
export async function compactFiles(
  db: Database,
  connection: DuckDBConnection,
  options: CompactOptions,
  tell: (file: FileRow) => void,
): Promise<void> {
  const { data_dir, files, columns_max, fault } = options
  reach('begun', fault)
  for (const file of files) await requireChecked(data_dir, file)
  const [first] = files
  if (first === undefined) throw new Error('no files to put together')
  const { project_id, month } = first
  const held = heldIn(files, (file) => filePath(data_dir, file))
  const whole = relation(held.map((group) => selectEvents(group)))
  const columns = inOrder(
    await chooseColumns(db, connection, {
      project_id,
      source: whole,
      row_count: files.reduce((sum, { row_count }) => sum + row_count, 0),
      columns_max,
    }),
  )
  const is_packed = files.every(
    (file) => file.layout === 'packed' && file.columns === writeColumns(columns),
  )
  const rows = is_packed ? relation(held.map(selectHeld)) : whole
  const source = (await hasRepeated(connection, rows))
    ? `(select * from ${rows} qualify row_number() over (partition by ${SAME} order by seq) = 1)`
    : rows
  const part = await measure(connection, source, { project_id, month })
  tell(await placeFile(part, { source, columns, is_packed }, connection, options))
  reach('told', fault)
}

const relation = (selects: readonly string[]): string => `(${selects.join(' union all ')})`

async function hasRepeated(connection: DuckDBConnection, source: string): Promise<boolean> {
  // Most files have no uuid twice, which is cheaper to see.
  const reader = await connection.runAndReadAll(
    `select count(*) > count(distinct uuid) from ${source}`,
  )
  return reader.getRows()[0]?.[0] === true
}
