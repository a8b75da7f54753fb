/** Finds files with events of deleted persons, and rewrites each without them. */
import type { Database } from 'bun:sqlite'
import type { DuckDBConnection } from '@duckdb/node-api'
import { textLiteral } from '../../storage/duckdb/duckdb-text.ts'
import { filePath } from '../../storage/files/parquet.ts'
import { readColumns } from '../../storage/files/property-columns.ts'
import type { FileRow } from '../../storage/log/event-log.ts'
import { selectEvents, selectStored, storedShape } from '../../storage/log/event-select.ts'
import {
  CREATE_REMOVED,
  copyRemovals,
  listPendingRemovals,
  removedOf,
  withoutRemoved,
} from '../../storage/log/pending-removals.ts'
import { reachFaultPoint } from '../fault-injection.ts'
import { measure, requireChecked } from './measure.ts'
import { type PublishOptions, publishRows } from './publish-file.ts'

export type RemoveOptions = PublishOptions & {
  /** Files of one project. */
  readonly files: readonly FileRow[]
}

/** Reports the files with events to remove. */
export async function findRemoved(
  db: Database,
  connection: DuckDBConnection,
  { data_dir, files }: RemoveOptions,
  send: (file: FileRow) => void,
): Promise<void> {
  for (const file of files) await requireChecked(data_dir, file)
  await prepare(db, connection, files)
  for (const file of files) {
    const rows = `(select seq, distinct_id, person_id from ${relationOf(data_dir, file)})`
    const reader = await connection.runAndReadAll(`select count(*) from (${removedOf(rows)})`)
    if (Number(reader.getRows()[0]?.[0]) > 0) send(file)
  }
}

/** Rewrites each file without the removed events; a file that would be empty is not reported. */
export async function writeWithoutRemoved(
  db: Database,
  connection: DuckDBConnection,
  options: RemoveOptions,
  send: (file: FileRow) => void,
): Promise<void> {
  const { data_dir, files, fault } = options
  reachFaultPoint('begun', fault)
  for (const file of files) await requireChecked(data_dir, file)
  await prepare(db, connection, files)
  for (const file of files) {
    const is_packed = file.layout === 'packed'
    const [held] = storedShape([file], () => filePath(data_dir, file))
    if (held === undefined) continue
    const all = is_packed ? selectStored(held) : selectEvents(held)
    const source = `(${withoutRemoved(`(${all})`)})`
    const part = await measure(connection, source, file)
    if (part.row_count === 0) continue
    const content = { source, columns: readColumns(file.columns), is_packed }
    send(await publishRows(part, content, connection, options))
    reachFaultPoint('reported', fault)
  }
}

function relationOf(data_dir: string, file: FileRow): string {
  return `read_parquet(${textLiteral(filePath(data_dir, file))})`
}

/** Copies the removals of the files' project, and its overrides of distinct ids. */
async function prepare(
  db: Database,
  connection: DuckDBConnection,
  files: readonly FileRow[],
): Promise<void> {
  const project_id = files[0]?.project_id ?? -1
  const { removals, overridden } = db.transaction(() => ({
    removals: listPendingRemovals(db, project_id),
    overridden: db
      .query<{ distinct_id: string }, [number]>(
        'select distinct_id from distinct_id_overrides where project_id = ?',
      )
      .all(project_id)
      .map(({ distinct_id }) => distinct_id),
  }))()
  await connection.run(CREATE_REMOVED)
  await copyRemovals(connection, removals)
  await connection.run('create table distinct_id_overrides (distinct_id varchar not null)')
  await connection.run(
    `insert into distinct_id_overrides select unnest(from_json($1, '["VARCHAR"]'))`,
    [JSON.stringify(overridden)],
  )
}
