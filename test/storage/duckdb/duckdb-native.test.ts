/** The unpacked library: whole or not there, and loadable. */
import { afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { loadEmbeddedLibrary, prepareDuckDB } from '../../../src/storage/duckdb/duckdb-native.ts'
import type { EmbeddedLibrary } from '../../../src/storage/duckdb/embedded-library.ts'

setDefaultTimeout(60_000)

const api = Bun.resolveSync('@duckdb/node-api/package.json', import.meta.dir)
const native = `@duckdb/node-bindings-${process.platform}-${process.arch}/package.json`
const NATIVE = dirname(Bun.resolveSync(native, dirname(api)))
const SHA256 = '0123456789abcdef'.repeat(4)

const folders: string[] = []

/** What the build would have embedded, and an empty data folder. */
function createSetting(): { readonly embedded: EmbeddedLibrary; readonly folder: string } {
  const data_dir = mkdtempSync(join(tmpdir(), 'tidemark-test-'))
  folders.push(data_dir)
  prepareDuckDB(data_dir)
  const file = (name: string) => {
    const path = join(NATIVE, name)
    return { name, path, byte_count: statSync(path).size }
  }
  return {
    embedded: { addon: file('duckdb.node'), library: file('libduckdb.so'), sha256: SHA256 },
    folder: join(data_dir, 'native', SHA256.slice(0, 16)),
  }
}

describe('the embedded library', () => {
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
  })

  test('is unpacked once and loaded', () => {
    const { embedded, folder } = createSetting()
    const loaded = loadEmbeddedLibrary(embedded) as { library_version(): string }
    expect(loaded.library_version()).toStartWith('v1.')
    expect(readdirSync(folder).toSorted()).toEqual(['duckdb.node', 'libduckdb.so'])
    const unpacked_at = statSync(join(folder, 'libduckdb.so')).mtimeMs
    loadEmbeddedLibrary(embedded)
    expect(statSync(join(folder, 'libduckdb.so')).mtimeMs).toBe(unpacked_at)
  })

  test('replaces what a crash left half', () => {
    const { embedded, folder } = createSetting()
    mkdirSync(folder, { recursive: true })
    copyFileSync(embedded.addon.path, join(folder, 'duckdb.node'))
    writeFileSync(join(folder, 'libduckdb.so'), 'half')
    loadEmbeddedLibrary(embedded)
    expect(statSync(join(folder, 'libduckdb.so')).size).toBe(embedded.library.byte_count)
  })

  test('says why when its folder cannot be made', () => {
    const { embedded, folder } = createSetting()
    writeFileSync(dirname(folder), 'a file where the folder should be')
    expect(() => loadEmbeddedLibrary(embedded)).toThrow('native')
  })
})
