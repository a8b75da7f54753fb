/** Answers about demo data have the members that their schemas name, and no others. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { getSchemaValidator, type TSchema } from 'elysia'
import { PersonInRowAnswer, QUERY_RESULTS } from '../../src/contract/insights/answers.ts'
import { generatePerson } from '../../src/demo/timeline.ts'
import { type Histories, type History, openHistories } from './history.ts'

setDefaultTimeout(120_000)

const NOW = '2026-03-01T12:00:00Z'
const PLOT = { seed: 'answers', persons: 40, days: 30, end_ms: Date.parse(NOW) }

let histories: Histories
let history: History
beforeAll(async () => {
  histories = await openHistories(NOW)
  history = await histories.open()
  const events = Array.from({ length: PLOT.persons }, (_, number) => [
    ...generatePerson(PLOT, number),
  ]).flat()
  // The demo has no places and screens.
  const properties = {
    $current_url: 'https://a.example/1',
    $session_id: '0193e000-0000-7000-8000-000000000001',
    $viewport_width: 800,
    $viewport_height: 600,
    $geoip_country_code: 'DE',
    $geoip_subdivision_1_code: 'BE',
    $geoip_subdivision_1_name: 'Berlin',
    $geoip_city_name: 'Berlin',
    $timezone_offset: -60,
    $timezone: 'Europe/Berlin',
    $browser_language: 'de-DE',
  }
  const seen = { event: '$pageview', distinct_id: 'one', timestamp: '2026-02-27T12:00:00Z' }
  await history.send([...events, { ...seen, properties }])
})
afterAll(() => histories.close())

/** What is wrong with a value; the schemas refuse members that they do not name. */
function faultsOf(schema: TSchema, value: unknown): readonly string[] {
  const checker = getSchemaValidator<TSchema>(schema, { dynamic: false })
  if (checker.Check(value)) return []
  return [...checker.Errors(value)].map(({ path, message }) => `${path}: ${message}`)
}

type Kind = keyof typeof QUERY_RESULTS

/** The results of a query, after they were checked. */
async function ask(kind: Kind, query: object): Promise<unknown> {
  const { status, body } = await history.ask({ kind, ...query })
  expect([status, body['detail']]).toEqual([200, undefined])
  expect(faultsOf(QUERY_RESULTS[kind], body['results'])).toEqual([])
  return body['results']
}

const node = (event: string, more: object = {}) => ({ kind: 'EventsNode', event, ...more })
const view = node('$pageview')
const created = node('document_created')
const dateRange = { date_from: '-14d' }
const by = (breakdown: unknown, breakdown_type = 'event') => ({
  breakdownFilter: { breakdown, breakdown_type, breakdown_limit: 2 },
})
const several = { breakdowns: [{ property: '$browser' }, { property: '$os' }], breakdown_limit: 2 }
const entity = (id: string) => ({ id, type: 'events' })
const retentionFilter = {
  period: 'Week',
  totalIntervals: 3,
  targetEntity: entity('$pageview'),
  returningEntity: entity('document_created'),
}
const funnel = (funnelsFilter: object, more: object = {}) => ({
  series: [view, created],
  dateRange,
  funnelsFilter,
  ...more,
})
const compareFilter = { compare: true }

const QUERIES: readonly (readonly [Kind, string, object])[] = [
  ['TrendsQuery', 'over days', { series: [view, created], dateRange }],
  [
    'TrendsQuery',
    'over hours',
    { series: [view], interval: 'hour', dateRange: { date_from: '-1d' } },
  ],
  [
    'TrendsQuery',
    'compared',
    { series: [node('$pageview', { math: 'dau' })], dateRange, compareFilter },
  ],
  ['TrendsQuery', 'by a property', { series: [view], dateRange, ...by('$browser') }],
  ['TrendsQuery', 'by two properties', { series: [view], dateRange, breakdownFilter: several }],
  ['TrendsQuery', 'by a cohort', { series: [view], dateRange, ...by(['all'], 'cohort') }],
  [
    'TrendsQuery',
    'in one number',
    { series: [view], dateRange, trendsFilter: { display: 'BoldNumber' } },
  ],
  [
    'TrendsQuery',
    'of a formula',
    { series: [created, view], dateRange, trendsFilter: { formula: 'A / B' } },
  ],
  ['FunnelsQuery', 'by steps', funnel({})],
  ['FunnelsQuery', 'by steps and values', funnel({}, by('$browser'))],
  ['FunnelsQuery', 'by steps and cohorts', funnel({}, by(['all'], 'cohort'))],
  ['FunnelsQuery', 'unordered', funnel({ funnelOrderType: 'unordered' })],
  ['FunnelsQuery', 'by times', funnel({ funnelVizType: 'time_to_convert' })],
  ['FunnelsQuery', 'over time', funnel({ funnelVizType: 'trends' })],
  ['FunnelsQuery', 'over time and values', funnel({ funnelVizType: 'trends' }, by('$browser'))],
  ['RetentionQuery', 'of weeks', { retentionFilter }],
  ['RetentionQuery', 'by values', { retentionFilter, ...by('$browser') }],
  ['PathsQuery', 'of pages', { pathsFilter: { includeEventTypes: ['$pageview'] }, dateRange }],
  ['LifecycleQuery', 'of weeks', { series: [view], interval: 'week', dateRange }],
  ['StickinessQuery', 'of days', { series: [view, created], dateRange, compareFilter }],
  ['ActorsQuery', 'of all', {}],
  ['EventsQuery', 'of views', { select: ['*', 'person', 'timestamp'], event: '$pageview' }],
  ['WebOverviewQuery', 'compared', { properties: [], dateRange, compareFilter }],
  ['WebOverviewQuery', 'alone', { properties: [], dateRange }],
  [
    'WebOverviewQuery',
    'of a goal',
    { properties: [], dateRange, conversionGoal: { customEventName: 'document_created' } },
  ],
  ...(
    [
      'Page',
      'InitialReferringDomain',
      'Browser',
      'Viewport',
      'Region',
      'City',
      'Timezone',
      'Language',
      'Country',
      'FrustrationMetrics',
    ] as const
  ).map(
    (breakdownBy) =>
      [
        'WebStatsTableQuery',
        `by ${breakdownBy}`,
        {
          properties: [],
          dateRange,
          compareFilter,
          breakdownBy,
          includeBounceRate: breakdownBy === 'Page',
        },
      ] as const,
  ),
  ['WebExternalClicksTableQuery', 'of links', { properties: [], dateRange }],
  ['HogQLQuery', 'of rows', { query: 'select event, count() from events group by event' }],
]

describe('the results', () => {
  test.each(QUERIES)('of %s %s are as described', async (kind, _, query) => {
    const results = await ask(kind, query)
    const is_some = Array.isArray(results) ? results.length > 0 : results !== null
    // Nobody in the demo is frustrated or leaves by a link.
    const may_be_empty = JSON.stringify([kind, query]).match(/Frustration|ExternalClicks/) !== null
    expect([kind, is_some || may_be_empty]).toEqual([kind, true])
  })

  test('of actors have persons as described', async () => {
    const results = await ask('ActorsQuery', { select: ['person'] })
    const rows: readonly (readonly unknown[])[] = Array.isArray(results) ? results : []
    expect(rows.length).toBeGreaterThan(0)
    for (const [person] of rows) expect(faultsOf(PersonInRowAnswer, person)).toEqual([])
  })

  test('with a member more or less are not', () => {
    const edge = { source: '1_/', target: '2_/a', value: 1, average_conversion_time: 5 }
    expect(faultsOf(QUERY_RESULTS.PathsQuery, [edge])).toEqual([])
    expect(faultsOf(QUERY_RESULTS.PathsQuery, [{ ...edge, weight: 1 }])).not.toEqual([])
    expect(faultsOf(QUERY_RESULTS.PathsQuery, [{ ...edge, value: undefined }])).not.toEqual([])
  })

  test('of every kind are asked for', () => {
    expect(new Set<string>(QUERIES.map(([kind]) => kind))).toEqual(
      new Set(Object.keys(QUERY_RESULTS)),
    )
  })
})
