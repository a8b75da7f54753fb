/** Puts a backup in the place of a data folder that is not there: all of it or nothing (contract C9). */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { syncPath } from '../storage/parquet.ts'
import { BackupFault } from './backup.ts'
import { findChecksums, findFault } from './contents.ts'

export type Restored = { readonly files: number; readonly made_at: string }

/**
 * Copies a complete backup, checks every byte of the copy, and gives it its name. Throws a BackupFault when the
 * backup is not complete, a file of it is damaged, or something is in the way.
 */
export async function restoreBackup(folder: string, data_dir: string): Promise<Restored> {
  const checksums = findChecksums(folder)
  if (checksums === null) throw new BackupFault(`${folder} is not a complete backup`)
  const place = resolve(data_dir)
  if (existsSync(place) && readdirSync(place).length > 0) {
    throw new BackupFault(`${data_dir} is not empty: move it away first`)
  }
  const unfinished = `${place}.restoring`
  rmSync(unfinished, { recursive: true, force: true })
  for (const file of checksums.files) {
    const to = join(unfinished, file.path)
    mkdirSync(dirname(to), { recursive: true })
    const fault = (await findFault(folder, file)) ?? (await copyChecked(folder, unfinished, file))
    if (fault === null) continue
    rmSync(unfinished, { recursive: true, force: true })
    throw new BackupFault(`${file.path} of the backup ${fault}`)
  }
  for (const path of new Set(checksums.files.map((file) => dirname(file.path)))) {
    syncPath(join(unfinished, path))
  }
  if (existsSync(place)) rmdirSync(place)
  renameSync(unfinished, place)
  syncPath(dirname(place))
  return { files: checksums.files.length, made_at: checksums.made_at }
}

/** What is wrong with the copy, or null. */
async function copyChecked(
  folder: string,
  to: string,
  file: Parameters<typeof findFault>[1],
): Promise<string | null> {
  copyFileSync(join(folder, file.path), join(to, file.path))
  syncPath(join(to, file.path))
  return findFault(to, file)
}
