/** The content of a file: whole rows, or rows packed into property columns, a shape and a rest. */
import type { DuckDBConnection } from '@duckdb/node-api'
import {
  areWhole,
  columnName,
  type FileColumn,
  type PropertyColumn,
} from '../../storage/files/property-columns.ts'
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
  /** Rows with all of EVENT_COLUMNS, or with the columns of a packed file when `is_packed` is true. */
  readonly source: string
  readonly columns: readonly PropertyColumn[]
  /** Whether the rows come from packed files with these property columns. */
  readonly is_packed?: boolean
  /** False leaves pages as they are encoded; they are compressed by default. */
  readonly is_compressed?: boolean
}

const WRITTEN_COLUMNS = EVENT_COLUMNS.filter(([name]) => name !== 'properties')
  .map(([name]) => `"${name}"`)
  .join(', ')
/** Maximum number of shapes per file, the most frequent first; other rows keep their JSON. */
const SHAPES_MAX = 20_000

/** Without columns, rows are written whole. */
export function layoutOf({ columns }: FileContent): FileLayout {
  return columns.length === 0 ? 'whole' : 'packed'
}

/** The SELECT of a file's rows, unordered, and the columns that it has. */
type PreparedContent = { readonly select: string; readonly columns: readonly FileColumn[] }

/** Prepares the rows of a file; they are in a temporary table until `FORGET_CONTENT` is run. */
export async function prepareContent(
  content: FileContent,
  connection: DuckDBConnection,
): Promise<PreparedContent> {
  const { source, is_packed = false } = content
  if (layoutOf(content) === 'whole')
    return { select: `select ${WRITTEN_COLUMNS}, properties from ${source}`, columns: [] }
  if (!is_packed) await cutProperties(content, connection)
  const columns = await findWhole(content.columns, connection, is_packed ? source : 'cut')
  const kept = [...PACKING_COLUMNS, ...columns.map(columnName)].map((name) => `"${name}"`)
  const select = is_packed
    ? `select ${WRITTEN_COLUMNS}, ${kept.join(', ')} from ${source}`
    : selectPacked('(cut left join shapes using (signature))', WRITTEN_COLUMNS, columns)
  return { select: `select ${replaceWhole(columns)} from (${select})`, columns }
}

/** Marks the columns of numbers that are all whole: aggregates over integers take a third of the time. */
async function findWhole(
  columns: readonly PropertyColumn[],
  connection: DuckDBConnection,
  rows: string,
): Promise<readonly FileColumn[]> {
  const numbers = columns.filter(({ kind }) => kind === 'number')
  if (numbers.length === 0) return columns
  const reader = await connection.runAndReadAll(
    `select ${numbers.map(areWhole).join(', ')} from ${rows}`,
  )
  const are_whole = reader.getRows()[0] ?? []
  const whole_names = new Set(
    numbers.filter((_, index) => are_whole[index] === true).map(columnName),
  )
  return columns.map(({ kind, name }) => ({
    kind,
    name,
    is_whole: whole_names.has(columnName({ kind, name })),
  }))
}

function replaceWhole(columns: readonly FileColumn[]): string {
  const whole = columns
    .filter(({ is_whole }) => is_whole)
    .map((column) => `"${columnName(column)}"::bigint as "${columnName(column)}"`)
  return whole.length === 0 ? '*' : `* replace (${whole.join(', ')})`
}

/** Makes the tables `cut` and `shapes` of the rows' properties. */
async function cutProperties(
  { source, columns }: FileContent,
  connection: DuckDBConnection,
): Promise<void> {
  await connection.run(
    `create or replace temp table cut as ${selectUnpackable(source, WRITTEN_COLUMNS, columns)}`,
  )
  await connection.run(
    'create or replace temp table shapes (signature varchar, shape varchar, patch varchar, places varchar)',
  )
  const found = await connection.runAndReadAll(
    `select signature from cut group by signature order by count(*) desc, signature limit ${SHAPES_MAX}`,
  )
  const signatures = found.getRows().map(([signature]) => String(signature))
  await appendShapes(connection, signatures, columns)
}

/** Drops the rows that `prepareContent` has cut. The few rows of `shapes` stay until the next file replaces them. */
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
