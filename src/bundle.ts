/**
 * Bundles the program: main.js, child.js for its child processes, the modules that are imported when they are needed, and a file
 * for each Worker, compiled to bytecode. Bun starts it in half of the processor time that the source takes, which has
 * 1,500 modules to read and to transpile. A process reads its files whole, which takes 1.4 ms for a megabyte.
 */
import { readFileSync, rmSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { buildWeb, QUICKLY } from './web-build.ts'
import { packWeb } from './web-pack.ts'

const ROOT = join(import.meta.dir, '..')
const SOURCE = join(ROOT, 'src')
const ENTRIES = [join(SOURCE, 'main.ts'), join(SOURCE, 'child.ts')]

/** The files that import modules when they are needed: each of these modules becomes a file beside the entries. */
const DIVIDED_FILES = [
  ...ENTRIES,
  join(SOURCE, 'children.ts'),
  join(SOURCE, 'query/worker/confine-query.ts'),
]

/** Workers are further entry points. A file named so sits beside the file that starts it (`./x-thread.ts`). */
export const WORKERS = new Bun.Glob('src/**/*-thread.ts')

/** The file with the web interface, beside main.js. */
export const WEB_PACK = 'web.pack'

/** The file that a Worker is started from, as `new URL('./data-thread.ts', import.meta.url)`. */
const WORKER_URL = /new URL\('\.\/([\w-]+-thread)\.ts', import\.meta\.url\)/g
/** The files that the program and its children are started from. */
const ENTRY_PATH = /join\(import\.meta\.dir, '\.\.\/\.\.\/(main|child)\.ts'\)/g
/** A module that is imported when it is needed. It shares nothing with the one that imports it: each file has what it imports. */
const COMMAND_MODULE = /import\('\.\/([\w/-]+)\.ts'\)/g
/** Packages that stay outside: the first chooses its library when it is loaded, few servers order certificates with the others. */
const OUTSIDE = ['@duckdb/node-bindings', '@peculiar/x509', 'acme-client']

/** Fills a folder below the root of the package, for the running version of Bun. */
export async function bundleProgram(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  const workers = await Array.fromAsync(WORKERS.scan({ cwd: ROOT, absolute: true }))
  await Bun.build({
    entrypoints: [...ENTRIES, ...listCommandModules(), ...workers.toSorted()],
    outdir: folder,
    naming: { entry: '[name].[ext]' },
    plugins: [divideByCommand, readPackedWeb, placeModules(folder), findWebClient],
    external: OUTSIDE,
    minify: { syntax: true, whitespace: true, identifiers: false },
    target: 'bun',
    // Bun reads bytecode of this format only.
    format: 'cjs',
    bytecode: true,
  })
  await Bun.write(join(folder, WEB_PACK), packWeb(await buildWeb(QUICKLY)))
}

function listCommandModules(): readonly string[] {
  const paths = DIVIDED_FILES.flatMap((importer) =>
    [...readFileSync(importer, 'utf8').matchAll(COMMAND_MODULE)].map(([, module]) =>
      join(dirname(importer), `${module}.ts`),
    ),
  )
  return [...new Set(paths)]
}

/** Modules that are imported when they are needed are files beside the entries. */
const divideByCommand: Bun.BunPlugin = {
  name: 'divide-by-command',
  setup(build) {
    build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
      if (!DIVIDED_FILES.includes(path)) return undefined
      const contents = readFileSync(path, 'utf8').replaceAll(
        COMMAND_MODULE,
        (_, module: string) => `Promise.resolve(require(${beside(`${basename(module)}.js`)}))`,
      )
      return { loader: 'ts', contents }
    })
  },
}

/** Modules find files from where the bundle is: Bun would write the paths of this machine into it. */
function placeModules(folder: string): Bun.BunPlugin {
  return {
    name: 'place-modules',
    setup(build) {
      build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const text = readFileSync(path, 'utf8')
        if (!path.startsWith(SOURCE) || !text.includes('import.meta')) return undefined
        const contents = text
          .replaceAll(WORKER_URL, (_, name: string) => `Bun.pathToFileURL(${beside(`${name}.js`)})`)
          .replaceAll(ENTRY_PATH, (_, name: string) => beside(`${name}.js`))
          .replaceAll('import.meta.dir', beside(relative(folder, dirname(path))))
        return { loader: 'ts', contents }
      })
    },
  }
}

/** A path from the folder of the bundle, where the file is from which the process or Worker was started. */
function beside(path: string): string {
  return `require('node:path').join(Bun.main, '..', ${JSON.stringify(path)})`
}

/** The scripts that the server serves are files of a package. */
const findWebClient: Bun.BunPlugin = {
  name: 'find-web-client',
  setup(build) {
    const namespace = 'web-client'
    build.onResolve({ filter: /^#web-client\// }, ({ path }) => ({
      path: `posthog-js/dist/${basename(path)}`,
      namespace,
    }))
    build.onLoad({ filter: /./, namespace }, ({ path }) => ({
      loader: 'js',
      contents: `export default Bun.resolveSync(${JSON.stringify(path)}, ${beside('.')})`,
    }))
  },
}

/** The web interface is read from its file, where the source builds it. */
const readPackedWeb: Bun.BunPlugin = {
  name: 'read-packed-web',
  setup(build) {
    build.onLoad({ filter: /\/src\/web-files\.ts$/ }, () => ({
      loader: 'ts',
      contents: `import { unpackWeb } from './web-pack.ts'
export const readWebFiles = async () => unpackWeb(await Bun.file(${beside(WEB_PACK)}).bytes())`,
    }))
  },
}
