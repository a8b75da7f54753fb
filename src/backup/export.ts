/** Writes a project's events and persons into files that others can read, also while a server runs. */
import type { Database } from 'bun:sqlite'
import { existsSync, linkSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import type { StatementWriter } from '../storage/duckdb/duckdb.ts'
import { copyRows } from '../storage/files/copy.ts'
import { hasMonth, isShared } from '../storage/files/file-months.ts'
import { listFiles, readLogState } from '../storage/files/manifest.ts'
import { filePath, findDamage, syncPath, temporaryFolder } from '../storage/files/parquet.ts'
import {
  CREATE_STAGED,
  EVENT_COLUMNS,
  REPLICAS,
  TAIL,
  withColumns,
} from '../storage/files/replication-sources.ts'
import type { FileRow } from '../storage/log/event-log.ts'
import { selectEvents, storedShape, wholeRows } from '../storage/log/event-select.ts'
import {
  CREATE_REMOVED,
  copyRemovals,
  listPendingRemovals,
  withoutRemoved,
} from '../storage/log/pending-removals.ts'
import { isShipped } from '../storage/log/shipments.ts'
import { DUCKDB_RELATIONS } from '../storage/sqlite/sql-files.ts'
import { openReader } from '../storage/sqlite/sqlite.ts'
import { type ExportFormat, WRITERS } from './export-formats.ts'
import { BackupFault, fillFolder } from './fill-folder.ts'

type DataExportOptions = {
  readonly data_dir: string
  /** The folder of the files; it must be missing, empty, or incomplete. */
  readonly folder: string
  readonly project_id: number
  readonly format: ExportFormat
  /** Called after each file of events with the numbers of written and of all events. */
  readonly onProgress: (done: number, all: number) => void
}

type ExportTotals = {
  readonly events: number
  readonly persons: number
  readonly files: readonly string[]
}

const MEMORY_MB = 1024
/** Attempts: the manifest may change while its files are linked; then linking begins again with the newer one. */
const ATTEMPTS_MAX = 10
const MONTH = `strftime("timestamp", '%Y-%m')`
const EXPORTED_COLUMNS = EVENT_COLUMNS.filter(([name]) => name !== 'seq').map(
  ([name]) => `"${name}"`,
)

/**
 * Writes one file of events per month, in the order of their time, and one of persons with their distinct ids; they have
 * everything that was committed when the call began. Throws a BackupFault when a snapshot file is damaged.
 */
export async function exportProject(options: DataExportOptions): Promise<ExportTotals> {
  const { data_dir, folder } = options
  if (!existsSync(join(data_dir, 'events.db'))) {
    throw new BackupFault(`${data_dir} holds no Tidemark data`)
  }
  if (isShipped(data_dir)) {
    throw new BackupFault(
      `the events of ${data_dir} are in ClickHouse: export them from there, or through the API of the server`,
    )
  }
  const work_dir = join(temporaryFolder(data_dir), `export-${process.pid}`)
  mkdirSync(work_dir, { recursive: true })
  try {
    return await fillFolder(folder, () => exportInto(options, work_dir))
  } finally {
    rmSync(work_dir, { recursive: true, force: true })
  }
}

async function exportInto(options: DataExportOptions, work_dir: string): Promise<ExportTotals> {
  // Imported here, because other commands need no DuckDB.
  const { openInstance, StatementWriter } = await import('../storage/duckdb/duckdb.ts')
  const spill_dir = join(work_dir, 'spill')
  const instance = await openInstance({ memory_mb: MEMORY_MB, threads: 1, spill_dir })
  const connection = await instance.connect()
  const db = openReader(join(options.data_dir, 'events.db'))
  try {
    const files = await readProjectRows(db, new StatementWriter(connection), options, work_dir)
    return await writeAll(connection, files, options, work_dir)
  } finally {
    db.close()
    connection.closeSync()
    instance.closeSync()
  }
}

/**
 * Reads events.db in one transaction. Links the project's files and returns them; copies events that are in no file, persons and
 * removals into DuckDB.
 */
async function readProjectRows(
  db: Database,
  writer: StatementWriter,
  options: DataExportOptions,
  work_dir: string,
): Promise<readonly FileRow[]> {
  const { data_dir, project_id } = options
  const { connection } = writer
  for (const sql of [printRelations(project_id), CREATE_STAGED, TAIL.create, CREATE_REMOVED]) {
    await connection.run(sql)
  }
  const files = beginWithFiles(db, data_dir, project_id, work_dir)
  const { flushed_seq, seq, change } = readLogState(db)
  await copyRows(db, writer, TAIL, { project_id, after: flushed_seq, up_to: seq })
  for (const replica of REPLICAS) {
    if (!EXPORTED_REPLICAS.has(replica.relation)) continue
    const source = withColumns(replica, [], true)
    await copyRows(db, writer, source, { project_id, after: 0, up_to: change })
  }
  await copyRemovals(connection, listPendingRemovals(db, project_id))
  db.run('commit')
  return files
}

/** The rows of these files and of the tail, as a relation. */
function rowsOf(files: readonly FileRow[], work_dir: string): string {
  const legs = [
    ...storedShape(files, ({ id }) => join(work_dir, `${id}.parquet`)),
    wholeRows('tail'),
  ]
  return `(${legs.map((stored) => selectEvents(stored)).join(' union all ')})`
}

/** Joins each event with its current person. */
function relationOf(files: readonly FileRow[], work_dir: string): string {
  return `(
  select e.* replace (coalesce(l.person_id, o.person_id, e.person_id) as person_id)
  from (${withoutRemoved(rowsOf(files, work_dir))}) as e
  left join distinct_id_overrides as l on l.distinct_id = e.distinct_id
  left join person_overrides as o on o.old_person_id = e.person_id
)`
}

/** The replicas that the statements of an export read. */
const EXPORTED_REPLICAS = new Set([
  'distinct_id_overrides',
  'person_distinct_ids',
  'person_overrides',
  'persons',
])

const printRelations = (project_id: number): string =>
  `create macro project_id() as ${project_id}::bigint;\n${DUCKDB_RELATIONS}`

/** Leaves a transaction open in which the manifest names just these files, which are all linked. */
function beginWithFiles(
  db: Database,
  data_dir: string,
  project_id: number,
  work_dir: string,
): readonly FileRow[] {
  for (let attempt = 1; ; attempt++) {
    db.run('begin')
    const files = listFiles(db, project_id)
    const missing = files.find((file) => !link(data_dir, file, work_dir))
    if (missing === undefined) return files
    db.run('rollback')
    if (attempt === ATTEMPTS_MAX) throw new BackupFault(`snapshot file ${missing.id} is missing`)
  }
}

/** Links a file; false when it no longer exists. */
function link(data_dir: string, file: FileRow, work_dir: string): boolean {
  const from = filePath(data_dir, file)
  const to = join(work_dir, `${file.id}.parquet`)
  if (existsSync(to)) return true
  if (!existsSync(from)) return false
  const damage = findDamage(from, file.byte_count)
  if (damage !== null) throw new BackupFault(`snapshot file ${file.id} ${damage}`)
  try {
    linkSync(from, to)
  } catch {
    symlinkSync(from, to)
  }
  return true
}

async function writeAll(
  connection: DuckDBConnection,
  files: readonly FileRow[],
  { folder, format, onProgress }: DataExportOptions,
  work_dir: string,
): Promise<ExportTotals> {
  const write = WRITERS[format]
  const months = await listMonths(connection, files, work_dir)
  const names: string[] = []
  let events = 0
  for (const [index, month] of months.entries()) {
    const name = `events-${month}.${format}`
    const relation = relationOf(
      files.filter((file) => hasMonth(file, month)),
      work_dir,
    )
    const select = `select ${EXPORTED_COLUMNS.join(', ')} from ${relation} where ${MONTH} = '${month}' order by "timestamp", seq`
    events += await write(connection, select, join(folder, name))
    names.push(name)
    onProgress(index + 1, months.length)
  }
  const persons_name = `persons.${format}`
  const persons = await write(connection, SELECT_PERSONS, join(folder, persons_name))
  const written = [...names, persons_name]
  for (const name of written) syncPath(join(folder, name))
  return { events, persons, files: written }
}

/** The manifest has the month of most files; months that share a file are read from its events. */
async function listMonths(
  connection: DuckDBConnection,
  files: readonly FileRow[],
  work_dir: string,
): Promise<readonly string[]> {
  const [shared, own] = [files.filter(isShared), files.filter((file) => !isShared(file))]
  const reader = await connection.runAndReadAll(
    `select distinct ${MONTH} from ${rowsOf(shared, work_dir)}`,
  )
  const found = reader.getRows().map(([month]) => String(month))
  return [...new Set([...own.map(({ month }) => month), ...found])].toSorted()
}

/** Persons with their distinct ids, the oldest one first. */
const SELECT_PERSONS = `
select p.id, p.created_at, p.is_identified, p.properties,
  coalesce((
    select list(d.distinct_id order by d.version, d.distinct_id)
    from person_distinct_ids_of(project_id()) d
    where d.person_id = p.id
  ), []) as distinct_ids
from persons_of(project_id()) p
order by p.created_at, p.id`
