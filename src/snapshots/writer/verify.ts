/** Compares every file of the manifest with its checksum, and marks damaged ones. */
import type { Database } from 'bun:sqlite'
import { existsSync } from 'node:fs'
import { type CheckedFile, damageOf } from '../../storage/files/file-damage.ts'
import { listAllFiles } from '../../storage/files/manifest.ts'
import { filePath } from '../../storage/files/parquet.ts'
import { listReplicaFiles } from '../../storage/files/replica-files.ts'
import type { FileRow } from '../../storage/log/event-log.ts'

/** Reports the damaged files. Removes the marker of an intact file, as after a restore. */
export async function verifyFiles(
  db: Database,
  data_dir: string,
  send: (file: FileRow) => void,
): Promise<void> {
  for (const file of listAllFiles(db)) {
    if (await isDamaged(data_dir, file, () => listAllFiles(db))) send(file)
  }
  // All readers check the markers in the folder.
  for (const file of listReplicaFiles(db)) {
    await isDamaged(data_dir, file, () => listReplicaFiles(db))
  }
}

/** Missing files are found elsewhere, without reading. A file that is replaced is deleted, also while it is read here. */
async function isDamaged(
  data_dir: string,
  file: CheckedFile,
  listNamed: () => readonly CheckedFile[],
): Promise<boolean> {
  if (!existsSync(filePath(data_dir, file))) return false
  const isNamed = (): boolean => listNamed().some(({ id }) => id === file.id)
  try {
    return (await damageOf(data_dir, file)) !== null && isNamed()
  } catch (error) {
    if (isNamed()) throw error
    return false
  }
}
