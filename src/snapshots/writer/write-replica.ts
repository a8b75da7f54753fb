/** Writes changed rows of a replica into files, and rewrites older files that contain their old versions. */
import type { Database } from 'bun:sqlite'
import type { DuckDBConnection } from '@duckdb/node-api'
import { StatementWriter } from '../../storage/duckdb/duckdb.ts'
import { textList, textLiteral } from '../../storage/duckdb/duckdb-text.ts'
import { copyRows } from '../../storage/files/copy.ts'
import { filePath } from '../../storage/files/parquet.ts'
import {
  columnName,
  type PropertyColumn,
  pointerOf,
  readColumns,
  writeColumns,
} from '../../storage/files/property-columns.ts'
import type { ReplicaFile } from '../../storage/files/replica-files.ts'
import {
  CREATE_STAGED,
  FILED_REPLICAS,
  type FiledReplica,
  type Replica,
  withColumns,
} from '../../storage/files/replication-sources.ts'
import { DUCKDB_RELATIONS } from '../../storage/sqlite/sql-files.ts'
import { reachFaultPoint } from '../fault-injection.ts'
import { countNames } from './choose-columns.ts'
import { requireChecked } from './measure.ts'
import { FILE_FORMAT, type PublishOptions, publishFile } from './publish-file.ts'

export type ReplicaWriteOptions = PublishOptions & {
  readonly project_id: number
  readonly relation: string
  /** The files contain the relation as of `after`. */
  readonly files: readonly ReplicaFile[]
  readonly after: number
  /** The newest change number. */
  readonly up_to: number
  /** Characters per write. */
  readonly length_max: number
  readonly columns_max: number
  /** Files with fewer rows are merged with new rows. */
  readonly small_rows: number
  /** Changes of one step. */
  readonly changes_max: number
}

/** The added and removed files of a relation. */
export type ReplicaChange = {
  readonly added: readonly ReplicaFile[]
  readonly removed: readonly string[]
}

/** The state of writing one relation. */
type ReplicaWork = {
  readonly connection: DuckDBConnection
  readonly replica: Replica
  readonly filed: FiledReplica
  readonly options: ReplicaWriteOptions
}

/** Reports the files after all are published. Returns the change number that they are as of. */
export async function writeReplica(
  db: Database,
  connection: DuckDBConnection,
  options: ReplicaWriteOptions,
  send: (step: ReplicaChange) => void,
): Promise<number> {
  reachFaultPoint('begun', options.fault)
  const replica = FILED_REPLICAS.find(({ relation }) => relation === options.relation)
  if (replica === undefined) throw new Error(`${options.relation} does not stand in files`)
  const { filed } = replica
  const work = { connection, replica, filed, options }
  await connection.run(`create macro project_id() as ${options.project_id}::bigint`)
  await connection.run(DUCKDB_RELATIONS)
  await connection.run(CREATE_STAGED)
  await connection.run(`create table changed as select ${keyOf(filed)} from ${replica.table}`)
  // A row that changes while it is read has a later change number, and would be missing here.
  db.run('begin')
  const end = lastOf(db, filed, options)
  const pieces = await writePieces(db, work, end)
  db.run('commit')
  const columns = await columnsOf(work, rowsOf(work), pieces)
  const { added, removed, small } = await writeSurvivors(work)
  const last = [rowsOf(work), ...small.map((file) => survivorsOf(work, file))]
  const files = [...pieces, ...added, ...(await writeRows(work, last.join(' union all '), columns))]
  send({ added: files, removed })
  reachFaultPoint('reported', options.fault)
  return end
}

/** The last change number of one step. */
function lastOf(db: Database, { source }: FiledReplica, options: ReplicaWriteOptions): number {
  const { project_id, after, up_to, changes_max } = options
  const row = db
    .query<{ change: number }, number[]>(
      `select change from ${source} where project_id = ? and change > ? and change <= ? order by change limit 1 offset ?`,
    )
    .get(project_id, after, up_to, changes_max)
  return row?.change ?? up_to
}

/** Writes full files; the remaining rows stay in the table. */
async function writePieces(
  db: Database,
  work: ReplicaWork,
  end: number,
): Promise<readonly ReplicaFile[]> {
  const { connection, replica, filed, options } = work
  const { project_id, length_max } = options
  const writer = new StatementWriter(connection)
  const source = withColumns(replica, [], true)
  const files: ReplicaFile[] = []
  for (let after = options.after; ; ) {
    after = await copyRows(db, writer, source, { project_id, after, up_to: end, length_max })
    await connection.run(`insert into changed select ${keyOf(filed)} from ${replica.table}`)
    if (after >= end) return files
    const rows = rowsOf(work)
    files.push(...(await writeRows(work, rows, await columnsOf(work, rows, files))))
    await connection.run(`truncate ${replica.table}`)
  }
}

/** Rewrites files without the changed rows; small files are merged instead. */
async function writeSurvivors(work: ReplicaWork) {
  const added: ReplicaFile[] = []
  const removed: string[] = []
  const small: ReplicaFile[] = []
  const { data_dir, files, small_rows } = work.options
  for (const file of files) {
    const left = await countRows(work.connection, survivorsOf(work, file)).catch(async (error) => {
      // A file that cannot even be read is marked as damaged: the next step writes it anew.
      await requireChecked(data_dir, file)
      throw error
    })
    if (left === file.row_count && left >= small_rows) continue
    await requireChecked(data_dir, file)
    removed.push(file.id)
    if (left < small_rows) small.push(file)
    else added.push(...(await writeRows(work, survivorsOf(work, file), readColumns(file.columns))))
  }
  return { added, removed, small }
}

const keyOf = ({ key }: FiledReplica): string => quoteNames(key)

const quoteNames = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ')

const rowsOf = ({ replica, filed }: ReplicaWork): string =>
  `select ${quoteNames(filed.columns)} from ${replica.table} where not is_gone`

function survivorsOf({ filed, options }: ReplicaWork, file: ReplicaFile): string {
  const path = textLiteral(filePath(options.data_dir, file))
  return `select ${quoteNames(filed.columns)} from read_parquet(${path}) anti join changed using (${keyOf(filed)})`
}

async function countRows(connection: DuckDBConnection, rows: string): Promise<number> {
  const reader = await connection.runAndReadAll(`select count(*) from (${rows})`)
  return Number(reader.getRows()[0]?.[0])
}

/** Those of the newest file stay, so that files can be read together; frequent newcomers fill the budget. */
async function columnsOf(
  { connection, filed, options }: ReplicaWork,
  rows: string,
  written: readonly ReplicaFile[],
): Promise<readonly PropertyColumn[]> {
  if (!filed.columns.includes('properties')) return []
  const files = [...options.files, ...written]
  const newest = files.toSorted((one, other) => (one.id < other.id ? 1 : -1))[0]
  const row_count = await countRows(connection, rows)
  const [first = 'id'] = filed.key
  const seen = await countNames(connection, { rows: `(${rows})`, row_count, number: `"${first}"` })
  const had = readColumns(newest?.columns ?? '').map(({ name }) => name)
  const names = new Set([...had, ...seen.map(({ name }) => name)])
  return [...names].slice(0, options.columns_max).map((name) => ({ kind: 'text', name }))
}

/** Writes no file without rows. */
async function writeRows(
  { connection, options }: ReplicaWork,
  rows: string,
  columns: readonly PropertyColumn[],
): Promise<readonly ReplicaFile[]> {
  const { project_id, relation } = options
  const row_count = await countRows(connection, rows)
  if (row_count === 0) return []
  const written = withTexts(rows, columns)
  const placed = await publishFile(
    {
      project_id,
      write: async (path) => {
        await connection.run(`copy (${written}) to ${textLiteral(path)} (${FILE_FORMAT})`)
      },
      readBack: async (path) => {
        const found = await countRows(connection, `from read_parquet(${textLiteral(path)})`)
        if (found === row_count) return
        throw new Error(`a file of ${relation} reads back as ${found} rows instead of ${row_count}`)
      },
    },
    options,
  )
  return [{ ...placed, project_id, relation, row_count, columns: writeColumns(columns) }]
}

/** The rows with a column of its text for each property: every kind of query can be answered from that. */
function withTexts(rows: string, columns: readonly PropertyColumn[]): string {
  if (columns.length === 0) return rows
  const pointers = textList(columns.map(({ name }) => pointerOf(name)))
  const texts = columns.map((column, index) => `texts[${index + 1}] as "${columnName(column)}"`)
  return `select * exclude (texts), ${texts.join(', ')} from (select *, json_extract_string(properties, ${pointers}) as texts from (${rows}))`
}
