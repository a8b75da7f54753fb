/** Opens cache.db, where answers and the statuses of background questions survive a restart. It may be thrown away. */
import { Database } from 'bun:sqlite'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { CACHE_MIGRATIONS } from '../storage/sql-files.ts'
import { migrate } from '../storage/sqlite.ts'

const SUFFIXES = ['', '-wal', '-shm'] as const

/** Opens the database in the data folder; one that is damaged, or newer than this executable, is begun anew. */
export function openCacheDB(data_dir: string): Database {
  const path = join(data_dir, 'cache.db')
  try {
    return openMigrated(path)
  } catch {
    for (const suffix of SUFFIXES) rmSync(path + suffix, { force: true })
    return openMigrated(path)
  }
}

function openMigrated(path: string): Database {
  const db = new Database(path, { create: true, readwrite: true, strict: true })
  try {
    db.run('pragma journal_mode = wal')
    // A power cut may lose the last answers, which can be computed again; a killed process loses none.
    db.run('pragma synchronous = normal')
    migrate(db, CACHE_MIGRATIONS)
    if (isWhole(db)) return db
    throw new Error('cache.db is damaged')
  } catch (error) {
    db.close()
    throw error
  }
}

function isWhole(db: Database): boolean {
  const tables = db.query("select count(*) from sqlite_schema where type = 'table'").values()[0]
  return Number(tables?.[0]) >= 2
}
