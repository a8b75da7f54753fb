/** Rewrites files of one project as one file, or one per month, sorted, with newly chosen columns. */
import type { Database } from 'bun:sqlite'
import type { DuckDBConnection } from '@duckdb/node-api'
import { textList, textLiteral } from '../../storage/duckdb/duckdb-text.ts'
import { isShared } from '../../storage/files/file-months.ts'
import { filePath } from '../../storage/files/parquet.ts'
import { haveSameNames, readColumns, sortColumns } from '../../storage/files/property-columns.ts'
import type { FileRow } from '../../storage/log/event-log.ts'
import { selectEvents, selectStored, storedShape } from '../../storage/log/event-select.ts'
import { reachFaultPoint } from '../fault-injection.ts'
import { chooseColumns } from './choose-columns.ts'
import { measure, requireChecked } from './measure.ts'
import { type PublishOptions, publishRows } from './publish-file.ts'

export type CompactOptions = PublishOptions & {
  /** Files of one project, of one month or of consecutive ones. */
  readonly files: readonly FileRow[]
  /** True writes one file per month. */
  readonly is_by_month: boolean
  /** The time of the new files. */
  readonly created_at: number
  readonly columns_max: number
}

/**
 * Rows that are equal in these columns are one event that was sent again after its uuid had expired;
 * the first one stays.
 */
const SAME = `uuid, event, distinct_id, "timestamp"::date`

/**
 * The new file is not compressed when compression saves less than this share of the old ones: three million flights, whose
 * uuids are most of a file, take 6 % more space, and counts of them 10 to 30 % less time. Files with fewer rows tell nothing.
 */
const COMPRESSION_SHARE_MIN = 0.1
const TELLING_ROWS_MIN = 2000

/** Reports each new file after it is published. Throws, naming it, when an input is damaged. */
export async function compactFiles(
  db: Database,
  connection: DuckDBConnection,
  options: CompactOptions,
  send: (file: FileRow) => void,
): Promise<void> {
  const { data_dir, files, columns_max, created_at, fault } = options
  reachFaultPoint('begun', fault)
  for (const file of files) await requireChecked(data_dir, file)
  const [first] = files
  if (first === undefined) throw new Error('no files to put together')
  const { project_id } = first
  const groups = storedShape(files, (file) => filePath(data_dir, file))
  const unpacked = relation(groups.map((group) => selectEvents(group)))
  const columns = sortColumns(
    await chooseColumns(db, connection, {
      project_id,
      source: unpacked,
      row_count: files.reduce((sum, { row_count }) => sum + row_count, 0),
      columns_max,
    }),
  )
  const is_compressed = await isWorthCompressing(connection, options)
  // Rows of files with the same columns are copied as they are stored.
  const is_packed = files.every(
    (file) => file.layout === 'packed' && haveSameNames(readColumns(file.columns), columns),
  )
  const input = is_packed ? relation(groups.map(selectStored)) : unpacked
  const distinct = (await hasRepeated(connection, input))
    ? `(select * from ${input} qualify row_number() over (partition by ${SAME} order by seq) = 1)`
    : input
  for (const { source, month } of await listMonths(connection, distinct, options)) {
    const part = await measure(connection, source, { project_id, month, created_at })
    const content = { source, columns, is_packed, is_compressed }
    send(await publishRows(part, content, connection, options))
    reachFaultPoint('reported', fault)
  }
}

/**
 * True when compression saves enough of the inputs with enough rows. Without a compressed one the sums are NULL: files that
 * are not compressed stay so.
 */
async function isWorthCompressing(
  connection: DuckDBConnection,
  { data_dir, files }: CompactOptions,
): Promise<boolean> {
  const telling = files.filter((file) => file.row_count >= TELLING_ROWS_MIN)
  if (telling.length === 0) return true
  const paths = textList(telling.map((file) => filePath(data_dir, file)))
  const reader = await connection.runAndReadAll(
    `select sum(total_compressed_size) < ${1 - COMPRESSION_SHARE_MIN} * sum(total_uncompressed_size)
from parquet_metadata(${paths}) where compression = 'ZSTD'`,
  )
  return reader.getRows()[0]?.[0] === true
}

/** The rows of each output file as a relation, and its last month. */
async function listMonths(
  connection: DuckDBConnection,
  rows: string,
  { files, is_by_month }: CompactOptions,
): Promise<readonly { readonly source: string; readonly month: string }[]> {
  const last =
    files
      .map(({ month }) => month)
      .toSorted()
      .at(-1) ?? ''
  if (!is_by_month || !files.some(isShared)) return [{ source: rows, month: last }]
  const reader = await connection.runAndReadAll(`select distinct ${MONTH} from ${rows} order by 1`)
  return reader.getRows().map(([found]) => ({
    source: `(select * from ${rows} where ${MONTH} = ${textLiteral(String(found))})`,
    month: String(found),
  }))
}

const MONTH = `strftime("timestamp", '%Y-%m')`

const relation = (selects: readonly string[]): string => `(${selects.join(' union all ')})`

async function hasRepeated(connection: DuckDBConnection, source: string): Promise<boolean> {
  // Most files have no duplicate uuid, which is cheaper to detect.
  const reader = await connection.runAndReadAll(
    `select count(*) > count(distinct uuid) from ${source}`,
  )
  return reader.getRows()[0]?.[0] === true
}
