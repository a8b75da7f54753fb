/** Compares every file of the manifest with its checksum, and marks damaged ones. */
import type { Database } from 'bun:sqlite'
import { existsSync } from 'node:fs'
import { damageOf } from '../../storage/files/file-damage.ts'
import { listAllFiles } from '../../storage/files/manifest.ts'
import { filePath } from '../../storage/files/parquet.ts'
import { listMirrorFiles } from '../../storage/files/replica-files.ts'
import type { FileRow } from '../../storage/log/event-log.ts'

/** Reports the damaged files. Removes the marker of an intact file, as after a restore. */
export async function verifyFiles(
  db: Database,
  data_dir: string,
  send: (file: FileRow) => void,
): Promise<void> {
  for (const file of listAllFiles(db)) {
    // Missing files are found elsewhere, without reading; a compaction may have just replaced this one.
    if (!existsSync(filePath(data_dir, file))) continue
    if ((await damageOf(data_dir, file)) !== null) send(file)
  }
  // All readers check the markers in the folder.
  for (const file of listMirrorFiles(db)) {
    if (existsSync(filePath(data_dir, file))) await damageOf(data_dir, file)
  }
}
