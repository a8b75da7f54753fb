/** Makes the file of macros that `macro-file.ts` describes; loads DuckDB. */
import { mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { openInstance } from '../../storage/duckdb/duckdb.ts'
import { textLiteral } from '../../storage/duckdb/duckdb-text.ts'
import { DUCKDB_MACROS } from '../../storage/sqlite/sql-files.ts'
import { listMacroFiles, MACRO_DATABASE, macroFileName } from './macro-file.ts'
import { registerScalars } from './scalar-functions.ts'

const MEMORY_MB = 256

/**
 * Makes the file in the first folder that can be written. It is no error when none can be: instances then run the
 * statements. DuckDB must be prepared, and the process not confined yet.
 */
export async function makeMacroFile(folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      await makeIn(folder)
      return
    } catch {
      // A read-only installation or a full disk: the next folder may do.
    }
  }
}

/** Removes the files of other versions. The rename is atomic; bytes lost by a power cut do not match the hash in the name. */
async function makeIn(folder: string): Promise<void> {
  const temporary = join(folder, `macros-${process.pid}.tmp`)
  try {
    rmSync(temporary, { force: true })
    await writeMacros(temporary)
    for (const other of listMacroFiles(folder)) rmSync(join(folder, other), { force: true })
    renameSync(temporary, join(folder, macroFileName(readFileSync(temporary))))
  } finally {
    for (const path of [temporary, `${temporary}.wal`]) rmSync(path, { force: true })
  }
}

async function writeMacros(path: string): Promise<void> {
  const options = { memory_mb: MEMORY_MB, threads: 1, spill_dir: `${path}.spill` }
  const instance = await openInstance(options)
  const connection = await instance.connect()
  try {
    // The macros name them.
    registerScalars(connection)
    await connection.run(
      `attach ${textLiteral(path)} as ${MACRO_DATABASE} (storage_version 'latest')`,
    )
    await connection.run(`use ${MACRO_DATABASE}`)
    await connection.run(`begin; ${DUCKDB_MACROS}; commit`)
    await connection.run('use memory')
    await connection.run(`detach ${MACRO_DATABASE}`)
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}
