/** The mark of a folder that is being filled by a restore, a backup or an export, until it is whole. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Lies in the folder as long as it is not whole. */
export const UNFINISHED_MARK = 'tidemark-unfinished'

/** Whether the folder was left before it was whole. */
export function isUnfinished(folder: string): boolean {
  return existsSync(join(folder, UNFINISHED_MARK))
}
