/** The content of a file: whole rows, or rows packed into property columns, a shape and a rest. */
import type { DuckDBConnection } from '@duckdb/node-api'
import { columnName, type PropertyColumn } from '../../storage/files/property-columns.ts'
import {
  type FileLayout,
  PACKING_COLUMNS,
  selectPacked,
  selectUnpackable,
  shapeOf,
} from '../../storage/files/property-layout.ts'
import { EVENT_COLUMNS } from '../../storage/files/replication-sources.ts'

/** An SQL relation of rows, and the property columns, in the order of `readColumns`. */
export type FileContent = {
  /** Has all of EVENT_COLUMNS … */
  readonly source: string
  readonly columns: readonly PropertyColumn[]
  /** … or, when this is true, the columns of packed files with these property columns. */
  readonly is_packed?: boolean
}

const OWN = EVENT_COLUMNS.filter(([name]) => name !== 'properties')
  .map(([name]) => `"${name}"`)
  .join(', ')
/** Maximum number of shapes per file, the most frequent first; other rows keep their JSON. */
const SHAPES_MAX = 20_000

/** Without columns, rows are written whole. */
export function layoutOf({ columns }: FileContent): FileLayout {
  return columns.length === 0 ? 'whole' : 'packed'
}

/** Prepares the SELECT of a file's rows, unordered; its temporary tables exist until `FORGET_CONTENT` is run. */
export async function prepareContent(
  content: FileContent,
  connection: DuckDBConnection,
): Promise<string> {
  const { source, columns, is_packed = false } = content
  if (layoutOf(content) === 'whole') return `select ${OWN}, properties from ${source}`
  if (is_packed) {
    const kept = [...PACKING_COLUMNS, ...columns.map(columnName)].map((name) => `"${name}"`)
    return `select ${OWN}, ${kept.join(', ')} from ${source}`
  }
  await connection.run(
    `create or replace temp table cut as ${selectUnpackable(source, OWN, columns)}`,
  )
  await connection.run(
    'create or replace temp table shapes (signature varchar, shape varchar, patch varchar, places varchar)',
  )
  const found = await connection.runAndReadAll(
    `select signature from cut group by signature order by count(*) desc, signature limit ${SHAPES_MAX}`,
  )
  const signatures = found.getRows().map(([signature]) => String(signature))
  await appendShapes(connection, signatures, columns)
  return selectPacked('(cut left join shapes using (signature))', OWN, columns)
}

/** Drops the tables of `prepareContent`. */
export const FORGET_CONTENT = 'drop table if exists cut'

async function appendShapes(
  connection: DuckDBConnection,
  signatures: readonly string[],
  columns: readonly PropertyColumn[],
): Promise<void> {
  const appender = await connection.createAppender('shapes')
  for (const signature of signatures) {
    const found = shapeOf(signature, columns)
    if (found === null) continue
    appender.appendVarchar(signature)
    appender.appendVarchar(found.shape)
    for (const text of [found.rest?.patch, found.rest?.places]) {
      if (text === undefined) appender.appendNull()
      else appender.appendVarchar(text)
    }
    appender.endRow()
  }
  appender.closeSync()
}
