/** A project's names for its group types, in singular and plural. */
import { eq } from 'drizzle-orm'
import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { ControlDB } from '../../storage/control/control-db.ts'

const group_type_names = sqliteTable(
  'group_type_names',
  {
    project_id: integer().notNull(),
    group_type_index: integer().notNull(),
    name_singular: text(),
    name_plural: text(),
  },
  (table) => [primaryKey({ columns: [table.project_id, table.group_type_index] })],
)

/** The names of a group type; null where the project has given none. */
type GroupTypeNames = {
  readonly name_singular: string | null
  readonly name_plural: string | null
}

/** Returns the names that a project has given, by the index of the group type. */
export function readGroupTypeNames(
  db: ControlDB,
  project_id: number,
): ReadonlyMap<number, GroupTypeNames> {
  const rows = db
    .select()
    .from(group_type_names)
    .where(eq(group_type_names.project_id, project_id))
    .all()
  return new Map(
    rows.map(({ group_type_index, name_singular, name_plural }) => [
      group_type_index,
      { name_singular, name_plural },
    ]),
  )
}

/** Stores the names of group types; undefined ones stay. */
export function writeGroupTypeNames(
  db: ControlDB,
  project_id: number,
  changes: ReadonlyMap<
    number,
    { readonly [name in keyof GroupTypeNames]?: string | null | undefined }
  >,
): void {
  const stored = readGroupTypeNames(db, project_id)
  db.transaction((tx) => {
    for (const [group_type_index, change] of changes) {
      const before = stored.get(group_type_index)
      const names = {
        name_singular:
          change.name_singular === undefined
            ? (before?.name_singular ?? null)
            : change.name_singular,
        name_plural:
          change.name_plural === undefined ? (before?.name_plural ?? null) : change.name_plural,
      }
      tx.insert(group_type_names)
        .values({ project_id, group_type_index, ...names })
        .onConflictDoUpdate({
          target: [group_type_names.project_id, group_type_names.group_type_index],
          set: names,
        })
        .run()
    }
  })
}
