/** One Parquet file of events, from rows to its name on disk. */
import type { DuckDBConnection } from '@duckdb/node-api'
import { textLiteral } from '../storage/duckdb-text.ts'
import type { FileRow } from '../storage/event-log.ts'
import { writeForms } from '../storage/own-forms.ts'
import { inOrder, writeColumns } from '../storage/property-columns.ts'
import { arrange, type Spelling, spellingOf } from './arrange.ts'
import { type Content, FORGET_CONTENT, layoutOf, prepareContent } from './content.ts'
import { type PlaceOptions, place } from './placing.ts'

/** What one file is to hold. Its times are widened to whole seconds, which are exact numbers also far from now. */
export type Part = Pick<
  FileRow,
  | 'first_seq'
  | 'last_seq'
  | 'max_timestamp'
  | 'min_timestamp'
  | 'month'
  | 'project_id'
  | 'row_count'
>

/** Resolves when the file is whole and under its name on disk; no manifest names it yet. */
export async function placeFile(
  part: Part,
  sent: Content,
  connection: DuckDBConnection,
  options: PlaceOptions,
): Promise<FileRow> {
  const content = { ...sent, columns: inOrder(sent.columns) }
  const spelling = await spellingOf(content.source, connection)
  const placed = await place(
    {
      project_id: part.project_id,
      write: (path) => copyContent(content, spelling, connection, path),
      readBack: (path) => readBack(part, connection, path),
    },
    options,
  )
  return {
    ...part,
    ...placed,
    created_at: Date.now() * 1000,
    columns: writeColumns(content.columns),
    layout: layoutOf(content),
    own: writeForms(spelling.own),
  }
}

/**
 * Newer encodings take less space and less time: numbers and times as differences, texts with their lengths apart. What
 * says which values a row group has not got is wrong once in ten times instead of a hundred: a byte less per row.
 */
export const FILE_FORMAT =
  'format parquet, parquet_version v2, compression zstd, bloom_filter_false_positive_ratio 0.1'

async function copyContent(
  content: Content,
  spelling: Spelling,
  connection: DuckDBConnection,
  path: string,
): Promise<void> {
  const select = await prepareContent(content, connection)
  const rows = arrange(select, content.source, spelling)
  await connection.run(`copy (${rows}) to ${textLiteral(path)} (${FILE_FORMAT})`)
  await connection.run(FORGET_CONTENT)
}

/** What was written must be what was meant; a file that is not is never given a name. */
async function readBack(part: Part, connection: DuckDBConnection, path: string): Promise<void> {
  const reader = await connection.runAndReadAll(
    `select count(*), min(seq), max(seq) from read_parquet(${textLiteral(path)})`,
  )
  const found = (reader.getRows()[0] ?? []).map(Number)
  const meant = [part.row_count, part.first_seq, part.last_seq]
  if (meant.every((number, index) => number === found[index])) return
  throw new Error(
    `a snapshot file reads back as ${found.join(', ')} instead of ${meant.join(', ')}`,
  )
}
