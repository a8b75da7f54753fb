/** Visits: an example worked by hand, whole answers, and every kind of table. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { WebOverviewQuery, WebStatsTableQuery } from '../../../src/contract/insights/web.ts'
import { type Answered, InsightWorld } from '../world.ts'

setDefaultTimeout(120_000)

const NOW = '2024-06-12T12:00:00Z'
const dateRange = { date_from: '2024-06-10', date_to: '2024-06-12' }
const compareFilter = { compare: true }

type Sent = readonly [
  session: string,
  person: number,
  time: string,
  path: string | null,
  more?: Readonly<Record<string, unknown>>,
]

let world: InsightWorld
beforeAll(() => {
  world = new InsightWorld()
  const at = (...[session, person, time, path, more = {}]: Sent) => {
    const { event = '$pageview', ...rest } = { ...more } as { event?: string }
    const address =
      path === null ? {} : { $pathname: path, $current_url: `https://shop.example${path}` }
    const properties = { $session_id: session, ...address, ...rest }
    world.send({ event, person, at: `2024-06-${time}Z`, properties })
  }
  // s1: person 1, 60 seconds, two views, buys. s2: person 2, one view, bounces. s3: person 1 again, one view and a
  // click: no bounce. s4: person 3, nine seconds of an app. s5: nobody's session. s6, before: person 1, bounces.
  at('s1', 1, '10T10:00:00', '/', {
    $browser: 'Firefox',
    $timezone_offset: -330,
    utm_source: 'news',
  })
  at('s1', 1, '10T10:00:40', '/buy', {
    $browser: 'Firefox',
    $timezone_offset: -330,
    $prev_pageview_pathname: '/',
    $prev_pageview_duration: 40,
    $prev_pageview_max_content_percentage: 0.9,
  })
  at('s1', 1, '10T10:01:00', '/buy', { event: 'bought' })
  at('s2', 2, '11T10:00:00', '/', {
    $browser: 'Chrome',
    $referring_domain: 'search.example',
    $geoip_country_code: 'DE',
    $geoip_city_name: 'Ulm',
  })
  at('s2', 2, '11T10:00:02', null, {
    event: '$pageleave',
    $prev_pageview_pathname: '/',
    $prev_pageview_duration: 2,
    $prev_pageview_max_content_percentage: 0.1,
  })
  at('s3', 1, '12T10:00:00', '/buy', { $browser: 'Firefox' })
  at('s3', 1, '12T10:00:03', '/buy', { event: '$autocapture' })
  at('s4', 3, '12T09:00:00', null, { event: '$screen', $screen_name: 'Home' })
  at('s4', 3, '12T09:00:09', null, { event: '$screen', $screen_name: 'Cart' })
  at('', 4, '12T09:00:00', '/', {})
  at('s6', 1, '08T10:00:00', '/', { $browser: 'Firefox' })
  // A session of the night between two times belongs to the one that it began in.
  at('s7', 5, '09T23:59:00', '/', { $browser: 'Opera' })
  at('s7', 5, '10T00:01:00', '/late', { $browser: 'Opera' })
  world.addPerson(1, '2024-06-01', { email: 'ann@example.com' })
})
afterAll(() => world[Symbol.asyncDispose]())

const overview = (more: Partial<WebOverviewQuery>): Promise<Answered> =>
  world.ask({ kind: 'WebOverviewQuery', dateRange, ...more }, NOW)

const table = (
  breakdownBy: WebStatsTableQuery['breakdownBy'],
  more: Partial<WebStatsTableQuery> = {},
): Promise<Answered> =>
  world.ask({ kind: 'WebStatsTableQuery', breakdownBy, dateRange, ...more }, NOW)

describe('WebOverviewQuery', () => {
  test('tells visitors, views, sessions, their length and how many bounced, now and before', async () => {
    const figure = (
      ...[key, kind, value, previous, changeFromPreviousPct]: readonly unknown[]
    ) => ({
      key,
      kind,
      value,
      previous,
      changeFromPreviousPct,
    })
    expect(await overview({ compareFilter })).toEqual({
      results: [
        // 1, 2 and 3; before, 1 and 5.
        figure('visitors', 'unit', 3, 2, 50),
        // s1 2, s2 1, s3 1, s4 2; before, s6 1 and the first of s7.
        figure('views', 'unit', 6, 2, 200),
        figure('sessions', 'unit', 4, 2, 100),
        // (60 + 2 + 3 + 9) / 4; before, (0 + 120) / 2.
        figure('session duration', 'duration_s', 18.5, 60, -69),
        // Only s2 of four; before, s6 of two.
        { ...figure('bounce rate', 'percentage', 25, 50, -50), isIncreaseBad: true },
      ],
      hogql: expect.any(String),
      error: null,
      timings: expect.any(Array),
      modifiers: {},
      timezone: 'UTC',
      samplingRate: { numerator: 1, denominator: null },
      dateFrom: '2024-06-10T00:00:00+00:00',
      dateTo: '2024-06-12T23:59:59.999999+00:00',
      usedPreAggregatedTables: false,
    })
  })

  test('tells of conversions where a goal is named', async () => {
    const { results } = await overview({ conversionGoal: { customEventName: 'bought' } })
    expect(results).toMatchObject([
      { key: 'visitors', value: 3, previous: null, changeFromPreviousPct: null },
      { key: 'total conversions', value: 1 },
      { key: 'unique conversions', value: 1 },
      { key: 'conversion rate', kind: 'percentage', value: 100 / 3 },
    ])
  })

  test('of no visits is zero, and null where there is nothing to divide', async () => {
    const { results } = await overview({
      dateRange: { date_from: '2020-01-01', date_to: '2020-01-02' },
    })
    expect((results as { value: unknown }[]).map(({ value }) => value)).toEqual([
      0,
      0,
      0,
      null,
      null,
    ])
  })

  test('is narrowed by properties of events, persons and sessions', async () => {
    const narrowed = async (filter: object) => {
      const { results } = await overview({ properties: [{ ...filter }] })
      return (results as { value: unknown }[]).slice(0, 3).map(({ value }) => value)
    }
    expect(await narrowed({ key: '$browser', value: 'Firefox' })).toEqual([1, 3, 2])
    expect(await narrowed({ key: '$pathname', value: '/buy' })).toEqual([1, 2, 2])
    expect(await narrowed({ type: 'session', key: '$entry_utm_source', value: 'news' })).toEqual([
      1, 2, 1,
    ])
    const email = { type: 'person', key: 'email', value: 'example.com' }
    expect(await narrowed({ ...email, operator: 'icontains' })).toEqual([1, 3, 2])
    expect(await narrowed({ ...email, operator: 'not_icontains' })).toEqual([2, 3, 2])
    const properties = [{ ...email, operator: 'icontains' } as const]
    expect((await table('Page', { properties })).results).toEqual([
      ['/buy', [1, null], [2, null]],
      ['/', [1, null], [1, null]],
    ])
  })
})

describe('WebStatsTableQuery', () => {
  test('splits visits by page, with how many bounce there and how far they read', async () => {
    const answer = await table('Page', {
      compareFilter,
      includeBounceRate: true,
      includeScrollDepth: true,
      includeAvgTimeOnPage: true,
    })
    expect(answer).toMatchObject({
      columns: [
        'context.columns.breakdown_value',
        'context.columns.visitors',
        'context.columns.views',
        'context.columns.bounce_rate',
        'context.columns.avg_time_on_page',
        'context.columns.average_scroll_percentage',
        'context.columns.scroll_gt80_percentage',
      ],
      hasMore: false,
      limit: 100,
      offset: 0,
    })
    expect(answer.results).toEqual([
      // s1 and s2 begin at /, s2 bounces; read for 40 and 2 seconds, to 0.9 and 0.1.
      ['/', [2, 2], [2, 2], [0.5, 0.5], [21, null], [0.5, null], [0.5, null]],
      // Of /buy only s3 began there, and it did not bounce.
      ['/buy', [1, 0], [2, 0], [0, null], [null, null], [null, null], [null, null]],
    ])
  })

  test.each([
    [
      'Browser',
      [
        ['Chrome', 1, 1],
        ['Firefox', 1, 3],
      ],
    ],
    [
      'ScreenName',
      [
        ['Cart', 1, 1],
        ['Home', 1, 1],
      ],
    ],
    [
      'InitialPage',
      [
        ['/', 2, 3],
        ['/buy', 1, 1],
      ],
    ],
    [
      'ExitPage',
      [
        ['/buy', 1, 3],
        ['/', 1, 1],
      ],
    ],
    [
      'InitialUTMSource',
      [
        [null, 3, 4],
        ['news', 1, 2],
      ],
    ],
    [
      'InitialUTMSourceMediumCampaign',
      [
        ['(none) / (none) / (none)', 2, 3],
        ['search.example / (none) / (none)', 1, 1],
        ['news / (none) / (none)', 1, 2],
      ],
    ],
    ['Country', [['DE', 1, 1]]],
    ['City', [[['DE', 'Ulm'], 1, 1]]],
    ['Region', []],
    ['Timezone', [[5.5, 1, 2]]],
    ['PreviousPage', [['/', 1, 1]]],
    ['Viewport', []],
  ] as const)('by %s', async (breakdownBy, expected) => {
    const { results } = await table(breakdownBy)
    const rows = (results as [unknown, unknown[], unknown[]][]).map(([value, visitors, views]) => [
      value,
      visitors[0],
      views[0],
    ])
    expect(rows.toSorted(byText)).toEqual(expected.map((row) => [...row]).toSorted(byText))
  })

  const byText = (a: unknown, b: unknown): number =>
    JSON.stringify(a) < JSON.stringify(b) ? -1 : 1

  test.each([
    'DeviceType',
    'ExitClick',
    'InitialChannelType',
    'InitialReferringDomain',
    'InitialUTMCampaign',
    'InitialUTMContent',
    'InitialUTMMedium',
    'InitialUTMTerm',
    'Language',
    'OS',
  ] as const)('by %s is answered', async (breakdownBy) => {
    const { results } = await table(breakdownBy, { includeBounceRate: true, compareFilter })
    expect(Array.isArray(results)).toBe(true)
  })

  test('is ordered as asked, page by page, and refuses other orders', async () => {
    const rows = async (more: Partial<WebStatsTableQuery>) =>
      ((await table('Browser', more)).results as [string][]).map(([value]) => value)
    expect(await rows({})).toEqual(['Firefox', 'Chrome'])
    expect(await rows({ orderBy: ['Views', 'ASC'] })).toEqual(['Chrome', 'Firefox'])
    // Ties go the same way: one visitor each.
    expect(await rows({ orderBy: ['Visitors', 'ASC'] })).toEqual(['Chrome', 'Firefox'])
    expect(await rows({ orderBy: ['Visitors', 'DESC'] })).toEqual(['Firefox', 'Chrome'])
    expect(await rows({ limit: 1, offset: 1 })).toEqual(['Chrome'])
    expect((await table('Browser', { limit: 1 }))['hasMore']).toBe(true)
    // A column of another table.
    expect(await rows({ orderBy: ['Clicks', 'DESC'] })).toEqual(['Firefox', 'Chrome'])
    const refused = await table('Browser', { orderBy: ['Colour', 'DESC'] }).catch(
      (error: unknown) => error,
    )
    expect(refused).toMatchObject({ code: 'invalid_input', attr: 'query__orderBy' })
  })

  test('tells of conversions where a goal is named', async () => {
    const answer = await table('Browser', { conversionGoal: { customEventName: 'bought' } })
    expect(answer['columns']).toEqual([
      'context.columns.breakdown_value',
      'context.columns.visitors',
      'context.columns.total_conversions',
      'context.columns.unique_conversions',
      'context.columns.conversion_rate',
    ])
  })
})

describe('what happens besides views', () => {
  beforeAll(() => {
    const at = (event: string, person: number, day: string, properties: object) =>
      world.send({ event, person, at: `2024-06-${day}T10:00:00Z`, properties: { ...properties } })
    at('$rageclick', 1, '11', { $pathname: '/form' })
    at('$rageclick', 1, '08', { $pathname: '/form' })
    at('$dead_click', 2, '11', { $pathname: '/form' })
    at('$exception', 2, '11', { $pathname: '/' })
    at('$exception', 2, '11', {})
    const click = (person: number, day: string, $external_click_url: string, more: object = {}) =>
      at('$autocapture', person, day, { $event_type: 'click', $external_click_url, ...more })
    click(1, '11', 'https://a.example/x?y=1')
    click(1, '11', 'https://a.example/x?y=2')
    click(2, '09', 'https://a.example/x')
    click(1, '11', 'https://b.example/x', { $event_type: 'submit' })
    // Another page of the same site.
    click(1, '11', 'https://docs.shop.example/x', { $host: 'www.shop.example' })
    click(1, '11', 'https://c.example/x', { $host: 'www.shop.example' })
    click(2, '11', 'https://c.example/x')
    for (const count of [1, 2, 3]) click(1, '12', `https://d.example/?n=${count}`)
  })

  test('tells by page where people get stuck', async () => {
    const answer = await table('FrustrationMetrics', { compareFilter })
    expect(answer['columns']).toEqual([
      'context.columns.breakdown_value',
      'context.columns.rage_clicks',
      'context.columns.dead_clicks',
      'context.columns.errors',
    ])
    expect(answer.results).toEqual([
      ['/', [0, 0], [0, 0], [1, 0]],
      ['/form', [1, 1], [1, 0], [0, 0]],
    ])
    const ordered = await table('FrustrationMetrics', { orderBy: ['RageClicks', 'DESC'] })
    expect((ordered.results as [string][]).map(([page]) => page)).toEqual(['/form', '/'])
  })

  test('tells which addresses people leave by', async () => {
    const ask = (more: object) =>
      world.ask({ kind: 'WebExternalClicksTableQuery', dateRange, ...more }, NOW)
    expect((await ask({})).results).toEqual([
      ['https://c.example/x', [2, null], [2, null]],
      ['https://a.example/x?y=1', [1, null], [1, null]],
      ['https://a.example/x?y=2', [1, null], [1, null]],
      ['https://d.example/?n=1', [1, null], [1, null]],
      ['https://d.example/?n=2', [1, null], [1, null]],
      ['https://d.example/?n=3', [1, null], [1, null]],
    ])
    const answer = await ask({ stripQueryParams: true, compareFilter })
    expect(answer['columns']).toEqual([
      'context.columns.url',
      'context.columns.visitors',
      'context.columns.clicks',
    ])
    expect(answer.results).toEqual([
      ['https://d.example/', [1, 0], [3, 0]],
      ['https://a.example/x', [1, 1], [2, 1]],
      ['https://c.example/x', [2, 0], [2, 0]],
    ])
    const by_visitors = await ask({ stripQueryParams: true, orderBy: ['Visitors', 'DESC'] })
    expect((by_visitors.results as [string][])[0]?.[0]).toBe('https://c.example/x')
    expect((await ask({ orderBy: ['Views', 'DESC'] })).results).toEqual((await ask({})).results)
    const refused = await ask({ orderBy: ['Colour', 'DESC'] }).catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 'invalid_input', attr: 'query__orderBy' })
  })
})

test.todo(
  'WebGoalsQuery, WebVitals and WebTopClicks are answered (wire §5.7 names them without shapes)',
)
