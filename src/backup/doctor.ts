/** Examines a data folder or a backup: checks databases, and compares every snapshot file with its checksum. */
import type { Database } from 'bun:sqlite'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { errorMessage } from '../error-message.ts'
import { listAllFiles } from '../storage/files/manifest.ts'
import { filePath, sha256Of } from '../storage/files/parquet.ts'
import type { FileRow } from '../storage/log/event-log.ts'
import { isIncomplete, UNFINISHED_MARK } from '../storage/process/incomplete-marker.ts'
import { isUnopened, openReader } from '../storage/sqlite/sqlite.ts'
import { DATABASES, findChecksums, findFault } from './contents.ts'

/** One fault, and its meaning. */
type DataFault = { readonly subject: string; readonly fault: string }

type Diagnosis = {
  readonly findings: readonly DataFault[]
  readonly files: number
  readonly events_in_files: number
}

/**
 * Changes nothing, and may run beside a server. Throws for a database that cannot be opened: it may be sound, and no
 * backup is to replace it.
 */
export async function findFaults(data_dir: string): Promise<Diagnosis> {
  if (isUnserved(data_dir)) {
    const fault = 'holds no events: no server has run on it, and none was restored into it'
    return { findings: [{ subject: data_dir, fault }], files: 0, events_in_files: 0 }
  }
  if (isIncomplete(data_dir)) {
    const fault = 'is not whole: its restore or backup was cut off'
    return { findings: [{ subject: data_dir, fault }], files: 0, events_in_files: 0 }
  }
  const findings: DataFault[] = []
  for (const name of DATABASES) findings.push(...examineDatabase(data_dir, name))
  const files = findings.some(({ subject }) => subject === 'events.db') ? [] : readFiles(data_dir)
  for (const file of files) findings.push(...(await examineFile(data_dir, file)))
  // A folder that has been served since it was restored differs from the list.
  for (const file of findChecksums(data_dir)?.files ?? []) {
    const fault = await findFault(data_dir, file)
    if (fault !== null) findings.push({ subject: file.path, fault: `${fault} (of the backup)` })
  }
  const events_in_files = files.reduce((sum, { row_count }) => sum + row_count, 0)
  return { findings, files: files.length, events_in_files }
}

/** Files and folders of which a server makes one before all others, and a backup has one. */
const SERVED = ['events.db', 'files', 'lock.db', UNFINISHED_MARK] as const

/** True for a folder that is missing, or has at most what commands made before the first start of a server. */
export function isUnserved(data_dir: string): boolean {
  return SERVED.every((name) => !existsSync(join(data_dir, name)))
}

function examineDatabase(data_dir: string, name: string): readonly DataFault[] {
  const path = join(data_dir, name)
  if (!existsSync(path)) return [{ subject: name, fault: 'is missing' }]
  try {
    using db = openReader(path)
    const found = checkIntegrity(db)
    return found === 'ok' ? [] : [{ subject: name, fault: `is damaged: ${found}` }]
  } catch (error) {
    if (isUnopened(error)) throw error
    const fault = `cannot be read: ${errorMessage(error)}`
    return [{ subject: name, fault }]
  }
}

function checkIntegrity(db: Database): string {
  const row = db.query<{ integrity_check: string }, []>('pragma integrity_check(1)').get()
  return row?.integrity_check.replaceAll('\n', ' ') ?? 'no answer'
}

function readFiles(data_dir: string): readonly FileRow[] {
  using db = openReader(join(data_dir, 'events.db'))
  return listAllFiles(db)
}

async function examineFile(data_dir: string, file: FileRow): Promise<readonly DataFault[]> {
  const path = filePath(data_dir, file)
  const { project_id, month, row_count, first_seq, last_seq } = file
  const subject = `snapshot file ${file.id} (project ${project_id}, ${month}, ${row_count} events, ${first_seq} to ${last_seq})`
  if (existsSync(path)) {
    return (await sha256Of(path)) === file.sha256
      ? []
      : [{ subject, fault: 'does not match its checksum' }]
  }
  // A compaction may have replaced the file since the manifest was read.
  const is_named = readFiles(data_dir).some(({ id }) => id === file.id)
  return is_named ? [{ subject, fault: 'is missing' }] : []
}
