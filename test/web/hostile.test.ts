/** What comes from events is text: no name, property, URL or value runs as a script, becomes markup or breaks the layout, on any page. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { HAS_BROWSER } from '../flows/clients/browser.ts'
import { EVERY_CASE, limitTests, longTest } from '../long-tests.ts'
import {
  expectFits,
  goInside,
  type Interface,
  openInterface,
  settle,
  type Visit,
  widthsOf,
} from './interface.ts'

limitTests(120_000)

const MARKUP = '<img src=x onerror="globalThis.hacked=1"><script>globalThis.hacked=1</script>'

/** Names that a page may stumble over; every one is an event, a property, a value and a person. */
const HOSTILE = [
  MARKUP,
  '"><svg/onload=globalThis.hacked=1>',
  "';globalThis.hacked=1;//",
  '{{constructor.constructor("globalThis.hacked=1")()}}',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '\u202Egnp.exe\u2066 \u05E9\u05DC\u05D5\u05DD',
  'a\u0001b\u001B[31mc\tline\nline\u2028line',
  '👩‍👩‍👧‍👦🏳️‍🌈'.repeat(20),
  'Z\u0351\u0356\u0303a\u0334\u0310l\u0321\u0350g\u0338o\u0335\u0302'.repeat(5),
  'wide'.repeat(45),
  'long words '.repeat(15),
  '%s %d %n ${7*7} \\ \' " ` &lt;b&gt; &#x3C;',
  '../../../etc/passwd?x=1#hash',
  'NaN',
  'null',
  'اسم طويل جدا '.repeat(12).trim(),
] as const

const URLS = [
  'javascript:globalThis.hacked=1',
  `https://example.com/${encodeURI(MARKUP)}?q=${MARKUP}`,
  `https://example.com/${'deep/'.repeat(60)}`,
  'data:text/html,<script>globalThis.hacked=1</script>',
]

let ui: Interface
const ids = {
  board: 0,
  flag: 0,
  action: 0,
  survey: '',
  experiment: 0,
  insight: '',
  persons: [] as readonly string[],
}

async function sendEvents(): Promise<void> {
  const batch = HOSTILE.flatMap((name, at) => {
    const distinct_id = `${name} ${at}`.slice(0, 190)
    const properties = {
      [name]: name,
      hostile: name,
      $pathname: name,
      $referring_domain: name,
      $browser: name,
      $os: name,
      $device_type: name,
      $geoip_country_code: name.slice(0, 2),
      $geoip_country_name: name,
      $geoip_city_name: name,
      utm_source: name,
      $session_id: `0199a3b4-0000-7000-8000-0000000000${String(at).padStart(2, '0')}`,
      $set: { email: name, name, [name]: name },
      nested: { [name]: [name, { deeper: name }] },
    }
    return ['$pageview', name, '$pageleave', '$pageview'].map((event, step) => ({
      event,
      distinct_id,
      timestamp: new Date(Date.now() - (10 - step) * 60_000).toISOString(),
      properties: {
        ...properties,
        $current_url: URLS[(at + step) % URLS.length],
        ...(step > 2 && { $pathname: `${HOSTILE[(at + 1) % HOSTILE.length]}` }),
      },
    }))
  })
  const answer = await fetch(`${ui.server.url}/batch/`, {
    method: 'POST',
    body: JSON.stringify({ api_key: ui.token, batch }),
  })
  expect(answer.status).toBe(200)
}

const RANGE = { dateRange: { date_from: '-7d' } }
const PAGEVIEW = { kind: 'EventsNode', event: '$pageview' }
const BY_VALUE = { breakdownFilter: { breakdowns: [{ property: 'hostile', type: 'event' }] } }
const SERIES = HOSTILE.slice(0, 6).map((event) => ({
  kind: 'EventsNode',
  event,
  custom_name: event,
}))

/** One query of every chart, with hostile names wherever it has names. */
const QUERIES = {
  trend: { kind: 'TrendsQuery', series: SERIES, interval: 'day', ...RANGE },
  breakdown: { kind: 'TrendsQuery', series: [PAGEVIEW], interval: 'day', ...RANGE, ...BY_VALUE },
  areas: {
    kind: 'TrendsQuery',
    series: [PAGEVIEW],
    ...RANGE,
    ...BY_VALUE,
    trendsFilter: { display: 'ActionsAreaGraph' },
  },
  bars: {
    kind: 'TrendsQuery',
    series: [PAGEVIEW],
    ...RANGE,
    ...BY_VALUE,
    trendsFilter: { display: 'ActionsBarValue' },
  },
  funnel: { kind: 'FunnelsQuery', series: [PAGEVIEW, ...SERIES.slice(0, 2)], ...RANGE },
  'funnel by value': {
    kind: 'FunnelsQuery',
    series: [PAGEVIEW, { kind: 'EventsNode', event: '$pageleave' }],
    ...RANGE,
    ...BY_VALUE,
  },
  retention: {
    kind: 'RetentionQuery',
    ...RANGE,
    ...BY_VALUE,
    retentionFilter: {
      period: 'Day',
      totalIntervals: 7,
      targetEntity: { id: '$pageview', name: MARKUP, type: 'events' },
      returningEntity: { id: MARKUP, name: MARKUP, type: 'events' },
    },
  },
  paths: { kind: 'PathsQuery', ...RANGE, pathsFilter: { includeEventTypes: ['$pageview'] } },
  'paths of all events': { kind: 'PathsQuery', ...RANGE, pathsFilter: { includeEventTypes: [] } },
  lifecycle: { kind: 'LifecycleQuery', series: SERIES.slice(0, 1), interval: 'day', ...RANGE },
  stickiness: { kind: 'StickinessQuery', series: SERIES, interval: 'day', ...RANGE },
} as const

const addressOf = (query: object): string =>
  `/p/${ui.project}/explore#q=${encodeURIComponent(JSON.stringify({ kind: 'InsightVizNode', source: query }))}`

async function expectUnharmed(
  { page, complaints }: Visit,
  widths?: readonly number[],
): Promise<void> {
  // Scripts of an `onerror` run a moment after they are drawn.
  await page.waitForTimeout(100)
  expect(await page.evaluate<unknown>('globalThis.hacked ?? null')).toBeNull()
  expect(await page.evaluate<unknown>('({}).polluted ?? null')).toBeNull()
  expect(
    await page.evaluate<number>(
      "document.querySelectorAll('main img, main script, [onerror], [onload], a[href^=javascript], a[href^=data]').length",
    ),
  ).toBe(0)
  await expectFits(page, widths)
  expect(await page.evaluate<readonly string[]>(NAMES_WITHOUT_BEGINNING)).toEqual([])
  expect(complaints).toEqual([])
}

/** Names from right to left that are too long for their place, and whose first letter is not inside of it. */
const NAMES_WITHOUT_BEGINNING = `(() => {
  const names = []
  const texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT)
  for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
    if (!/^[\u0590-\u06ff]/.test(text.data) || text.parentElement.closest('.unseen')) continue
    let place = text.parentElement
    while (place !== null && getComputedStyle(place).textOverflow !== 'ellipsis') place = place.parentElement
    if (place === null) continue
    const range = document.createRange()
    range.setStart(text, 0)
    range.setEnd(text, 1)
    const { left, right } = range.getBoundingClientRect()
    const box = place.getBoundingClientRect()
    if (left < box.left - 1 || right > box.right + 1) names.push(place.className || place.localName)
  }
  return names
})()`

/** Opens every tooltip that the pointer finds on the way over the answer. */
async function sweep(page: Page): Promise<void> {
  const box = await page.getByRole('region', { name: 'Answer' }).boundingBox()
  if (box === null) return
  for (let step = 1; step < 8; step += 1) {
    await page.mouse.move(box.x + (box.width * step) / 8, box.y + box.height / 2)
  }
}

describe.skipIf(!HAS_BROWSER)('hostile data', () => {
  beforeAll(async () => {
    ui = await openInterface({ demo_persons: 0 })
    await sendEvents()
    const post = (path: string, body: object): Promise<unknown> =>
      ui.api(`/api/projects/${ui.project}/${path}`, { method: 'POST', body: JSON.stringify(body) })
    const board = (await post('dashboards/', { name: MARKUP, description: HOSTILE[8] })) as {
      readonly id: number
    }
    ids.board = board.id
    for (const [at, name] of [MARKUP, HOSTILE[8], HOSTILE[12], HOSTILE[10]].entries()) {
      const source = Object.values(QUERIES)[at]
      const query = { kind: 'InsightVizNode', source }
      const insight = (await post('insights/', { name, query, dashboards: [board.id] })) as {
        readonly short_id: string
      }
      ids.insight ||= insight.short_id
    }
    for (const content of [MARKUP, HOSTILE[8], HOSTILE[12]]) {
      await post('annotations/', {
        content,
        date_marker: new Date().toISOString(),
        scope: 'project',
      })
    }
    const properties = HOSTILE.slice(0, 9).map((value) => ({
      key: value,
      type: 'person',
      operator: 'exact',
      value: [value],
    }))
    const flag = (await post('feature_flags/', {
      key: `hostile-${'long'.repeat(60)}`,
      name: MARKUP,
      filters: {
        groups: [{ properties, rollout_percentage: 50, variant: MARKUP }],
        multivariate: { variants: [{ key: MARKUP, rollout_percentage: 100 }] },
        payloads: { [MARKUP]: JSON.stringify(MARKUP) },
      },
    })) as { readonly id: number }
    ids.flag = flag.id
    const steps = [
      { event: MARKUP, text: HOSTILE[1], url: MARKUP, properties },
      { text: HOSTILE[8] },
    ]
    const action = { name: MARKUP, description: HOSTILE[12], tags: [MARKUP, HOSTILE[8]], steps }
    ids.action = ((await post('actions/', action)) as { readonly id: number }).id
    const survey = (await post('surveys/', {
      name: 'hostile '.repeat(49).trim(),
      description: MARKUP,
      type: 'popover',
      questions: HOSTILE.map((text) => ({
        type: 'single_choice',
        question: text,
        choices: [text],
        [text]: text,
      })),
      conditions: { url: MARKUP, selector: MARKUP, events: { values: [{ name: MARKUP }] } },
      appearance: { backgroundColor: 'url(https://example.com/x.png)', textColor: MARKUP },
    })) as { readonly id: string }
    ids.survey = survey.id
    const metrics = [MARKUP, HOSTILE[8], HOSTILE[4]].map((event) => ({
      kind: 'ExperimentMetric',
      metric_type: 'mean',
      name: event,
      source: { kind: 'EventsNode', event },
    }))
    const experiment = (await post('experiments/', {
      name: MARKUP,
      description: HOSTILE[8],
      feature_flag_key: 'hostile',
      start_date: new Date(Date.now() - 86_400_000).toISOString(),
      parameters: {
        feature_flag_variants: ['control', MARKUP, '__proto__', 'long'.repeat(60)].map((key) => ({
          key,
          rollout_percentage: 25,
        })),
      },
      metrics,
    })) as { readonly id: number }
    ids.experiment = experiment.id
    const { results } = (await ui.api(`/api/projects/${ui.project}/persons/?limit=100`)) as {
      readonly results: readonly { readonly uuid: string }[]
    }
    ids.persons = results.map(({ uuid }) => uuid)
    expect(ids.persons.length).toBe(HOSTILE.length)
  })
  afterAll(() => ui?.[Symbol.asyncDispose]())

  const PAGES = [
    ['Web', () => `/p/${ui.project}/web`, 'table th[scope=row]'],
    ['Events', () => `/p/${ui.project}/events`, 'tbody tr'],
    ['Persons', () => `/p/${ui.project}/persons`, 'tbody tr'],
    ['Boards', () => `/p/${ui.project}/boards`, 'main ul a'],
    [
      'a board',
      () => `/p/${ui.project}/boards/${ids.board}`,
      'article figure, article [role=slider]',
    ],
    ['an insight', () => `/p/${ui.project}/insights/${ids.insight}`, '[aria-label=Answer] figure'],
    ['Flags', () => `/p/${ui.project}/flags`, 'main ul li'],
    ['a flag', () => `/p/${ui.project}/flags/${ids.flag}`, 'main ol li strong'],
    ['Data', () => `/p/${ui.project}/data`, 'main ul li'],
    ['properties', () => `/p/${ui.project}/data/properties`, 'main ul li'],
    ['an action', () => `/p/${ui.project}/data/actions/${ids.action}`, 'main ol li'],
    ['actions', () => `/p/${ui.project}/data/actions`, 'main ul li'],
    ['Surveys', () => `/p/${ui.project}/surveys`, 'main ul li'],
    ['a survey', () => `/p/${ui.project}/surveys/${ids.survey}`, 'main ol li'],
    ['Experiments', () => `/p/${ui.project}/experiments`, 'main ul li'],
    ['an experiment', () => `/p/${ui.project}/experiments/${ids.experiment}`, 'main li tbody tr'],
    ['Start', () => `/p/${ui.project}/start`, 'h2'],
  ] satisfies (readonly [string, () => string, string])[]
  test('is text on every page', async () => {
    await using visit = await ui.visit()
    await visit.page.goto(`/p/${ui.project}/explore`)
    for (const [at, [, path, drawn]] of PAGES.entries()) {
      await visit.page.setViewportSize({ width: 1440, height: 900 })
      await goInside(visit.page, path())
      // What the page before has drawn may look the same.
      await settle(visit.page)
      await visit.page.locator(drawn).first().waitFor()
      await settle(visit.page)
      await expectUnharmed(visit, widthsOf(at))
    }
  })

  longTest('is text in every person', async () => {
    await using visit = await ui.visit()
    await visit.page.goto(`/p/${ui.project}/persons`)
    for (const uuid of ids.persons.slice(0, 12)) {
      await goInside(visit.page, `/p/${ui.project}/persons/${uuid}`)
      await visit.page.locator('section[aria-label=History] h2').first().waitFor()
      await settle(visit.page)
      // An event is one line, however long its name and its path.
      const rows = await visit.page.locator('section[aria-label=History] li').all()
      const heights = await Promise.all(rows.map(async (row) => (await row.boundingBox())?.height))
      expect(heights.filter((height = 0) => height > 44)).toEqual([])
    }
    await expectUnharmed(visit)
  })

  longTest('is text in the details of an event', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/events`)
    for (const name of HOSTILE.slice(0, 9)) {
      const row = page.getByRole('row').filter({ hasText: name }).first()
      await row.click()
      const beside = page.getByRole('region', { name: /^Event / })
      await beside.getByText(name).first().waitFor()
      expect(await page.evaluate<unknown>('globalThis.hacked ?? null')).toBeNull()
      await beside.getByRole('button', { name: 'Close the event' }).click()
      await beside.waitFor({ state: 'detached' })
    }
    await expectUnharmed(visit)
  })

  const NAMES = Object.keys(QUERIES) as (keyof typeof QUERIES)[]
  /** Every fourth query, or with `EVERY_CASE=1` all. */
  const asked = NAMES.filter((_, number) => EVERY_CASE || number % 4 === 0)
  test.each([
    ['of trends', asked.filter((name) => NAMES.indexOf(name) < 4)],
    ['of the other kinds', asked.filter((name) => NAMES.indexOf(name) >= 4)],
  ])('is text in charts, their tooltips and tables: queries %s', async (_, names) => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/explore`)
    for (const name of names) {
      await page.setViewportSize({ width: 1440, height: 900 })
      await goInside(page, `/p/${ui.project}/explore`)
      await page.getByText('What do you want to know?').waitFor()
      await goInside(page, addressOf(QUERIES[name]))
      const answer = page.getByRole('region', { name: 'Answer' })
      await answer.locator('figure, table, ol, ul, svg[role=img]').first().waitFor()
      await settle(page)
      await sweep(page)
      await expectUnharmed(visit, widthsOf(NAMES.indexOf(name)))
      await page.getByText('Table', { exact: true }).click()
      await answer.getByRole('table').first().waitFor()
      await expectUnharmed(visit, widthsOf(NAMES.indexOf(name) + 1))
    }
  })

  test('is text in the lists that complete events, properties and values', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/events`)
    await page.locator('tbody tr').first().waitFor()
    await page.getByRole('button', { name: 'All events' }).click()
    await page.getByRole('combobox').fill('img')
    await page.getByRole('option', { name: MARKUP }).first().waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Filter' }).click()
    await page.getByRole('combobox').fill('hostile')
    await page.getByRole('option', { name: 'hostile' }).first().waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('option', { name: MARKUP }).first().waitFor()
    await page.getByRole('option', { name: MARKUP }).first().click()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').last().fill('img src')
    await page.getByRole('option', { name: MARKUP }).first().waitFor()
    await page.keyboard.press('Escape')
    await expectUnharmed(visit)
  })

  test('is text in the SQL page: rows, names of columns, faults, names of tabs, completion', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    const query = `select properties.hostile as "${MARKUP.replaceAll('"', '""')}", event, properties, distinct_id, '<b>x</b>' from events`
    const node = { kind: 'HogQLQuery', query }
    await page.goto(`/p/${ui.project}/sql#q=${encodeURIComponent(JSON.stringify(node))}`)
    await page.locator('td').first().waitFor()
    await page.getByText('Bars', { exact: true }).click()
    await page.getByText('Table', { exact: true }).click()
    const editor = page.locator('.cm-content')
    await editor.click()
    await page.keyboard.press('Control+A')
    await page.keyboard.insertText(
      'select "<b onclick=1>nothing</b>" from events where properties.i',
    )
    await page.keyboard.type('mg')
    await page.getByRole('option').first().waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('alert').getByText('nothing').first().waitFor()
    expect(await page.locator('b').count()).toBe(0)
    const faults = visit.complaints.filter((text) => !/status of 400/.test(text))
    expect(faults).toEqual([])
    await expectUnharmed({ ...visit, complaints: faults })
  })
})
