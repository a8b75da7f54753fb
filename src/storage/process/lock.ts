/** One server per data folder: a lock that ends with its process, and a note that describes its holder. */
import { Database } from 'bun:sqlite'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { requireComplete } from './incomplete-marker.ts'

/**
 * The process that serves a data folder. `url` and `operator_key` are null until it listens: with the key, users who may
 * read the folder call the server as its operator.
 */
export type LockHolder = {
  readonly pid: number
  readonly url: string | null
  /** The address on this machine, without a proxy between. */
  readonly local_url: string | null
  readonly operator_key: string | null
  readonly started_at: string
}

/** The note of a standby about its copies; see `standby/README.md`. */
export const STANDBY_NOTE = 'standby.json'

/** Held until `release` or the end of the process, however it ends. */
export type FolderLock = {
  /** True when a holder ended without `release`, killed or by a power failure, and the databases were not checked since. */
  readonly was_abandoned: boolean
  /** Records that the databases were checked. Until then each next holder finds `was_abandoned`. */
  noteChecked(): void
  /** Makes the next holder find `was_abandoned`: the disk or a database has failed. */
  noteFault(): void
  /** Writes the holder's addresses and its operator's key into the note. */
  announce(access: Pick<LockHolder, 'local_url' | 'operator_key' | 'url'>): void
  release(): void
}

/** Another process serves this data folder. `holder` is null without a readable note. */
export class FolderInUse extends Error {
  override readonly name = 'FolderInUse'

  constructor(data_dir: string, holder: LockHolder | null) {
    super(`${data_dir} is in use by ${describe(holder)}`)
  }
}

/** References to the open locks, because a lock ends when its handle is garbage-collected. */
const HELD = Symbol.for('tidemark.locks')
const held: Set<Database> = ((globalThis as { [HELD]?: Set<Database> })[HELD] ??= new Set())

/**
 * Takes the folder, making it when it is missing. Throws `FolderInUse` when another process has it, and an error when a
 * restore into it was cut off.
 */
export function takeLock(data_dir: string, pid: number, now: Date): FolderLock {
  mkdirSync(data_dir, { recursive: true })
  requireComplete(data_dir)
  const db = new Database(join(data_dir, 'lock.db'), { create: true, readwrite: true })
  try {
    // A command that looks whether a server runs has the lock for less than a millisecond.
    db.run('pragma busy_timeout = 100')
    // An open transaction holds a lock of the operating system, which ends with the process.
    db.run('begin exclusive')
  } catch (error) {
    db.close()
    if (isBusy(error)) throw new FolderInUse(data_dir, findHolder(data_dir))
    throw error
  }
  held.add(db)
  const was_abandoned = existsSync(notePath(data_dir))
  let is_checked = !was_abandoned
  const started_at = now.toISOString()
  writeNote(data_dir, { pid, url: null, local_url: null, operator_key: null, started_at })
  return {
    was_abandoned,
    noteChecked: () => {
      is_checked = true
    },
    noteFault: () => {
      is_checked = false
    },
    announce: (access) => writeNote(data_dir, { pid, ...access, started_at }),
    release() {
      if (is_checked) rmSync(notePath(data_dir), { force: true })
      held.delete(db)
      db.close()
    },
  }
}

/** Reads the note of the process that has the folder now; null when none has. */
export function findRunning(data_dir: string): LockHolder | null {
  return isLocked(data_dir) ? findHolder(data_dir) : null
}

/** Tries the lock: the number in a note may be that of another process since, or count in another container. */
function isLocked(data_dir: string): boolean {
  const path = join(data_dir, 'lock.db')
  if (!existsSync(path)) return false
  try {
    using db = new Database(path, { readonly: true })
    db.query('select 1 from sqlite_schema').get()
    return false
  } catch (error) {
    return isBusy(error)
  }
}

/** Reads the note; null without one. After a crash the note of the dead holder is still there. */
export function findHolder(data_dir: string): LockHolder | null {
  try {
    const note: unknown = JSON.parse(readFileSync(notePath(data_dir), 'utf8'))
    if (!isHolder(note)) return null
    const { url, local_url = url, operator_key = null } = note
    return { ...note, local_url, operator_key }
  } catch {
    return null
  }
}

function writeNote(data_dir: string, holder: LockHolder): void {
  const fresh = `${notePath(data_dir)}.new`
  writeFileSync(fresh, `${JSON.stringify(holder)}\n`, { mode: 0o600 })
  renameSync(fresh, notePath(data_dir))
}

function notePath(data_dir: string): string {
  return join(data_dir, 'serve.json')
}

function describe(holder: LockHolder | null): string {
  if (holder === null) return 'another tidemark'
  const serving = holder.url === null ? '' : `, serving ${holder.url}`
  return `tidemark process ${holder.pid}${serving}, since ${holder.started_at}`
}

/** True for SQLite's error that another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'SQLITE_BUSY'
}

/** A server of an earlier version writes no key and one address. */
type Note = Omit<LockHolder, 'local_url' | 'operator_key'> &
  Partial<Pick<LockHolder, 'local_url' | 'operator_key'>>

function isHolder(note: unknown): note is Note {
  if (typeof note !== 'object' || note === null) return false
  const { pid, url, local_url, operator_key, started_at } = note as Partial<
    Record<keyof LockHolder, unknown>
  >
  const are_texts =
    isTextOrNull(url) && isTextOrNull(local_url ?? null) && isTextOrNull(operator_key ?? null)
  return typeof pid === 'number' && are_texts && typeof started_at === 'string'
}

function isTextOrNull(value: unknown): boolean {
  return value === null || typeof value === 'string'
}
