/** Web analytics: what can be done with every tile, who is behind every number, and the map. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { countryShapes } from '../../src/web/parts/charts/map/world-shapes.ts'
import { HAS_BROWSER } from '../flows/clients/browser.ts'
import { EVERY_CASE, limitTests, longTest } from '../long-tests.ts'
import {
  expectSoon,
  findBarriers,
  goInside,
  type Interface,
  openInterface,
  settle,
  spokenBuckets,
} from './interface.ts'

limitTests(120_000)

const MEMBERS = { dateRange: { date_from: '-7d' }, properties: [], filterTestAccounts: true }

type Row = readonly [value: string, visitors: readonly [number], views: readonly [number]]

let ui: Interface
beforeAll(async () => {
  if (HAS_BROWSER) ui = await openInterface({ demo_persons: 30 })
})
afterAll(() => ui?.[Symbol.asyncDispose]())

async function ask(query: object): Promise<readonly unknown[]> {
  const body = JSON.stringify({ query })
  const answer = await ui.api(`/api/projects/${ui.project}/query/`, { method: 'POST', body })
  return (answer as { readonly results: readonly unknown[] }).results
}

const askRows = async (breakdownBy: string): Promise<readonly Row[]> =>
  (await ask({ kind: 'WebStatsTableQuery', breakdownBy, limit: 9, ...MEMBERS })) as readonly Row[]

const card = (page: Page, name: string) => page.getByRole('region', { name, exact: true })

async function open(page: Page, search = ''): Promise<void> {
  await page.goto(`/p/${ui.project}/web${search}`)
  await card(page, 'Devices').locator('th[scope=row]').first().waitFor()
  await page.getByRole('slider').waitFor()
}

/** Chooses an item of a tile's menu and returns the file that it saves. */
async function download(page: Page, tile: string, item: string): Promise<Buffer> {
  const waiting = page.waitForEvent('download')
  await page.getByRole('button', { name: `More: ${tile}` }).click()
  await page.getByRole('menuitem', { name: item }).click()
  return Buffer.from(await Bun.file(await (await waiting).path()).arrayBuffer())
}

describe.skipIf(!HAS_BROWSER)('the page', () => {
  test('says once that the server does not answer', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await open(page)
    await page.route(/\/api\/|\/_readiness/, (route) => route.abort())
    await page.getByRole('switch', { name: 'Filter out test accounts' }).click()
    await page.getByText('The server does not answer.').waitFor()
    await settle(page)
    expect(await page.getByText('The server does not answer.').count()).toBe(1)
    await page.unrouteAll()
    await page.getByText('The server answers again.').waitFor()
  })
})

test.skipIf(!HAS_BROWSER)(
  'the number of visitors who are online moves nothing on a phone',
  async () => {
    await using visit = await ui.visit({ width: 390 })
    const { page } = visit
    const held = Promise.withResolvers<void>()
    await page.route('**/query/', async (route) => {
      if (/interval 5 minute/.test(route.request().postData() ?? '')) await held.promise
      await route.continue()
    })
    await open(page)
    const figures = page.getByRole('region', { name: 'Figures' })
    const before = await figures.boundingBox()
    held.resolve()
    await page.getByRole('link', { name: /online$/ }).waitFor()
    expect(await figures.boundingBox()).toEqual(before)
  },
)

describe.skipIf(!HAS_BROWSER)('a tile', () => {
  test('saves the rows that the API answers, and a picture of itself', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await open(page, '?sources=InitialReferringDomain&places=Country')
    for (const [tile, by] of [
      ['Pages', 'Page'],
      ['Devices', 'DeviceType'],
    ] as const) {
      const csv = (await download(page, tile, 'Download CSV')).toString().split('\r\n')
      const rows = await askRows(by)
      expect(csv.slice(1)).toEqual(
        rows.map(([value, [visitors], [views]]) => `${value},${visitors},${views}`),
      )
    }
    // A graph, a table and a map; the other tables only with `EVERY_CASE=1`.
    const tables = EVERY_CASE ? ['Pages', 'Sources', 'Devices'] : ['Pages']
    for (const tile of ['Visitors', 'Places', ...tables]) {
      const png = await download(page, tile, 'Download PNG')
      expect([tile, png.subarray(1, 4).toString()]).toEqual([tile, 'PNG'])
      expect(png.length).toBeGreaterThan(4000)
    }
    expect(visit.complaints).toEqual([])
  })

  longTest('of the graph saves a row per day', async () => {
    await using visit = await ui.visit()
    await open(visit.page)
    const csv = (await download(visit.page, 'Visitors', 'Download CSV')).toString().split('\r\n')
    const body = JSON.stringify({ query: { ...dailyVisitors(), compareFilter: { compare: true } } })
    const { results } = (await ui.api(`/api/projects/${ui.project}/query/`, {
      method: 'POST',
      body,
    })) as {
      readonly results: readonly { readonly data: readonly number[]; readonly days: string[] }[]
    }
    const [now, before] = results
    expect(csv).toEqual([
      'Date,Visitors,"Visitors, before"',
      ...(now?.days ?? []).map((day, at) => `${day},${now?.data[at]},${before?.data[at]}`),
    ])
  })

  longTest('is copied as a command that asks the same', async () => {
    await using visit = await ui.visit()
    const { page, context } = visit
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await open(page)
    await page.getByRole('button', { name: 'More: Devices' }).click()
    expect(await findBarriers(page)).toEqual([])
    await page.getByRole('menuitem', { name: 'Copy as curl' }).click()
    await page.getByText('Command copied').waitFor()
    const command = await page.evaluate<string>('navigator.clipboard.readText()')
    const env = { ...process.env, TIDEMARK_API_KEY: 'phx_flow_key_for_tests_only' }
    const child = Bun.spawn(['sh', '-c', `${command} -s`], { env })
    const { results } = JSON.parse(await new Response(child.stdout).text())
    expect(results).toEqual(await askRows('DeviceType'))
    await page.getByRole('button', { name: 'More: Devices' }).click()
    await page.getByRole('menuitem', { name: 'Copy link' }).click()
    await page.getByText('Link copied').waitFor()
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(page.url())
    expect(visit.complaints).toEqual([])
  })

  test('shows its HogQL by the keyboard alone, and the graph leads to the same query in Explore', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await open(page)
    await page.getByRole('button', { name: 'More: Pages' }).focus()
    await page.keyboard.press('Enter')
    // The first item has the focus as soon as the menu is open.
    await page.locator('[role=menuitem]:focus').waitFor()
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog', { name: 'HogQL' })
    await dialog.getByText('SELECT').first().waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Open in Explore' }).click()
    await page.getByRole('heading', { level: 1, name: 'Explore' }).waitFor()
    await page.getByRole('slider', { name: 'Trend' }).waitFor()
    expect(visit.complaints).toEqual([])
  })
})

const VIEWS = {
  kind: 'EventsNode',
  event: null,
  properties: [{ type: 'hogql', key: "event in ('$pageview', '$screen')" }],
}
const dailyVisitors = () => ({
  kind: 'TrendsQuery',
  interval: 'day',
  series: [{ ...VIEWS, math: 'dau' }],
  ...MEMBERS,
})

describe.skipIf(!HAS_BROWSER)('every number', () => {
  /** Each tile once; the others are further breakdowns of the same tiles. */
  const NUMBERS = [
    ['Pages', 'Page', 'pages=Page'],
    ['Sources', 'InitialReferringDomain', 'sources=InitialReferringDomain'],
    ['Places', 'City', 'places=City'],
    ['Devices', 'Browser', 'devices=Browser'],
    ['Pages', 'InitialPage', 'pages=InitialPage'],
    ['Pages', 'ExitPage', 'pages=ExitPage'],
    ['Sources', 'InitialChannelType', 'sources=InitialChannelType'],
  ] as const

  test('of a tile opens as many persons as it says', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/web`)
    const cases = EVERY_CASE ? NUMBERS : NUMBERS.slice(0, 4)
    for (const [at, [tile, by, search]] of cases.entries()) {
      const rows = await askRows(by)
      expect([by, rows.length]).toEqual([by, expect.any(Number)])
      expect(rows.length).toBeGreaterThan(1)
      const [, [visitors]] = rows[1] ?? ['', [0]]
      await goInside(page, `/p/${ui.project}/web?${search}`)
      const row = card(page, tile).locator('tbody tr').nth(1)
      await settle(page)
      await row.getByRole('button').nth(1).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText(visitors.toLocaleString('en-GB'), { exact: true }).waitFor()
      await dialog.getByRole('listitem').first().waitFor()
      while ((await dialog.getByRole('button', { name: 'Show more' }).count()) > 0) {
        await dialog.getByRole('button', { name: 'Show more' }).click()
        await page.waitForTimeout(100)
      }
      await expectSoon(() => dialog.getByRole('listitem').count(), visitors)
      if (at === 0 || EVERY_CASE) expect(await findBarriers(page)).toEqual([])
      await dialog.getByRole('button', { name: 'Show only these' }).click()
      await dialog.waitFor({ state: 'detached' })
      await page
        .getByRole('button', { name: /^Remove the filter/ })
        .first()
        .waitFor()
      expect([by, visit.complaints]).toEqual([by, []])
    }
  })

  longTest('of the graph opens who is behind it, and so does the figure', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await open(page)
    const [line] = (await ask(dailyVisitors())) as readonly { readonly data: readonly number[] }[]
    const second = line?.data[1] ?? 0
    await page.getByRole('slider', { name: 'Visitors over time' }).focus()
    await page.keyboard.press('Home')
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('listitem').first().waitFor()
    await expectSoon(() => dialog.getByRole('listitem').count(), second)
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: /^Bounce rate/ }).click()
    await page.getByRole('slider', { name: 'Bounce rate over time' }).waitFor()
    await page.getByRole('button', { name: 'More: Bounce rate' }).click()
    await page.getByRole('menuitem', { name: 'Show the persons' }).click()
    await dialog.getByText(/%$/).first().waitFor()
    await dialog.getByRole('listitem').first().waitFor()
    expect(visit.complaints).toEqual([])
  })
})

describe.skipIf(!HAS_BROWSER)('the map', () => {
  test('says the countries of the API, names the one under the pointer, and filters by a click', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await open(page)
    const rows = await askRows('Country')
    const [code, [visitors]] = rows[0] ?? ['', [0]]
    const map = card(page, 'Places').getByRole('img')
    const name = new Intl.DisplayNames('en-GB', { type: 'region' }).of(code) ?? ''
    expect(await map.getAttribute('aria-label')).toStartWith(
      `Visitors by country: ${name} ${visitors}`,
    )
    const country = map.locator(`path[data-country=${code}]`).first()
    await country.dispatchEvent('pointerenter')
    await card(page, 'Places').getByText(`${visitors} visitors`).waitFor()
    expect(await findBarriers(page)).toEqual([])
    await country.dispatchEvent('click')
    await page.getByRole('button', { name: `Remove the filter Country code is ${code}` }).waitFor()
    expect(visit.complaints).toEqual([])
  })
})

describe.skipIf(!HAS_BROWSER)('nothing to show', () => {
  const filtersOf = (...filters: readonly object[]): string =>
    `?filters=${encodeURIComponent(JSON.stringify(filters))}`

  longTest('because all visits are tests is said, and a button shows them', async () => {
    const { url } = ui.server
    await fetch(`${url}/capture/`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({
        api_key: ui.token,
        event: '$pageview',
        distinct_id: 'me',
        properties: { $browser: 'Mine', $host: 'localhost:3000', $session_id: Bun.randomUUIDv7() },
      }),
    })
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(
      `/p/${ui.project}/web${filtersOf({ type: 'event', key: '$browser', operator: 'exact', value: ['Mine'] })}`,
    )
    await page.getByText('No page views here.').waitFor()
    expect(await findBarriers(page)).toEqual([])
    await page.getByRole('button', { name: 'Show test visits' }).click()
    await page.getByRole('button', { name: /^Visitors 1 / }).waitFor()
    expect(await page.getByText('No page views here.').count()).toBe(0)
    expect(await page.getByRole('switch', { name: 'Filter out test accounts' }).isChecked()).toBe(
      false,
    )
    expect(visit.complaints).toEqual([])
  })

  longTest('is no reason to refuse a filter on persons', async () => {
    await using visit = await ui.visit()
    const filter = { type: 'person', key: 'email', operator: 'icontains', value: '@' }
    await visit.page.goto(`/p/${ui.project}/web${filtersOf(filter)}`)
    const [figure] = (await ask({
      kind: 'WebOverviewQuery',
      ...MEMBERS,
      properties: [filter],
    })) as readonly { readonly value: number }[]
    await visit.page
      .getByRole('button', { name: new RegExp(`^Visitors ${figure?.value}`) })
      .waitFor()
    expect(figure?.value).toBeGreaterThan(0)
    expect(visit.complaints).toEqual([])
  })

  test('before the first event leads to Start, and the figures come by themselves', async () => {
    const body = JSON.stringify({ name: 'New' })
    const path = '/api/organizations/@current/projects/'
    const { id, api_token } = (await ui.api(path, { method: 'POST', body })) as {
      readonly id: number
      readonly api_token: string
    }
    await using visit = await ui.visit({ width: 390 })
    const { page } = visit
    await page.goto(`/p/${id}/web`)
    await page.getByRole('link', { name: 'Get started' }).waitFor()
    expect(await page.getByRole('slider').count()).toBe(0)
    expect(await findBarriers(page)).toEqual([])
    await fetch(`${ui.server.url}/capture/`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ api_key: api_token, event: '$pageview', distinct_id: 'you' }),
    })
    await page.getByRole('slider').waitFor()
    // That page view has no session, by which all of the page counts, the graph too.
    await page.getByText('No sessions here. Page views without $session_id: 1.').waitFor()
    const days = await spokenBuckets(page.getByRole('slider'), 8)
    expect(days.filter((day) => !day.endsWith(' Visitors 0'))).toEqual([])
    expect(await findBarriers(page)).toEqual([])
    expect(visit.complaints).toEqual([])
  })
})

test('the outlines bear the codes of the countries whose they are, each within the map', () => {
  const shapes = countryShapes()
  const codes = new Set(shapes.map(({ code }) => code))
  expect(codes.size).toBeGreaterThan(170)
  const names = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' })
  for (const code of codes) expect([code, names.of(code) !== undefined]).toEqual([code, true])
  // Where a few countries lie, so that a code on the wrong outline is seen.
  for (const [code, x, y] of [
    ['NL', 513, 66],
    ['BR', 350, 274],
    ['AU', 850, 310],
    ['JP', 830, 130],
    ['ZA', 565, 325],
  ] as const) {
    const points = shapes
      .filter((shape) => shape.code === code)
      .flatMap(({ path }) => path.match(/[\d.-]+,[\d.-]+/g) ?? [])
      .map((point) => point.split(',').map(Number))
    const middle = (at: 0 | 1): number => {
      const values = points.map((point) => point[at] ?? 0)
      return (Math.min(...values) + Math.max(...values)) / 2
    }
    expect([code, Math.abs(middle(0) - x) < 40, Math.abs(middle(1) - y) < 30]).toEqual([
      code,
      true,
      true,
    ])
  }
})
