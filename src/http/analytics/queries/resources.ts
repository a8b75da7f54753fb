/**
 * A project's definitions and logs as rows of HogQL tables: `system.feature_flags`, `log_entries` and the like.
 */
import { and, desc, eq, getTableColumns, type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'
import { dashboards, insights } from '../../../dashboards/tables.ts'
import { Refusal } from '../../../errors.ts'
import {
  type ResourceName,
  type ResourceRow,
  resourceColumns,
} from '../../../hogql/tables/resources.ts'
import { listProjectLog } from '../../../plugins/plugin-log.ts'
import type { ControlDB } from '../../../projects/rights/access.ts'
import {
  actions,
  cohorts,
  early_access_features,
  experiments,
  feature_flags,
  surveys,
} from '../../../targeting/tables.ts'

/** The most log entries that one query reads, the newest ones. */
const LOG_ENTRIES_MAX = 5000
/** The most text that one table has: it goes through the compiler with the query. */
const TABLE_BYTES_MAX = 8 * 1024 * 1024

type ResourceTable = SQLiteTable & {
  readonly id: SQLiteColumn
  readonly project_id: SQLiteColumn
  readonly deleted?: SQLiteColumn
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

/** Returns a project's rows of a table, in the table's columns. Refuses a table that has too much text. */
export function readResource(
  control: ControlDB,
  project_id: number,
  name: ResourceName,
): readonly ResourceRow[] {
  const columns = Object.keys(resourceColumns(name) ?? {})
  const table = TABLES[name]
  const rows =
    table !== undefined
      ? readStored(control, project_id, { name, table, columns })
      : name === 'log_entries'
        ? readLog(control, project_id)
        : []
  return rows.map((row) => {
    const members = new Map<string, unknown>(Object.entries(row))
    return Object.fromEntries(columns.map((column) => [column, cellOf(members.get(column))]))
  })
}

/** Reads the rows that are not deleted, newest first. JSON stays the text it is stored as. */
function readStored(
  control: ControlDB,
  project_id: number,
  {
    name,
    table,
    columns,
  }: {
    readonly name: ResourceName
    readonly table: ResourceTable
    readonly columns: readonly string[]
  },
): readonly object[] {
  const stored = getTableColumns(table)
  const fields: Record<string, SQL | SQLiteColumn> = {}
  const lengths: SQL[] = []
  for (const column of columns) {
    const from = stored[column]
    if (from === undefined) continue
    const is_text = from.getSQLType() === 'text'
    fields[column] = is_text ? sql`${from}` : from
    if (is_text) lengths.push(sql`coalesce(octet_length(${from}), 0)`)
  }
  const its = and(
    eq(table.project_id, project_id),
    table.deleted === undefined ? undefined : eq(table.deleted, false),
  )
  const bytes = sql<number | null>`sum(${sql.join(lengths, sql` + `)})`
  const size = control.select({ bytes }).from(table).where(its).get()?.bytes ?? 0
  if (size > TABLE_BYTES_MAX) {
    const detail = `${name} has more than ${TABLE_BYTES_MAX} bytes, too many for a query`
    throw new Refusal('invalid_input', detail, { attr: 'query' })
  }
  return control.select(fields).from(table).where(its).orderBy(desc(table.id)).all()
}

function readLog(control: ControlDB, project_id: number): readonly object[] {
  return listProjectLog(control, project_id, LOG_ENTRIES_MAX).map((entry) => ({
    ...entry,
    log_source: 'plugin',
    log_source_id: String(entry.plugin_config_id),
    level: entry.type.toLowerCase(),
  }))
}

function cellOf(value: unknown): ResourceRow[string] {
  if (value === undefined || value === null) return null
  if (value instanceof Date) return value.getTime()
  if (typeof value === 'object') return JSON.stringify(value)
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? value
    : null
}
