/** Fills a folder with a marker file in it until it is complete, so that an interrupted run is never taken for a complete one. */
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { syncPath } from '../storage/files/parquet.ts'
import {
  findFiller,
  isIncomplete,
  markIncomplete,
  UNFINISHED_MARK,
} from '../storage/process/incomplete-marker.ts'
import { tightenFolder } from '../storage/process/private-folder.ts'

/** A fault of the caller's input in a backup, restore, export or import. */
export class BackupFault extends Error {
  override readonly name = 'BackupFault'
}

/**
 * Has `work` fill the folder, which must be empty, missing, or unfinished. After a failure the folder is as it was
 * before, or empty; a folder that is a mount point is emptied, never removed.
 */
export async function fillFolder<Result>(
  folder: string,
  work: () => Promise<Result>,
): Promise<Result> {
  requireRoom(folder)
  const is_ours = !existsSync(folder)
  const made = mkdirSync(folder, { recursive: true })
  const mark = join(folder, UNFINISHED_MARK)
  markIncomplete(folder)
  empty(folder)
  try {
    const result = await work()
    // Copies and links have the permissions of their sources.
    tightenFolder(folder)
    syncPath(folder)
    rmSync(mark)
    syncPath(folder)
    if (made !== undefined) syncNames(made, folder)
    return result
  } catch (error) {
    empty(folder)
    // The marker is deleted last.
    rmSync(mark, { force: true })
    if (is_ours) rmSync(folder, { recursive: true, force: true })
    throw error
  }
}

/** Syncs the parents of created folders, which have their entries. */
function syncNames(made: string, folder: string): void {
  for (let path = resolve(folder); ; path = dirname(path)) {
    syncPath(dirname(path))
    if (path === resolve(made) || path === dirname(path)) return
  }
}

function requireRoom(folder: string): void {
  if (!existsSync(folder)) return
  if (isIncomplete(folder)) {
    const filler = findFiller(folder)
    if (filler === null) return
    throw new BackupFault(`${folder} is being filled by process ${filler}: wait until it is done`)
  }
  // A new ext4 file system has this folder.
  const found = readdirSync(folder).filter((name) => name !== LOST_AND_FOUND)
  if (found.length === 0) return
  throw new BackupFault(`${folder} is not empty: name a folder that does not exist yet`)
}

const LOST_AND_FOUND = 'lost+found'

function empty(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (name === UNFINISHED_MARK || name === LOST_AND_FOUND) continue
    rmSync(join(folder, name), { recursive: true, force: true })
  }
}
