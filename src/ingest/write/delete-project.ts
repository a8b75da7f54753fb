/** Deletes everything events.db holds of a project that is gone, a piece at a time. */
import type { Database } from 'bun:sqlite'

/** Every table with rows of projects. `clock` and `manifest` belong to all of them. */
const TABLES_OF_PROJECTS = `select name from sqlite_master
where type = 'table'
  and exists (select 1 from pragma_table_info(sqlite_master.name) where name = 'project_id')
  and name <> 'files'
order by name`

/** Deletes up to `rows_max` rows; true when none is left. Files of the manifest are the snapshot job's. */
export function deleteProjectSlice(db: Database, project_id: number, rows_max: number): boolean {
  let room = rows_max
  for (const { name } of db.query<{ name: string }, []>(TABLES_OF_PROJECTS).all()) {
    room -= deleteSome(db, name, project_id, room)
    if (room <= 0) return false
  }
  return true
}

/** The names come from the database's own list of tables, so they may stand in the statement. */
function deleteSome(db: Database, table: string, project_id: number, rows_max: number): number {
  const key = primaryKeyOf(db, table)
  return db
    .query(
      `delete from ${table}
where project_id = ?1 and (${key}) in (select ${key} from ${table} where project_id = ?1 limit ?2)`,
    )
    .run(project_id, rows_max).changes
}

function primaryKeyOf(db: Database, table: string): string {
  const columns = db
    .query<{ name: string }, [string]>(
      'select name from pragma_table_info(?) where pk > 0 order by pk',
    )
    .all(table)
  return columns.length === 0 ? 'rowid' : columns.map(({ name }) => name).join(', ')
}
