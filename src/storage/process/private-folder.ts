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
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    tighten(join(entry.parentPath, entry.name))
  }
  return { changed, kept }
}

function tightenPath(path: string): 'changed' | 'kept' | 'private' {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat === undefined || stat.isSymbolicLink()) return 'private'
  if ((stat.mode & GROUP_AND_OTHERS) === 0) return 'private'
  try {
    chmodSync(path, stat.mode & RIGHTS & ~GROUP_AND_OTHERS)
    return 'changed'
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null
    if (code === 'ENOENT') return 'private'
    if (code === 'EPERM' || code === 'EROFS') return 'kept'
    throw error
  }
}
