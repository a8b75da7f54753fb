/**
 * The bundle of `src/` that tests of `bun run check` start processes and threads from. From the source, each start
 * transpiles its modules again: a server takes 0.96 s of processor time instead of 0.56 s. The web interface is built
 * once for all servers, not by each for its first page (1.5 s).
 */
import { readFileSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { bundleProgram, WEB_PACK } from '../../src/bundle.ts'

const ROOT = join(import.meta.dir, '../..')

/**
 * Folders below `node_modules`, which a confined process may read. The program is as deep as in the package, which can be
 * packed from it: its files name others by their way from the folder.
 */
const PROGRAM = join(ROOT, 'node_modules/.tidemark-tests')
const SCRIPTS = join(ROOT, 'node_modules/.cache/tidemark-tests')
const MODULES = join(SCRIPTS, 'modules.json')

/** The module that builds the web interface, and what takes its place: a reader of the built one. */
const WEB_FILES = join(ROOT, 'src/web-files.ts')
const READ_BUILT_WEB = `import { unpackWeb } from './web-pack.ts'
export const readWebFiles = async () => unpackWeb(await Bun.file('${join(PROGRAM, WEB_PACK)}').bytes())`

const SOURCE = new Bun.Glob('src/**/*.ts')
const TESTS = new Bun.Glob('test/**/*.ts')

/** `new URL('./data-thread.ts', import.meta.url)`, the file that a Worker is started from. */
const THREAD_URL = /new URL\('\.\/([\w-]+-thread\.ts)', import\.meta\.url\)/g
/** The script beside a test that is started as a process: `ship-once.ts`, `move-process.ts`. */
const SCRIPT_PATH = /join\(import\.meta\.dir, '([\w-]+-(?:once|process)\.ts)'\)/g
/** The file that a process is started from. */
const ENTRY_PATH = /join\(import\.meta\.dir, '(?:\.\.\/)+((?:main|child)\.ts)'\)/g

/** Texts of modules by path: those that start something, changed to start it from the bundle. */
type ModuleTexts = Readonly<Record<string, string>>

/** Bundles the program, and the scripts that start parts of it. */
export async function buildBundle(): Promise<void> {
  await bundleProgram(PROGRAM)
  rmSync(SCRIPTS, { recursive: true, force: true })
  const paths = await Array.fromAsync(SOURCE.scan({ cwd: ROOT, absolute: true }))
  const started = readModules(paths)
    .filter(({ text }) => text.includes('import.meta'))
    .map(({ path, text }) => [path, startFromBundle(path, text)])
  const tests = readModules(await Array.fromAsync(TESTS.scan({ cwd: ROOT, absolute: true })))
  const starting = tests.filter(({ text }) => text.search(SCRIPT_PATH) >= 0)
  const modules: ModuleTexts = Object.fromEntries([
    ...started,
    ...starting.map(({ path, text }) => [path, startScripts(text)]),
    [WEB_FILES, READ_BUILT_WEB],
  ])
  await Bun.build({
    entrypoints: starting.flatMap(({ path, text }) =>
      [...text.matchAll(SCRIPT_PATH)].map(([, name = '']) => join(dirname(path), name)),
    ),
    outdir: SCRIPTS,
    // Files that the server serves are named by their whole path, whatever folder it runs in.
    publicPath: `${SCRIPTS}/`,
    naming: { entry: '[name].[ext]' },
    splitting: true,
    plugins: [replaceModules(modules)],
    // Chooses its library when it is loaded.
    external: ['@duckdb/node-bindings'],
    minify: { syntax: true, whitespace: true, identifiers: false },
    target: 'bun',
  })
  await Bun.write(MODULES, JSON.stringify(modules))
}

/** The plugin that makes this process start its children and Workers from the bundle. */
export function useBundle(): Bun.BunPlugin {
  return replaceModules(JSON.parse(readFileSync(MODULES, 'utf8')) as ModuleTexts)
}

function replaceModules(modules: ModuleTexts): Bun.BunPlugin {
  const filter = new RegExp(
    `^(?:${Object.keys(modules)
      .map((path) => RegExp.escape(path))
      .join('|')})$`,
  )
  return {
    name: 'start-from-bundle',
    setup(build) {
      build.onLoad({ filter }, ({ path }) => ({ loader: 'ts', contents: modules[path] ?? '' }))
    },
  }
}

function startFromBundle(path: string, text: string): string {
  return text
    .replaceAll(THREAD_URL, (_, name: string) => `new URL('file://${bundled(PROGRAM, name)}')`)
    .replaceAll(ENTRY_PATH, (_, name: string) => `'${bundled(PROGRAM, name)}'`)
    .replaceAll('import.meta.dir', `'${dirname(path)}'`)
}

function startScripts(text: string): string {
  return text.replaceAll(SCRIPT_PATH, (_, name: string) => `'${bundled(SCRIPTS, name)}'`)
}

function readModules(paths: readonly string[]): readonly { path: string; text: string }[] {
  return paths.map((path) => ({ path, text: readFileSync(path, 'utf8') }))
}

function bundled(folder: string, entry: string): string {
  return join(folder, `${basename(entry, '.ts')}.js`)
}
