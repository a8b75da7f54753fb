/** The web interface in a real browser, before a real server with the demo product's events. */
import { expect } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core'
import { openBrowser } from '../flows/clients/browser.ts'
import { nextStepMs } from '../flows/clients/patience.ts'
import {
  API_TOKEN,
  PERSONAL_API_KEY,
  type Server,
  type StartOptions,
  startServer,
} from '../flows/processes/server.ts'
import { EVERY_CASE } from '../long-tests.ts'
import { BROWSER, EMAIL, OWNER, PASSWORD, SERVER } from './shared.ts'

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
  /** On a page that no other visit uses, for one that changes what cannot be put back: its clock, scripts before its own. */
  readonly is_alone?: boolean
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
  /** The id of the project, and its token. */
  readonly project: number
  readonly token: string
  /** Asks the management API with a key. */
  api(path: string, init?: RequestInit): Promise<unknown>
  visit(options?: VisitOptions): Promise<Visit>
}

/** With a server of its own, which can be ended; `start` brings it back under its address, with its data, perhaps as another program. */
export type WholeInterface = Interface & {
  stop(): Promise<void>
  start(command?: StartOptions['command']): Promise<void>
}

type InterfaceOptions = {
  /** Persons of the demo product; 0 for an empty project. */
  readonly demo_persons?: number
}

type Api = Interface['api']

/** Opens a new project of the server that the files of this process share. */
export async function openInterface({
  demo_persons = 60,
}: InterfaceOptions = {}): Promise<Interface> {
  const server = await SERVER.take()
  let browser: Promise<Browser> | null = null
  const api: Api = (path, init) => callApi(server.url, path, init)
  const made = (await api('/api/organizations/@current/projects/', {
    method: 'POST',
    body: JSON.stringify({ name: 'Tested' }),
  })) as { readonly id: number; readonly api_token: string }
  if (demo_persons > 0) await fillWithDemo(api, made.id, demo_persons)
  return {
    server,
    project: made.id,
    token: made.api_token,
    api,
    async visit(options = {}) {
      browser ??= BROWSER.take()
      return sharedTabs(await browser, server).open(options)
    },
    async [Symbol.asyncDispose]() {
      if (browser !== null) BROWSER.give()
      SERVER.give()
    },
  }
}

let shared_tabs: { browser: Browser; server: Server; tabs: Tabs } | null = null

/** The tabs of the shared server, also those that other files have left. */
function sharedTabs(browser: Browser, server: Server): Tabs {
  if (shared_tabs?.browser !== browser || shared_tabs.server !== server) {
    shared_tabs = { browser, server, tabs: new Tabs(browser, () => server.url) }
  }
  return shared_tabs.tabs
}

type WholeOptions = InterfaceOptions & {
  /** With the browser that has windows, in a process of its own. */
  readonly is_whole_browser?: boolean
  /** Another program than the source. */
  readonly command?: StartOptions['command']
}

/** Starts a server that is not shared. */
export async function openWholeInterface(options: WholeOptions = {}): Promise<WholeInterface> {
  const { demo_persons = 60, is_whole_browser = false, command } = options
  const data_dir = mkdtempSync(join(tmpdir(), 'tidemark-web-'))
  const program = command === undefined ? {} : { command }
  let server = await startServer({ data_dir, ...program, env: OWNER })
  const browser = is_whole_browser ? await openBrowser({ is_whole: true }) : await BROWSER.take()
  const tabs = new Tabs(browser, () => server.url)
  const api: Api = (path, init) => callApi(server.url, path, init)
  if (demo_persons > 0) await fillWithDemo(api, 1, demo_persons)
  return {
    get server() {
      return server
    },
    project: 1,
    token: API_TOKEN,
    api,
    visit: (visit = {}) => tabs.open(visit),
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
      await tabs.close()
      if (is_whole_browser) await browser.close()
      else BROWSER.give()
      await server.stop()
      rmSync(data_dir, { recursive: true, force: true })
      rmSync(`${data_dir}.log`, { force: true })
    },
  }
}

async function callApi(url: string, path: string, init: RequestInit = {}): Promise<unknown> {
  const headers = {
    Authorization: `Bearer ${PERSONAL_API_KEY}`,
    'Content-Type': 'application/json',
  }
  const answer = await fetch(`${url}${path}`, { ...init, headers })
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  return JSON.parse((await answer.text()) || 'null')
}

async function fillWithDemo(api: Api, project: number, persons: number): Promise<void> {
  const path = `/api/projects/${project}`
  const body = JSON.stringify({ persons, days: 14, seed: 'web' })
  await api(`${path}/generate_demo_data/`, { method: 'POST', body })
  for (;;) {
    const state = (await api(`${path}/is_generating_demo_data/`)) as Record<string, unknown>
    if (state['is_generating_demo_data'] === false) return
    await Bun.sleep(100)
  }
}

/** A page that visits of the same kind use one after the other. */
type Tab = {
  readonly page: Page
  readonly context: BrowserContext
  readonly complaints: string[]
}

/** An address that the interface does not have: a page that is left there draws nothing, asks nothing, and is loaded anew for the next visit. */
const LEFT_PATH = '/left'

/** Clears what a page that was left has stored, also while it was unloaded, before any script of the next visit, and says so. */
const BEGIN_ANEW = `if (window.name === 'left') {
  window.name = ''
  localStorage.clear()
  sessionStorage.clear()
  console.debug('a visit begins')
}`

const isPhone = (width: number): boolean => width < 760

/**
 * Opens visits on pages that earlier ones have left: a load into a known page takes 0.45 s of processor time, one into a
 * new context with a login 1.1 s. Storage, cookies, window and colours begin anew each time, and so does every script.
 */
class Tabs {
  readonly #browser: Browser
  readonly #url: () => string
  readonly #idle = new Map<string, Tab[]>()
  #session: Promise<StorageState> | null = null

  constructor(browser: Browser, url: () => string) {
    this.#browser = browser
    this.#url = url
  }

  async open(options: VisitOptions): Promise<Visit> {
    const {
      width = 1440,
      scheme = 'light',
      is_out = false,
      is_alone = false,
      timezone = '',
    } = options
    const kind = `${isPhone(width)} ${timezone}`
    const is_shared = !is_out && !is_alone
    const tab = (is_shared && this.#idle.get(kind)?.pop()) || (await this.#openTab(options))
    const { page, context } = tab
    await page.setViewportSize({ width, height: isPhone(width) ? 844 : 900 })
    await page.emulateMedia({
      colorScheme: scheme,
      reducedMotion: EVERY_CASE || is_alone ? 'no-preference' : 'reduce',
    })
    const leave = async (): Promise<void> => {
      if (!is_shared || context.pages().length > 1) return context.close()
      await page.unrouteAll({ behavior: 'ignoreErrors' })
      // Ends what the page still asks for. A load of another page would take a tenth of a second of processor time.
      await page.evaluate(`window.name = 'left'; history.replaceState(null, '', '${LEFT_PATH}')`)
      await context.clearCookies()
      await context.addCookies((await this.#logIn()).cookies)
      await context.clearPermissions()
      this.#idle.set(kind, [...(this.#idle.get(kind) ?? []), tab])
    }
    // A server that is gone shows no page.
    return { ...tab, [Symbol.asyncDispose]: () => leave().catch(() => context.close()) }
  }

  /** Closes the pages that no visit uses. */
  async close(): Promise<void> {
    const idle = [...this.#idle.values()].flat()
    this.#idle.clear()
    await Promise.all(idle.map(({ context }) => context.close()))
  }

  async #openTab({ width = 1440, is_out = false, timezone }: VisitOptions): Promise<Tab> {
    const context = await this.#browser.newContext({
      baseURL: this.#url(),
      isMobile: isPhone(width),
      hasTouch: isPhone(width),
      ...(!is_out && { storageState: await this.#logIn() }),
      ...(timezone !== undefined && { timezoneId: timezone }),
    })
    await context.addInitScript(BEGIN_ANEW)
    const complaints: string[] = []
    context.on('console', (message) => {
      // What came before is of the visit before.
      if (message.text() === 'a visit begins') complaints.length = 0
      else complaints.push(`${message.type()}: ${message.text()} ${message.location().url}`)
    })
    context.on('weberror', (failure) => complaints.push(`exception: ${failure.error().message}`))
    return { page: await context.newPage(), context, complaints }
  }

  /** The session of all visits: checking a password takes 0.1 s. */
  #logIn(): Promise<StorageState> {
    this.#session ??= this.#openSession().catch((error: unknown) => {
      this.#session = null
      throw error
    })
    return this.#session
  }

  async #openSession(): Promise<StorageState> {
    const context = await this.#browser.newContext({ baseURL: this.#url() })
    const login = await context.request.post('/api/login/', {
      data: { email: EMAIL, password: PASSWORD },
      headers: { 'X-Tidemark': '1' },
    })
    expect(login.status()).toBe(200)
    const state = await context.storageState()
    await context.close()
    return state
  }
}

type StorageState = Awaited<ReturnType<BrowserContext['storageState']>>

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
  // Rows of a table are alike: those after the eighth took a tenth of the time.
  const rows = EVERY_CASE ? '' : ", exclude: ['tbody tr:nth-child(n + 9)']"
  // Behind a dialog nothing can be reached: pages are judged without one.
  const found = await page.evaluate<string[]>(
    `axe.run({ include: document.querySelector('dialog:modal') ?? document${rows} }, ${options}).then(({ violations }) =>
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

/** The least height of what is touched, in px. */
const TOUCH_PX = 44

/** Buttons, links and summaries of the page's main part that are lower than a finger needs, with their heights. */
export function lowTargets(page: Page): Promise<readonly string[]> {
  return page.evaluate<string[]>(
    `[...document.querySelectorAll('main :is(button, a, summary)')]
      .map((one) => [one.getBoundingClientRect().height, one.ariaLabel ?? one.textContent])
      .filter(([height]) => height > 0 && height < ${TOUCH_PX})
      .map(([height, name]) => name + ': ' + height)`,
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
  const since_ms = performance.now()
  const waitedMs = (): number => performance.now() - since_ms
  while (waitedMs() < SOON_MS && !Bun.deepEquals(await read(), expected)) {
    await Bun.sleep(nextStepMs(waitedMs()))
  }
  const last: unknown = await read()
  expect(last).toEqual(expected)
}

/** Waits until nothing on the page is being asked for. A live list keeps its connection, so the network is never idle. */
export async function settle(page: Page): Promise<void> {
  await page.evaluate(QUIET_FRAMES)
}

/** Waits until eight frames in a row were drawn without anything that is busy: an answer may lead to another query. */
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
    // Those that follow a scrolled box never end.
    await page.evaluate(
      `Promise.allSettled(document.getAnimations()
        .filter(({ timeline }) => timeline === document.timeline).map((one) => one.finished))`,
    )
    const rules = colorScheme === schemes[0] ? undefined : CONTRAST
    expect([colorScheme, await findBarriers(page, rules)]).toEqual([colorScheme, []])
  }
}

/** Pages of a test, or its widths, take turns at the schemes by their number; with `EVERY_CASE=1` each is judged in both. */
export function schemesOf(page_number: number): readonly Scheme[] {
  if (EVERY_CASE) return ['light', 'dark']
  return page_number % 2 === 0 ? ['light'] : ['dark']
}

/** Pages of a test are judged at the narrowest width, and take turns at the others; with `EVERY_CASE=1` at all of them. */
export function widthsOf(page_number: number): readonly number[] {
  const [narrowest, ...others] = WIDTHS
  return EVERY_CASE ? WIDTHS : [narrowest, ...others.slice(page_number % 3, (page_number % 3) + 1)]
}

/** Goes to an address as a link of the interface does: without a load, which takes three times as much processor time. */
export async function goInside(page: Page, path: string): Promise<void> {
  await page.evaluate(`history.pushState(null, '', ${JSON.stringify(path)})`)
}

/** What a chart over time says at each of its buckets, by keyboard. */
export async function spokenBuckets(chart: Locator, count: number): Promise<readonly string[]> {
  await chart.locator('canvas').waitFor()
  await settle(chart.page())
  const numberNow = (): Promise<string | null> => chart.getAttribute('aria-valuenow')
  // Keys do nothing before the graph is drawn.
  await expectSoon(async () => {
    await chart.press('Home')
    return numberNow()
  }, '0')
  const spoken: string[] = []
  for (let index = 0; index < count; index += 1) {
    await expectSoon(numberNow, String(index))
    spoken.push((await chart.getAttribute('aria-valuetext')) ?? '')
    await chart.press('ArrowRight')
  }
  return spoken
}

/** SCREENS: widths of windows in px, narrow ones and wide ones, by the device that a visit begins as. */
export const SCREENS = { phone: [320, 390], desktop: [768, 1440] } as const

const WIDTHS = [...SCREENS.phone, ...SCREENS.desktop] as const

/** Pages of a test take turns at the devices by their number; with `EVERY_CASE=1` each is opened as both. */
export function devicesOf(page_number: number): readonly (keyof typeof SCREENS)[] {
  if (EVERY_CASE) return ['phone', 'desktop']
  return page_number % 2 === 0 ? ['phone'] : ['desktop']
}

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
