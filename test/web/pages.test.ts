/** The pages Web and Boards, and what holds for every page: their figures are the API's, their addresses bring them back, nothing bars anyone. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { HAS_BROWSER } from '../flows/clients/browser.ts'
import { limitTests, longTest } from '../long-tests.ts'
import {
  devicesOf,
  expectFits,
  expectOpen,
  expectSoon,
  type Interface,
  openInterface,
  SCREENS,
  schemesOf,
  widthsOf,
} from './interface.ts'

limitTests(60_000)

let ui: Interface
let board_id = 0
let person = { uuid: '', name: '' }
beforeAll(async () => {
  if (!HAS_BROWSER) return
  ui = await openInterface({ demo_persons: 30 })
  const body = JSON.stringify({ name: 'Everything', use_template: 'Product analytics' })
  const board = await ui.api(`/api/projects/${ui.project}/dashboards/`, { method: 'POST', body })
  board_id = (board as { readonly id: number }).id
  const persons = (await ui.api(`/api/projects/${ui.project}/persons/?limit=1`)) as {
    readonly results: readonly (typeof person)[]
  }
  person = persons.results[0] ?? person
})
afterAll(() => ui?.[Symbol.asyncDispose]())

async function ask(query: object): Promise<readonly unknown[]> {
  const body = JSON.stringify({ query })
  const answer = await ui.api(`/api/projects/${ui.project}/query/`, { method: 'POST', body })
  return (answer as { readonly results: readonly unknown[] }).results
}

/** Every page with an address, and what is there once it is drawn. */
const PAGES = [
  ['web', () => `/p/${ui.project}/web`, 'table th[scope=row]'],
  [
    'SQL',
    () => `/p/${ui.project}/sql${hashOf('select event, count() as n from events group by event')}`,
    'td',
  ],
  ['persons', () => `/p/${ui.project}/persons`, 'tbody tr'],
  ['a person', () => `/p/${ui.project}/persons/${person.uuid}`, 'section[aria-label=History] h2'],
  ['boards', () => `/p/${ui.project}/boards`, 'main ul a'],
  ['a board', () => `/p/${ui.project}/boards/${board_id}`, 'article figure'],
] as const

const hashOf = (query: string): string =>
  `#q=${encodeURIComponent(JSON.stringify({ kind: 'HogQLQuery', query }))}`

async function open(page: Page, path: string, drawn: string): Promise<void> {
  await page.goto(path)
  await page.locator(drawn).first().waitFor()
}

describe.skipIf(!HAS_BROWSER)('every page', () => {
  for (const [at, [name, path, drawn]] of PAGES.entries()) {
    test.each(devicesOf(at))(
      `${name} is as wide as the window, without a barrier: %s`,
      async (device) => {
        const [scheme = 'light', ...others] = schemesOf(Math.floor(at / 2))
        await using visit = await ui.visit({ width: SCREENS[device][0], scheme })
        await open(visit.page, path(), drawn)
        await expectOpen(visit.page, [scheme, ...others])
        await expectFits(visit.page, widthsOf(at))
        expect(visit.complaints).toEqual([])
      },
    )
  }
})

type Figure = { readonly key: string; readonly value: number }

describe.skipIf(!HAS_BROWSER)('Web', () => {
  test('shows the figures and the rows that the API answers; one opens a graph, the other filters, in an address that a reload and Back keep', async () => {
    await using visit = await ui.visit()
    await open(visit.page, `/p/${ui.project}/web`, 'table th[scope=row]')
    const members = { dateRange: { date_from: '-7d' }, properties: [], filterTestAccounts: true }
    const figures = (await ask({ kind: 'WebOverviewQuery', ...members })) as readonly Figure[]
    for (const [title, key] of [
      ['Visitors', 'visitors'],
      ['Page views', 'views'],
      ['Sessions', 'sessions'],
    ] as const) {
      const value = figures.find((figure) => figure.key === key)?.value ?? 0
      const text = await visit.page.getByRole('button', { name: title }).first().innerText()
      expect(text.split('\n')[1]).toBe(value.toLocaleString('en-GB'))
    }
    const [row] = await ask({
      kind: 'WebStatsTableQuery',
      breakdownBy: 'Page',
      limit: 9,
      ...members,
    })
    const [path, [visitors]] = row as [string, [number]]
    const first = visit.page.locator('section[aria-label=Pages] tbody tr').first()
    expect((await first.innerText()).split(/\s+/).slice(0, 2)).toEqual([path, String(visitors)])
    // A figure opens its graph, by keyboard.
    const { page } = visit
    await page.getByRole('button', { name: /^Sessions/ }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('slider', { name: 'Sessions over time' }).waitFor()
    expect(new URL(page.url()).searchParams.get('metric')).toBe('sessions')
    // A row filters everything.
    await page.getByRole('button', { name: 'Mobile: show only these' }).click()
    const chip = page.getByRole('button', { name: 'Remove the filter Device type is Mobile' })
    await chip.waitFor()
    await page.reload()
    await chip.waitFor()
    await expectSoon(() => page.locator('section[aria-label=Devices] tbody tr').count(), 1)
    await page.goBack()
    await chip.waitFor({ state: 'detached' })
    expect(visit.complaints).toEqual([])
  })

  longTest('says in place what failed, and asks again', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.route('**/query/', (route) =>
      route.fulfill({
        status: 400,
        json: { type: 'validation_error', code: 'query_timeout', detail: 'Not now.' },
      }),
    )
    await page.goto(`/p/${ui.project}/web`)
    await page.getByText('Not now.').first().waitFor()
    await page.unroute('**/query/')
    // One answer may take away the notes of others.
    const retry = page.getByRole('button', { name: 'Retry' })
    while ((await retry.count()) > 0)
      await retry
        .first()
        .click({ timeout: 2000 })
        .catch(() => null)
    await page.locator('table th[scope=row]').first().waitFor()
  })
})

describe.skipIf(!HAS_BROWSER)('a person', () => {
  longTest('is found by name, and shows flags; a property is added and kept', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/persons`)
    await page.getByRole('searchbox', { name: 'Search email, name or id' }).fill(person.name)
    await page.getByRole('link', { name: person.name }).first().click()
    await page.getByRole('heading', { level: 1, name: person.name }).waitFor()
    await page.getByText('Flags', { exact: true }).last().click()
    await page.getByText('new-editor').waitFor()
    await page.getByRole('button', { name: 'Add' }).click()
    await page.getByLabel('Name').fill('seats')
    await page.getByLabel('Value').fill('12')
    await page.keyboard.press('Enter')
    await page.getByTitle('Change seats').getByText('12').waitFor()
    const kept = (await ui.api(`/api/projects/${ui.project}/persons/${person.uuid}/`)) as {
      readonly properties: Readonly<Record<string, unknown>>
    }
    expect(kept.properties['seats']).toBe(12)
    expect(visit.complaints).toEqual([])
  })
})

describe.skipIf(!HAS_BROWSER)('a board', () => {
  longTest(
    'is made from a template, and its tiles move, grow and go, with a way back',
    async () => {
      await using visit = await ui.visit()
      const { page } = visit
      await page.goto(`/p/${ui.project}/boards`)
      await page.getByRole('button', { name: 'New board' }).first().click()
      await page.getByRole('button', { name: /Product analytics/ }).click()
      await page.getByRole('heading', { level: 1, name: 'Product analytics' }).waitFor()
      const titles = (): Promise<string[]> => page.locator('main article header a').allInnerTexts()
      const [first = '', second = '', ...others] = await titles()
      const act = async (tile: string, action: string): Promise<void> => {
        await page.getByRole('button', { name: `Actions of ${tile}` }).click()
        await page
          .getByRole('menuitem', { name: action })
          .or(page.getByRole('menuitemradio', { name: action }))
          .click()
      }
      await act(first, 'Move later')
      await expectSoon(titles, [second, first, ...others])
      await act(second, 'Whole width')
      await act(first, 'Remove from the board')
      await expectSoon(titles, [second, ...others])
      await page.getByRole('button', { name: 'Undo' }).click()
      await expectSoon(titles, [second, first, ...others])
      await page.reload()
      await page.locator('main article header a').first().waitFor()
      await expectSoon(titles, [second, first, ...others])
      expect(visit.complaints).toEqual([])
    },
  )
})
