/** Debian's headless Chromium, and a small web site that loads posthog-js in several versions. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, BrowserContext } from 'playwright-core'
import { API_TOKEN } from '../processes/server.ts'

const NODE_MODULES = join(import.meta.dir, '../../../node_modules')

/** Versions of posthog-js and the packages they are installed as, newest first. */
export const POSTHOG_JS = {
  '1.449.2': 'posthog-js',
  '1.261.8': 'posthog-js-1.261',
  '1.150.0': 'posthog-js-1.150',
  '1.57.2': 'posthog-js-1.57',
} as const

export type Version = keyof typeof POSTHOG_JS

const VERSIONS: readonly Version[] = ['1.449.2', '1.261.8', '1.150.0', '1.57.2']

/** The versions that tests run in turn: the newest and the oldest, and with `EVERY_CELL=1` those between. */
export const TESTED_VERSIONS: readonly Version[] =
  process.env['EVERY_CELL'] === '1' ? VERSIONS : ['1.449.2', '1.57.2']

/** Debian's Chromium; the shell without windows takes half the processor time for the same tests. */
const PATHS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'] as const

/** Path of the browser: a machine without one skips what needs it. */
const executablePath = process.env['CHROMIUM_PATH'] ?? PATHS.find(existsSync) ?? PATHS[0]

export const HAS_BROWSER = existsSync(executablePath)

if (!HAS_BROWSER) {
  console.warn(
    `Skipped: no browser at ${executablePath}. Install Debian's package chromium-headless-shell or chromium, or name one in CHROMIUM_PATH.`,
  )
}

/** The library sends nothing from a browser that says it is headless. */
const USER_AGENT =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36'

/** Without a sandbox, since tests may run as root; without calls home, since there may be no way out. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/**
 * Pages of a test live for a second: to optimize their scripts takes a seventh more processor time than it saves, and to
 * collect their garbage early a twentieth.
 */
const SHORT_LIVED = '--js-flags=--no-opt --no-maglev --min-semi-space-size=32'

/** Starts the browser; the one with windows, if there is one, where times are measured. */
export async function openBrowser({ is_whole = false } = {}): Promise<Browser> {
  // Loaded here: it takes half a second, and most that look for a browser start none.
  const { chromium } = await import('playwright-core')
  const whole = PATHS[1]
  const path = is_whole && existsSync(whole) ? whole : executablePath
  return chromium.launch({
    executablePath: path,
    args: is_whole ? FLAGS : [...FLAGS, SHORT_LIVED],
  })
}

/** A visitor without a past, and what went wrong on the visitor's pages. */
export type Visitor = { readonly context: BrowserContext; readonly complaints: readonly string[] }

/** A new visitor, whose pages' console errors and exceptions are kept. */
export async function openVisitor(browser: Browser): Promise<Visitor> {
  const context = await browser.newContext({ userAgent: USER_AGENT })
  const complaints: string[] = []
  context.on('console', (message) => {
    if (message.type() === 'error') complaints.push(`${message.text()} ${message.location().url}`)
  })
  context.on('weberror', (failure) => complaints.push(failure.error().message))
  return { context, complaints }
}

type Settings = Readonly<Record<string, unknown>> & { readonly api_host: string }

export type Site = {
  /** A page that starts that version of the library. `settings` are the library's own. */
  address(version: Version, settings: Settings): string
  /** A page that loads that version and leaves the start to the test. */
  unstarted(version: Version): string
  /** A page that measures nothing. */
  readonly elsewhere: string
  close(): Promise<void>
}

/** Serves pages whose origin is another than that of the server which `settings.api_host` names. */
export function openSite(): Site {
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url)
      const version = VERSIONS.find((one) => pathname.startsWith(`/${one}/`))
      if (version !== undefined && pathname.endsWith('.js')) {
        const file = join(
          NODE_MODULES,
          POSTHOG_JS[version],
          'dist',
          pathname.split('/').at(-1) ?? '',
        )
        return new Response(Bun.file(file))
      }
      const page = version === undefined ? ELSEWHERE : pageOf(version, searchParams.get('settings'))
      return new Response(page, { headers: { 'Content-Type': 'text/html; charset=utf-8' } })
    },
  })
  return {
    elsewhere: `${server.url.origin}/elsewhere`,
    address(version, settings) {
      const query = `utm_source=news&settings=${encodeURIComponent(JSON.stringify(settings))}`
      return `${server.url.origin}/${version}/shop?${query}`
    },
    unstarted: (version) => `${server.url.origin}/${version}/shop`,
    close: () => server.stop(true),
  }
}

const ELSEWHERE = '<!doctype html><title>Elsewhere</title><p>Nothing is measured here.</p>'

function pageOf(version: Version, settings: string | null): string {
  const start = settings === null ? '' : startOf(JSON.parse(settings))
  return `<!doctype html>
<title>Shop</title>
<main><button id="buy" class="primary large">Buy now</button></main>
<script src="/${version}/array.full.js"></script>
<script>${start}</script>`
}

/** The line that starts the library on a page. */
export function startOf(settings: Settings): string {
  return `posthog.init('${API_TOKEN}', ${JSON.stringify({ opt_out_useragent_filter: true, ...settings })})`
}
