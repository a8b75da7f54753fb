/** Cleans the data folder at start: deletes files of interrupted work, and detects damaged files. */
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { listAllFiles } from '../storage/files/manifest.ts'
import {
  damageMark,
  filePath,
  filesFolder,
  findDamage,
  temporaryFolder,
} from '../storage/files/parquet.ts'
import { listReplicaFiles, type ReplicaFile } from '../storage/files/replica-files.ts'
import type { FileRow } from '../storage/log/event-log.ts'
import { openReader } from '../storage/sqlite/sqlite.ts'

type DamagedFile = { readonly file: FileRow; readonly damage: string }

/**
 * Deletes files that no manifest row names and everything temporary, and checks the size and the footer of every
 * file that is named. To be called before any other process works in the folder.
 */
export function sweepDataFolder(data_dir: string): { readonly damaged: readonly DamagedFile[] } {
  clearTemporary(temporaryFolder(data_dir))
  mkdirSync(filesFolder(data_dir), { recursive: true })
  const { files, replicas } = readNamed(data_dir)
  sweepUnnamed(data_dir, [...files, ...replicas])
  const damaged = files.flatMap((file) => {
    const damage = findDamage(filePath(data_dir, file), file.byte_count)
    return damage === null ? [] : [{ file, damage }]
  })
  return { damaged }
}

/** Empties the folder, but for what a killed command of root left there: `doctor` names it, and the server starts. */
function clearTemporary(folder: string): void {
  mkdirSync(folder, { recursive: true })
  for (const name of readdirSync(folder)) {
    try {
      rmSync(join(folder, name), { recursive: true, force: true })
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : null
      if (code !== 'EACCES' && code !== 'EPERM') throw error
    }
  }
}

/** Deletes files that the manifest does not name; only while no snapshot process runs. */
export function sweepFiles(data_dir: string): void {
  const { files, replicas } = readNamed(data_dir)
  sweepUnnamed(data_dir, [...files, ...replicas])
}

function readNamed(data_dir: string) {
  const db = openReader(join(data_dir, 'events.db'))
  try {
    return { files: listAllFiles(db), replicas: listReplicaFiles(db) }
  } finally {
    db.close()
  }
}

function sweepUnnamed(data_dir: string, named: readonly (FileRow | ReplicaFile)[]): void {
  const paths = named.map((file) => filePath(data_dir, file))
  const kept = new Set([...paths, ...paths.map(damageMark)])
  for (const entry of readdirSync(filesFolder(data_dir), {
    recursive: true,
    withFileTypes: true,
  })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile() && !kept.has(path)) rmSync(path)
  }
}
