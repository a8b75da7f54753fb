/** Compares every file of the manifest with its checksum, and marks those that differ (contract C7, the slow part). */
import type { Database } from 'bun:sqlite'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import type { FileRow } from '../storage/event-log.ts'
import { listAllFiles } from '../storage/manifest.ts'
import { damageMark, filePath, sha256Of } from '../storage/parquet.ts'

/** Tells of the damaged files. A mark is taken away from a file that is whole, as after it was restored. */
export async function verifyFiles(
  db: Database,
  data_dir: string,
  tell: (file: FileRow) => void,
): Promise<void> {
  for (const file of listAllFiles(db)) {
    const path = filePath(data_dir, file)
    // A missing file is found without reading; one that a compaction just replaced is no fault.
    if (!existsSync(path)) continue
    const is_whole = (await sha256Of(path)) === file.sha256
    if (is_whole) rmSync(damageMark(path), { force: true })
    else writeFileSync(damageMark(path), '')
    if (!is_whole) tell(file)
  }
}
