/** Puts a backup in the place of a data folder that is not there: all of it or nothing (contract C9). */
import { copyFileSync, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { syncPath } from '../storage/parquet.ts'
import { isUnfinished } from '../storage/unfinished.ts'
import { type Checksums, findChecksums, findFault } from './contents.ts'
import { BackupFault, fillFolder } from './fill-folder.ts'

export type Restored = { readonly files: number; readonly made_at: string }

/**
 * Copies a complete backup and checks every byte of the copy; until then the folder is marked as unfinished. Throws a BackupFault when the
 * backup is not complete, a file of it is damaged, or something is in the way.
 */
export async function restoreBackup(folder: string, data_dir: string): Promise<Restored> {
  const checksums = findChecksums(folder)
  if (checksums === null) throw new BackupFault(`${folder} is not a complete backup`)
  if (existsSync(data_dir) && hasData(data_dir)) {
    throw new BackupFault(`${data_dir} is not empty: move it away first`)
  }
  // A server does not start on a folder that is not whole yet.
  await fillFolder(data_dir, () => copyAll(folder, data_dir, checksums))
  return { files: checksums.files.length, made_at: checksums.made_at }
}

/** A disk of its own has a folder of the system's. */
const hasData = (data_dir: string): boolean =>
  !isUnfinished(data_dir) && readdirSync(data_dir).some((name) => name !== 'lost+found')

async function copyAll(from: string, to: string, { files }: Checksums): Promise<void> {
  for (const file of files) {
    mkdirSync(dirname(join(to, file.path)), { recursive: true })
    const fault = (await findFault(from, file)) ?? (await copyChecked(from, to, file))
    if (fault !== null) throw new BackupFault(`${file.path} of the backup ${fault}`)
  }
  for (const path of new Set(files.map((file) => dirname(file.path)))) syncPath(join(to, path))
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
