/** The web interface's pages, and the scripts and styles that they load. */
import { brotliCompressSync, constants } from 'node:zlib'
import { Refusal } from '../../errors.ts'
import { readWebFiles } from '../../web-files.ts'
import type { WebFile, WebFiles } from '../../web-pack.ts'
import { basePathOf } from '../addresses.ts'
import { accepts } from '../answers/accept-encoding.ts'
import { isKnown } from '../answers/fixed-texts.ts'
import type { AppContext } from '../app-context.ts'
import type { Endpoint } from '../endpoint.ts'
import { sharedBoardReader } from './shared.ts'

/** Addresses outside a project; each belongs to the page of that name. */
const OUTER_PATHS = ['/', '/setup', '/login', '/join', '/reset'] as const

/**
 * The content policy of pages: they load our scripts and styles, and ask this server. Texts of events that reach the page as
 * markup by a fault of ours are thus not run, and no script may write markup at all (trusted types).
 */
const CONTENT_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "style-src-attr 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const PAGE_HEADERS = {
  // A page names the current files; those of the version before it are gone.
  'Cache-Control': 'no-cache',
  'Content-Security-Policy': CONTENT_POLICY,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Referrer-Policy': 'same-origin',
  'X-Frame-Options': 'DENY',
}

const FILE_HEADERS = {
  'Cache-Control': 'public, max-age=31536000, immutable',
  'Cross-Origin-Resource-Policy': 'same-origin',
}

/** Pages of links that are not for search engines. */
const LINK_HEADERS = { ...PAGE_HEADERS, 'X-Robots-Tag': 'noindex' }

/** Creates the endpoints of all pages and their files. */
export function webFileEndpoints(app: AppContext): readonly Endpoint[] {
  const read = readOnce(async () => placeBelow(await readWebFiles(), basePathOf(app.publicUrl())))
  const readShared = sharedBoardReader(app)
  const answerPage =
    (name: string, headers: Readonly<Record<string, string>> = PAGE_HEADERS): Endpoint['answer'] =>
    async (request) => {
      const { pages } = await read()
      const page = pages.get(name) ?? pages.get('')
      if (page === undefined) throw new Error('the web interface has no page')
      return answerFile(request, page, headers)
    }
  return [
    ...OUTER_PATHS.flatMap((path) => reads(path, answerPage(path.slice(1) || 'home'))),
    ...reads('/shared/:token', (request, params, socket) => {
      const [, token] = /^(\w+)\.json$/.exec(params['token'] ?? '') ?? []
      return token === undefined
        ? answerPage('shared', LINK_HEADERS)(request, params, socket)
        : readShared(token, request, socket)
    }),
    ...reads('/p/:project', answerPage('')),
    ...reads('/p/:project/*', (request, params, socket) =>
      answerPage(params['*']?.split('/')[0] ?? '')(request, params, socket),
    ),
    ...reads('/ui/:file', async (request, params) => {
      const file = (await read()).files.get(params['file'] ?? '')
      if (file === undefined) throw new Refusal('not_found', 'Not found.')
      return answerFile(request, file, FILE_HEADERS)
    }),
  ]
}

const reads = (path: string, answer: Endpoint['answer']): readonly Endpoint[] =>
  (['GET', 'HEAD'] as const).map((method) => ({ method, path, answer }))

/**
 * Puts the base path before the addresses that files and pages name, and into the pages, where scripts read it. Done
 * once, and never without a base path.
 */
function placeBelow({ files, pages }: WebFiles, base_path: string): WebFiles {
  if (base_path === '') return { files, pages }
  const place = ([key, file]: readonly [string, WebFile]) => {
    const text = new TextDecoder()
      .decode(Bun.gunzipSync(file.gzip))
      .replaceAll(/(["'`(])\/ui\//g, `$1${base_path}/ui/`)
      .replace(/^(<!doctype html>\s*<html)/i, `$1 data-base="${base_path}"`)
    const gzip = Bun.gzipSync(text)
    const brotli = new Uint8Array(brotliCompressSync(text, { params: QUICKLY }))
    return [key, { ...file, gzip, brotli }] as const
  }
  return { files: new Map([...files].map(place)), pages: new Map([...pages].map(place)) }
}

const QUICKLY = { [constants.BROTLI_PARAM_QUALITY]: 5 }

/** Reads at the first request; a failed attempt is repeated. */
function readOnce(read: () => Promise<WebFiles>): () => Promise<WebFiles> {
  let reading: Promise<WebFiles> | null = null
  return () => {
    reading ??= read().catch((error: unknown) => {
      reading = null
      throw error
    })
    return reading
  }
}

/** Answers in the best encoding that the client accepts, or with 304 when it has the file. */
function answerFile(
  request: Request,
  file: WebFile,
  headers: Readonly<Record<string, string>>,
): Response {
  const all = {
    ...headers,
    'Content-Type': file.content_type,
    ETag: tagOf(file),
    Vary: 'Accept-Encoding',
    'X-Content-Type-Options': 'nosniff',
  }
  if (isKnown(request, all.ETag)) return new Response(null, { status: 304, headers: all })
  const accepted = request.headers.get('accept-encoding')
  if (accepts(accepted, 'br'))
    return new Response(file.brotli, { headers: { ...all, 'Content-Encoding': 'br' } })
  if (accepts(accepted, 'gzip'))
    return new Response(file.gzip, { headers: { ...all, 'Content-Encoding': 'gzip' } })
  return new Response(Bun.gunzipSync(file.gzip), { headers: all })
}

const TAGS = new WeakMap<WebFile, string>()

/** A weak tag, since all encodings share it. */
function tagOf(file: WebFile): string {
  const known = TAGS.get(file)
  if (known !== undefined) return known
  const digest = new Bun.CryptoHasher('sha256').update(file.gzip).digest('base64url')
  const tag = `W/"${digest.slice(0, 22)}"`
  TAGS.set(file, tag)
  return tag
}
