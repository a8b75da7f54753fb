/** The contents of a backup, and the list of checksums that completes it. */
import { lstatSync, readFileSync, renameSync, type Stats, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { sha256Of, syncPath } from '../storage/files/parquet.ts'
import { BackupFault } from './fill-folder.ts'

/** The databases with data that cannot be computed again. */
export const DATABASES = ['events.db', 'control.db'] as const

/** One file of a backup; `path` is relative to its folder. */
export type BackedUp = { readonly path: string; readonly bytes: number; readonly sha256: string }

export type Checksums = { readonly made_at: string; readonly files: readonly BackedUp[] }

/** Measures one file of a folder. */
export async function measure(folder: string, path: string): Promise<BackedUp> {
  const whole = join(folder, path)
  return { path, bytes: statSync(whole).size, sha256: await sha256Of(whole) }
}

/** Written last: a backup without it is not complete. */
export function writeChecksums(folder: string, checksums: Checksums): void {
  const path = checksumsPath(folder)
  writeFileSync(`${path}.new`, `${JSON.stringify(checksums, null, 2)}\n`)
  syncPath(`${path}.new`)
  renameSync(`${path}.new`, path)
  syncPath(dirname(path))
}

/** One line of the list is some 200 bytes, so this is a list of a third of a million files. */
const CHECKSUMS_BYTES_MAX = 64 * 1024 * 1024

/** The valid paths in a backup; any other path could be outside of the data folder. */
const KNOWN_PATH = /^(?:events\.db|control\.db|files\/[1-9]\d{0,14}\/[\w-]{1,64}\.parquet)$/

/**
 * Reads the list of a backup; null where the folder has none, since the backup was cut off or the folder is something
 * else. Throws a BackupFault for a list in another form than ours. The files that it names are not checked here.
 */
export function findChecksums(folder: string): Checksums | null {
  const stat = lstatSync(checksumsPath(folder), { throwIfNoEntry: false })
  if (stat === undefined) return null
  const no = (why: string): BackupFault => new BackupFault(`checksums.json of ${folder} ${why}`)
  if (!stat.isFile()) throw no('is not a regular file')
  if (stat.size > CHECKSUMS_BYTES_MAX) throw no(`has more than ${CHECKSUMS_BYTES_MAX} bytes`)
  return parseList(readFileSync(checksumsPath(folder), 'utf8'), `checksums.json of ${folder}`)
}

/**
 * Parses the list of a backup, which messages call `subject`. Throws a BackupFault for a list in another form than
 * ours.
 */
export function parseList(text: string, subject: string): Checksums {
  const no = (why: string): BackupFault => new BackupFault(`${subject} ${why}`)
  const checksums = parseChecksums(text)
  if (checksums === null) throw no('is not the list of a backup')
  const paths = new Set<string>()
  for (const { path } of checksums.files) {
    const shown = JSON.stringify(path.slice(0, SHOWN_LENGTH_MAX))
    if (!KNOWN_PATH.test(path)) throw no(`names ${shown}, which is no file of a backup`)
    if (paths.has(path)) throw no(`names ${shown} twice`)
    paths.add(path)
  }
  const missing = DATABASES.find((name) => !paths.has(name))
  if (missing !== undefined) throw no(`does not name ${missing}`)
  return checksums
}

const SHOWN_LENGTH_MAX = 200

function parseChecksums(text: string): Checksums | null {
  try {
    const value: unknown = JSON.parse(text)
    return isChecksums(value) ? value : null
  } catch {
    return null
  }
}

function isChecksums(value: unknown): value is Checksums {
  if (typeof value !== 'object' || value === null) return false
  const { made_at, files } = value as Partial<Record<keyof Checksums, unknown>>
  if (typeof made_at !== 'string' || !/^[\dT:.Z-]{1,40}$/.test(made_at)) return false
  return Array.isArray(files) && files.every(isBackedUp)
}

function isBackedUp(value: unknown): value is BackedUp {
  if (typeof value !== 'object' || value === null) return false
  const { path, bytes, sha256 } = value as Partial<Record<keyof BackedUp, unknown>>
  const is_counted = Number.isSafeInteger(bytes) && Number(bytes) >= 0
  return typeof path === 'string' && is_counted && /^[0-9a-f]{64}$/.test(String(sha256))
}

/** Describes the damage of a backup's file, or returns null. Reads the whole file, but follows no link. */
export async function findFault(folder: string, file: BackedUp): Promise<string | null> {
  const { stat, fault } = findPlain(folder, file.path)
  if (fault !== null) return fault
  if (stat.size !== file.bytes) return `has ${stat.size} bytes instead of ${file.bytes}`
  const { sha256 } = await measure(folder, file.path)
  return sha256 === file.sha256 ? null : 'does not match its checksum'
}

type Plain =
  | { readonly stat: Stats; readonly fault: null }
  | { readonly stat: null; readonly fault: string }

/** Checks every step of a path: a backup contains no links and no devices. */
function findPlain(folder: string, path: string): Plain {
  const names = path.split('/')
  for (const [index] of names.entries()) {
    const stat = lstatSync(join(folder, ...names.slice(0, index + 1)), { throwIfNoEntry: false })
    if (stat === undefined) break
    const is_last = index === names.length - 1
    if (!(is_last ? stat.isFile() : stat.isDirectory())) {
      return { stat: null, fault: 'is a link, or not a regular file' }
    }
    if (is_last) return { stat, fault: null }
  }
  return { stat: null, fault: 'is missing' }
}

function checksumsPath(folder: string): string {
  return join(folder, 'checksums.json')
}
