/** A real server with its pages, and Chromium that opens them; what every page must hold is checked here. */
import { expect } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { readConfig } from '../../src/config.ts'
import { openLog } from '../../src/logs.ts'
import { createFirstThings, type FirstObjects } from '../../src/projects/bootstrap.ts'
import { makeOwnerCode } from '../../src/projects/users/login-links.ts'
import type { Server } from '../../src/serve/listening.ts'
import { startServer } from '../../src/serve.ts'
import { EVERY_CASE } from '../long-tests.ts'
import { schemesOf, widthsOf } from './interface.ts'
import { BROWSER } from './shared.ts'

export const OWNER = { email: 'olga@example.com', password: 'correct horse battery' } as const

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** A test that types into a page before its first frame is drawn was faster than the page's own focus. */
const TYPED_FIRST = 'Autofocus processing was blocked'

type AxeRules = { readonly type: 'tag' | 'rule'; readonly values: readonly string[] }

/** The rules of WCAG 2.2, levels A and AA. */
const ALL_RULES: AxeRules = {
  type: 'tag',
  values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'],
}
/** The only rule whose outcome depends on the colour scheme. */
const CONTRAST: AxeRules = { type: 'rule', values: ['color-contrast'] }

export type Tab = {
  readonly page: Page
  readonly context: BrowserContext
  /** What the console said, and errors that nothing caught. */
  readonly complaints: string[]
}

export type WebWorld = Awaited<ReturnType<typeof openWebWorld>>

/** Starts a server on an empty folder, with the first organization and project; `env` has further settings. */
export async function openWebWorld(env: Readonly<Record<string, string>> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-web-'))
  const config = readConfig({ data_dir: folder }, { TIDEMARK_PORT: '0', ...env })
  const server: Server = await startServer(config, openLog('error', []))
  const presets = { api_token: null, personal_api_key: null }
  const first = createFirstThings(server.control.db, presets, new Date())
  const browser: Browser = await BROWSER.take()
  const contexts: BrowserContext[] = []
  const openContext = async (options: BrowserContextOptions = {}): Promise<BrowserContext> => {
    // A page that moves is drawn sixty times a second while a test waits for it.
    const reducedMotion = EVERY_CASE ? 'no-preference' : 'reduce'
    const context = await browser.newContext({ reducedMotion, ...options })
    contexts.push(context)
    return context
  }
  if (first === null) throw new Error('the folder was not empty')
  const openTab = async (options: { readonly context?: BrowserContext } = {}): Promise<Tab> => {
    const context =
      options.context ?? (await openContext({ viewport: { width: 1440, height: 900 } }))
    const page = await context.newPage()
    page.setDefaultTimeout(15_000)
    const complaints: string[] = []
    page.on('console', (message) => {
      if (!message.text().startsWith(TYPED_FIRST))
        complaints.push(`${message.type()}: ${message.text()}`)
    })
    page.on('pageerror', (error) => complaints.push(error.message))
    return { page, context, complaints }
  }
  return {
    url: server.url,
    db: server.control.db,
    first: first satisfies FirstObjects,
    openContext,
    openTab,
    /** The address that the server prints while nobody has a password. */
    setupLink: () => `${server.url}/setup#${makeOwnerCode(server.control.db, new Date()) ?? ''}`,
    /** Sets the owner's password and returns the tab in which the owner is logged in. */
    setUp: async (): Promise<Tab> => {
      const tab = await openTab()
      const code = makeOwnerCode(server.control.db, new Date())
      await tab.page.request.post(`${server.url}/api/setup/`, {
        headers: { 'X-Tidemark': '1' },
        data: { code, ...OWNER, first_name: 'Olga' },
      })
      return tab
    },
    close: async () => {
      await Promise.all(contexts.map((context) => context.close()))
      BROWSER.give()
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Checked pages take turns at colours and widths. */
let pages_checked = 0

/** Checks a page as it is shown now: accessible by axe's rules, no wider than the screen. */
export async function checkPage({ page }: Tab): Promise<void> {
  pages_checked += 1
  for (const [at, colorScheme] of schemesOf(pages_checked).entries()) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    // Colours change in a transition.
    await page.evaluate('Promise.allSettled(document.getAnimations().map((one) => one.finished))')
    const rules = at === 0 ? ALL_RULES : CONTRAST
    expect([colorScheme, await axeViolations(page, rules)]).toEqual([colorScheme, []])
  }
  for (const width of widthsOf(pages_checked)) {
    await page.setViewportSize({ width, height: 900 })
    const shown = await page.evaluate<number>('document.documentElement.scrollWidth')
    expect([width, shown <= width ? 'fits' : `is ${shown} px wide`]).toEqual([width, 'fits'])
  }
  await page.setViewportSize({ width: 1440, height: 900 })
}

async function axeViolations(page: Page, runOnly: AxeRules): Promise<readonly string[]> {
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(AXE)
  const options = JSON.stringify({ runOnly, resultTypes: ['violations'] })
  const { violations } = await page.evaluate<AxeAnswer>(`axe.run(document, ${options})`)
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  )
}

type AxeAnswer = {
  readonly violations: readonly {
    readonly id: string
    readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
  }[]
}

/** Saves screenshots for people: `SHOTS=<folder>` in the environment. */
export async function shoot({ page }: Tab, name: string): Promise<void> {
  const folder = process.env['SHOTS']
  if (folder === undefined) return
  for (const width of [390, 1440]) {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize({ width, height: 900 })
      await page.emulateMedia({ colorScheme })
      await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`) })
    }
  }
  await page.setViewportSize({ width: 1440, height: 900 })
}
