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
import { listMirrorFiles, type ReplicaFile } from '../storage/files/replica-files.ts'
import type { FileRow } from '../storage/log/event-log.ts'
import { openReader } from '../storage/sqlite/sqlite.ts'

type DamagedFile = { readonly file: FileRow; readonly damage: string }

/**
 * Deletes files that no manifest row names and everything temporary, and checks the size and the footer of every
 * file that is named. To be called before any other process works in the folder.
 */
export function sweepDataFolder(data_dir: string): { readonly damaged: readonly DamagedFile[] } {
  rmSync(temporaryFolder(data_dir), { recursive: true, force: true })
  mkdirSync(temporaryFolder(data_dir), { recursive: true })
  mkdirSync(filesFolder(data_dir), { recursive: true })
  const { files, mirrors: replicas } = readNamed(data_dir)
  sweepUnnamed(data_dir, [...files, ...replicas])
  const damaged = files.flatMap((file) => {
    const damage = findDamage(filePath(data_dir, file), file.byte_count)
    return damage === null ? [] : [{ file, damage }]
  })
  return { damaged }
}

/** Deletes files that the manifest does not name; only while no snapshot process runs. */
export function sweepFiles(data_dir: string): void {
  const { files, mirrors: replicas } = readNamed(data_dir)
  sweepUnnamed(data_dir, [...files, ...replicas])
}

function readNamed(data_dir: string) {
  const db = openReader(join(data_dir, 'events.db'))
  try {
    return { files: listAllFiles(db), mirrors: listMirrorFiles(db) }
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
