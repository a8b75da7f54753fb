/** Restores a backup into a missing or empty data folder: all of it or nothing. */
import { constants, copyFileSync, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { errorMessage } from '../error-message.ts'
import { syncPath } from '../storage/files/parquet.ts'
import { beginLogId } from '../storage/log/shipments.ts'
import { isIncomplete } from '../storage/process/incomplete-marker.ts'
import { openReader, openWriter } from '../storage/sqlite/sqlite.ts'
import { type BackedUp, type Checksums, findChecksums, findFault } from './contents.ts'
import { BackupFault, fillFolder } from './fill-folder.ts'

export type RestoredBackup = { readonly files: number; readonly made_at: string }

/** The list of a complete backup, and a function that copies one file of it to a new path, synced. */
type RestoreSource = {
  readonly checksums: Checksums
  readonly copy: (file: BackedUp, to: string) => Promise<void>
}

/** Restores a backup from its folder: see `restoreFrom`. No link of the backup is followed. */
export async function restoreBackup(
  folder: string,
  data_dir: string,
  finish?: (data_dir: string) => void,
): Promise<RestoredBackup> {
  const checksums = findChecksums(folder)
  if (checksums === null) throw new BackupFault(`${folder} is not a complete backup`)
  const copy = (file: BackedUp, to: string): Promise<void> => copyPlain(folder, file, to)
  return restoreFrom({ checksums, copy }, data_dir, finish)
}

/**
 * Copies a complete backup and checks every byte of the copy; until then the folder is marked as unfinished. Nothing
 * is written outside of the folder. Throws a BackupFault when a file of the backup is damaged, or something is in
 * the way. `finish` changes the copy before it counts as whole.
 */
export async function restoreFrom(
  source: RestoreSource,
  data_dir: string,
  finish?: (data_dir: string) => void,
): Promise<RestoredBackup> {
  const { checksums } = source
  if (existsSync(data_dir) && hasData(data_dir)) {
    throw new BackupFault(`${data_dir} is not empty: move it away first`)
  }
  // The marker keeps a server from starting on the incomplete folder.
  await fillFolder(data_dir, async () => {
    await copyAll(source, data_dir)
    endLogins(data_dir)
    beginLogId(data_dir)
    forgetClaim(data_dir)
    finish?.(data_dir)
  })
  return { files: checksums.files.length, made_at: checksums.made_at }
}

/** Ends all sessions and login links, since some of them may have been ended after the backup. */
function endLogins(data_dir: string): void {
  for (const table of ['sessions', 'login_links'] as const)
    changeControl(data_dir, table, `delete from ${table}`)
}

/** Lets the first start ask ClickHouse whose the projects are: some may have moved since the backup. */
function forgetClaim(data_dir: string): void {
  changeControl(data_dir, 'home', 'update home set claimed_log_id = null')
}

/** Runs a statement on a table; a backup of an earlier version may not have it. */
function changeControl(
  data_dir: string,
  table: 'home' | 'login_links' | 'sessions',
  sql: string,
): void {
  const path = join(data_dir, 'control.db')
  if (!existsSync(path)) return
  try {
    using db = openWriter(path)
    const its = "select 1 from sqlite_schema where type = 'table' and name = ?"
    if (db.query(its).get(table) !== null) db.run(sql)
  } catch (error) {
    const why = errorMessage(error)
    throw new BackupFault(`control.db of the backup cannot be read: ${why}`)
  }
}

/** True when the folder has files; `lost+found`, which the root of an ext4 file system has, does not count. */
const hasData = (data_dir: string): boolean =>
  !isIncomplete(data_dir) && readdirSync(data_dir).some((name) => name !== 'lost+found')

async function copyAll({ checksums, copy }: RestoreSource, to: string): Promise<void> {
  const { files } = checksums
  for (const file of files) {
    mkdirSync(dirname(join(to, file.path)), { recursive: true })
    await copy(file, join(to, file.path))
    const fault = await findFault(to, file)
    if (fault !== null) throw new BackupFault(`${file.path} of the backup ${fault}`)
  }
  requireNamedFiles(to, files)
  for (const path of new Set(files.map((file) => dirname(file.path)))) syncPath(join(to, path))
}

/** Compares the snapshot files that events.db names, which a server reads, with the backup's list. Throws for a difference. */
function requireNamedFiles(data_dir: string, files: readonly BackedUp[]): void {
  const listed = new Map(files.map(({ path, sha256 }) => [path, sha256]))
  for (const { project_id, id, sha256 } of readNamedFiles(data_dir)) {
    if (listed.get(`files/${project_id}/${id}.parquet`) === sha256) continue
    const shown = JSON.stringify(id.slice(0, SHOWN_LENGTH_MAX))
    throw new BackupFault(`events.db of the backup names a file that is not in it: ${shown}`)
  }
}

const SHOWN_LENGTH_MAX = 200

type NamedFile = { readonly project_id: number; readonly id: string; readonly sha256: string }

function readNamedFiles(data_dir: string): readonly NamedFile[] {
  try {
    using db = openReader(join(data_dir, 'events.db'))
    return db.query<NamedFile, []>('select project_id, id, sha256 from files').all()
  } catch (error) {
    const why = errorMessage(error)
    throw new BackupFault(`events.db of the backup cannot be read: ${why}`)
  }
}

/** Reads the file before it is copied: a link or a device is never opened as a copy's source. */
async function copyPlain(folder: string, file: BackedUp, to: string): Promise<void> {
  const fault = await findFault(folder, file)
  if (fault !== null) throw new BackupFault(`${file.path} of the backup ${fault}`)
  copyFileSync(join(folder, file.path), to, constants.COPYFILE_EXCL)
  syncPath(to)
}
