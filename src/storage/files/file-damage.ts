/** Verifies a snapshot file's checksum; a damaged file gets a marker file beside it, which readers check. */
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { damageMark, filePath, findDamage, sha256Of } from './parquet.ts'

/** A file with its checksum. */
export type CheckedFile = {
  readonly id: string
  readonly project_id: number
  readonly byte_count: number
  readonly sha256: string
}

/** Reads a whole file, updates its damage marker, and returns a description of the damage, or null. */
export async function damageOf(data_dir: string, file: CheckedFile): Promise<string | null> {
  const path = filePath(data_dir, file)
  if (!existsSync(path)) return findDamage(path, file.byte_count)
  const is_whole = (await sha256Of(path)) === file.sha256
  if (is_whole) rmSync(damageMark(path), { force: true })
  else if (!existsSync(damageMark(path))) writeFileSync(damageMark(path), '')
  return findDamage(path, file.byte_count)
}
