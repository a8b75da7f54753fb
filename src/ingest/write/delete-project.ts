/** Deletes the rows of a deleted project from events.db, slice by slice. */
import type { Database } from 'bun:sqlite'

/** Every table with a project id. The snapshot job deletes rows of `files`, with the files themselves. */
const TABLES_OF_PROJECTS = `select name from sqlite_master
where type = 'table'
  and exists (select 1 from pragma_table_info(sqlite_master.name) where name = 'project_id')
  and name <> 'files'
order by name`

/** Deletes up to `rows_max` rows; true when none remains. */
export function deleteProjectSlice(db: Database, project_id: number, rows_max: number): boolean {
  let budget = rows_max
  for (const { name } of db.query<{ name: string }, []>(TABLES_OF_PROJECTS).all()) {
    budget -= deleteSome(db, name, project_id, budget)
    if (budget <= 0) return false
  }
  return true
}

/** `table` and its columns come from the database's schema, so they are safe in the statement. */
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
