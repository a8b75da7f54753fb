/** Where libchdb is. It is no dependency, for its size (540 MB): `bun run chdb` installs it beside the others. */

import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

const PACKAGES = join(import.meta.dir, '../../node_modules/@chdb')

/** The path of libchdb for this machine; null where it is not installed. */
export function findLibrary(): string | null {
  if (!existsSync(PACKAGES)) return null
  const paths = readdirSync(PACKAGES).flatMap((name) =>
    ['libchdb.so', 'libchdb.dylib'].map((file) => join(PACKAGES, name, file)),
  )
  return paths.find((path) => existsSync(path)) ?? null
}

/** Whether tests can have a ClickHouse server here; says so once when not. */
export function hasClickHouse(): boolean {
  const has_library = findLibrary() !== null
  if (!has_library) process.stderr.write('skipped, for chdb is not installed: bun run chdb\n')
  return has_library
}
