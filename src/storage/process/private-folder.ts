/** Hides stored data from other users of the machine: folders 0700, files without rights for group and others. */
import { chmodSync, lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

const GROUP_AND_OTHERS = 0o077
const RIGHTS = 0o777

/** The number of changed paths, and the paths that this user may not change. */
type TightenedPaths = { readonly changed: number; readonly kept: readonly string[] }

/**
 * Takes the rights of group and others from a folder and all that is in it. Links are neither followed nor changed; what
 * vanishes meanwhile is ignored. Throws only when the folder itself cannot be read.
 */
export function tightenFolder(folder: string): TightenedPaths {
  const kept: string[] = []
  let changed = 0
  const tighten = (path: string): void => {
    const outcome = tightenPath(path)
    if (outcome === 'changed') changed += 1
    if (outcome === 'kept') kept.push(path)
  }
  tighten(folder)
  for (const path of listPaths(folder)) tighten(path)
  return { changed, kept }
}

/**
 * Lists all that is in a folder, without what is in folders that this user cannot read: a disk that is mounted here has
 * root's lost+found. Throws only when the folder itself cannot be read.
 */
export function listPaths(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    return entry.isDirectory() ? [path, ...listPathsIfReadable(path)] : [path]
  })
}

function listPathsIfReadable(folder: string): readonly string[] {
  try {
    return listPaths(folder)
  } catch (error) {
    const code = errorCode(error)
    if (code === 'EACCES' || code === 'ENOENT') return []
    throw error
  }
}

const errorCode = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : null

function tightenPath(path: string): 'changed' | 'kept' | 'private' {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat === undefined || stat.isSymbolicLink()) return 'private'
  if ((stat.mode & GROUP_AND_OTHERS) === 0) return 'private'
  try {
    chmodSync(path, stat.mode & RIGHTS & ~GROUP_AND_OTHERS)
    return 'changed'
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOENT') return 'private'
    if (code === 'EPERM' || code === 'EROFS') return 'kept'
    throw error
  }
}
