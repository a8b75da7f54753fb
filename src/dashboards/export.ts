/** Exports: queries whose answers can be downloaded as a file for some months. */

import { and, desc, eq, lt } from 'drizzle-orm'
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { Refusal } from '../errors.ts'
import { requireRoom, requireSize } from '../projects/quota.ts'
import { type Json, json, timestamp } from '../projects/tables.ts'
import type { ControlDB } from '../storage/control/control-db.ts'
import { DAY_MS } from '../time.ts'
import type { BoardEditor } from './board-editor.ts'

const exports = sqliteTable('exports', {
  id: integer().primaryKey({ autoIncrement: true }),
  project_id: integer().notNull(),
  insight_id: integer(),
  dashboard_id: integer(),
  export_format: text().notNull(),
  context: json().notNull().default({}),
  filename: text().notNull(),
  created_by: integer(),
  created_at: timestamp().notNull(),
  expires_at: timestamp().notNull(),
})

/** A query with the format of its answers. */
export type SavedExport = typeof exports.$inferSelect

/** As long as the original keeps tables. */
const KEPT_DAYS = 180

/** Stores an export, and removes those of the project that have expired. Refuses one more than a project may have. */
export function createExport(
  { control, project, user_id, saved_max, saved_bytes_max }: BoardEditor,
  wanted: {
    readonly insight_id: number | null
    readonly dashboard_id: number | null
    readonly export_format: string
    readonly context: Json
    readonly filename: string
  },
  now: Date,
): SavedExport {
  return control.transaction((tx) => {
    const in_project = eq(exports.project_id, project.id)
    tx.delete(exports)
      .where(and(in_project, lt(exports.expires_at, now)))
      .run()
    const made = tx
      .insert(exports)
      .values({
        ...wanted,
        project_id: project.id,
        created_by: user_id,
        created_at: now,
        expires_at: new Date(now.getTime() + KEPT_DAYS * DAY_MS),
      })
      .returning()
      .get()
    const quota = { project, saved_max, saved_bytes_max }
    requireRoom(tx, exports, quota)
    requireSize(tx, exports, quota, { before: null, after: made })
    return made
  })
}

/** Lists a project's exports, the newest first, at most as many as one page has. */
export function listExports(db: ControlDB, project_id: number): readonly SavedExport[] {
  const its = eq(exports.project_id, project_id)
  return db.select().from(exports).where(its).orderBy(desc(exports.id)).limit(LISTED_MAX).all()
}

const LISTED_MAX = 200

/** Returns a project's export. Refuses missing and expired ones. */
export function getExport(db: ControlDB, project_id: number, id: number, now: Date): SavedExport {
  const its = and(eq(exports.project_id, project_id), eq(exports.id, id))
  const found = db.select().from(exports).where(its).get()
  if (found === undefined || found.expires_at < now) throw new Refusal('not_found', 'Not found.')
  return found
}
