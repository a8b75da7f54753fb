/** Servers that go, come back and change, sessions and projects that end, storage and clocks that fail: told clearly, and nothing typed is lost. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { HAS_BROWSER } from '../flows/clients/browser.ts'
import { EVERY_CASE, limitTests, longTest } from '../long-tests.ts'
import {
  expectSoon,
  findBarriers,
  type Interface,
  openInterface,
  openWholeInterface,
  settle,
  type Visit,
  type WholeInterface,
} from './interface.ts'
import { PASSWORD } from './shared.ts'

limitTests(120_000)

const ROOT = join(import.meta.dir, '../..')
const DAY_MS = 86_400_000

const DAILY = {
  kind: 'TrendsQuery',
  series: [{ kind: 'EventsNode', event: '$pageview' }],
  interval: 'day',
  dateRange: { date_from: '-7d' },
}
const explorePath = ({ project }: Interface) =>
  `/p/${project}/explore#q=${encodeURIComponent(JSON.stringify(DAILY))}`

const editorOf = (page: Page) => page.locator('.cm-content')

/** Replaces the text of the open SQL tab at once. */
async function typeSql(page: Page, text: string): Promise<void> {
  await editorOf(page).click()
  await page.keyboard.press('Control+A')
  await page.keyboard.insertText(text)
  await page.keyboard.press('Escape')
}

async function expectSql(page: Page, text: string): Promise<void> {
  await editorOf(page).getByText(text).waitFor()
  expect(await editorOf(page).innerText()).toBe(text)
}

/** What the console said beyond connections that failed, which browsers write there by themselves. */
const faultsOf = ({ complaints }: Visit): readonly string[] =>
  complaints.filter((text) => !/Failed to load resource/.test(text))

describe.skipIf(!HAS_BROWSER)('trouble with the server', () => {
  let ui: WholeInterface
  beforeAll(async () => {
    ui = await openWholeInterface({ demo_persons: 20 })
  })
  afterAll(() => ui[Symbol.asyncDispose]())

  test('a server that is gone is said, what is seen stays, and the page recovers by itself', async () => {
    // With no page in a cache.
    await using visit = await ui.visit({ is_alone: true })
    const { page } = visit
    await page.goto(`/p/${ui.project}/events`)
    const rows = page.locator('tbody tr')
    await rows.first().waitFor()
    const count = await rows.count()
    await ui.stop()
    await page.getByText('The server does not answer. Trying again').waitFor()
    expect(await findBarriers(page)).toEqual([])
    expect(await rows.count()).toBe(count)
    // A page that was not loaded yet waits for the server.
    await page.getByRole('link', { name: 'Boards' }).click()
    await page.getByLabel('Loading the page').waitFor()
    await ui.start()
    await page.getByText('The server answers again.').waitFor()
    await page.getByRole('heading', { level: 1, name: 'Boards' }).waitFor()
    expect(await page.getByText('Trying again').count()).toBe(0)
    // The session is still that of before.
    await page.reload()
    await page.getByRole('heading', { level: 1, name: 'Boards' }).waitFor()
    expect(faultsOf(visit)).toEqual([])
  })

  test('what was typed into a form stays when the server goes, and is saved when it is back', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(explorePath(ui))
    await page.getByRole('slider', { name: 'Trend' }).waitFor()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: 'Save insight' })
    await dialog.getByLabel('Name').fill('Typed without a server')
    await ui.stop()
    await page.keyboard.press('Enter')
    await dialog.getByRole('alert').getByText('The server does not answer.').waitFor()
    expect(await dialog.getByLabel('Name').inputValue()).toBe('Typed without a server')
    await ui.start()
    await page.getByText('The server answers again.').waitFor()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { level: 1, name: 'Typed without a server' }).waitFor()
    expect(faultsOf(visit)).toEqual([])
  })

  longTest('a proxy that answers for a server that is gone is understood', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/web`)
    await page.locator('table th[scope=row]').first().waitFor()
    const gateway = { status: 502, contentType: 'text/html', body: '<h1>502 Bad Gateway</h1>' }
    await page.route(/\/api\/|_readiness/, (route) => route.fulfill(gateway))
    await page.getByRole('link', { name: 'Persons' }).click()
    await page.getByText('The server does not answer. Trying again').waitFor()
    await page.unrouteAll()
    await page.getByText('The server answers again.').waitFor()
    await page.locator('tbody tr').first().waitFor()
  })

  longTest(
    'after an update of the server a reload is offered, and nothing typed is lost',
    async () => {
      const newer = newerVersion()
      // With the files of the version before in no cache.
      await using visit = await ui.visit({ is_alone: true })
      const { page } = visit
      let loads = 0
      page.on('load', () => {
        loads += 1
      })
      await page.goto(`/p/${ui.project}/sql`)
      await typeSql(page, "select 'typed before the update'")
      await ui.stop()
      await ui.start([process.execPath, join(newer, 'src/main.ts')])
      // Running the query finds the new server.
      await page.keyboard.press('Control+Enter')
      await page.locator('td').first().waitFor()
      // The files of the version before are gone: the page that is opened now brings the new one by itself.
      await page.getByRole('link', { name: 'Events' }).click()
      await page.getByRole('heading', { level: 1, name: 'Events of the next version' }).waitFor()
      expect(loads).toBe(2)
      await page.getByRole('link', { name: 'SQL' }).click()
      await expectSql(page, "select 'typed before the update'")
      // A tab that notices the server's absence offers the reload, and leaves the time to the user.
      await ui.stop()
      await editorOf(page).click()
      await page.keyboard.press('Control+Enter')
      await page.getByText('The server does not answer. Trying again').waitFor()
      await ui.start()
      await page.getByText('The server was updated.').waitFor()
      await typeSql(page, "select 'typed after the update'")
      expect(await findBarriers(page)).toEqual([])
      await page.getByRole('button', { name: 'Reload' }).click()
      await expectSql(page, "select 'typed after the update'")
      expect(faultsOf(visit)).toEqual([])
      rmSync(newer, { recursive: true })
    },
  )
})

describe.skipIf(!HAS_BROWSER)('trouble of a page', () => {
  let ui: Interface
  beforeAll(async () => {
    ui = await openInterface({ demo_persons: 20 })
  })
  afterAll(() => ui[Symbol.asyncDispose]())

  test('a page whose script cannot be loaded says so, and Retry brings it', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/web`)
    await page.getByRole('heading', { level: 1, name: 'Web' }).waitFor()
    await page.route(/\/ui\/page-/, (route) => route.abort())
    await page.getByRole('link', { name: 'Events' }).click()
    await page.getByText('This page could not be loaded.').waitFor()
    expect(await findBarriers(page)).toEqual([])
    await page.unrouteAll()
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByRole('heading', { level: 1, name: 'Events' }).waitFor()
  })

  const funnel = `#q=${encodeURIComponent(
    JSON.stringify({
      kind: 'FunnelsQuery',
      series: ['$pageview', 'signed_up'].map((event) => ({ kind: 'EventsNode', event })),
    }),
  )}`

  test('a chart whose script cannot be loaded says so in its place, and Retry brings it', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.route(/\/ui\/funnel-view-/, (route) => route.abort())
    await page.goto(`/p/${ui.project}/explore${funnel}`)
    const answer = page.getByRole('region', { name: 'Answer' })
    await answer.getByText('This part could not be loaded.').waitFor()
    await answer.getByText('Table', { exact: true }).click()
    await answer.getByRole('cell', { name: 'signed_up' }).waitFor()
    await answer.getByText('Chart', { exact: true }).click()
    expect(await findBarriers(page)).toEqual([])
    await page.unrouteAll()
    await answer.getByRole('button', { name: 'Retry' }).click()
    await answer.getByText(/of the previous step/).waitFor()
  })

  test('the script of a chart is loaded while its answer is computed', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    const script = page.waitForRequest(/\/ui\/funnel-view-/)
    await page.route('**/query/', async (route) => {
      await script
      await route.continue()
    })
    await page.goto(`/p/${ui.project}/explore${funnel}`)
    await page.getByText(/of the previous step/).waitFor()
    // The progress of a query that was held back is not known yet.
    expect(visit.complaints.filter((text) => !text.includes('status of 404'))).toEqual([])
  })

  test('a call that alone is blocked is said in its place, asked for again only by Retry, and the rest works', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    let calls = 0
    let probes = 0
    page.on('request', (request) => {
      const { pathname } = new URL(request.url())
      if (pathname.endsWith('/persons/')) calls += 1
      if (pathname.endsWith('/_readiness')) probes += 1
    })
    await page.route('**/api/projects/*/persons/**', (route) => route.abort())
    await page.goto(`/p/${ui.project}/persons`)
    const note = page.getByRole('alert')
    await note.getByText('The server is there, but this request got no answer.').waitFor()
    expect(await note.count()).toBe(1)
    expect(await findBarriers(page)).toEqual([])
    // One repetition, for networks that change; then nothing, also after the pause of an outage.
    await page.waitForTimeout(4000)
    expect([calls, probes]).toEqual([2, 2])
    expect(await note.count()).toBe(1)
    expect(await page.getByText('The server does not answer').count()).toBe(0)
    expect(await page.getByText('The server answers again.').count()).toBe(0)
    await note.getByRole('button', { name: 'Retry' }).click()
    await expectSoon(async () => [calls, probes, await note.count()], [4, 4, 1])
    await page.getByRole('link', { name: 'Events' }).click()
    await page.locator('tbody tr').first().waitFor()
    await page.getByRole('link', { name: 'Persons' }).click()
    await note.waitFor()
    await page.unrouteAll()
    await note.getByRole('button', { name: 'Retry' }).click()
    await page.locator('tbody tr').first().waitFor()
    expect(await note.count()).toBe(0)
    expect(faultsOf(visit)).toEqual([])
  })

  test('a call that fails once, as when the network changes, is repeated without a note', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.route('**/api/projects/*/persons/**', (route) => route.abort(), { times: 1 })
    await page.goto(`/p/${ui.project}/persons`)
    await page.locator('tbody tr').first().waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
    expect(await page.getByText('The server').count()).toBe(0)
    expect(faultsOf(visit)).toEqual([])
  })

  test('a change that alone is blocked is said in its form, and what was typed stays', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(explorePath(ui))
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: 'Save insight' })
    await dialog.getByLabel('Name').fill('Typed behind a blocker')
    let calls = 0
    await page.route(/\/insights\//, (route) => {
      if (route.request().method() !== 'POST') return route.continue()
      calls += 1
      return route.abort()
    })
    await page.keyboard.press('Enter')
    await dialog.getByRole('alert').getByText('this request got no answer').waitFor()
    expect(calls).toBe(1)
    expect(await page.getByText('The server does not answer').count()).toBe(0)
    await page.unrouteAll()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { level: 1, name: 'Typed behind a blocker' }).waitFor()
    expect(faultsOf(visit)).toEqual([])
  })

  test('a session that ends over a half filled form is begun again, and the form is as it was', async () => {
    await using visit = await ui.visit()
    const { page, context } = visit
    await page.goto(explorePath(ui))
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    const form = page.getByRole('dialog', { name: 'Save insight' })
    await form.getByLabel('Name').fill('Half typed')
    await context.clearCookies()
    await page.keyboard.press('Enter')
    const login = page.getByRole('dialog', { name: 'Log in to continue' })
    await login.locator('input[type=password]').fill(PASSWORD)
    expect(await findBarriers(page)).toEqual([])
    await page.keyboard.press('Enter')
    await login.waitFor({ state: 'detached' })
    expect(await form.getByLabel('Name').inputValue()).toBe('Half typed')
    await form.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { level: 1, name: 'Half typed' }).waitFor()
    expect(faultsOf(visit)).toEqual([])
  })

  longTest('two windows keep what was typed in either', async () => {
    await using visit = await ui.visit()
    const { page, context } = visit
    await page.goto(`/p/${ui.project}/sql`)
    const other = await context.newPage()
    await other.goto(`/p/${ui.project}/sql`)
    await typeSql(page, "select 'first window'")
    await expectSql(other, "select 'first window'")
    await other.getByRole('button', { name: 'New tab' }).click()
    await typeSql(other, "select 'second window'")
    await typeSql(page, "select 'first window again'")
    await page.reload()
    await other.reload()
    for (const text of ['first window again', 'second window']) {
      for (const window of [page, other]) {
        await window
          .getByRole('button', { name: new RegExp(`^select '${text.slice(0, 12)}`) })
          .click()
        await expectSql(window, `select '${text}'`)
      }
    }
    expect(visit.complaints).toEqual([])
  })

  const CLOCKS = [
    ['a day ahead', DAY_MS],
    ['a day behind', -DAY_MS],
  ] as const
  longTest.each(EVERY_CASE ? CLOCKS : CLOCKS.slice(0, 1))(
    'a clock that is %s changes nothing on the page',
    async (_, difference_ms) => {
      await using visit = await ui.visit({ is_alone: true })
      const { page } = visit
      await page.addInitScript(`{
      const Real = Date
      const difference_ms = ${difference_ms}
      globalThis.Date = class extends Real {
        constructor(...parts) {
          if (parts.length === 0) super(Real.now() + difference_ms)
          else super(...parts)
        }
        static now() { return Real.now() + difference_ms }
      }
    }`)
      await fetch(`${ui.server.url}/capture/`, {
        method: 'POST',
        body: JSON.stringify({ api_key: ui.token, event: 'just now', distinct_id: 'clock' }),
      })
      await page.goto(`/p/${ui.project}/events`)
      const row = page.getByRole('row').filter({ hasText: 'just now' }).first()
      await row.waitFor()
      expect(await row.locator('time').innerText()).toMatch(
        /^(now|\d+ sec ago|1 min ago) [\d:]{8}$/,
      )
      await page.goto(explorePath(ui))
      const chart = page.getByRole('slider', { name: 'Trend' })
      await chart.waitFor()
      await settle(page)
      await chart.focus()
      await page.keyboard.press('End')
      await page.getByText('so far').waitFor()
      expect(visit.complaints).toEqual([])
    },
  )

  const STORAGES = [
    [
      'blocked',
      `Object.defineProperty(globalThis, 'localStorage', { get() { throw new DOMException('', 'SecurityError') } })`,
    ],
    [
      'full',
      `{
        let text = 'x'.repeat(4_000_000)
        for (let name = 0; text !== ''; ) {
          try { localStorage.setItem('other.' + name, text); name += 1 } catch { text = text.slice(0, text.length / 2) }
        }
      }`,
    ],
  ] as const
  test.each(EVERY_CASE ? STORAGES : STORAGES.slice(0, 1))(
    'storage that is %s is told where something is typed, and everything else works',
    async (_, script) => {
      await using visit = await ui.visit({ is_alone: true })
      const { page } = visit
      await page.addInitScript(script)
      await page.goto(`/p/${ui.project}/web`)
      await page.locator('table th[scope=row]').first().waitFor()
      await page.getByRole('link', { name: 'SQL' }).click()
      await typeSql(page, "select 'kept while the page lasts'")
      await page.getByText("This browser's storage is full or blocked").waitFor()
      expect(await findBarriers(page)).toEqual([])
      await page.keyboard.press('Control+Enter')
      await page.locator('td').first().waitFor()
      await page.getByRole('link', { name: 'Persons' }).click()
      await page.locator('tbody tr').first().waitFor()
      await page.getByRole('link', { name: 'SQL' }).click()
      await expectSql(page, "select 'kept while the page lasts'")
      // What was run is in the address.
      await page.goBack()
      await page.goBack()
      await page.reload()
      await expectSql(page, "select 'kept while the page lasts'")
      expect(visit.complaints).toEqual([])
    },
  )

  longTest(
    'a project that is deleted under the page is said over it, and what was typed can be copied',
    async () => {
      const organizations = (await ui.api('/api/organizations/')) as {
        readonly results: readonly { readonly id: string }[]
      }
      const projects = `/api/organizations/${organizations.results[0]?.id}/projects/`
      const body = JSON.stringify({ name: 'Short-lived' })
      const { id } = (await ui.api(projects, { method: 'POST', body })) as { readonly id: number }
      await using visit = await ui.visit()
      const { page } = visit
      await page.goto(`/p/${id}/sql`)
      await typeSql(page, "select 'typed in vain'")
      await ui.api(`${projects}${id}/`, { method: 'DELETE' })
      await page.keyboard.press('Control+Enter')
      const dialog = page.getByRole('dialog', { name: 'This project is gone' })
      await dialog.getByText('Short-lived').waitFor()
      expect(await findBarriers(page)).toEqual([])
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
      expect(await editorOf(page).innerText()).toContain('typed in vain')
      await page.goto(`/p/${id}/sql`)
      await page.getByText('There is no such page').waitFor()
      await page.getByRole('link', { name: 'Go to the home page' }).click()
      await page.waitForURL(({ pathname }) => !pathname.startsWith(`/p/${id}/`))
      expect(faultsOf(visit)).toEqual([])
    },
  )

  const LARGE = [
    ['large cells', "select repeat('<b>x</b>', 100000) from numbers(13)"],
    [
      'many columns',
      `select ${Array.from({ length: 200 }, (_, at) => `repeat('${at}', 500) as c${at}`).join(', ')} from numbers(100)`,
    ],
    // The tests of SQL load more rows than this.
    ['many rows', "select number, repeat('y', 190) from numbers(50000) limit 50000"],
  ] as const
  longTest.each(EVERY_CASE ? LARGE : LARGE.slice(0, 2))(
    'an answer of 10 MB is shown, and the page goes on working: %s',
    async (_, query) => {
      await using visit = await ui.visit()
      const { page } = visit
      const node = { kind: 'HogQLQuery', query }
      await page.goto(`/p/${ui.project}/sql#q=${encodeURIComponent(JSON.stringify(node))}`)
      await page.locator('td').first().waitFor({ timeout: 60_000 })
      // Only what is in sight is drawn, long texts are cut.
      expect(await page.locator('td').count()).toBeLessThan(5000)
      const size = await page.evaluate<number>('document.body.innerHTML.length')
      expect(size).toBeLessThan(6_000_000)
      await page.getByRole('link', { name: 'Persons' }).click()
      await page.locator('tbody tr').first().waitFor()
      expect(visit.complaints).toEqual([])
    },
  )

  test('a page that cannot draw an answer says so, and the menu still leads elsewhere', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    // Answers of another version, say.
    await page.route(`**/api/projects/${ui.project}/persons/**`, (route) =>
      route.fulfill({ json: { results: [{}, null], next: null } }),
    )
    await page.goto(`/p/${ui.project}/persons`)
    await page.getByText('This page could not show its content.').waitFor()
    expect(await findBarriers(page)).toEqual([])
    await page.getByRole('link', { name: 'Events' }).click()
    await page.locator('tbody tr').first().waitFor()
  })
})

/** The source as a version to come: one page has another title. Returns its folder. */
function newerVersion(): string {
  mkdirSync(join(ROOT, 'dist'), { recursive: true })
  const folder = mkdtempSync(join(ROOT, 'dist', 'newer-'))
  for (const name of ['src', 'sql', 'package.json', 'tsconfig.json']) {
    cpSync(join(ROOT, name), join(folder, name), { recursive: true })
  }
  // Linked file by file: the query process may read no folder outside.
  const linked = Bun.spawnSync(['cp', '-al', join(ROOT, 'node_modules'), folder])
  if (!linked.success) throw new Error(linked.stderr.toString())
  const page = join(folder, 'src/web/pages/events/page.tsx')
  const changed = readFileSync(page, 'utf8').replace(
    'title="Events"',
    'title="Events of the next version"',
  )
  writeFileSync(page, changed)
  return folder
}
