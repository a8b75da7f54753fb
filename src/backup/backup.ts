/** Makes a backup of a data folder, also while a server writes to it. */
import { copyFileSync, existsSync, linkSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { listAllFiles } from '../storage/files/manifest.ts'
import { filePath, syncPath } from '../storage/files/parquet.ts'
import type { FileRow } from '../storage/log/event-log.ts'
import { requireComplete } from '../storage/process/incomplete-marker.ts'
import { openReader, openWriter } from '../storage/sqlite/sqlite.ts'
import { type BackedUp, DATABASES, measure, writeChecksums } from './contents.ts'
import { BackupFault, fillFolder } from './fill-folder.ts'

type BackupRequest = {
  readonly data_dir: string
  /** The folder of the backup; it must be missing, empty, or incomplete. */
  readonly folder: string
  /** Snapshot files are copied even where they could be linked, so that the backup shares no block with them. */
  readonly is_copied: boolean
}

export type Backup = { readonly files: number; readonly bytes: number; readonly last_seq: number }

/** Attempts: the manifest may change while its files are linked; then linking begins again with the newer one. */
const ATTEMPTS_MAX = 10

/**
 * Everything answered before the call is in the backup. Throws a BackupFault, naming the file, when a snapshot file
 * is damaged; nothing is left of the backup then.
 */
export async function takeBackup(options: BackupRequest, now: Date): Promise<Backup> {
  requireData(options.data_dir)
  return fillFolder(options.folder, () => backUpInto(options, now))
}

/** Throws for a folder that is no data folder, or a half restored one. */
export function requireData(data_dir: string): void {
  requireComplete(data_dir)
  if (existsSync(join(data_dir, 'events.db'))) return
  throw new BackupFault(`${data_dir} holds no Tidemark data`)
}

async function backUpInto(options: BackupRequest, now: Date): Promise<Backup> {
  const { data_dir, folder } = options
  mkdirSync(join(folder, 'files'), { recursive: true })
  // Most files are linked before the databases are copied, so that few can change meanwhile.
  await linkFiles(options, readManifest(data_dir))
  const named = await copyEvents(options)
  copyDatabase(options, 'control.db')
  sweepOthers(folder, named)

  const files: BackedUp[] = []
  for (const name of DATABASES) files.push(await measure(folder, name))
  for (const file of named) files.push(await requireWhole(folder, file))
  for (const { path } of files) syncPath(join(folder, path))
  for (const path of new Set(files.map((file) => dirname(file.path)))) syncPath(join(folder, path))
  writeChecksums(folder, { made_at: now.toISOString(), files })
  return {
    files: files.length,
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    last_seq: readLastSeq(folder),
  }
}

/** Copies events.db until every file that the copy names is linked. The copy is one committed state. */
async function copyEvents(options: BackupRequest): Promise<readonly FileRow[]> {
  for (let attempt = 1; ; attempt++) {
    copyDatabase(options, 'events.db')
    const named = readManifest(options.folder)
    const missing = await linkFiles(options, named)
    if (missing.length === 0) return named
    if (attempt < ATTEMPTS_MAX) continue
    throw new BackupFault(`snapshot file ${missing[0]?.id} is missing`)
  }
}

/** Links files, and returns the files that no longer exist. */
async function linkFiles(
  { data_dir, folder, is_copied }: BackupRequest,
  files: readonly FileRow[],
): Promise<readonly FileRow[]> {
  return files.filter((file) => {
    const to = filePath(folder, file)
    if (existsSync(to)) return false
    mkdirSync(dirname(to), { recursive: true })
    return !placeCopy(filePath(data_dir, file), to, is_copied)
  })
}

/** False when there is nothing to copy. */
function placeCopy(from: string, to: string, is_copied: boolean): boolean {
  try {
    if (!is_copied && tryLink(from, to)) return true
    copyFileSync(from, to)
    return true
  } catch (error) {
    if (existsSync(from)) throw error
    return false
  }
}

/** Copies where a hard link is impossible: across file systems, and on those without links. */
function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch {
    return false
  }
}

/** Makes a consistent copy, without blocking the writer. */
function copyDatabase({ data_dir, folder }: BackupRequest, name: string): void {
  const to = join(folder, name)
  rmSync(to, { force: true })
  const db = openWriter(join(data_dir, name))
  try {
    db.query('vacuum into ?').run(to)
  } finally {
    db.close()
  }
}

function readManifest(folder: string): readonly FileRow[] {
  const db = openReader(join(folder, 'events.db'))
  try {
    return listAllFiles(db)
  } finally {
    db.close()
  }
}

function readLastSeq(folder: string): number {
  const db = openReader(join(folder, 'events.db'))
  try {
    const clock = db.query<{ seq: number }, []>('select seq from clock where id = 1').get()
    return clock?.seq ?? 0
  } finally {
    db.close()
  }
}

/** Deletes files that only an older manifest named. */
function sweepOthers(folder: string, named: readonly FileRow[]): void {
  const kept = new Set(named.map((file) => filePath(folder, file)))
  for (const entry of readdirSync(join(folder, 'files'), {
    recursive: true,
    withFileTypes: true,
  })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile() && !kept.has(path)) rmSync(path)
  }
}

async function requireWhole(folder: string, file: FileRow): Promise<BackedUp> {
  const found = await measure(folder, relative(folder, filePath(folder, file)))
  if (found.sha256 === file.sha256) return found
  throw new BackupFault(`snapshot file ${file.id} does not match its checksum`)
}
