/**
 * The macros of every instance as a DuckDB file, made once per version.
 *
 * Opening a project ran 186 CREATE MACRO statements, which took most of its processor time: each costs 0.25 ms before it
 * does anything. Attaching a file that has them, copying its catalog into memory and detaching it again leaves the
 * instance as the statements would: the same names in the same schema, and no second database.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { version as engine_version } from '@duckdb/node-api/package.json'
import { nativeFolder } from '../../storage/duckdb/duckdb-native.ts'
import { textLiteral } from '../../storage/duckdb/duckdb-text.ts'
import { sourceFolder } from '../../storage/process/spawn-self.ts'
import { DUCKDB_MACROS } from '../../storage/sqlite/sql-files.ts'

/** The name of the file's database while it is attached. */
export const MACRO_DATABASE = 'macro_file'

/** A hash of the file's content and of the engine that writes it. */
const VERSION = hashOf(`${engine_version}\n${DUCKDB_MACROS}`)

/** `macros-<version>-<hash of the bytes>.duckdb`: the name says whether a file is the right one, and whole. */
const FILE_NAME = /^macros-([0-9a-f]+)-([0-9a-f]+)\.duckdb$/

/** Lists the folders for the file. From source, all data folders share one file, since tests have many. */
export function macroFolders(data_dir: string): readonly string[] {
  const source = sourceFolder()
  const shared = source === null ? [] : [join(source, 'node_modules', '.cache', 'tidemark')]
  return [...shared, nativeFolder(data_dir)]
}

/** Finds a whole file of this version in the folders; null when there is none. */
export function findMacroFile(folders: readonly string[]): string | null {
  for (const folder of folders) {
    for (const name of listMacroFiles(folder)) {
      const path = join(folder, name)
      if (name === macroFileName(readFileSync(path))) return path
    }
  }
  return null
}

/** Creates the macros in an instance: from the file, or by statements where there is none or it cannot be read. */
export async function createMacros(
  connection: DuckDBConnection,
  macro_file: string | null,
): Promise<void> {
  if (macro_file !== null && (await copyMacros(connection, macro_file))) return
  await connection.run(DUCKDB_MACROS)
}

/** Returns true when the macros of the file are in the instance. */
async function copyMacros(connection: DuckDBConnection, macro_file: string): Promise<boolean> {
  try {
    await connection.run(
      `attach ${textLiteral(macro_file)} as ${MACRO_DATABASE} (read_only);
      copy from database ${MACRO_DATABASE} to memory (schema)`,
    )
    return true
  } catch {
    return false
  } finally {
    await connection.run(`detach database if exists ${MACRO_DATABASE}`)
  }
}

/** Lists the files of macros in a folder, of any version. */
export function listMacroFiles(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => FILE_NAME.test(name))
  } catch {
    return []
  }
}

/** The name that a file of this version with these bytes has. */
export function macroFileName(bytes: Uint8Array): string {
  return `macros-${VERSION}-${hashOf(bytes)}.duckdb`
}

function hashOf(bytes: string | Uint8Array): string {
  return new Bun.CryptoHasher('sha256').update(bytes).digest('hex').slice(0, 16)
}
