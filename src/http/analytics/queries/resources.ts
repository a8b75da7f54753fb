/**
 * A project's definitions and logs as columns of HogQL tables: `system.feature_flags`, `log_entries` and the like.
 */
import { and, desc, eq, getTableColumns, lt, type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'
import { KIB, MIB } from '../../../bytes.ts'
import { dashboards, insights } from '../../../dashboards/tables.ts'
import { Refusal } from '../../../errors.ts'
import {
  type ResourceKind,
  type ResourceLists,
  type ResourceName,
  resourceColumns,
} from '../../../hogql/tables/resources.ts'
import { plugin_logs } from '../../../plugins/plugin-log.ts'
import type { ControlDB } from '../../../projects/rights/access.ts'
import { isShown, type Rights } from '../../../projects/rights/rights.ts'
import {
  actions,
  cohorts,
  early_access_features,
  experiments,
  feature_flags,
  surveys,
} from '../../../targeting/tables.ts'
import { readPages } from '../../../threads/sliced-json.ts'
import { Slices } from '../../../threads/slices.ts'

/** The most log entries that one query reads, the newest ones. */
const LOG_ENTRIES_MAX = 5000
/** The most text that one table has: it goes through the compiler with the query. */
const TABLE_BYTES_MAX = 8 * MIB
/** Rows that one statement makes JSON of, which takes about 2 ms; a row may be longer alone. */
const ROWS_PER_SLICE = 500
const KEYS_PER_SLICE = 2000
const BYTES_PER_SLICE = 256 * KIB

type ResourceTable = SQLiteTable & {
  readonly id: SQLiteColumn
  readonly project_id: SQLiteColumn
  readonly deleted?: SQLiteColumn
}

/** A table whose rows are read by their keys, the greatest first. */
type ResourceSource = {
  readonly table: SQLiteTable
  readonly key: SQLiteColumn
  readonly condition: SQL | undefined
  /** By column of the query's table; those that are missing are NULL. */
  readonly cells: ReadonlyMap<string, SQL | SQLiteColumn>
  /** Of the log; every row of a definition is read, or none. */
  readonly rows_max: number | null
}

/** TABLES: the stored table behind a table of queries. The others are empty, except for the logs. */
const TABLES: Partial<Record<ResourceName, ResourceTable>> = {
  'system.actions': actions,
  'system.cohorts': cohorts,
  'system.dashboards': dashboards,
  'system.early_access_features': early_access_features,
  'system.experiments': experiments,
  'system.feature_flags': feature_flags,
  'system.insights': insights,
  'system.surveys': surveys,
}

/**
 * Reads a project's rows of a table as the columns of the query's table, newest first, in slices of the event loop, without
 * what the rights hide. Refuses a table that has too much text.
 */
export async function readResource(
  control: ControlDB,
  project_id: number,
  name: ResourceName,
  rights: Rights,
): Promise<ResourceLists> {
  const columns = Object.entries(resourceColumns(name) ?? {})
  const source = sourceOf(name, project_id, rights)
  if (source === null) return {}
  const slices = new Slices()
  const parts: (readonly string[])[] = []
  const keys = await readKeys(control, name, source)
  for (const some of cutKeys(keys)) {
    parts.push(readColumns(control, source, { columns, keys: some }))
    if (slices.isOver()) await slices.end()
  }
  return Object.fromEntries(
    columns.map(([column], index) => [
      column,
      `[${parts.map((part) => part[index]?.slice(1, -1) ?? '').join(',')}]`,
    ]),
  )
}

function sourceOf(name: ResourceName, project_id: number, rights: Rights): ResourceSource | null {
  if (name === 'log_entries') return logOf(project_id)
  const table = TABLES[name]
  if (table === undefined) return null
  const condition = and(
    eq(table.project_id, project_id),
    table.deleted === undefined ? undefined : eq(table.deleted, false),
  )
  const cells = new Map<string, SQLiteColumn>(Object.entries(getTableColumns(table)))
  if (table === cohorts && !isShown(rights, 'cohort.count')) cells.delete('count')
  return { table, key: table.id, condition, cells, rows_max: null }
}

function logOf(project_id: number): ResourceSource {
  const { plugin_config_id, type } = plugin_logs
  return {
    table: plugin_logs,
    key: plugin_logs.seq,
    condition: eq(plugin_logs.project_id, project_id),
    cells: new Map<string, SQL | SQLiteColumn>([
      ...Object.entries(getTableColumns(plugin_logs)),
      ['log_source', sql`'plugin'`],
      ['log_source_id', sql`cast(${plugin_config_id} as text)`],
      ['level', sql`lower(${type})`],
    ]),
    rows_max: LOG_ENTRIES_MAX,
  }
}

/** The key of a row and the bytes of its texts. */
type SizedKey = readonly [key: number | string, bytes: number]

/**
 * Reads the keys of the rows that fit, in slices. Refuses more, except for a log, whose oldest entries are left out.
 */
async function readKeys(
  control: ControlDB,
  name: ResourceName,
  { table, key, condition, rows_max }: ResourceSource,
): Promise<readonly SizedKey[]> {
  const texts = Object.values(getTableColumns(table)).filter(
    (column) => column.getSQLType() === 'text' && column !== key,
  )
  const lengths = texts.map((column) => sql`coalesce(octet_length(${column}), 0)`)
  const bytes = sql<number>`${sql.join(lengths, sql` + `)}`
  const pageAfter = (last: SizedKey | null): readonly SizedKey[] =>
    control
      .select({ key, bytes })
      .from(table)
      .where(and(condition, last === null ? undefined : lt(key, last[0])))
      .orderBy(desc(key))
      .limit(KEYS_PER_SLICE)
      .values()
      .map(([value, length]): SizedKey => [value, length])
  const keys = (await readPages(pageAfter, KEYS_PER_SLICE)).slice(0, rows_max ?? undefined)
  let room = TABLE_BYTES_MAX
  const beyond = keys.findIndex(([, length]) => (room -= length) < 0)
  if (beyond === -1) return keys
  if (rows_max !== null) return keys.slice(0, beyond)
  const detail = `${name} has more than ${TABLE_BYTES_MAX} bytes, too many for a query`
  throw new Refusal('invalid_input', detail, { attr: 'query' })
}

/** Cuts the keys by the rows and bytes of one statement. */
function* cutKeys(keys: readonly SizedKey[]): Generator<readonly SizedKey[]> {
  let start = 0
  let bytes = 0
  for (const [index, [, length]] of keys.entries()) {
    const is_full = index - start >= ROWS_PER_SLICE || bytes + length > BYTES_PER_SLICE
    if (is_full && index > start) {
      yield keys.slice(start, index)
      start = index
      bytes = 0
    }
    bytes += length
  }
  if (start < keys.length) yield keys.slice(start)
}

type ResourceSlice = {
  readonly columns: readonly (readonly [name: string, kind: ResourceKind])[]
  readonly keys: readonly SizedKey[]
}

/** Reads the rows of the keys as a JSON list for each column. */
function readColumns(
  control: ControlDB,
  { table, key, condition, cells }: ResourceSource,
  { columns, keys }: ResourceSlice,
): readonly string[] {
  const named = JSON.stringify(keys.map(([value]) => value))
  const read = columns.map(([name], index) => sql`${cells.get(name) ?? null} as ${columnAt(index)}`)
  const lists = columns.map(([, kind], index) => LISTS[kind](columnAt(index)))
  const rows = sql`select ${sql.join(read, sql`, `)} from ${table}
    where ${key} in (select value from json_each(${named})) and ${condition} order by ${key} desc`
  const [texts] = control.values<string[]>(sql`select ${sql.join(lists, sql`, `)} from (${rows})`)
  return texts ?? []
}

const columnAt = (index: number): SQL => sql`${sql.identifier(`c${index}`)}`

const listOf = (cell: SQL): SQL => sql`json_group_array(${cell})`
const textOfTruth = (cell: SQL): SQL =>
  sql`case when ${cell} is null then 'null' when ${cell} then 'true' else 'false' end`

/** The JSON list of a column of a kind. Times are stored in microseconds, JSON as text. */
const LISTS: Readonly<Record<ResourceKind, (cell: SQL) => SQL>> = {
  integer: listOf,
  json: listOf,
  text: listOf,
  time: (cell) => listOf(sql`${cell} / 1000`),
  truth: (cell) => listOf(sql`json(${textOfTruth(cell)})`),
}
