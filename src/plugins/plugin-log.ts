/** The logs of plugin configurations, which their users read. */
import { and, count, desc, eq, gt, inArray, lt, lte, sql } from 'drizzle-orm'
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { ControlDB } from '../projects/rights/access.ts'
import { timestamp } from '../projects/tables.ts'

export const plugin_logs = sqliteTable('plugin_logs', {
  seq: integer().primaryKey({ autoIncrement: true }),
  id: text().notNull(),
  project_id: integer().notNull(),
  plugin_id: integer().notNull(),
  plugin_config_id: integer().notNull(),
  timestamp: timestamp().notNull(),
  source: text().$type<LogSource>().notNull(),
  type: text().$type<LogType>().notNull(),
  message: text().notNull(),
  instance_id: text().notNull(),
})

export const LOG_TYPES = ['DEBUG', 'LOG', 'INFO', 'WARN', 'ERROR'] as const

type LogSource = 'CONSOLE' | 'PLUGIN' | 'SYSTEM'
export type LogType = (typeof LOG_TYPES)[number]

/** The configuration that a log belongs to. */
type LogSubject = {
  readonly id: number
  readonly project_id: number
  readonly plugin_id: number
}

export type LogEntry = {
  readonly source: LogSource
  readonly type: LogType
  readonly message: string
}

/** A filter of log entries. */
export type LogQuery = {
  readonly plugin_config_id: number
  readonly after: Date | null
  readonly before: Date | null
  /** Text in the message, case-insensitive. */
  readonly search: string | null
  /** Empty matches all types. */
  readonly types: readonly LogType[]
  readonly limit: number
  readonly offset: number
}

/** Identifies this run of the server in log entries. */
const INSTANCE_ID = Bun.randomUUIDv7()

const MESSAGE_LENGTH_MAX = 10_000
const ENTRIES_MAX = 10_000
const KEPT_MS = 7 * 24 * 60 * 60 * 1000
/** New entries between two trims. */
const TRIMMED_EVERY = 64

/** Adds an entry. Now and then it trims the log. */
export function addLogEntry(db: ControlDB, subject: LogSubject, entry: LogEntry, now: Date): void {
  const { seq } = db
    .insert(plugin_logs)
    .values({
      id: Bun.randomUUIDv7(),
      project_id: subject.project_id,
      plugin_id: subject.plugin_id,
      plugin_config_id: subject.id,
      timestamp: now,
      source: entry.source,
      type: entry.type,
      message: entry.message.toWellFormed().slice(0, MESSAGE_LENGTH_MAX),
      instance_id: INSTANCE_ID,
    })
    .returning()
    .get()
  if (seq % TRIMMED_EVERY === 0) trimLog(db, subject.id, now)
}

/** Deletes entries older than a week and all but the newest ten thousand. */
export function trimLog(db: ControlDB, plugin_config_id: number, now: Date): void {
  const in_log = eq(plugin_logs.plugin_config_id, plugin_config_id)
  const [beyond] = db
    .select({ seq: plugin_logs.seq })
    .from(plugin_logs)
    .where(in_log)
    .orderBy(desc(plugin_logs.seq))
    .limit(1)
    .offset(ENTRIES_MAX)
    .all()
  if (beyond !== undefined) {
    db.delete(plugin_logs)
      .where(and(in_log, lte(plugin_logs.seq, beyond.seq)))
      .run()
  }
  const oldest = new Date(now.getTime() - KEPT_MS)
  db.delete(plugin_logs)
    .where(and(in_log, lt(plugin_logs.timestamp, oldest)))
    .run()
}

/** A page of a log in the form of the API, newest first, with the total number of matching entries. */
export function listLogEntries(
  db: ControlDB,
  { plugin_config_id, after, before, search, types, limit, offset }: LogQuery,
): { readonly results: readonly object[]; readonly total: number } {
  const matching = and(
    eq(plugin_logs.plugin_config_id, plugin_config_id),
    after === null ? undefined : gt(plugin_logs.timestamp, after),
    before === null ? undefined : lt(plugin_logs.timestamp, before),
    search === null ? undefined : sql`instr(lower(${plugin_logs.message}), lower(${search})) > 0`,
    types.length === 0 ? undefined : inArray(plugin_logs.type, [...types]),
  )
  const rows = db
    .select()
    .from(plugin_logs)
    .where(matching)
    .orderBy(desc(plugin_logs.seq))
    .limit(limit)
    .offset(offset)
    .all()
  const total = db.select({ total: count() }).from(plugin_logs).where(matching).get()?.total ?? 0
  const results = rows.map(({ seq: _seq, project_id, ...entry }) => ({
    ...entry,
    team_id: project_id,
  }))
  return { results, total }
}
