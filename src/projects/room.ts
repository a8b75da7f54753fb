/** How many things of one kind a project may keep: each is listed, shown and looked through as a whole. */
import { and, count, eq } from 'drizzle-orm'
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'
import { Refusal } from '../errors.ts'
import type { ControlDB } from '../storage/control.ts'

/** The table of things of one kind; where there is no `deleted`, they are gone when they are deleted. */
export type KeptTable = SQLiteTable & {
  readonly project_id: SQLiteColumn
  readonly deleted?: SQLiteColumn
}

/** Whose room, and how much: null for what the program makes by itself. */
export type Room = {
  readonly project: { readonly id: number }
  readonly saved_max: number | null
}

/** Refuses what is one thing too many; call it in the transaction that made it. */
export function requireRoom(
  db: Pick<ControlDB, 'select'>,
  table: KeptTable,
  { project, saved_max }: Room,
): void {
  if (saved_max === null) return
  const its = eq(table.project_id, project.id)
  const present = table.deleted === undefined ? its : and(its, eq(table.deleted, false))
  const kept = db.select({ count: count() }).from(table).where(present).get()?.count ?? 0
  if (kept <= saved_max) return
  const detail = `A project may keep ${saved_max} of these: delete some that are not needed.`
  throw new Refusal('invalid_input', detail)
}
