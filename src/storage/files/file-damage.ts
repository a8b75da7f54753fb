/** Whether a snapshot file is what the manifest says, down to its last byte; a mark beside it tells the others. */
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { damageMark, filePath, findDamage, sha256Of } from './parquet.ts'

/** A file with its checksum. */
export type CheckedFile = {
  readonly id: string
  readonly project_id: number
  readonly byte_count: number
  readonly sha256: string
}

/** What is wrong with a file, or null. The whole file is read, and marked or unmarked by what is found. */
export async function damageOf(data_dir: string, file: CheckedFile): Promise<string | null> {
  const path = filePath(data_dir, file)
  if (!existsSync(path)) return findDamage(path, file.byte_count)
  const is_whole = (await sha256Of(path)) === file.sha256
  if (is_whole) rmSync(damageMark(path), { force: true })
  else if (!existsSync(damageMark(path))) writeFileSync(damageMark(path), '')
  return findDamage(path, file.byte_count)
}
