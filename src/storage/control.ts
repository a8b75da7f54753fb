/** Opens control.db: organizations, projects, users and keys. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type BunSQLiteDatabase, drizzle } from 'drizzle-orm/bun-sqlite'
import { CONTROL_MIGRATIONS } from './sql-files.ts'
import { migrate, openWriter } from './sqlite.ts'

/** The control database as rooms see it; `transaction` hands them the same thing. */
export type ControlDB = BunSQLiteDatabase

/** An open control.db. Several processes may hold one: the server and any number of commands. */
export type Control = {
  readonly db: ControlDB
  close(): void
}

/**
 * Opens control.db in the data folder, making folder and tables when they are missing.
 * Throws when the folder cannot be written or the database is newer than this executable.
 */
export function openControl(data_dir: string): Control {
  mkdirSync(data_dir, { recursive: true })
  const connection = openWriter(join(data_dir, 'control.db'))
  // A command may start on a new folder at the same moment as the server: the write lock makes them take turns.
  connection.transaction(() => migrate(connection, CONTROL_MIGRATIONS)).immediate()
  return { db: drizzle({ client: connection }), close: () => connection.close() }
}
