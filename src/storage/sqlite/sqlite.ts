/** Opens SQLite databases with this project's settings, and migrates their schemas. */
import { Database } from 'bun:sqlite'
import { existsSync } from 'node:fs'
import { findErrorCode } from '../../error-message.ts'

/** One forward-only step of a database's schema; never edited after release. */
export type Migration = { readonly name: string; readonly sql: string }

/** Older versions can damage a database while they reset its write-ahead log. */
const SQLITE_VERSION_MIN = '3.51.3'

/** A statement waits this long for another process's transaction before it fails. */
const BUSY_TIMEOUT_MS = 5000

/** Statements that a connection keeps prepared, the last used ones: Bun's own limit of 20 is below the texts of one page. */
Database.MAX_QUERY_CACHE_SIZE = 256

/** Opens a database for reading and writing: WAL, and every commit fsynced before it returns. */
export function openWriter(path: string): Database {
  const db = new Database(path, { create: true, readwrite: true, strict: true })
  db.run(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`)
  db.run('pragma journal_mode = wal')
  db.run('pragma synchronous = full')
  db.run('pragma foreign_keys = on')
  return db
}

/** Opens an existing database that another thread or process writes. */
export function openReader(path: string): Database {
  const db = new Database(path, { readonly: true, strict: true })
  db.run(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`)
  return db
}

/**
 * Applies the migrations a database lacks, each in one transaction with its version row (a new database's all in
 * one), also when two processes start on one folder at once. Throws when the database is newer than this executable.
 */
export function migrate(db: Database, migrations: readonly Migration[]): void {
  if (readVersion(db) > migrations.length) {
    throw new Error(
      `${db.filename} has schema version ${readVersion(db)}, this executable knows ${migrations.length}: run a newer tidemark, or restore a backup from before the upgrade`,
    )
  }
  while (readVersion(db) < migrations.length) {
    db.transaction(() => {
      const version = readVersion(db)
      // A new database gets all migrations in one transaction, with one sync.
      const until = version === 0 ? migrations.length : version + 1
      for (const { sql } of migrations.slice(version, until)) db.run(sql)
      // Another process may have applied the last one meanwhile.
      if (until <= migrations.length) db.run(`pragma user_version = ${until}`)
    }).immediate()
  }
}

/** Reads the number of applied migrations. */
function readVersion(db: Database): number {
  return db.query<{ user_version: number }, []>('pragma user_version').get()?.user_version ?? 0
}

/** Throws when the SQLite of this executable is too old to be trusted with a write-ahead log. */
export function requireTrustedSqlite(): void {
  using db = new Database(':memory:')
  const row = db.query<{ version: string }, []>('select sqlite_version() as version').get()
  if (row === null || Bun.semver.order(row.version, SQLITE_VERSION_MIN) < 0) {
    throw new Error(`SQLite ${row?.version} is too old: at least ${SQLITE_VERSION_MIN} is needed`)
  }
}

/** True for SQLite's error about a file that it may not open, or not write beside: it says nothing about what is in it. */
export function isUnopened(error: unknown): boolean {
  const code = findErrorCode(error) ?? ''
  return code.startsWith('SQLITE_CANTOPEN') || code.startsWith('SQLITE_READONLY')
}

/**
 * True for a sync that failed. Pages that were written before it may be lost, also where a later sync succeeds: the system
 * gives up those that the disk refused.
 */
export function isFailedSync(error: unknown): boolean {
  if (findErrorCode(error) === 'SQLITE_IOERR_FSYNC') return true
  const syscall = error instanceof Error && 'syscall' in error ? error.syscall : null
  return syscall === 'fdatasync' || syscall === 'fsync'
}

/** Tells operators what to do where an error does not say which file it is about. */
export const DATABASE_DAMAGED =
  'a database of the data folder is damaged: "tidemark doctor" names it, and "tidemark restore" brings back a backup'

/** The message names the file, and the command that restores it. */
export class DamagedDatabase extends Error {
  override readonly name = 'DamagedDatabase'

  constructor(path: string, findings: string) {
    super(`${path} is damaged (${findings}): restore it from a backup, with "tidemark restore"`)
  }
}

/**
 * Reads a whole database and throws `DamagedDatabase` when it is, another error when the disk does not let it be read; a missing
 * file is sound. Called at the start after a crash: a damaged database must not be written to, and is never repaired in silence.
 */
export function requireUndamaged(path: string): void {
  if (!existsSync(path)) return
  const findings = quickCheck(path)
  if (findings === 'ok') return
  if (isReadError(findings)) throw new Error(`${path} cannot be read (${findings})`)
  throw new DamagedDatabase(path, findings)
}

/** SQLite's code for a disk that failed; its lowest byte, above which is the call that did. */
const SQLITE_IOERR = 10

/** Whether a check found a page that the disk failed to read, which says nothing about what is in it. */
function isReadError(findings: string): boolean {
  const [, code = ''] = /error code=(\d+)/.exec(findings) ?? []
  return (Number(code) & 0xff) === SQLITE_IOERR
}

function quickCheck(path: string): string {
  try {
    // Only a writer can recover the write-ahead log after a crash.
    using db = openWriter(path)
    return (
      db
        .query<{ quick_check: string }, []>('pragma quick_check(1)')
        .get()
        ?.quick_check.replaceAll('\n', ' ') ?? ''
    )
  } catch (error) {
    const code = findErrorCode(error)
    if (code === 'SQLITE_CORRUPT' || code === 'SQLITE_NOTADB') return code
    throw error
  }
}
