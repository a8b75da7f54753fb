/** Deletes a project's definitions before the project itself: all at once they would hold the main thread for a second. */
import { sql } from 'drizzle-orm'
import type { ControlDB } from '../../storage/control/control-db.ts'

/** Rows that one statement deletes, in a few milliseconds. */
const ROWS_TOGETHER_MAX = 100

/** These say who may see the rest: they go with the project itself. */
const LAST_TABLE = 'access_controls'

/** Tables whose rows go with their project, and the columns of their primary key: those first that refer to others. */
const TABLES = sql<string>`
  select tables.name,
    (select group_concat('"' || name || '"') from pragma_table_info(tables.name) where pk > 0)
  from sqlite_schema as tables, pragma_foreign_key_list(tables.name) as reference
  where tables.type = 'table' and tables.name <> ${LAST_TABLE}
    and reference."table" = 'projects' and reference.on_delete = 'CASCADE'
  order by tables.rowid desc`

/**
 * Deletes the rows of projects, some at each step. A crash between two steps leaves the projects with what is left;
 * deleting them again finishes that.
 */
export function* deleteProjectRows(
  db: ControlDB,
  project_ids: readonly number[],
): Generator<undefined> {
  const tables = db.values<[name: string, key: string]>(TABLES)
  for (const project_id of project_ids) {
    for (const [name, key] of tables) {
      const [table, columns] = [sql.raw(`"${name}"`), sql.raw(key)]
      const some = sql`select ${columns} from ${table} where project_id = ${project_id} limit ${ROWS_TOGETHER_MAX}`
      const remove = sql`delete from ${table} where (${columns}) in (${some}) returning 1`
      while (db.values(remove).length === ROWS_TOGETHER_MAX) yield
    }
  }
}
