/** Makes DuckDB's native library loadable from the one executable; nothing else unpacks or dlopens it. */

import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
} from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { writeWhole } from '../files/write-whole.ts'
import type { EmbeddedFile, EmbeddedLibrary } from './embedded-library.ts'

/** The folder that the library is unpacked into; a global, because loading a library is process-wide. */
let native_dir: string | null = null

/**
 * Says where the library may be unpacked; to be called before anything imports `@duckdb/node-api`.
 * The data folder belongs to this program, is writable, and is not cleaned by the system.
 */
export function prepareDuckDB(data_dir: string): void {
  native_dir = nativeFolder(data_dir)
}

/** The folder for files that processes make once per version and then only read: the unpacked library, the file of macros. */
export function nativeFolder(data_dir: string): string {
  return join(data_dir, 'native')
}

/**
 * Stands in for `@duckdb/node-bindings` in the compiled executable (`src/build.ts` puts the call there):
 * unpacks the library once per version, loads it, returns its exports. Throws when the folder cannot be written.
 */
export function loadEmbeddedLibrary(embedded: EmbeddedLibrary): unknown {
  if (native_dir === null) throw new Error('prepareDuckDB must run before DuckDB is imported')
  const folder = unpackLibrary(embedded, native_dir)
  const loaded = { exports: {} }
  process.dlopen(loaded, join(folder, embedded.addon.name), constants.dlopen.RTLD_NOW)
  return loaded.exports
}

/** Unpacks the library of a built executable ahead: a confined process that loads it later cannot write into the folder. */
export async function unpackDuckDB(data_dir: string): Promise<void> {
  const { EMBEDDED } = await import('./embedded-library.ts')
  if (EMBEDDED !== null) unpackLibrary(EMBEDDED, nativeFolder(data_dir))
}

/** Returns the folder, one per version, that holds the library and the addon. */
function unpackLibrary(embedded: EmbeddedLibrary, native: string): string {
  const folder = join(native, embedded.sha256.slice(0, 16))
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  unpackFile(embedded.library, folder)
  unpackFile(embedded.addon, folder)
  return folder
}

/** Two children may unpack at once, and the power may fail: own temporary name, fsync, then rename. */
function unpackFile(file: EmbeddedFile, folder: string): void {
  const target = join(folder, file.name)
  if (existsSync(target) && statSync(target).size === file.byte_count) return
  const temporary = `${target}.${process.pid}`
  const fd = openSync(temporary, 'w', 0o700)
  try {
    writeWhole(fd, readFileSync(file.path), 0)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
  renameSync(temporary, target)
}
