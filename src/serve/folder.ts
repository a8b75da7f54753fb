/** Opens the data folder for one server: its lock, its rights, and the check after a crash. */
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from '../logs.ts'
import { type FolderLock, takeLock } from '../storage/process/lock.ts'
import { tightenFolder } from '../storage/process/private-folder.ts'
import {
  DamagedDatabase,
  requireTrustedSqlite,
  requireUndamaged,
} from '../storage/sqlite/sqlite.ts'
import { requireRoom } from './disk-space.ts'

/** Databases that are checked after a crash. Caches are not among them: they can be deleted. */
const DATABASES = ['control.db', 'events.db'] as const

/** Locks the data folder, makes it private, and checks it after a crash. */
export function openFolder(data_dir: string, log: Log, parts: AsyncDisposableStack): FolderLock {
  const lock = takeLock(data_dir, process.pid, new Date())
  parts.defer(() => lock.release())
  requireRoom(data_dir)
  requireTrustedSqlite()
  requireControl(data_dir)
  tighten(data_dir, log)
  if (lock.was_abandoned) {
    log.warn('the last server on this folder did not stop by itself: checking its databases')
    for (const name of DATABASES) requireUndamaged(join(data_dir, name))
    lock.noteChecked()
  }
  return lock
}

/**
 * Throws where events have no control.db beside them. A new one would know none of their projects' tokens, and SDKs drop what is
 * refused. A first start makes control.db before events.db.
 */
function requireControl(data_dir: string): void {
  const path = join(data_dir, 'control.db')
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? null
  if ((size ?? 0) > 0 || !existsSync(join(data_dir, 'events.db'))) return
  throw new DamagedDatabase(path, `${size === null ? 'missing' : 'empty'} beside events.db`)
}

/** Returns a promise, and the call that resolves it when the disk or a database has failed: then the next start checks the databases. */
export function noteFaults(lock: FolderLock): {
  readonly broken: Promise<void>
  readonly onBroken: () => void
} {
  const { promise, resolve } = Promise.withResolvers<void>()
  const onBroken = (): void => {
    lock.noteFault()
    resolve()
  }
  return { broken: promise, onBroken }
}

/** Removes other users' rights: folders of earlier versions and copies by other programs may be readable by all. */
function tighten(data_dir: string, log: Log): void {
  const { changed, kept } = tightenFolder(data_dir)
  if (changed > 0) log.warn({ data_dir, changed }, 'took the rights of other users from data files')
  if (kept.length === 0) return
  const fields = { data_dir, files: kept.length, first: kept[0] }
  log.warn(fields, 'other users have rights on data files that belong to another user')
}
