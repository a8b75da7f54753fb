/** The web interface in a real browser, before a real server with the demo product's events. */
import { expect } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { openBrowser } from '../flows/clients/browser.ts'
import {
  PERSONAL_API_KEY,
  type Server,
  type StartOptions,
  startServer,
} from '../flows/processes/server.ts'

export const EMAIL = 'olga@example.com'
export const PASSWORD = 'correct horse battery'

const AXE = readFileSync(Bun.resolveSync('axe-core/axe.min.js', import.meta.dir), 'utf8')

/** WCAG 2.2 AA; contrast too. */
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

export type Scheme = 'light' | 'dark'

type VisitOptions = {
  readonly width?: number
  readonly scheme?: Scheme
  /** Of the browser's clock; that of this machine without it. */
  readonly timezone?: string
  /** Without a session. */
  readonly is_out?: boolean
}

/** A page, what went wrong on it, and the checks that hold for every page. */
export type Visit = AsyncDisposable & {
  readonly page: Page
  readonly context: BrowserContext
  /** Console messages of any kind, exceptions, violations of the content policy. */
  readonly complaints: readonly string[]
}

export type Interface = AsyncDisposable & {
  readonly server: Server
  /** Asks the management API with a key. */
  api(path: string, init?: RequestInit): Promise<unknown>
  visit(options?: VisitOptions): Promise<Visit>
  /** Ends the server; `start` brings it back under its address, with its data, perhaps as another program. */
  stop(): Promise<void>
  start(command?: StartOptions['command']): Promise<void>
}

type InterfaceOptions = {
  /** Persons of the demo product; 0 for an empty project. */
  readonly demo_persons?: number
  /** Without Chromium: for a test that brings a browser of its own. */
  readonly has_browser?: boolean
  /** With the browser that has windows. */
  readonly is_whole_browser?: boolean
  /** Another program than the source. */
  readonly command?: StartOptions['command']
}

/** Starts server and browser. */
export async function openInterface(options: InterfaceOptions = {}): Promise<Interface> {
  const { demo_persons = 60, has_browser = true, is_whole_browser = false, command } = options
  const data_dir = mkdtempSync(join(tmpdir(), 'tidemark-web-'))
  const start = (): Promise<Server> =>
    startServer({
      data_dir,
      ...(command !== undefined && { command }),
      env: { TIDEMARK_BOOTSTRAP_OWNER_EMAIL: EMAIL, TIDEMARK_BOOTSTRAP_OWNER_PASSWORD: PASSWORD },
    })
  let server = await start()
  const browser = has_browser ? await openBrowser({ is_whole: is_whole_browser }) : null
  const api = (path: string, init: RequestInit = {}) => callApi(server.url, path, init)
  if (demo_persons > 0) await fillWithDemo(api, demo_persons)
  return {
    get server() {
      return server
    },
    api,
    visit(visit = {}) {
      if (browser === null) throw new Error('opened without a browser')
      return openVisit(browser, server.url, visit)
    },
    async stop() {
      await server.stop()
    },
    async start(other = command) {
      const port = Number(new URL(server.url).port)
      server = await startServer({
        data_dir,
        port,
        ...(other !== undefined && { command: other }),
      })
    },
    async [Symbol.asyncDispose]() {
      await browser?.close()
      await server.stop()
      rmSync(data_dir, { recursive: true, force: true })
    },
  }
}

async function callApi(url: string, path: string, init: RequestInit): Promise<unknown> {
  const headers = {
    Authorization: `Bearer ${PERSONAL_API_KEY}`,
    'Content-Type': 'application/json',
  }
  const answer = await fetch(`${url}${path}`, { ...init, headers })
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  return JSON.parse((await answer.text()) || 'null')
}

async function fillWithDemo(api: Interface['api'], persons: number): Promise<void> {
  const body = JSON.stringify({ persons, days: 14, seed: 'web' })
  await api('/api/projects/1/generate_demo_data/', { method: 'POST', body })
  for (;;) {
    const state = (await api('/api/projects/1/is_generating_demo_data/')) as Record<string, unknown>
    if (state['is_generating_demo_data'] === false) return
    await Bun.sleep(100)
  }
}

async function openVisit(browser: Browser, url: string, options: VisitOptions): Promise<Visit> {
  const { width = 1440, scheme = 'light', is_out = false, timezone } = options
  const context = await browser.newContext({
    baseURL: url,
    viewport: { width, height: width < 760 ? 844 : 900 },
    colorScheme: scheme,
    isMobile: width < 760,
    hasTouch: width < 760,
    ...(timezone !== undefined && { timezoneId: timezone }),
  })
  if (!is_out) {
    const login = await context.request.post('/api/login/', {
      data: { email: EMAIL, password: PASSWORD },
      headers: { 'X-Tidemark': '1' },
    })
    expect(login.status()).toBe(200)
  }
  const complaints: string[] = []
  context.on('console', (message) => {
    complaints.push(`${message.type()}: ${message.text()} ${message.location().url}`)
  })
  context.on('weberror', (failure) => complaints.push(`exception: ${failure.error().message}`))
  const page = await context.newPage()
  return { page, context, complaints, [Symbol.asyncDispose]: () => context.close() }
}

/** The only rule whose outcome depends on the colour scheme. */
const CONTRAST = ['color-contrast'] as const

/** Runs axe on the page as it is now: rule and elements. */
export async function findBarriers(
  page: Page,
  rules: readonly string[] = RULES,
): Promise<readonly string[]> {
  // Evaluated by the debugger, which the content policy does not bind.
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(AXE)
  // Axe gathers the elements that keep a rule as well, unless told not to.
  const options = JSON.stringify({ runOnly: rules, resultTypes: ['violations'] })
  const found = await page.evaluate<string[]>(
    `axe.run(${options}).then(({ violations }) =>
      violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 200)).join(' | ')))`,
  )
  return found
}

/** By how many px the page is wider than the window. */
export function sidewaysScroll(page: Page): Promise<number> {
  return page.evaluate<number>(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  )
}

/** The name of the element that has the focus, as screen readers say it. */
export function focusedName(page: Page): Promise<string> {
  return page.evaluate<string>(
    `(document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent ?? '').trim()`,
  )
}

const SOON_MS = 10_000

/** Waits until what a page says is as expected; compares then, so that a failure shows the difference. */
export async function expectSoon<Value>(
  read: () => Promise<Value>,
  expected: NoInfer<Value>,
): Promise<void> {
  const until_ms = performance.now() + SOON_MS
  while (performance.now() < until_ms && !Bun.deepEquals(await read(), expected)) {
    await Bun.sleep(20)
  }
  const last: unknown = await read()
  expect(last).toEqual(expected)
}

/** Waits until nothing on the page is being asked for. A live list keeps its connection, so the network is never idle. */
export async function settle(page: Page): Promise<void> {
  await page.evaluate(QUIET_FRAMES)
}

/** Waits until eight frames in a row were drawn without anything that is busy: an answer may lead to another question. */
const QUIET_FRAMES = `new Promise((resolve) => {
  let quiet = 0
  const look = () => {
    quiet = document.querySelector('[aria-busy=true]') === null ? quiet + 1 : 0
    if (quiet >= 8) resolve()
    else requestAnimationFrame(look)
  }
  look()
})`

/** Axe's rules hold, and contrast in each of the schemes, once colours have changed. */
export async function expectOpen(
  page: Page,
  schemes: readonly Scheme[] = ['light', 'dark'],
): Promise<void> {
  await page.emulateMedia({ reducedMotion: 'reduce' })
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme })
    await page.evaluate('Promise.allSettled(document.getAnimations().map((one) => one.finished))')
    const rules = colorScheme === schemes[0] ? undefined : CONTRAST
    expect([colorScheme, await findBarriers(page, rules)]).toEqual([colorScheme, []])
  }
}

/** Pages of a test, or its widths, take turns at the schemes by their number; with `EVERY_CASE=1` each is judged in both. */
export function schemesOf(page_number: number): readonly Scheme[] {
  if (process.env['EVERY_CASE'] === '1') return ['light', 'dark']
  return page_number % 2 === 0 ? ['light'] : ['dark']
}

/** SCREENS: widths of windows in px, narrow ones and wide ones, by the device that a visit begins as. */
export const SCREENS = { phone: [320, 390], desktop: [768, 1440] } as const

/** A name of each device, for a test of both. */
export const DEVICES = ['phone', 'desktop'] as const

const WIDTHS = [...SCREENS.phone, ...SCREENS.desktop]

/** At each width of the window the page fits into it. Charts follow the window some frames later. */
export async function expectFits(page: Page, widths: readonly number[] = WIDTHS): Promise<void> {
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 })
    await page.evaluate(FITTING_FRAMES)
    expect([width, await sidewaysScroll(page)]).toEqual([width, 0])
  }
}

/** Waits until two frames in a row were drawn without sideways scroll, at most two seconds. */
const FITTING_FRAMES = `new Promise((resolve) => {
  const { documentElement: page } = document
  const since = performance.now()
  let fitting = 0
  const look = () => {
    fitting = page.scrollWidth <= page.clientWidth ? fitting + 1 : 0
    if (fitting > 2 || performance.now() - since > 2000) resolve()
    else requestAnimationFrame(look)
  }
  requestAnimationFrame(look)
})`
