/** The logs of plugin configurations: what was started, what went wrong, what was done. */
import { and, count, desc, eq, gt, inArray, lt, lte, sql } from 'drizzle-orm'
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { ControlDB } from '../projects/access.ts'
import { timestamp } from '../projects/tables.ts'

const plugin_logs = sqliteTable('plugin_logs', {
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

export type LogSource = 'CONSOLE' | 'PLUGIN' | 'SYSTEM'
export type LogType = (typeof LOG_TYPES)[number]

/** Whose log it is. */
export type LogSubject = {
  readonly id: number
  readonly project_id: number
  readonly plugin_id: number
}

export type LogEntry = {
  readonly source: LogSource
  readonly type: LogType
  readonly message: string
}

/** Which entries are asked for. */
export type LogQuery = {
  readonly plugin_config_id: number
  readonly after: Date | null
  readonly before: Date | null
  /** A part of the message, in any case. */
  readonly search: string | null
  /** Empty asks for all types. */
  readonly types: readonly LogType[]
  readonly limit: number
  readonly offset: number
}

/** One run of the server: entries of different runs can be told apart. */
const INSTANCE_ID = Bun.randomUUIDv7()

const MESSAGE_LENGTH_MAX = 10_000
const ENTRIES_MAX = 10_000
const KEPT_MS = 7 * 24 * 60 * 60 * 1000
/** Looking for old entries is worth it only now and then. */
const TRIMMED_EVERY = 64

/** Adds an entry, and lets go of what is older than a week or more than ten thousand entries ago. */
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

/** Lets go of old entries and of those beyond the limit. */
export function trimLog(db: ControlDB, plugin_config_id: number, now: Date): void {
  const its = eq(plugin_logs.plugin_config_id, plugin_config_id)
  const [beyond] = db
    .select({ seq: plugin_logs.seq })
    .from(plugin_logs)
    .where(its)
    .orderBy(desc(plugin_logs.seq))
    .limit(1)
    .offset(ENTRIES_MAX)
    .all()
  if (beyond !== undefined) {
    db.delete(plugin_logs)
      .where(and(its, lte(plugin_logs.seq, beyond.seq)))
      .run()
  }
  const oldest = new Date(now.getTime() - KEPT_MS)
  db.delete(plugin_logs)
    .where(and(its, lt(plugin_logs.timestamp, oldest)))
    .run()
}

/** The newest entries of all of a project's logs, newest first. */
export function listProjectLog(
  db: ControlDB,
  project_id: number,
  limit: number,
): readonly (typeof plugin_logs.$inferSelect)[] {
  return db
    .select()
    .from(plugin_logs)
    .where(eq(plugin_logs.project_id, project_id))
    .orderBy(desc(plugin_logs.seq))
    .limit(limit)
    .all()
}

/** A part of a log as it goes over the wire, newest first, and how many entries fit in all. */
export function listLogEntries(
  db: ControlDB,
  { plugin_config_id, after, before, search, types, limit, offset }: LogQuery,
): { readonly results: readonly object[]; readonly total: number } {
  const asked = and(
    eq(plugin_logs.plugin_config_id, plugin_config_id),
    after === null ? undefined : gt(plugin_logs.timestamp, after),
    before === null ? undefined : lt(plugin_logs.timestamp, before),
    search === null ? undefined : sql`instr(lower(${plugin_logs.message}), lower(${search})) > 0`,
    types.length === 0 ? undefined : inArray(plugin_logs.type, [...types]),
  )
  const rows = db
    .select()
    .from(plugin_logs)
    .where(asked)
    .orderBy(desc(plugin_logs.seq))
    .limit(limit)
    .offset(offset)
    .all()
  const total = db.select({ total: count() }).from(plugin_logs).where(asked).get()?.total ?? 0
  const results = rows.map(({ seq: _seq, project_id, ...entry }) => ({
    ...entry,
    team_id: project_id,
  }))
  return { results, total }
}
