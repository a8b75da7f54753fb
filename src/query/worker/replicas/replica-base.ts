/** Replica files: Parquet copies of large relations that queries read directly, without loading them into memory. */
import type { Database } from 'bun:sqlite'
import type { DuckDBConnection } from '@duckdb/node-api'
import { Refusal } from '../../../errors.ts'
import { textList, textLiteral } from '../../../storage/duckdb/duckdb-text.ts'
import { filePath, findDamage } from '../../../storage/files/parquet.ts'
import {
  columnName,
  fromJson,
  type PropertyColumn,
  readColumns,
  valueOf,
} from '../../../storage/files/property-columns.ts'
import {
  listReplicaFiles,
  listReplicaMarks,
  type ReplicaFile,
} from '../../../storage/files/replica-files.ts'
import type { FiledReplica, Replica } from '../../../storage/files/replication-sources.ts'
import type { PersonColumn } from '../columns/person-columns.ts'
import { type FileSlots, requireReadable } from '../file-slots.ts'

/** The files that a replica's table continues from: they have every row as of this change number. */
export type ReplicaBase = { readonly change: number; readonly files: readonly ReplicaFile[] }

export const NO_BASE: ReplicaBase = { change: 0, files: [] }

/** The folder of the files, and the slots to link them into. */
export type ReplicaLocation = {
  readonly data_dir: string
  readonly project_id: number
  readonly slots: FileSlots
}

/**
 * Links the newest files of a relation into slots, if they are newer than those before. Everything in them is also in
 * the database, which is read instead of a damaged file.
 */
export async function findBase(
  db: Database,
  connection: DuckDBConnection,
  { data_dir, project_id, slots }: ReplicaLocation,
  { relation, before }: { readonly relation: string; readonly before: ReplicaBase },
): Promise<ReplicaBase> {
  const isMine = (row: { relation: string }): boolean => row.relation === relation
  const mark = listReplicaMarks(db, project_id).find(isMine)
  if (mark === undefined || mark.change <= before.change) return before
  const files = listReplicaFiles(db, project_id).filter(isMine)
  for (const file of files) {
    if (findDamage(filePath(data_dir, file), file.byte_count) !== null) return before
  }
  try {
    for (const file of files) await requireReadable(connection, slots.pathOf(file), file)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return before
  }
  return { change: mark.change, files }
}

/** Builds the macro of a relation with files: the table's rows, and the files' rows that the table has no newer version of. */
export function replicaMacro(
  { relation, table, filed }: Replica,
  { files }: ReplicaBase,
  columns: readonly PersonColumn[],
  pathOf: (file: ReplicaFile) => string,
): string {
  if (filed === undefined || files.length === 0) return ''
  const names = [...filed.columns, ...columns.map(({ name }) => name)].map((name) => `"${name}"`)
  const newer = `select ${names.join(', ')} from ${table} where p = project_id() and not is_gone`
  const legs = [...Map.groupBy(files, (file) => file.columns)].map(([text, alike]) => {
    const values = columns.map(
      ({ name, property }) => `${valueIn(readColumns(text), property)} as "${name}"`,
    )
    const read = [...filed.columns.map((name) => `"${name}"`), ...values].join(', ')
    const rows = `(select ${read} from read_parquet(${textList(alike.map(pathOf))}))`
    return `select ${names.map((name) => `f.${name}`).join(', ')} from ${rows} as f anti join ${table} as t on ${isSameRow(filed)} where p = project_id()`
  })
  return `create or replace macro ${relation}_of(p) as table ${[newer, ...legs].join(' union all ')}`
}

const isSameRow = ({ key }: FiledReplica): string =>
  key.map((name) => `f."${name}" = t."${name}"`).join(' and ')

/** Reads a property of a file: from its column, else from the JSON; a search for the name first avoids parsing most JSON. */
function valueIn(columns: readonly PropertyColumn[], property: PropertyColumn): string {
  const column = columns.find(({ name }) => name === property.name)
  if (column !== undefined) return valueOf(property, `"${columnName(column)}"`)
  const has_name = `contains(properties, ${textLiteral(JSON.stringify(property.name))})`
  // JSON with a backslash may contain the name in escaped form.
  return `case when ${has_name} or contains(properties, '\\') then ${fromJson(property)} end`
}
