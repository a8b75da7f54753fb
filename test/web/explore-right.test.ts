/** Explore is right: filters of every owner, totals of breakdowns, odd values, and the project's own clock. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { shortNames } from '../../src/web/parts/charts/chart-data.ts'
import { HAS_BROWSER } from '../flows/clients/browser.ts'
import { EVERY_CASE, limitTests, longTest } from '../long-tests.ts'
import {
  expectFits,
  expectSoon,
  findBarriers,
  goInside,
  type Interface,
  openInterface,
  spokenBuckets,
} from './interface.ts'

limitTests(120_000)

type Query = Readonly<Record<string, unknown>>
type Line = { readonly data: readonly number[]; readonly days: readonly string[] }

const PAGEVIEW = { kind: 'EventsNode', event: '$pageview' }
const CREATED = { kind: 'EventsNode', event: 'document_created' }
const ITEM = { kind: 'EventsNode', event: 'item seen' }
const DAILY = {
  kind: 'TrendsQuery',
  series: [PAGEVIEW],
  interval: 'day',
  dateRange: { date_from: '-14d' },
}
const ITEMS = 300
/** Fewest of the smallest. */
const SIZES = [0.5, 5e7, 5e7, 1e8, 1e8, 1e8]
const COMMON = 'https://shop.example/a/long/way/to/the/items'

let web: Interface
beforeAll(async () => {
  if (!HAS_BROWSER) return
  web = await openInterface()
  const batch = Array.from({ length: ITEMS }, (_, index) => ({
    event: 'item seen',
    distinct_id: `visitor ${index % 7}`,
    // The first items are seen most, so that their order is certain.
    properties: {
      item: `${COMMON}/${index}`,
      change: index % 2 === 0 ? -3 : 1,
      size: SIZES[index % SIZES.length],
    },
  }))
  await fetch(`${web.server.url}/batch/`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ api_key: web.token, batch }),
  })
})
afterAll(() => web?.[Symbol.asyncDispose]())

const addressOf = (query: Query, search = ''): string =>
  `/p/${web.project}/explore${search}#q=${encodeURIComponent(JSON.stringify({ kind: 'InsightVizNode', source: query }))}`

async function ask(query: Query): Promise<readonly Line[]> {
  const body = JSON.stringify({ query })
  const answer = await web.api(`/api/projects/${web.project}/query/`, { method: 'POST', body })
  return (answer as { readonly results: readonly Line[] }).results
}

/** The query in the address. */
const queryIn = (page: Page): Query =>
  JSON.parse(decodeURIComponent(new URL(page.url()).hash).slice('#q='.length)).source

/** What the chart says at each of its buckets. */
const spokenIn = (page: Page, count: number): Promise<readonly string[]> =>
  spokenBuckets(page.getByRole('slider', { name: 'Trend' }), count)

const numberIn = (text: string): number => Number(text.split(' ').at(-1)?.replaceAll(',', ''))

/** Adds a filter by what is typed and chosen in its panel. */
async function addFilter(page: Page, property: string, value: string): Promise<void> {
  await page.getByRole('button', { name: 'Filter', exact: true }).last().click()
  await page.getByRole('combobox', { name: 'Property' }).fill(property)
  // Persons have properties of the same name, and their list may come first.
  if (property.startsWith('$')) {
    await page.getByRole('listbox').getByText('Event', { exact: true }).waitFor()
  }
  await page.getByRole('option', { name: property }).first().click()
  const values = page.getByRole('combobox', { name: 'Value' })
  await values.fill(value)
  await page.getByRole('option', { name: value }).first().click()
  await page.keyboard.press('Escape')
}

describe.skipIf(!HAS_BROWSER)('filters', () => {
  /** Page views have no groups. */
  const ALL = { ...DAILY, series: [CREATED] }

  const CASES = [
    ['an event', '$browser', 'Chrome', { type: 'event', key: '$browser' }],
    ['a group', 'industry', 'media', { type: 'group', key: 'industry' }],
    ['a person', 'documents', '1', { type: 'person', key: 'documents' }],
  ] as const
  test.each(EVERY_CASE ? CASES : CASES.slice(0, 2))(
    'by the property of %s keep what the API keeps',
    async (_owner, property, value, condition) => {
      await using visit = await web.visit()
      const { page } = visit
      await page.goto(addressOf(ALL))
      await page.getByRole('slider', { name: 'Trend' }).waitFor()
      await addFilter(page, property, value)
      await page.getByRole('button', { name: /^Remove the filter/ }).waitFor()
      const query = queryIn(page)
      expect(query['properties']).toEqual([expect.objectContaining(condition)])
      const [line] = await ask(query)
      const [whole] = await ask(ALL)
      expect(line?.data).not.toEqual(whole?.data)
      expect(line?.data.some((one) => one > 0)).toBe(true)
      await page.reload()
      await page.getByRole('slider', { name: 'Trend' }).waitFor()
      const spoken = await spokenIn(page, line?.data.length ?? 0)
      expect(spoken.map(numberIn)).toEqual([...(line?.data ?? [])])
      expect(visit.complaints).toEqual([])
    },
  )

  test('by a cohort keep its persons, and the chip has its name', async () => {
    const body = JSON.stringify({
      name: 'Early birds',
      filters: {
        properties: {
          type: 'OR',
          values: [
            {
              type: 'AND',
              values: [{ type: 'person', key: 'email', operator: 'is_set', value: 'is_set' }],
            },
          ],
        },
      },
    })
    const cohorts = `/api/projects/${web.project}/cohorts/`
    const { id } = (await web.api(cohorts, { method: 'POST', body })) as { readonly id: number }
    // Until it is calculated nobody is in it.
    await expectSoon(async () => {
      const { count } = (await web.api(`${cohorts}${id}/`)) as { readonly count: number | null }
      return count !== null
    }, true)
    await using visit = await web.visit()
    const { page } = visit
    await page.goto(addressOf(DAILY))
    await page.getByRole('slider', { name: 'Trend' }).waitFor()
    await page.getByRole('button', { name: 'Filter', exact: true }).last().click()
    await page.getByRole('combobox', { name: 'Property' }).fill('Early')
    await page.getByRole('option', { name: 'Early birds' }).click()
    await page.getByRole('button', { name: 'Remove the filter In Early birds' }).waitFor()
    const query = queryIn(page)
    const [line] = await ask(query)
    expect(line?.data.some((one) => one > 0)).toBe(true)
    await page.getByRole('slider', { name: 'Trend' }).waitFor()
    await page.reload()
    await page.getByRole('slider', { name: 'Trend' }).waitFor()
    const spoken = await spokenIn(page, line?.data.length ?? 0)
    expect(spoken.map(numberIn)).toEqual([...(line?.data ?? [])])
    expect(visit.complaints).toEqual([])
  })
})

describe.skipIf(!HAS_BROWSER)('breakdowns', () => {
  const BY_ITEM = {
    ...DAILY,
    series: [ITEM],
    breakdownFilter: { breakdowns: [{ property: 'item', type: 'event' }] },
  }

  test('of hundreds of values say how many there are, and how many are shown', async () => {
    await using visit = await web.visit()
    const { page } = visit
    await page.goto(addressOf(BY_ITEM))
    await page
      .getByText(`25 of ${ITEMS} values; the rest is counted together as “Other”.`)
      .waitFor()
    // The table's total over all values is that of the API.
    const lines = (await ask(BY_ITEM)) as readonly (Line & { readonly count: number })[]
    expect(lines.reduce((sum, { count }) => sum + count, 0)).toBe(ITEMS)
    await page.getByText('Table', { exact: true }).click()
    const rows = page.getByRole('region', { name: 'Answer' }).locator('tbody tr')
    await rows.first().waitFor()
    const totals = await rows.locator('td:nth-child(2)').allInnerTexts()
    expect(totals.map(Number)).toEqual(lines.map(({ count }) => count))
    expect(await findBarriers(page)).toEqual([])
    expect(visit.complaints).toEqual([])
  })

  longTest(
    'with long names keep what tells them apart, and have the full one on hover',
    async () => {
      await using visit = await web.visit()
      const { page } = visit
      const items = [1, 22, 207].map((index) => `${COMMON}/${index}`)
      const properties = [{ type: 'event', key: 'item', operator: 'exact', value: items }]
      await page.goto(addressOf({ ...BY_ITEM, properties }))
      await page.getByRole('slider', { name: 'Trend' }).waitFor()
      for (const item of items) {
        const label = page.locator(`figure span[title="${item}"]`)
        expect(await label.innerText()).toBe(`…/${item.split('/').at(-1)}`)
      }
    },
  )
})

describe.skipIf(!HAS_BROWSER)('values', () => {
  test('below and at zero are drawn and said as they are', async () => {
    const query = {
      ...DAILY,
      series: [{ ...ITEM, math: 'sum', math_property: 'change' }],
      dateRange: { date_from: '-3d' },
    }
    const [line] = await ask(query)
    expect(line?.data.at(-1)).toBe(-ITEMS)
    await using visit = await web.visit()
    const { page } = visit
    await page.goto(`/p/${web.project}/explore`)
    const show = async (display: string): Promise<void> => {
      await goInside(page, `/p/${web.project}/explore`)
      await page.getByText('What do you want to know?').waitFor()
      await goInside(page, addressOf({ ...query, trendsFilter: { display } }))
    }
    for (const display of ['ActionsLineGraph', 'ActionsAreaGraph', 'ActionsBar']) {
      await show(display)
      await page.getByRole('slider', { name: 'Trend' }).waitFor()
      const spoken = await spokenIn(page, line?.data.length ?? 0)
      expect([display, ...spoken.map(numberIn)]).toEqual([display, ...(line?.data ?? [])])
    }
    await show('BoldNumber')
    await page.getByRole('region', { name: 'Answer' }).getByText('-300').waitFor()
    expect(visit.complaints).toEqual([])
  })

  test('of a pie, a table or a map of another editor are shown as bars', async () => {
    const query = {
      ...DAILY,
      breakdownFilter: { breakdown: '$browser', breakdown_type: 'event' },
      trendsFilter: { display: 'ActionsPie' },
    }
    const totals = (await ask(query)) as readonly { readonly aggregated_value?: number }[]
    await using visit = await web.visit()
    const { page } = visit
    await page.goto(addressOf(query))
    const most = totals[0]?.aggregated_value ?? 0
    await page.getByRole('main').getByText(String(most), { exact: true }).first().waitFor()
    expect(await page.getByRole('combobox', { name: 'Display' }).inputValue()).toBe(
      'ActionsBarValue',
    )
    expect(visit.complaints).toEqual([])
  })

  test('of a histogram are in the order of its bins, as bars of one scale', async () => {
    const query = {
      ...DAILY,
      series: [{ ...ITEM, math: 'avg', math_property: 'size' }],
      breakdownFilter: {
        breakdowns: [{ property: 'size', type: 'event', histogram_bin_count: 3 }],
      },
      trendsFilter: { display: 'ActionsBarValue' },
    }
    await using visit = await web.visit()
    const { page } = visit
    await page.goto(addressOf(query))
    const bars = page.getByRole('list', { name: 'Totals' }).getByRole('button')
    await bars.first().waitFor()
    expect(await bars.locator('> span:first-child').allInnerTexts()).toEqual([
      '0.5 – 33,333,333.67',
      '33,333,333.67 – 66,666,666.83',
      '66,666,666.83 – 100,000,000.01',
    ])
    const tracks = await bars
      .locator('[aria-hidden]')
      .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().width))
    expect(new Set(tracks).size).toBe(1)
    // No condition of an event says in which bin it is.
    await bars.first().click()
    await page.getByRole('list', { name: 'Persons behind the number' }).waitFor()
    expect(await page.getByRole('button', { name: 'Show only these' }).count()).toBe(0)
    expect(visit.complaints).toEqual([])
  })

  test('of so many hours that their bars are thin lines are seen', async () => {
    const query = { ...DAILY, interval: 'hour', dateRange: { date_from: '-30d' } }
    await using visit = await web.visit()
    const { page } = visit
    await page.goto(addressOf({ ...query, trendsFilter: { display: 'ActionsBar' } }))
    await page.getByRole('slider', { name: 'Trend' }).locator('canvas').waitFor()
    // Points of the line's colour, #0b6e69.
    const coloured = await page.evaluate<number>(`(() => {
      const canvas = document.querySelector('[role=slider] canvas')
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
      let count = 0
      for (let at = 0; at < data.length; at += 4) {
        if (data[at] === 0x0b && data[at + 1] === 0x6e && data[at + 2] === 0x69) count += 1
      }
      return count
    })()`)
    expect(coloured).toBeGreaterThan(100)
    expect(visit.complaints).toEqual([])
  })

  test('of addresses show on a phone where these differ', async () => {
    const query = {
      ...DAILY,
      breakdownFilter: { breakdown: '$current_url', breakdown_type: 'event' },
      trendsFilter: { display: 'ActionsBarValue' },
    }
    await using visit = await web.visit({ width: 390 })
    const { page } = visit
    await page.goto(addressOf(query))
    const names = page.getByRole('list', { name: 'Totals' }).locator('button > span:first-child')
    await names.first().waitFor()
    const texts = await names.allInnerTexts()
    expect(texts.filter((text) => text.startsWith('https:'))).toEqual([])
    const cut = await names.evaluateAll((all) =>
      all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent),
    )
    expect(cut).toEqual([])
    expect(visit.complaints).toEqual([])
  })

  test('of many digits fit into a phone', async () => {
    const distinct_id = 'somebody rich'
    const captured = { event: 'paid', distinct_id, properties: { cents: 9.87e18 } }
    await fetch(`${web.server.url}/capture/`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ api_key: web.token, ...captured }),
    })
    const query = {
      ...DAILY,
      series: [{ kind: 'EventsNode', event: 'paid', math: 'sum', math_property: 'cents' }],
    }
    await using visit = await web.visit({ width: 390 })
    const { page } = visit
    await page.goto(addressOf({ ...query, trendsFilter: { display: 'BoldNumber' } }))
    await page.getByText('9,870,000,000,000,000,000').waitFor()
    await expectFits(page, [320, 390])
    expect(visit.complaints).toEqual([])
  })

  longTest('of one bucket are a point, and the bucket that is not over says so', async () => {
    await using visit = await web.visit()
    const { page } = visit
    await page.goto(addressOf({ ...DAILY, series: [ITEM], dateRange: { date_from: 'dStart' } }))
    await page.getByRole('slider', { name: 'Trend' }).waitFor()
    const [spoken = ''] = await spokenIn(page, 1)
    expect(numberIn(spoken)).toBe(ITEMS)
    await page.getByText(/so far/).waitFor()
    await page.goto(addressOf({ ...DAILY, dateRange: { date_from: '-7d', date_to: '-1d' } }))
    await page.reload()
    await spokenIn(page, 1)
    await page.locator('figure p').first().waitFor()
    expect(await page.getByText(/so far/).count()).toBe(0)
    expect(visit.complaints).toEqual([])
  })
})

test.skipIf(!HAS_BROWSER)(
  'a retention of other editors shows the settings that it lacks as the server takes them',
  async () => {
    await using visit = await web.visit()
    const { page } = visit
    const dateRange = { date_from: '-7d' }
    await page.goto(addressOf({ kind: 'RetentionQuery', dateRange, retentionFilter: {} }))
    await page.getByRole('row', { name: /Mean/ }).waitFor()
    const occurrence = page.getByRole('combobox', { name: 'Which occurrence begins' })
    expect(await occurrence.inputValue()).toBe('retention_recurring')
    for (const role of ['Start event', 'Return event']) {
      expect(await page.getByRole('button', { name: `${role}: Page view` }).count()).toBe(1)
    }
    // As many as the range has days.
    expect(await page.getByRole('spinbutton', { name: 'Number of periods' }).inputValue()).toBe('')
    expect(visit.complaints).toEqual([])
  },
)

describe.skipIf(!HAS_BROWSER)("the project's clock", () => {
  /** Ahead of UTC by thirteen hours; the browser is behind by eight. */
  const ZONE = 'Pacific/Auckland'
  const BROWSER = 'America/Los_Angeles'

  longTest(
    'counts, whatever the clock of the browser: days, weeks, notes and what is not over',
    async () => {
      const change = { timezone: ZONE, week_start_day: 1 }
      await web.api(`/api/projects/${web.project}/`, {
        method: 'PATCH',
        body: JSON.stringify(change),
      })
      await using visit = await web.visit({ timezone: BROWSER })
      const { page } = visit
      const here = (date: Date): string =>
        new Intl.DateTimeFormat('sv-SE', { timeZone: ZONE, dateStyle: 'short' }).format(date)
      const daily = { ...DAILY, series: [ITEM], dateRange: { date_from: '-7d' } }
      const [line] = await ask(daily)
      expect(line?.days.at(-1)?.slice(0, 10)).toBe(here(new Date()))
      await page.goto(addressOf(daily))
      await page.getByRole('slider', { name: 'Trend' }).waitFor()
      const spoken = await spokenIn(page, line?.days.length ?? 0)
      const days = spoken.map((text) => text.split(': ')[0])
      expect(days).toEqual(
        (line?.days ?? []).map((day) =>
          new Intl.DateTimeFormat('en-GB', {
            weekday: 'short',
            day: 'numeric',
            month: 'short',
            year: 'numeric',
            timeZone: 'UTC',
          }).format(new Date(`${day.slice(0, 10)}T00:00:00Z`)),
        ),
      )
      expect(spoken.map(numberIn)).toEqual([...(line?.data ?? [])])
      await page.getByText(/so far/).waitFor()

      // A note of today is at the last day of the graph.
      await page.getByRole('button', { name: 'More: Answer' }).click()
      await page.getByRole('menuitem', { name: 'Add a note' }).click()
      expect(await page.getByLabel('On', { exact: true }).inputValue()).toBe(here(new Date()))
      await page.getByRole('textbox', { name: 'What happened' }).fill('Opened')
      await page.getByRole('button', { name: 'Add note' }).click()
      await page.getByRole('button', { name: 'Note: Opened' }).waitFor()
      const { results } = (await web.api(`/api/projects/${web.project}/annotations/`)) as {
        readonly results: readonly { readonly date_marker: string }[]
      }
      expect(results.map(({ date_marker }) => here(new Date(date_marker)))).toEqual([
        here(new Date()),
      ])

      const weekly = { ...daily, interval: 'week', dateRange: { date_from: '-30d' } }
      const [weeks] = await ask(weekly)
      for (const day of weeks?.days ?? [])
        expect(new Date(`${day.slice(0, 10)}T00:00:00Z`).getUTCDay()).toBe(1)
      await page.goto(addressOf(weekly))
      await page.reload()
      await page.getByRole('slider', { name: 'Trend' }).waitFor()
      const weeks_spoken = await spokenIn(page, weeks?.days.length ?? 0)
      expect(weeks_spoken.map((text) => text.split(': ')[0])).toEqual(
        (weeks?.days ?? []).map((day) => {
          const options = {
            day: 'numeric',
            month: 'short',
            year: 'numeric',
            timeZone: 'UTC',
          } as const
          const date = new Date(`${day.slice(0, 10)}T00:00:00Z`)
          return `Week of ${new Intl.DateTimeFormat('en-GB', options).format(date)}`
        }),
      )
      expect(visit.complaints).toEqual([])
    },
  )
})

test('names are cut at the front where they begin alike, never within a word', () => {
  expect(
    shortNames(['https://shop.example/pricing', 'https://shop.example/about', 'Other']),
  ).toEqual(['…/pricing', '…/about', 'Other'])
  expect(shortNames(['https://shop.example/pricing', 'https://shop.example/prices'])).toEqual([
    '…/pricing',
    '…/prices',
  ])
  const alone = ['https://shop.example/pricing', 'Chrome']
  expect(shortNames(alone)).toEqual(alone)
  const unlike = ['The quick brown fox jumps', 'A lazy dog does not jump at all']
  expect(shortNames(unlike)).toEqual(unlike)
  expect(shortNames(['𝒜'.repeat(30), '𝒜'.repeat(31)])).toHaveLength(2)
})
