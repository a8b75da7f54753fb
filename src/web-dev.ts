/** The development loop of the web interface: `bun run web [address of a running server]` builds at every change and reloads the pages. */
import { watch } from 'node:fs'
import { join } from 'node:path'
import { buildWeb, QUICKLY } from './web-build.ts'
import type { WebFile, WebFiles } from './web-pack.ts'

/** The address of `bun run up` without settings. */
const SERVER_DEFAULT = 'http://127.0.0.1:8000'
const PORT = 8001
/** Editors write a file in several steps. */
const PAUSE_MS = 50

const PAGE = /^\/(?:p\/[^/]+(?:\/([^/]+).*)?|setup|login|join|reset)?\/?$/

/** Loaded by every page; the address restores the state of a page. */
const RELOAD_SCRIPT = `new EventSource('/dev/changes').onmessage = () => location.reload()`

/** The interface as last built; with the bundler's message when it cannot be built. */
type DevBuild = { readonly web: WebFiles } | { readonly error: unknown }

async function build(): Promise<DevBuild> {
  const started_ms = performance.now()
  try {
    const web = await buildWeb(QUICKLY)
    console.log(`built in ${(performance.now() - started_ms).toFixed(0)} ms`)
    return { web }
  } catch (error) {
    console.error(error)
    return { error }
  }
}

/** Builds at every change of `src/web`, one build after the other, and calls `onBuilt`. */
function buildOnChange(onBuilt: (built: DevBuild) => void): void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let last = Promise.resolve()
  const run = async (): Promise<void> => onBuilt(await build())
  watch(join(import.meta.dir, 'web'), { recursive: true }, () => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      last = last.then(run)
    }, PAUSE_MS)
  })
}

const answerFile = ({ gzip, content_type }: WebFile): Response =>
  new Response(gzip, { headers: { 'Content-Type': content_type, 'Content-Encoding': 'gzip' } })

async function answerPage({ gzip }: WebFile): Promise<Response> {
  const html = new TextDecoder().decode(Bun.gunzipSync(gzip))
  const reloading = html.replace('</head>', '<script src="/dev/reload.js"></script></head>')
  return new Response(reloading, { headers: { 'Content-Type': 'text/html; charset=utf-8' } })
}

/** Passes everything that is no page on to the running server. */
async function passOn(request: Request, server: string): Promise<Response> {
  const { pathname, search } = new URL(request.url)
  const { method, headers, body, signal } = request
  try {
    const options = {
      method,
      headers,
      body,
      signal,
      redirect: 'manual',
      decompress: false,
    } as const
    return await fetch(`${server}${pathname}${search}`, options)
  } catch {
    const detail = `No server answers at ${server}. Start one with: bun run up`
    return Response.json(
      { type: 'server_error', code: 'error', detail, attr: null },
      { status: 503 },
    )
  }
}

async function serveInterface(server: string): Promise<void> {
  let built = await build()
  const tabs = new Set<ReadableStreamDefaultController<string>>()
  buildOnChange((next) => {
    built = next
    for (const tab of tabs) tab.enqueue('data: changed\n\n')
  })
  const answer = (request: Request): Response | Promise<Response> => {
    const { pathname } = new URL(request.url)
    if (pathname === '/dev/reload.js')
      return new Response(RELOAD_SCRIPT, { headers: { 'Content-Type': 'text/javascript' } })
    if (pathname === '/dev/changes') return streamChanges(tabs)
    const page = PAGE.exec(pathname)
    const file_name = pathname.startsWith('/ui/') ? pathname.slice('/ui/'.length) : null
    if (page === null && file_name === null) return passOn(request, server)
    if (!('web' in built)) return new Response(Bun.inspect(built.error), { status: 500 })
    const { files, pages } = built.web
    if (file_name !== null) {
      const file = files.get(file_name)
      return file === undefined ? new Response(null, { status: 404 }) : answerFile(file)
    }
    const html = pages.get(page?.[1] ?? pathname.slice(1)) ?? pages.get('')
    return html === undefined ? new Response(null, { status: 404 }) : answerPage(html)
  }
  const { url } = Bun.serve({ hostname: '127.0.0.1', port: PORT, idleTimeout: 0, fetch: answer })
  console.log(`${url.href} shows the interface of ${server}`)
}

/** A stream per open tab, which stays open until the tab is closed. */
function streamChanges(tabs: Set<ReadableStreamDefaultController<string>>): Response {
  let own: ReadableStreamDefaultController<string> | null = null
  const changes = new ReadableStream<string>({
    start(controller) {
      own = controller
      tabs.add(controller)
      controller.enqueue(': open\n\n')
    },
    cancel() {
      if (own !== null) tabs.delete(own)
    },
  })
  return new Response(changes, { headers: { 'Content-Type': 'text/event-stream' } })
}

await serveInterface(process.argv[2] ?? SERVER_DEFAULT)
