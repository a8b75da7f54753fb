/** Backups that are kept in a store: made, listed, verified, restored and, in time, removed. */
import { createHash } from 'node:crypto'
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { MIB } from '../../bytes.ts'
import { syncPath, temporaryFolder } from '../../storage/files/parquet.ts'
import { DAY_MS } from '../../time.ts'
import { requireData, takeBackup } from '../backup.ts'
import { type BackedUp, type Checksums, findChecksums, parseList } from '../contents.ts'
import { findFaults } from '../doctor.ts'
import { BackupFault, fillFolder } from '../fill-folder.ts'
import { type RestoredBackup, restoreFrom } from '../restore.ts'
import { type BackupStore, StoreFault } from './store.ts'

/** The number of backups that are kept, or of days for which they are. */
type BackupRetention = { readonly unit: 'backups' | 'days'; readonly number: number }

/** A backup in a store. It is whole when `missing`, the number of its files that are not there, is 0. */
export type KeptBackup = {
  readonly made_at: string
  readonly files: number
  readonly bytes: number
  readonly missing: number
}

/** The result of a backup: files and bytes that it had to send, and the numbers of backups and files removed after it. */
type BackupRun = KeptBackup & {
  readonly last_seq: number
  readonly files_sent: number
  readonly bytes_sent: number
  readonly backups_removed: number
  readonly files_removed: number
}

type KeepRequest = {
  readonly data_dir: string
  readonly store: BackupStore
  /** Null keeps every backup. */
  readonly retention: BackupRetention | null
}

/** The key of a list that cannot be read as the list of a backup, with the reason. */
type UnreadableList = {
  readonly key: string
  readonly fault: string
  /** False where the store cannot be reached or refuses: the list may be sound. */
  readonly is_damaged: boolean
}

/** A newer backup that is damaged, so that an older one was restored. */
type PassedBackup = { readonly key: string; readonly fault: string }

type ListedBackup = KeptBackup & { readonly key: string; readonly checksums: Checksums }

type StoreContents = {
  /** From the oldest to the newest. */
  readonly backups: readonly ListedBackup[]
  readonly unreadable: readonly UnreadableList[]
  /** The sizes of all files by checksum. */
  readonly files: ReadonlyMap<string, number>
}

const LIST_BYTES_MAX = 64 * MIB
const SHA256 = /^[0-9a-f]{64}$/
/** A file of the store, or the rest of an interrupted write in a folder. */
const OWN_FILE = /^[0-9a-f]{64}(?:\.new)?$/
const LIST_NAME = /^\d{8}T\d{9}Z\.json$/

/**
 * Makes a backup, examines it as `doctor` does, sends the files that the store does not have, reads each of them back,
 * and stores the list last: until then there is no backup. Retention follows. One run at a time for a data folder.
 */
export async function keepBackup(request: KeepRequest, now: Date): Promise<BackupRun> {
  requireData(request.data_dir)
  // On the disk of the snapshot files, so that they can be linked.
  const staging = join(temporaryFolder(request.data_dir), 'backup')
  const run = await fillFolder(staging, () => sendBackup(request, join(staging, 'copy'), now))
  rmSync(staging, { recursive: true, force: true })
  return run
}

async function sendBackup(request: KeepRequest, copy: string, now: Date): Promise<BackupRun> {
  const { data_dir, store, retention } = request
  const made_at = now.toISOString()
  const key = listKey(made_at)
  if ((await store.list('backups')).has(key.slice('backups/'.length))) {
    throw new BackupFault(`${store.name} already has a backup of ${made_at}`)
  }
  const { last_seq } = await takeBackup({ data_dir, folder: copy, is_copied: false }, now)
  const [finding] = (await findFaults(copy)).findings
  if (finding !== undefined) throw new BackupFault(`${finding.subject} ${finding.fault}`)
  const checksums = findChecksums(copy)
  if (checksums === null) throw new BackupFault(`${copy} is not a complete backup`)

  const sent = await sendFiles(store, copy, checksums)
  await store.write(key, join(copy, 'checksums.json'))
  const { backups, unreadable } = await readStore(store)
  const unread = unreadable.find((list) => list.key === key)
  if (unread !== undefined) throw new BackupFault(unread.fault)
  const kept = backups.find((backup) => backup.key === key)
  if (kept === undefined || kept.missing > 0) {
    throw new BackupFault(`${store.name} lost files while the backup was made: is it shared?`)
  }
  const removed = retention === null ? NONE_REMOVED : await removeOldBackups(store, retention, now)
  return { ...describeBackup(kept), last_seq, ...sent, ...removed }
}

/** Sends files that the store does not have, and reads them back. */
async function sendFiles(store: BackupStore, copy: string, { files }: Checksums) {
  const stored = new Map(await store.list('files'))
  let files_sent = 0
  let bytes_sent = 0
  for (const file of files) {
    if (stored.get(file.sha256) === file.bytes) continue
    await store.write(fileKey(file), join(copy, file.path))
    const fault = await findStoredFault(store, file)
    if (fault !== null) throw new BackupFault(`${store.name}: ${file.path} ${fault} once stored`)
    stored.set(file.sha256, file.bytes)
    files_sent += 1
    bytes_sent += file.bytes
  }
  return { files_sent, bytes_sent }
}

/** Describes the damage of a stored file, or returns null. Reads all of it. */
async function findStoredFault(store: BackupStore, file: BackedUp): Promise<string | null> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const piece of store.read(fileKey(file))) {
    hash.update(piece)
    bytes += piece.byteLength
    if (bytes > file.bytes) break
  }
  if (bytes !== file.bytes) return `does not have ${file.bytes} bytes`
  return hash.digest('hex') === file.sha256 ? null : 'does not match its checksum'
}

/** Lists the backups of a store, from the oldest to the newest, whole or not, and the lists that cannot be read. */
export async function listBackups(store: BackupStore) {
  const { backups, unreadable } = await readStore(store)
  return {
    backups: backups.map(describeBackup),
    unreadable: unreadable.map(({ key, fault }) => ({ key, fault })),
  }
}

/**
 * Restores the newest whole backup that was made at `at` or before it; null is the newest of all. Like a restore from
 * a folder it checks everything that it reads. `passed_by` names the damaged ones between `at` and it; one that the
 * store does not give may be whole, so that nothing is restored.
 */
export async function restoreKept(
  store: BackupStore,
  at: Date | null,
  data_dir: string,
): Promise<RestoredBackup & { readonly passed_by: readonly PassedBackup[] }> {
  const { backups, unreadable } = await readStore(store)
  const whole = backups.filter(({ missing }) => missing === 0)
  const chosen = whole.findLast(({ made_at }) => at === null || Date.parse(made_at) <= at.getTime())
  const isPassed = ({ key }: { readonly key: string }): boolean =>
    key > (chosen?.key ?? '') && (at === null || key <= listKey(at.toISOString()))
  const unread = unreadable.filter(isPassed)
  const refused = unread.find(({ is_damaged }) => !is_damaged)
  if (refused !== undefined) {
    const advice = 'try again, or name an earlier time'
    throw new BackupFault(`${refused.key} may be the newest, ${advice}: ${refused.fault}`)
  }
  if (chosen === undefined) {
    const oldest = whole[0] === undefined ? '' : `; the oldest is of ${whole[0].made_at}`
    const time = at === null ? '' : ` of ${at.toISOString()} or before`
    throw new BackupFault(`${store.name} has no whole backup${time}${oldest}`)
  }
  const copy = (file: BackedUp, to: string): Promise<void> => fetchFile(store, file, to)
  const restored = await restoreFrom({ checksums: chosen.checksums, copy }, data_dir)
  const incomplete = backups.filter(isPassed).map(({ key, missing }) => {
    return { key, fault: `lacks ${missing} of its files` }
  })
  const passed_by = [...unread.map(({ key, fault }) => ({ key, fault })), ...incomplete]
  return { ...restored, passed_by }
}

/** Never writes more bytes than the list says. */
async function fetchFile(store: BackupStore, file: BackedUp, to: string): Promise<void> {
  const fd = openSync(to, 'wx')
  let bytes = 0
  try {
    for await (const piece of store.read(fileKey(file))) {
      bytes += piece.byteLength
      if (bytes > file.bytes) break
      for (let at = 0; at < piece.byteLength; ) at += writeSync(fd, piece, at)
    }
  } finally {
    closeSync(fd)
  }
  if (bytes > file.bytes) {
    throw new BackupFault(`${file.path} of the backup has more than ${file.bytes} bytes`)
  }
  syncPath(to)
}

/** Reads every file of every backup. `subject` names the store in the findings. */
export async function examineStore(store: BackupStore) {
  const { backups, unreadable, files } = await readStore(store)
  const findings = unreadable.map(({ key, fault }) => ({ subject: key, fault }))
  const named = new Map<string, BackedUp>()
  for (const { checksums } of backups) {
    for (const file of checksums.files) named.set(`${file.sha256} ${file.bytes}`, file)
  }
  for (const file of named.values()) {
    const fault = files.has(file.sha256) ? await findStoredFault(store, file) : 'is missing'
    if (fault !== null) findings.push({ subject: `${fileKey(file)} (${file.path})`, fault })
  }
  return { findings, backups: backups.map(describeBackup), files: named.size }
}

const NONE_REMOVED = { backups_removed: 0, files_removed: 0 }

/**
 * Removes backups beyond the retention, except the newest one that has all of its files, and then the files that no
 * backup names. Lists are removed first, so that an interruption leaves too many files, never too few. While a list is
 * unreadable nothing is removed, since that list may name any file.
 */
async function removeOldBackups(store: BackupStore, retention: BackupRetention, now: Date) {
  const { backups, unreadable, files } = await readStore(store)
  if (unreadable.length > 0) return NONE_REMOVED
  const kept = chooseKept(backups, retention, now)
  const removed = backups.filter((backup) => !kept.has(backup))
  for (const { key } of removed) await store.remove(key)
  const named = new Set([...kept].flatMap(({ checksums }) => checksums.files.map(sha256Of)))
  const unnamed = [...files.keys()].filter((name) => OWN_FILE.test(name) && !named.has(name))
  for (const name of unnamed) await store.remove(`files/${name}`)
  return { backups_removed: removed.length, files_removed: unnamed.length }
}

/**
 * Chooses the backups that stay. A backup that lacks files does not count towards the number, and stays as long as
 * older backups stay. The one made now stays, although a clock that was wrong has made some of a later time.
 */
export function chooseKept<Backup extends KeptBackup>(
  backups: readonly Backup[],
  { unit, number }: BackupRetention,
  now: Date,
): ReadonlySet<Backup> {
  const whole = backups.filter(({ missing }) => missing === 0)
  const newest = whole.at(-1)
  if (newest === undefined) return new Set(backups)
  const oldest_kept =
    unit === 'backups'
      ? (whole.at(-number) ?? whole[0] ?? newest).made_at
      : new Date(now.getTime() - number * DAY_MS).toISOString()
  const made_now = now.toISOString()
  const first = oldest_kept < made_now ? oldest_kept : made_now
  return new Set(backups.filter((one) => one === newest || one.made_at >= first))
}

async function readStore(store: BackupStore): Promise<StoreContents> {
  const sizes = await store.list('backups')
  const names = [...sizes.keys()].filter((name) => LIST_NAME.test(name))
  const files = await store.list('files')
  const backups: ListedBackup[] = []
  const unreadable: UnreadableList[] = []
  for (const name of names.toSorted()) {
    const key = `backups/${name}`
    try {
      backups.push(listedBackup(key, await readList(store, key, sizes.get(name) ?? 0), files))
    } catch (error) {
      if (!(error instanceof BackupFault)) throw error
      const is_damaged = !(error instanceof StoreFault)
      unreadable.push({ key, fault: error.message, is_damaged })
    }
  }
  return { backups, unreadable, files }
}

/** Reads a list of a number of bytes. */
async function readList(store: BackupStore, key: string, size: number): Promise<Checksums> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of store.read(key)) {
    bytes += piece.byteLength
    if (bytes > LIST_BYTES_MAX) throw new BackupFault(`has more than ${LIST_BYTES_MAX} bytes`)
    pieces.push(piece)
  }
  // A proxy has answered with a page, or with a part: the list itself may be sound.
  if (bytes !== size) throw new StoreFault(`${store.name} gives ${bytes} of ${size} bytes`)
  const checksums = parseList(Buffer.concat(pieces).toString('utf8'), `${key} of ${store.name}`)
  if (listKey(checksums.made_at) === key) return checksums
  throw new BackupFault(`${key} of ${store.name} is of another time`)
}

function listedBackup(
  key: string,
  checksums: Checksums,
  stored: ReadonlyMap<string, number>,
): ListedBackup {
  const { made_at, files } = checksums
  return {
    key,
    checksums,
    made_at,
    files: files.length,
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    missing: files.filter(({ sha256, bytes }) => stored.get(sha256) !== bytes).length,
  }
}

function describeBackup({ made_at, files, bytes, missing }: KeptBackup): KeptBackup {
  return { made_at, files, bytes, missing }
}

const sha256Of = ({ sha256 }: BackedUp): string => sha256

/** Checksums come from lists too, and a key from one must stay in its folder. */
function fileKey({ sha256 }: BackedUp): string {
  if (!SHA256.test(sha256)) throw new BackupFault(`${JSON.stringify(sha256)} is no checksum`)
  return `files/${sha256}`
}

/** 2026-11-23T22:00:00.000Z → backups/20261123T220000000Z.json, so that keys sort by time. */
function listKey(made_at: string): string {
  return `backups/${made_at.replaceAll(/[-:.]/g, '')}.json`
}
