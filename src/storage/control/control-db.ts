/** Opens control.db: organizations, projects, users and keys. */
import type { Database } from 'bun:sqlite'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type BunSQLiteDatabase, drizzle } from 'drizzle-orm/bun-sqlite'
import { isBusy } from '../process/lock.ts'
import { CONTROL_MIGRATIONS } from '../sqlite/sql-files.ts'
import { migrate, openWriter } from '../sqlite/sqlite.ts'

/** The control database as rooms see it; `transaction` hands them the same thing. */
export type ControlDB = BunSQLiteDatabase

/** An open control.db. Several processes may hold one: the server and any number of commands. */
export type Control = {
  readonly db: ControlDB
  close(): void
}

/** A new database answers "locked" without waiting while another process turns on its write-ahead log. */
const OPEN_TRIES_MAX = 100
const OPEN_PAUSE_MS = 50

/**
 * Opens control.db in the data folder, making folder and tables when they are missing.
 * Throws when the folder cannot be written or the database is newer than this executable.
 */
export function openControl(data_dir: string): Control {
  const connection = openConnection(data_dir)
  return { db: drizzle({ client: connection }), close: () => connection.close() }
}

/** Opens the connection of `openControl`. */
export function openConnection(data_dir: string): Database {
  mkdirSync(data_dir, { recursive: true })
  const path = join(data_dir, 'control.db')
  for (let tries = 1; ; tries += 1) {
    try {
      return openMigrated(path)
    } catch (error) {
      if (!isBusy(error) || tries === OPEN_TRIES_MAX) throw error
      Bun.sleepSync(OPEN_PAUSE_MS)
    }
  }
}

function openMigrated(path: string): Database {
  const connection = openWriter(path)
  migrate(connection, CONTROL_MIGRATIONS)
  // drizzle prepares every statement again; `query` keeps those of the last texts: a tenth less time for management calls.
  connection.prepare = connection.query.bind(connection)
  return connection
}
