/** Compares every file of the manifest with its checksum, and marks those that differ ( the slow part). */
import type { Database } from 'bun:sqlite'
import { existsSync } from 'node:fs'
import { damageOf } from '../storage/files/file-damage.ts'
import { listAllFiles } from '../storage/files/manifest.ts'
import { filePath } from '../storage/files/parquet.ts'
import { listMirrorFiles } from '../storage/files/replica-files.ts'
import type { FileRow } from '../storage/log/event-log.ts'

/** Tells of the damaged files. A mark is taken away from a file that is whole, as after it was restored. */
export async function verifyFiles(
  db: Database,
  data_dir: string,
  send: (file: FileRow) => void,
): Promise<void> {
  for (const file of listAllFiles(db)) {
    // A missing file is found without reading; one that a compaction just replaced is no fault.
    if (!existsSync(filePath(data_dir, file))) continue
    if ((await damageOf(data_dir, file)) !== null) send(file)
  }
  // Whoever keeps these files finds the marks.
  for (const file of listMirrorFiles(db)) {
    if (existsSync(filePath(data_dir, file))) await damageOf(data_dir, file)
  }
}
