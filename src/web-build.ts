/** Builds the web interface: bundles `src/web`, splits it by page, compresses every file. */
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { WebFile, WebFiles } from './web-pack.ts'

const ROOT = join(import.meta.dir, '..')
const ENTRY = join(ROOT, 'src', 'web', 'index.html')

/** The path at which the server serves the built files. */
const PUBLIC_PATH = '/ui/'

/** Names contain a hash of the content, so that browsers may keep a file for ever. */
const NAME = '[name]-[hash].[ext]'

/** Compression levels: the highest for the executable, low ones for a server from source. */
type Compression = { readonly brotli: number; readonly gzip: number }
export const THOROUGHLY: Compression = { brotli: 11, gzip: 9 }
export const QUICKLY: Compression = { brotli: 4, gzip: 1 }

/** The bundler's record of the files that it read and wrote. */
type BundleRecord = NonNullable<Bun.BuildOutput['metafile']>

type Bundle = { readonly outputs: readonly Bun.BuildArtifact[]; readonly record: BundleRecord }

/** Bundles without compressing. Throws with the bundler's messages when the source does not compile. */
export async function bundleWeb(): Promise<Bundle> {
  const { outputs, metafile } = await Bun.build({
    entrypoints: [ENTRY],
    target: 'browser',
    splitting: true,
    minify: true,
    metafile: true,
    publicPath: PUBLIC_PATH,
    naming: { entry: NAME, chunk: NAME, asset: NAME },
    define: { 'process.env.NODE_ENV': '"production"' },
  })
  if (metafile === undefined) throw new Error('the bundler does not say what it has bundled')
  return { outputs, record: metafile }
}

/** Builds the whole interface: each script, the one style sheet, and one HTML per page. */
export async function buildWeb(compression: Compression): Promise<WebFiles> {
  const { outputs, record } = await bundleWeb()
  const html = outputs.find(({ path }) => path.endsWith('.html'))
  if (html === undefined) throw new Error('the bundler wrote no HTML')
  const served = outputs.filter((output) => output !== html && !isCopiedCss(output, record))
  const files = await Promise.all(
    served.map(async (output) =>
      compress(nameOf(output), output.type, await output.text(), compression),
    ),
  )
  const text = await html.text()
  const pages = await Promise.all(
    [['', [] as readonly string[]] as const, ...pageChunks(record)].map(async ([page, chunks]) => {
      const type = 'text/html; charset=utf-8'
      return [page, await compress(page, type, withPreloads(text, chunks), compression)] as const
    }),
  )
  return { files: new Map(files.map((file) => [file.name, file])), pages: new Map(pages) }
}

const nameOf = ({ path }: { readonly path: string }): string => path.replace(/^\.\//, '')

/** Bun writes all CSS into the sheet of the HTML, and a second time into one sheet per page. */
function isCopiedCss(output: Bun.BuildArtifact, { outputs }: BundleRecord): boolean {
  const entry = outputs[output.path]?.entryPoint
  return output.path.endsWith('.css') && entry !== undefined && !entry.endsWith('.html')
}

/** The chunks of every page, by its folder: `src/web/pages/web/page.tsx` → `['web', ['page-1a2b.js', …]]`. */
function pageChunks({ outputs }: BundleRecord): readonly (readonly [string, readonly string[]])[] {
  return Object.entries(outputs).flatMap(([path, { entryPoint }]) => {
    const [, page] = /src\/web\/pages\/([\w-]+)\/page\.tsx$/.exec(entryPoint ?? '') ?? []
    return page === undefined || !path.endsWith('.js') ? [] : [[page, chunksOf(path, outputs)]]
  })
}

/** A chunk and the chunks it imports, directly and through others; the HTML loads its own script anyhow. */
function chunksOf(start: string, outputs: BundleRecord['outputs']): readonly string[] {
  const chunks = new Set<string>()
  const open = [start]
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    const output = outputs[path]
    if (output === undefined || chunks.has(path) || isEntry(output)) continue
    chunks.add(path)
    for (const { path: next, kind } of output.imports) {
      if (kind === 'import-statement') open.push(next)
    }
  }
  return [...chunks].map((path) => nameOf({ path }))
}

const isEntry = ({ entryPoint }: { readonly entryPoint?: string }): boolean =>
  entryPoint?.endsWith('.html') === true

/** Names the page's chunks in its HTML: browsers load them while the first script is still being read. */
function withPreloads(html: string, chunks: readonly string[]): string {
  const links = chunks.map((name) => `<link rel="modulepreload" href="${PUBLIC_PATH}${name}">`)
  return (
    html
      .replace('</head>', `${links.join('')}</head>`)
      // The first picture waits for the script, which knows the theme: no white flash before a dark page.
      .replace('<script type="module"', '<script type="module" blocking="render"')
  )
}

async function compress(
  name: string,
  content_type: string,
  text: string,
  { brotli: quality, gzip: level }: Compression,
): Promise<WebFile> {
  const bytes = Buffer.from(text)
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: quality,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  }
  const [brotlied, gzipped] = await Promise.all([
    promisify(brotliCompress)(bytes, { params }),
    promisify<Buffer, { level: number }, Buffer<ArrayBuffer>>(gzip)(bytes, { level }),
  ])
  return { name, content_type, brotli: new Uint8Array(brotlied), gzip: new Uint8Array(gzipped) }
}
