/** Repairs a damaged file whose events are still in the log: drops it from the manifest, and writes its events again. */
import { listAllFiles, readLogState } from '../storage/files/manifest.ts'
import { filePath, findDamage } from '../storage/files/parquet.ts'
import type { JobContext } from './dependencies.ts'

/**
 * A crash may come after files were committed and before the log was trimmed. When one of these files turns out
 * damaged, all of them are dropped at once, and the log is read from its trimmed position: every event is read once.
 */
export async function restoreDamaged({
  data_dir,
  db,
  capture,
  readers,
  log,
}: JobContext): Promise<void> {
  const { trimmed_seq, flushed_seq } = readLogState(db)
  if (trimmed_seq === flushed_seq) return
  const newest = listAllFiles(db).filter(({ last_seq }) => last_seq > trimmed_seq)
  // A file that reaches back further also holds events which the log no longer has.
  if (newest.some(({ first_seq }) => first_seq <= trimmed_seq)) return
  const damaged = newest.filter(
    (file) => findDamage(filePath(data_dir, file), file.byte_count) !== null,
  )
  if (damaged.length === 0) return
  const removed = newest.map(({ id }) => id)
  await capture.commitFiles({ flushed_seq: trimmed_seq, added: [], removed })
  const ids = damaged.map(({ id }) => id)
  log.info(
    { files: ids, from_seq: trimmed_seq + 1 },
    'damaged files are written again from the log',
  )
  await readers.adoptManifest()
}
