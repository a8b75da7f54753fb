/** Explore in Chromium: every kind of query shows the API's numbers, by pointer and by keyboard, in every state. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { HAS_BROWSER } from '../flows/clients/browser.ts'
import { askUntil } from '../flows/clients/patience.ts'
import { EVERY_CASE, limitTests, longTest } from '../long-tests.ts'
import {
  expectFits,
  expectOpen,
  expectSoon,
  findBarriers,
  focusedName,
  goInside,
  type Interface,
  openInterface,
  settle,
  spokenBuckets,
  widthsOf,
} from './interface.ts'
import { PASSWORD } from './shared.ts'

limitTests(120_000)

const PAGEVIEW = { kind: 'EventsNode', event: '$pageview' }
const CREATED = { kind: 'EventsNode', event: 'document_created' }
const RANGE = { dateRange: { date_from: '-14d' } }
const WEEK = { dateRange: { date_from: '-7d' } }
const BROWSERS = { breakdownFilter: { breakdowns: [{ property: '$browser', type: 'event' }] } }
const DAILY = { kind: 'TrendsQuery', series: [PAGEVIEW], interval: 'day', ...RANGE }

type Query = Readonly<Record<string, unknown>>

let web: Interface

/** One query of each kind and display, by its name. */
const QUERIES: Readonly<Record<string, Query>> = {
  trend: { ...DAILY, compareFilter: { compare: true } },
  formula: {
    ...DAILY,
    series: [PAGEVIEW, { ...PAGEVIEW, math: 'dau' }],
    trendsFilter: { formula: 'A / B' },
  },
  areas: { ...DAILY, ...BROWSERS, trendsFilter: { display: 'ActionsAreaGraph' } },
  bars: { ...DAILY, ...BROWSERS, interval: 'week', trendsFilter: { display: 'ActionsBar' } },
  totals: { ...DAILY, ...BROWSERS, trendsFilter: { display: 'ActionsBarValue' } },
  number: { ...DAILY, trendsFilter: { display: 'BoldNumber' }, compareFilter: { compare: true } },
  funnel: { kind: 'FunnelsQuery', series: [PAGEVIEW, CREATED], ...RANGE, funnelsFilter: {} },
  groups: { kind: 'FunnelsQuery', series: [PAGEVIEW, CREATED], ...RANGE, ...BROWSERS },
  times: {
    kind: 'FunnelsQuery',
    series: [PAGEVIEW, CREATED],
    ...RANGE,
    funnelsFilter: { funnelVizType: 'time_to_convert' },
  },
  conversion: {
    kind: 'FunnelsQuery',
    series: [PAGEVIEW, CREATED],
    ...RANGE,
    interval: 'day',
    funnelsFilter: { funnelVizType: 'trends' },
  },
  retention: {
    kind: 'RetentionQuery',
    ...RANGE,
    retentionFilter: {
      period: 'Day',
      totalIntervals: 7,
      targetEntity: { id: '$pageview', type: 'events' },
      returningEntity: { id: '$pageview', type: 'events' },
    },
  },
  paths: { kind: 'PathsQuery', ...RANGE, pathsFilter: { includeEventTypes: ['$pageview'] } },
  lifecycle: { kind: 'LifecycleQuery', series: [PAGEVIEW], interval: 'day', ...RANGE },
  stickiness: { kind: 'StickinessQuery', series: [PAGEVIEW], interval: 'day', ...RANGE },
}

const addressOf = (query: Query, search = ''): string => {
  const wrapped = { kind: 'InsightVizNode', source: query }
  return `/p/${web.project}/explore${search}#q=${encodeURIComponent(JSON.stringify(wrapped))}`
}

/** All numbers of an answer that its table shows as they are; totals of lines are not among them. */
function numbersIn(value: unknown): readonly number[] {
  if (Array.isArray(value)) return value.flatMap(numbersIn)
  if (typeof value !== 'object' || value === null) return []
  const {
    data,
    bins,
    values,
    count,
    value: one,
    aggregated_value,
  } = value as Readonly<Record<string, unknown>>
  if (Array.isArray(data) && data.length > 0) return data
  if (Array.isArray(bins)) return bins.flat()
  if (values !== undefined) return numbersIn(values)
  return [Number(aggregated_value ?? one ?? count)]
}

const shown = (value: number): string => {
  const fraction =
    Math.abs(value) < 0.1 ? { maximumSignificantDigits: 3 } : { maximumFractionDigits: 2 }
  return new Intl.NumberFormat('en-GB', Number.isInteger(value) ? {} : fraction).format(value)
}

const answerOf = (page: Page) => page.getByRole('region', { name: 'Answer' })

describe.skipIf(!HAS_BROWSER)('Explore', () => {
  beforeAll(async () => {
    web = await openInterface()
  })
  afterAll(() => web[Symbol.asyncDispose]())

  const ask = async (query: Query): Promise<unknown> => {
    const body = JSON.stringify({ query })
    const answer = await web.api(`/api/projects/${web.project}/query/`, { method: 'POST', body })
    return (answer as { readonly results: unknown }).results
  }

  // One visit for several queries: a load takes more processor time than the answer.
  const KINDS = Object.keys(QUERIES)
  test.each([
    ['of trends', 'light', KINDS.slice(0, 6)],
    ['of funnels', 'dark', KINDS.slice(6, 10)],
    ['of the other kinds', 'light', KINDS.slice(10)],
  ] as const)('shows the numbers of the API: queries %s', async (_, scheme, names) => {
    await using visit = await web.visit({ scheme })
    const { page } = visit
    await page.goto(`/p/${web.project}/explore`)
    // Every other query, or with `EVERY_CASE=1` all; the tests of hostile data ask others.
    for (const name of names.filter((_name, index) => EVERY_CASE || index % 2 === 0)) {
      const query = QUERIES[name] ?? {}
      const results = await ask(query)
      await page.setViewportSize({ width: 1440, height: 900 })
      await goInside(page, `/p/${web.project}/explore`)
      await page.getByText('What do you want to know?').waitFor()
      await goInside(page, addressOf(query, '?show=table'))
      await answerOf(page).getByRole('table').waitFor()
      const numbers = numbersIn(results)
      expect([name, numbers.length]).toEqual([name, expect.any(Number)])
      expect(numbers.length).toBeGreaterThan(0)
      const cells = await answerOf(page).getByRole('cell').allInnerTexts()
      const missing = numbers.filter((number) => !cells.includes(shown(number)))
      expect([name, missing.filter((number) => number !== 0)]).toEqual([name, []])
      // The chart of the same answer is drawn without a complaint, in light or dark.
      await page.getByText('Chart', { exact: true }).click()
      await answerOf(page)
        .getByRole('table')
        .first()
        .waitFor({ state: name === 'retention' ? 'visible' : 'hidden' })
      const number = KINDS.indexOf(name)
      if (number % 4 === 0 || EVERY_CASE)
        await expectOpen(page, EVERY_CASE ? ['light', 'dark'] : [scheme])
      await expectFits(page, widthsOf(number))
      expect([name, visit.complaints]).toEqual([name, []])
    }
  })

  test('a step of a funnel that nobody reaches has nobody to list, and is no barrier', async () => {
    await using visit = await web.visit()
    const { page } = visit
    const series = [PAGEVIEW, { kind: 'EventsNode', event: 'never sent' }]
    await page.goto(addressOf({ ...QUERIES['funnel'], kind: 'FunnelsQuery', series }))
    const nobody = answerOf(page).getByRole('button', { name: '0 reached never sent' })
    await nobody.waitFor()
    expect(await nobody.isDisabled()).toBe(true)
    expect(await findBarriers(page)).toEqual([])
    expect(visit.complaints).toEqual([])
  })

  test('a chart over time says each value of each bucket by keyboard, and Enter opens who is behind it', async () => {
    const results = (await ask(DAILY)) as readonly { readonly data: readonly number[] }[]
    const data = results[0]?.data ?? []
    await using visit = await web.visit()
    const { page } = visit
    await page.goto(addressOf(DAILY))
    const chart = page.getByRole('slider', { name: 'Trend' })
    const spoken = await spokenBuckets(chart, data.length)
    expect(spoken.map((text) => text.split('Page view ')[1])).toEqual(data.map(shown))
    const top = data.indexOf(Math.max(...data))
    await spokenBuckets(chart, top)
    await expectSoon(() => chart.getAttribute('aria-valuenow'), String(top))
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog')
    await dialog.getByText(shown(data[top] ?? 0), { exact: true }).waitFor()
    await dialog.getByRole('listitem').first().waitFor()
    expect(await findBarriers(page)).toEqual([])
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'hidden' })
    expect(visit.complaints).toEqual([])
  })

  test('from no query to a saved chart by keyboard alone', async () => {
    await using visit = await web.visit()
    const { page } = visit
    await page.goto(`/p/${web.project}/explore`)
    const example = page.getByRole('button', { name: /Where do they give up/ })
    await example.waitFor()
    const hasFocus = () =>
      page.evaluate<boolean>(
        "document.activeElement?.textContent?.includes('give up') && document.activeElement.matches('button')",
      )
    for (let index = 0; index < 60 && !(await hasFocus()); index += 1) {
      await page.keyboard.press('Tab')
    }
    await page.keyboard.press('Enter')
    await page.getByRole('list', { name: 'Funnel' }).waitFor()
    await page.locator('main:focus').waitFor()
    await page.getByRole('button', { name: 'Save', exact: true }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('textbox', { name: 'Name' }).focus()
    await page.keyboard.type('Signing up')
    // Sent once, however often.
    await page.keyboard.press('Enter')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Signing up' }).waitFor()
    await page.locator('main:focus').waitFor()
    const list = `/api/projects/${web.project}/insights/?saved=true&search=Signing`
    expect(await web.api(list)).toMatchObject({ count: 1 })
    expect(new URL(page.url()).pathname).toStartWith(`/p/${web.project}/insights/`)
    expect(visit.complaints).toEqual([])
  })

  test('the nearest control has the focus when a series, a filter or a breakdown is removed', async () => {
    await using visit = await web.visit()
    const { page } = visit
    const properties = [{ key: '$browser', value: ['Chrome'], operator: 'exact', type: 'event' }]
    await page.goto(
      addressOf({
        ...DAILY,
        series: [...DAILY.series, { kind: 'EventsNode', event: 'signed_up' }],
        properties,
        ...BROWSERS,
      }),
    )
    const remove = async (name: string): Promise<void> => {
      await page.getByRole('button', { name }).press('Enter')
      await page.getByRole('button', { name }).waitFor({ state: 'detached' })
    }
    await remove('Remove signed_up')
    await expectSoon(() => focusedName(page), 'Add a series')
    await remove('Remove the filter Browser is Chrome')
    await expectSoon(() => focusedName(page), 'Filter')
    await remove('Remove breakdown by Browser')
    await expectSoon(() => focusedName(page), 'Add a breakdown')
    expect(visit.complaints).toEqual([])
  })

  test('a saved insight opens, is changed, put back and saved', async () => {
    const query = { kind: 'InsightVizNode', source: DAILY }
    const body = JSON.stringify({ name: 'Daily views', query })
    const { short_id, id } = (await web.api(`/api/projects/${web.project}/insights/`, {
      method: 'POST',
      body,
    })) as {
      readonly short_id: string
      readonly id: number
    }
    await using visit = await web.visit()
    const { page } = visit
    await page.goto(`/p/${web.project}/insights/${short_id}`)
    await page.getByRole('heading', { level: 1, name: 'Daily views' }).waitFor()
    await page.getByRole('slider', { name: 'Trend' }).waitFor()
    const changed = page.getByText('Changed', { exact: true })
    expect(await changed.isVisible()).toBe(false)
    await page.getByRole('combobox', { name: 'Interval' }).selectOption('week')
    await changed.waitFor()
    // What is changed survives a reload before it is saved.
    await page.reload()
    await changed.waitFor()
    await page.getByRole('button', { name: 'Revert' }).click()
    await changed.waitFor({ state: 'hidden' })
    await expectSoon(() => focusedName(page), 'Actions of the insight')
    await expectSoon(() => page.getByRole('combobox', { name: 'Interval' }).inputValue(), 'day')
    await page.getByRole('combobox', { name: 'Interval' }).selectOption('week')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await changed.waitFor({ state: 'hidden' })
    const stored = (await web.api(`/api/projects/${web.project}/insights/${id}/`)) as {
      readonly query: unknown
    }
    expect(stored.query).toEqual({ kind: 'InsightVizNode', source: { ...DAILY, interval: 'week' } })
    expect(visit.complaints).toEqual([])
  })

  test('a change without the right to it is refused in the words of the server', async () => {
    const { short_id } = (await web.api(`/api/projects/${web.project}/insights/`, {
      method: 'POST',
      body: JSON.stringify({ name: 'Of others', query: { kind: 'InsightVizNode', source: DAILY } }),
    })) as { readonly short_id: string }
    await using visit = await web.visit()
    const { page } = visit
    const json = { type: 'x', code: 'permission_denied', detail: 'You cannot edit.', attr: null }
    await page.route('**/insights/*/', (route) =>
      route.request().method() === 'PATCH'
        ? route.fulfill({ status: 403, json })
        : route.continue(),
    )
    await page.goto(`/p/${web.project}/insights/${short_id}`)
    await page.getByRole('combobox', { name: 'Interval' }).selectOption('week')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('alert').getByText('You cannot edit.', { exact: true }).waitFor()
  })

  test('a saved pie stays one, with its settings, when something else of it is changed', async () => {
    const settings = {
      kind: 'InsightVizNode',
      vizSpecificOptions: { ActionsPie: { isDonut: true } },
    }
    const source = { ...DAILY, ...BROWSERS, trendsFilter: { display: 'ActionsPie' } }
    const path = `/api/projects/${web.project}/insights/`
    const { short_id, id } = (await web.api(path, {
      method: 'POST',
      body: JSON.stringify({ query: { ...settings, source } }),
    })) as { readonly short_id: string; readonly id: number }
    await using visit = await web.visit()
    const { page } = visit
    await page.goto(`/p/${web.project}/insights/${short_id}`)
    await page.getByText('Compare', { exact: true }).click()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Changed', { exact: true }).waitFor({ state: 'hidden' })
    const stored = (await web.api(`${path}${id}/`)) as { readonly query: unknown }
    expect(stored.query).toEqual({
      ...settings,
      source: { ...source, compareFilter: { compare: true } },
    })
    expect(visit.complaints).toEqual([])
  })

  test('beside the pointer each line of the period before has its name and day', async () => {
    await using visit = await web.visit()
    const { page } = visit
    await page.goto(addressOf({ ...DAILY, ...BROWSERS, ...WEEK, compareFilter: { compare: true } }))
    const chart = page.getByRole('slider', { name: 'Trend' })
    await chart.locator('canvas').waitFor()
    await chart.hover()
    await page.getByText(/^Chrome, before \(\d+ \w{3}\)$/).waitFor()
    expect(visit.complaints).toEqual([])
  })

  test('a choice that the history refuses does not keep later ones out of the address', async () => {
    await using visit = await web.visit()
    const { page } = visit
    await page.goto(addressOf(DAILY))
    const interval = page.getByRole('combobox', { name: 'Interval' })
    await interval.waitFor()
    // As browsers do after many changes in a short time.
    await page.evaluate(
      `const push = history.pushState
      history.pushState = () => { history.pushState = push; throw new Error('too many changes') }`,
    )
    await interval.selectOption('week')
    await expectSoon(() => Promise.resolve(visit.complaints), ['exception: too many changes'])
    await interval.selectOption('month')
    await page.waitForURL((url) => decodeURIComponent(url.hash).includes('"interval":"month"'))
  })

  test.each([['retention'], ['paths']] as const)(
    'the right edge of %s fades on a phone until its end is reached',
    async (name) => {
      await using visit = await web.visit({ width: 390 })
      const { page } = visit
      await page.goto(addressOf(QUERIES[name] ?? {}))
      const box = answerOf(page).locator('[tabindex="0"]:has(table, svg[role=img])')
      const isFading = (): Promise<boolean> =>
        box.evaluate(
          (element) =>
            element.ownerDocument.defaultView?.getComputedStyle(element).maskSize === '100% 100%',
        )
      await expectSoon(isFading, true)
      await box.evaluate((element) => element.scrollTo(10_000, 0))
      await expectSoon(isFading, false)
      await page.setViewportSize({ width: 1440, height: 900 })
      await expectSoon(isFading, false)
      expect(visit.complaints).toEqual([])
    },
  )

  longTest('Back undoes each choice, and a reload keeps the query', async () => {
    await using visit = await web.visit()
    const { page } = visit
    await page.goto(addressOf(DAILY))
    const display = page.getByRole('combobox', { name: 'Display' })
    const interval = page.getByRole('combobox', { name: 'Interval' })
    await display.selectOption('ActionsBar')
    await interval.selectOption('week')
    await page.reload()
    expect([await display.inputValue(), await interval.inputValue()]).toEqual([
      'ActionsBar',
      'week',
    ])
    await page.goBack()
    await expectValue(interval, 'day')
    await page.goBack()
    await expectValue(display, 'ActionsLineGraph')
    await page.goForward()
    await expectValue(display, 'ActionsBar')
    expect(visit.complaints).toEqual([])
  })

  test('of a query whose address is deflated, two choices in a row are two entries of Back, and Revert ends them', async () => {
    // Browsers keep fifty entries of a page's history.
    await using visit = await web.visit({ is_alone: true })
    const { page } = visit
    // Longer than an address has it plainly.
    const value = Array.from({ length: 600 }, (_, index) => `https://example.com/a/page/${index}`)
    const source = {
      ...DAILY,
      properties: [{ key: '$current_url', type: 'event', operator: 'exact', value }],
    }
    const saved = (await web.api(`/api/projects/${web.project}/insights/`, {
      method: 'POST',
      body: JSON.stringify({ query: { kind: 'InsightVizNode', source } }),
    })) as { readonly short_id: string }
    await page.goto(`/p/${web.project}/insights/${saved.short_id}`)
    const open = page.locator('nav[aria-label="Kind of query"] [aria-current]')
    const click = (...names: readonly string[]): Promise<void> =>
      page.evaluate<void>(
        `for (const name of ${JSON.stringify(names)})
          [...document.querySelectorAll('main button')].find((one) => one.textContent === name).click()`,
      )
    await open.getByText('Trends').waitFor()
    const entries = (): Promise<number> => page.evaluate<number>('history.length')
    const entries_before = await entries()
    await click('Funnel', 'Retention')
    // They are shown before they are in the address.
    await expectSoon(entries, entries_before + 2)
    expect(await open.innerText()).toBe('Retention')
    await page.goBack()
    await expectSoon(() => open.innerText(), 'Funnel')
    await page.goBack()
    await expectSoon(() => open.innerText(), 'Trends')
    await page.goForward()
    await expectSoon(() => open.innerText(), 'Funnel')
    await click('Retention', 'Revert')
    await page.getByText('Changed', { exact: true }).waitFor({ state: 'hidden' })
    await settle(page)
    expect([await open.innerText(), new URL(page.url()).hash]).toEqual(['Trends', ''])
    expect(visit.complaints).toEqual([])
  })

  test('an event, a filter and a breakdown are chosen by keyboard, and the server is asked for them', async () => {
    await using visit = await web.visit()
    const { page } = visit
    await page.goto(addressOf(DAILY))
    const pick = async (button: string, text: string): Promise<void> => {
      await page.getByRole('button', { name: button }).first().focus()
      await page.keyboard.press('Enter')
      // Keys that are pressed before it has the focus would go to the button.
      await page.locator('[role=combobox]:focus').waitFor()
      await page.keyboard.type(text)
      await page.getByRole('option').first().filter({ hasText: text }).waitFor()
      if (button === 'Breakdown' || EVERY_CASE) expect(await findBarriers(page)).toEqual([])
      await page.keyboard.press('Enter')
    }
    await pick('Event of series A: Page view', 'document_created')
    await page.getByRole('button', { name: 'Event of series A: document_created' }).waitFor()
    await pick('Breakdown', 'template')
    await page.getByRole('button', { name: /Remove breakdown by template/ }).waitFor()
    await pick('Filter', 'template')
    // The list of values comes in place of that of properties, and takes the focus.
    await page.locator('[role=combobox][aria-label=Values]:focus').waitFor()
    await page.keyboard.type('roadmap')
    await page
      .getByRole('option', { name: /roadmap/ })
      .first()
      .waitFor()
    await page.keyboard.press('Enter')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: /^template .*roadmap$/ }).waitFor()
    const query = decodeURIComponent(new URL(page.url()).hash)
    expect(JSON.parse(query.slice('#q='.length)).source).toMatchObject({
      series: [
        {
          kind: 'EventsNode',
          event: 'document_created',
          properties: [{ type: 'event', key: 'template', operator: 'exact', value: ['roadmap'] }],
        },
      ],
      breakdownFilter: { breakdowns: [{ property: 'template', type: 'event' }] },
    })
    expect(visit.complaints).toEqual([])
  })

  test('the answer of another kind of query is gone while the next one loads', async () => {
    await using visit = await web.visit()
    const { page } = visit
    await page.goto(addressOf(DAILY))
    const chart = page.getByRole('slider', { name: 'Trend' })
    await chart.waitFor()
    const asked = Promise.withResolvers<void>()
    const answered = Promise.withResolvers<void>()
    await page.route(`**/api/projects/${web.project}/query/`, async (route) => {
      asked.resolve()
      await answered.promise
      await route.continue()
    })
    await page.getByRole('button', { name: 'Lifecycle', exact: true }).click()
    await asked.promise
    expect(await chart.count()).toBe(0)
    answered.resolve()
    await page.getByRole('slider').first().waitFor()
    expect(visit.complaints).toEqual([])
  })

  // Those of SQL cancel one, too.
  longTest('a long query shows its progress, and Cancel stops it in the server', async () => {
    await using visit = await web.visit()
    const { page } = visit
    // Minutes of work for each event.
    const inner =
      'length(arrayFilter(x -> (x + y + length(distinct_id)) % 7 = 3, range(0, 100000)))'
    const heavy = `sum(arraySum(arrayMap(y -> ${inner}, range(0, 1000))))`
    const series = [{ ...PAGEVIEW, math: 'hogql', math_hogql: heavy }]
    await page.goto(addressOf({ ...DAILY, series }))
    await page.getByRole('progressbar', { name: 'Progress of the query' }).waitFor()
    expect(await runningQueries()).toBe(1)
    expect(await findBarriers(page)).toEqual([])
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('Cancelled', { exact: true }).waitFor()
    for (let tries = 0; tries < 100 && (await runningQueries()) > 0; tries += 1) {
      await Bun.sleep(100)
    }
    expect(await runningQueries()).toBe(0)
  })

  test('a range that is too long for its interval says what to do, and offers no Retry', async () => {
    await using visit = await web.visit()
    const { page } = visit
    await page.goto(addressOf({ ...DAILY, interval: 'minute', dateRange: { date_from: '-30d' } }))
    const alert = page.getByRole('alert')
    await alert.getByText('choose a shorter range or a longer interval').waitFor()
    expect(await alert.getByRole('button').count()).toBe(0)
    await page.getByRole('combobox', { name: 'Interval' }).selectOption('hour')
    await page.getByRole('slider', { name: 'Trend' }).waitFor()
  })

  longTest('an answer of a fault is told in place, and Retry asks again', async () => {
    await using visit = await web.visit()
    const { page } = visit
    let status = 500
    await page.route(`**/api/projects/${web.project}/query/`, (route) => {
      const detail = status === 500 ? 'A server error occurred.' : 'No.'
      const json = { type: 'x', code: 'query_timeout', detail, attr: null }
      return status === 200 ? route.continue() : route.fulfill({ status, json })
    })
    await page.goto(`/p/${web.project}/explore`)
    for (const [refusal, text, interval] of [
      [500, 'A server error occurred.', 'day'],
      [403, 'You do not have access to this. No.', 'week'],
      [400, 'No.', 'month'],
    ] as const) {
      status = refusal
      await goInside(page, `/p/${web.project}/explore`)
      await page.getByText('What do you want to know?').waitFor()
      await goInside(page, addressOf({ ...DAILY, interval }))
      const alert = page.getByRole('alert')
      await alert.getByText(text).waitFor()
      if (refusal === 500 || EVERY_CASE) expect(await findBarriers(page)).toEqual([])
      status = 200
      // A right that is missing is missing the next time too.
      if (refusal === 403) {
        expect(await alert.getByRole('button').count()).toBe(0)
        continue
      }
      await alert.getByRole('button', { name: 'Retry' }).click()
      await page.getByRole('slider', { name: 'Trend' }).waitFor()
    }
  })

  longTest(
    'a session that has ended is begun again over the page, and the query goes on',
    async () => {
      await using visit = await web.visit()
      const { page, context } = visit
      await page.goto(addressOf(DAILY))
      await page.getByRole('slider', { name: 'Trend' }).waitFor()
      await context.clearCookies()
      await page.getByRole('combobox', { name: 'Interval' }).selectOption('week')
      const dialog = page.getByRole('dialog', { name: 'Log in to continue' })
      await dialog.waitFor()
      await dialog.locator('input[type=password]').fill(PASSWORD)
      await page.keyboard.press('Enter')
      await dialog.waitFor({ state: 'detached' })
      await page.getByRole('slider', { name: 'Trend' }).waitFor()
      await expectSoon(() => page.getByRole('combobox', { name: 'Interval' }).inputValue(), 'week')
    },
  )

  longTest('ticks the events that paths are made of, all of them where none is named', async () => {
    await using visit = await web.visit()
    const { page } = visit
    const ticked = async (): Promise<readonly string[]> => {
      const boxes = page.getByRole('group', { name: 'Events of the paths' }).locator('label')
      await boxes.first().waitFor()
      return boxes.filter({ has: page.locator(':checked') }).allInnerTexts()
    }
    const expectTicked = async (...names: readonly string[]): Promise<void> => {
      expect(await askUntil(ticked, (found) => Bun.deepEquals(found, names))).toEqual(names)
    }
    await page.goto(addressOf({ kind: 'PathsQuery', ...RANGE, pathsFilter: {} }))
    await expectTicked('Page views', 'Screens', 'Other events')
    await page.getByLabel('Screens').click()
    await page.getByLabel('Other events').click()
    await expectTicked('Page views')
    // The last one stays: none would mean all.
    await expectSoon(() => page.getByLabel('Page views').isDisabled(), true)
    await page.getByLabel('Screens').click()
    await expectTicked('Page views', 'Screens')
    expect(visit.complaints).toEqual([])
  })

  longTest('nothing found says what to do, and a broken address begins anew', async () => {
    await using visit = await web.visit()
    const { page } = visit
    const properties = [{ type: 'event', key: '$browser', operator: 'exact', value: ['None such'] }]
    const query = {
      kind: 'PathsQuery',
      pathsFilter: { includeEventTypes: ['$pageview'] },
      properties,
    }
    await page.goto(addressOf(query))
    await page.getByText('No data matches this query').waitFor()
    await page.goto(addressOf({ kind: 'StickinessQuery', series: [PAGEVIEW], properties }))
    await page.getByText('No data matches this query').waitFor()
    for (const hash of ['#q=%7B', '#q=[]', '#q={"kind":"TrendsQuery","series":"x"}', '#q=null']) {
      await page.goto(`/p/${web.project}/explore${hash}`)
      await page.reload()
      await page.getByText('What do you want to know?').waitFor()
    }
    expect(await findBarriers(page)).toEqual([])
    expect(visit.complaints).toEqual([])
  })

  test('the HogQL of each kind opens in SQL, and has rows there', async () => {
    await using visit = await web.visit()
    const { page } = visit
    await page.goto(`/p/${web.project}/explore`)
    const names = ['trend', 'funnel', 'retention', 'paths', 'lifecycle', 'stickiness']
    for (const name of EVERY_CASE ? names : names.slice(0, 2)) {
      await goInside(page, addressOf(QUERIES[name] ?? {}))
      await page.getByRole('button', { name: 'HogQL' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('SELECT').first().waitFor()
      const link = dialog.getByRole('link', { name: 'Open in SQL' })
      await link.waitFor()
      if (name === 'trend' || EVERY_CASE) expect(await findBarriers(page)).toEqual([])
      await link.click()
      await page.getByRole('region', { name: 'Result' }).locator('td').first().waitFor()
      expect([name, visit.complaints]).toEqual([name, []])
      await goInside(page, `/p/${web.project}/explore`)
      await page.getByText('What do you want to know?').waitFor()
    }
  })

  test('series are named by how they count, or by their letter', async () => {
    await using visit = await web.visit()
    const { page } = visit
    const persons = { ...PAGEVIEW, math: 'dau' }
    const names = (): Promise<readonly string[]> =>
      page.locator('section[aria-label=Answer] tbody tr td:first-child').allInnerTexts()
    await page.goto(
      addressOf({ ...DAILY, series: [PAGEVIEW, persons, CREATED, CREATED] }, '?show=table'),
    )
    await expectSoon(names, [
      'Page view (total count)',
      'Page view (unique persons)',
      'C: document_created',
      'D: document_created',
    ])
    const visitors = { ...CREATED, math: 'dau', custom_name: 'Writers' }
    await goInside(page, addressOf({ ...DAILY, series: [persons, visitors] }, '?show=table'))
    await expectSoon(names, ['Page view (unique persons)', 'Writers'])
    expect(visit.complaints).toEqual([])
  })

  test('an old answer says its age, and is computed again by hand', async () => {
    await using visit = await web.visit()
    const { page } = visit
    const computed = new Date(Date.now() - 40 * 60_000).toISOString()
    const modes: string[] = []
    await page.route(`**/api/projects/${web.project}/query/`, async (route) => {
      const { refresh } = route.request().postDataJSON() as { readonly refresh: string }
      modes.push(refresh)
      const response = await route.fetch()
      const answer = (await response.json()) as Query
      const last_refresh = refresh === 'blocking' ? computed : answer['last_refresh']
      await route.fulfill({ response, json: { ...answer, last_refresh } })
    })
    await page.setViewportSize({ width: 390, height: 844 })
    await page.goto(addressOf(DAILY))
    const age = page.getByRole('button', { name: 'Computed 40 min ago · Refresh' })
    await age.waitFor()
    expect(await findBarriers(page)).toEqual([])
    const chart = page.getByRole('slider', { name: 'Trend' })
    const before = await chart.boundingBox()
    await age.click()
    await age.waitFor({ state: 'detached' })
    expect(modes).toEqual(['blocking', 'force_blocking'])
    // On a phone the age has a line of its own, which stays.
    expect(await chart.boundingBox()).toEqual(before)
    expect(visit.complaints).toEqual([])
  })

  longTest('a HogQL that the server does not take is only read, with the reason', async () => {
    await using visit = await web.visit()
    const { page } = visit
    const detail = 'There is no such function.'
    await page.route(`**/api/projects/${web.project}/query/`, (route) =>
      route.request().postData()?.includes('HogQLMetadata')
        ? route.fulfill({ json: { isValid: false, errors: [{ message: detail }] } })
        : route.continue(),
    )
    await page.goto(addressOf(DAILY))
    await page.getByRole('button', { name: 'HogQL' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText(detail).waitFor()
    expect(await dialog.getByRole('link', { name: 'Open in SQL' }).count()).toBe(0)
  })

  test('CSV has the numbers, a picture is made, and the command asks the same', async () => {
    await using visit = await web.visit()
    const { page } = visit
    const results = (await ask(DAILY)) as readonly { readonly data: readonly number[] }[]
    await page.goto(addressOf(DAILY))
    await page.getByRole('slider', { name: 'Trend' }).waitFor()
    const download = async (item: string): Promise<Buffer> => {
      const waiting = page.waitForEvent('download')
      await page.getByRole('button', { name: 'More' }).click()
      await page.getByRole('menuitem', { name: item }).click()
      const path = await (await waiting).path()
      return Buffer.from(await Bun.file(path).arrayBuffer())
    }
    const lines = (await download('Download CSV')).toString().split('\r\n')
    expect(lines[1]?.split(',').slice(2).map(Number)).toEqual([...(results[0]?.data ?? [])])
    const png = await download('Download PNG')
    expect(png.subarray(1, 4).toString()).toBe('PNG')
    expect(png.length).toBeGreaterThan(5000)
    expect(visit.complaints).toEqual([])
  })

  longTest('a note stands on the graph at its day, and can be deleted', async () => {
    await using visit = await web.visit()
    const { page } = visit
    await page.goto(addressOf(DAILY))
    await page.getByRole('slider', { name: 'Trend' }).waitFor()
    await page.getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem', { name: 'Add a note' }).click()
    await page.getByRole('textbox', { name: 'What happened' }).fill('<b>Launch</b>')
    await page.getByRole('button', { name: 'Add note' }).click()
    const note = page.getByRole('button', { name: 'Note: <b>Launch</b>' })
    await note.waitFor()
    expect(await findBarriers(page)).toEqual([])
    await note.click()
    await page.getByRole('button', { name: 'Delete' }).click()
    await note.waitFor({ state: 'hidden' })
    expect(visit.complaints).toEqual([])
  })

  test('a number of a breakdown filters the query by its value', async () => {
    await using visit = await web.visit()
    const { page } = visit
    await page.goto(addressOf(QUERIES['totals'] ?? {}))
    await page.getByRole('list', { name: 'Totals' }).getByRole('button').first().click()
    await page.getByRole('button', { name: 'Show only these' }).click()
    await page.getByRole('button', { name: /Remove the filter Browser is/ }).waitFor()
    const bars = page.getByRole('list', { name: 'Totals' }).getByRole('button')
    await bars.nth(1).waitFor({ state: 'detached' })
    await expectSoon(() => bars.count(), 1)
    expect(visit.complaints).toEqual([])
  })
})

async function expectValue(field: { inputValue(): Promise<string> }, value: string): Promise<void> {
  for (let tries = 0; tries < 100 && (await field.inputValue()) !== value; tries += 1) {
    await Bun.sleep(20)
  }
  expect(await field.inputValue()).toBe(value)
}

/** Queries that the worker runs now, as the server's metrics count them. */
async function runningQueries(): Promise<number> {
  const text = await (await fetch(`${web.server.url}/_metrics`)).text()
  const [, count = '-1'] = /^tidemark_questions_running(?:\{[^}]*\})? (\d+)/m.exec(text) ?? []
  return Number(count)
}
