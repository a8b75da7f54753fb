/** Lists what in a folder other users of the machine may touch. */
import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

const GROUP_AND_OTHERS = 0o077

/** The folder and everything in it that has rights for group or others, with its mode; links aside, which have none. */
export function openPaths(folder: string): readonly string[] {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isSymbolicLink())
    .map((entry) => join(entry.parentPath, entry.name))
  return [folder, ...paths].flatMap((path) => {
    // Temporary files go while we look.
    const mode = lstatSync(path, { throwIfNoEntry: false })?.mode ?? 0
    return (mode & GROUP_AND_OTHERS) === 0 ? [] : [`${path} ${(mode & 0o777).toString(8)}`]
  })
}
