/** What a backup consists of, and the list of checksums that makes it complete (contract C9). */
import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { sha256Of, syncPath } from '../storage/parquet.ts'

/** The databases that hold what cannot be computed again. */
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

/** Null when there is none: the backup was cut off, or the folder is none. */
export function findChecksums(folder: string): Checksums | null {
  const path = checksumsPath(folder)
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Checksums) : null
}

/** What is wrong with a file of a backup, or null. The whole file is read. */
export async function findFault(folder: string, file: BackedUp): Promise<string | null> {
  const stat = statSync(join(folder, file.path), { throwIfNoEntry: false })
  if (stat === undefined) return 'is missing'
  if (stat.size !== file.bytes) return `has ${stat.size} bytes instead of ${file.bytes}`
  const { sha256 } = await measure(folder, file.path)
  return sha256 === file.sha256 ? null : 'does not match its checksum'
}

function checksumsPath(folder: string): string {
  return join(folder, 'checksums.json')
}
