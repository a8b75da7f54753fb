/** Queries with something else in the place of any part: answered, or refused with a reason; never a fault of ours. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import type { InsightQueries } from '../../src/contract/insights/kinds.ts'
import { ODD, placesIn, withOdd } from '../http/bodies/odd-values.ts'
import { limitTests } from '../long-tests.ts'
import { randomRuns } from '../random-runs.ts'
import { type Histories, type History, openHistories } from './history.ts'

limitTests(240_000)

const NOW = '2024-06-12T12:00:00Z'

let histories: Histories
let history: History
beforeAll(async () => {
  histories = await openHistories(NOW)
  history = await histories.open()
  await history.call('POST', 'experiments/', {
    name: 'Trial',
    feature_flag_key: 'trial',
    start_date: '2024-06-01T00:00:00Z',
  })
  await history.send(
    ['ann', 'ben', 'cyd'].flatMap((distinct_id, index) =>
      ['open', 'buy', '$pageview'].map((event, part) => ({
        event,
        distinct_id,
        timestamp: `2024-06-1${index}T10:0${part}:00Z`,
        properties: { plan: 'pro', n: index, $session_id: distinct_id, $pathname: '/' },
      })),
    ),
  )
})
afterAll(() => histories.close())

const dateRange = { date_from: '-7d', date_to: null, explicitDate: false }
const series = [
  {
    kind: 'EventsNode',
    event: 'open',
    math: 'total',
    properties: [{ key: 'plan', value: ['pro'], operator: 'exact', type: 'event' }],
  },
  { kind: 'EventsNode', event: 'buy' },
]
const common = {
  dateRange,
  properties: [],
  filterTestAccounts: false,
  samplingFactor: 1,
  aggregation_group_type_index: null,
}
const breakdownFilter = {
  breakdown: 'plan',
  breakdown_type: 'event',
  breakdown_limit: 3,
  breakdowns: [{ property: 'n', type: 'event' }],
}
const compareFilter = { compare: true, compare_to: '-1w' }
const retention = {
  kind: 'RetentionQuery',
  retentionFilter: {
    period: 'Day',
    totalIntervals: 3,
    retentionType: 'retention_recurring',
    targetEntity: { id: 'open', type: 'events', properties: [] },
    returningEntity: { id: 'buy', type: 'events' },
    minimumOccurrences: 1,
    retentionCustomBrackets: [1, 2],
    timeWindowMode: '24_hour_windows',
    cumulative: true,
  },
  breakdownFilter,
  ...common,
}
const one = [series[0]]
const stickiness = {
  kind: 'StickinessQuery',
  series: one,
  interval: 'day',
  intervalCount: 1,
  stickinessFilter: { computedAs: 'cumulative', stickinessCriteria: { operator: 'gte', value: 1 } },
  compareFilter,
  ...common,
}
const funnel = {
  kind: 'FunnelsQuery',
  series,
  funnelsFilter: { funnelWindowInterval: 2, funnelVizType: 'steps', exclusions: [] },
  breakdownFilter,
  ...common,
}
const step = { kind: 'FunnelsActorsQuery', source: funnel, funnelStep: 1, limit: 5 }
const correlation = {
  kind: 'FunnelCorrelationQuery',
  source: step,
  funnelCorrelationType: 'events',
  funnelCorrelationNames: ['plan'],
}
const trends = {
  kind: 'TrendsQuery',
  series,
  trendsFilter: { display: 'ActionsLineGraph', formula: 'A+B', smoothingIntervals: 2 },
  breakdownFilter,
  compareFilter,
  interval: 'day',
  ...common,
}
const behind = {
  kind: 'InsightActorsQuery',
  source: retention,
  interval: 0,
  day: null,
  series: 0,
  breakdown: 'pro',
  compare: 'current',
  status: 'new',
}
const web = {
  dateRange,
  compareFilter,
  conversionGoal: { customEventName: 'buy' },
  properties: [{ key: 'plan', value: 'pro', type: 'event' }],
}

/** A query of every kind with most of its members. */
const QUERIES = {
  ActorsPropertyTaxonomyQuery: { properties: ['plan'], groupTypeIndex: 0, maxPropertyValues: 3 },
  ActorsQuery: {
    select: ['person', 'id'],
    search: 'a',
    properties: [{ key: 'plan', value: 'pro', type: 'person' }],
    orderBy: ['id'],
    source: behind,
    limit: 3,
    offset: 1,
  },
  CalendarHeatmapQuery: { series: one, ...common },
  EventTaxonomyQuery: { event: 'open', properties: ['plan'], maxPropertyValues: 3 },
  EventsQuery: {
    select: ['*', 'person', 'count()'],
    where: ['1 = 1'],
    event: 'open',
    events: ['open'],
    actionId: null,
    personId: null,
    after: '-7d',
    before: null,
    orderBy: ['timestamp'],
    properties: [{ key: 'plan', value: 'pro' }],
    limit: 3,
    offset: 0,
  },
  ExperimentExposureQuery: {
    experiment_id: 1,
    exposure_criteria: {
      filterTestAccounts: true,
      multiple_variant_handling: 'first_seen',
      exposure_config: { kind: 'ExperimentEventExposureConfig', event: 'a', properties: [] },
    },
    start_date: '2024-01-01',
    end_date: '2024-02-01',
  },
  ExperimentFunnelsQuery: {
    experiment_id: 1,
    funnels_query: { kind: 'FunnelsQuery', series: one, properties: [], filterTestAccounts: true },
  },
  ExperimentQuery: {
    experiment_id: 1,
    metric: {
      kind: 'ExperimentMetric',
      metric_type: 'ratio',
      numerator: { ...series[0], math: 'sum', math_property: 'n' },
      denominator: series[1],
      conversion_window: 1,
      conversion_window_unit: 'day',
    },
  },
  ExperimentTrendsQuery: {
    experiment_id: 1,
    count_query: { kind: 'TrendsQuery', series: one, properties: [], filterTestAccounts: true },
    exposure_query: null,
  },
  FunnelCorrelationActorsQuery: {
    source: correlation,
    funnelCorrelationPersonEntity: series[1],
    funnelCorrelationPersonConverted: true,
  },
  FunnelCorrelationQuery: correlation,
  FunnelsActorsQuery: step,
  FunnelsQuery: funnel,
  InsightActorsQuery: { ...behind, source: trends },
  InsightActorsQueryOptions: { source: behind },
  LifecycleQuery: { series: one, interval: 'day', ...common },
  PathsQuery: {
    pathsFilter: {
      includeEventTypes: ['custom_event'],
      startPoint: 'open',
      stepLimit: 3,
      edgeLimit: 5,
      pathGroupings: ['/a*'],
      excludeEvents: ['x'],
    },
    ...common,
  },
  PersonsNode: { search: 'a', cohort: null, distinctId: 'ann', limit: 3 },
  RetentionQuery: retention,
  SessionsTimelineQuery: { personId: null, after: '-7d', before: null },
  StickinessActorsQuery: { source: stickiness, day: 1, operator: 'gte' },
  StickinessQuery: stickiness,
  TeamTaxonomyQuery: { limit: 3 },
  TrendsQuery: trends,
  WebExternalClicksTableQuery: { stripQueryParams: true, ...web },
  WebOverviewQuery: web,
  WebStatsTableQuery: {
    breakdownBy: 'Page',
    includeBounceRate: true,
    includeScrollDepth: true,
    orderBy: ['Visitors', 'ASC'],
    limit: 2,
    ...web,
  },
} as const satisfies Record<keyof InsightQueries, object>

const valueAt = (value: unknown, path: readonly string[]): unknown =>
  path.reduce((whole: unknown, name) => Object(whole)[name], value)

describe('a query of every kind', () => {
  const kinds = Object.entries(QUERIES).map(
    ([kind, members]) => [kind, { ...members, kind }] as const,
  )

  test.each(kinds)(
    '%s with anything anywhere is answered or refused with a reason',
    async (_kind, query) => {
      const whole = await history.ask(query)
      expect([whole.status, whole.body['detail']]).toEqual([200, undefined])
      const places = placesIn(query).filter((path) => path.length > 0)
      const changed = fc.record({ place: fc.constantFrom(...places), odd: fc.constantFrom(...ODD) })
      await fc.assert(
        fc.asyncProperty(changed, async ({ place, odd }) => {
          const { status, body } = await history.ask({ ...Object(withOdd(query, place, odd)) })
          if (status !== 200) {
            expect(status).toBe(400)
            expect(body).toMatchObject({ type: expect.any(String), code: expect.any(String) })
            expect(String(body['detail']).length).toBeGreaterThan(0)
          }
        }),
        randomRuns(10),
      )
    },
  )

  const numberPlaces = (query: object): readonly (readonly string[])[] =>
    placesIn(query).filter((path) => typeof valueAt(query, path) === 'number')

  test.each(kinds.filter(([, query]) => numberPlaces(query).length > 0))(
    '%s refuses a number that is too large by its name, or answers',
    async (_kind, query) => {
      for (const place of numberPlaces(query)) {
        for (const number of [1e300, -1e300, 2 ** 53]) {
          const asked = { ...Object(withOdd(query, place, number)) }
          const { status, body } = await history.ask(asked)
          if (status === 200) continue
          expect([place, status, body]).toEqual([
            place,
            400,
            expect.objectContaining({ attr: expect.any(String) }),
          ])
        }
      }
    },
  )

  const LONG_RULES = [{ alias: 'a', regex: 'x'.repeat(50_001) }]
  test.each([
    [
      'FunnelsQuery',
      { breakdownFilter: { breakdown: 'x'.repeat(401) } },
      'breakdownFilter__breakdown',
    ],
    [
      'TrendsQuery',
      { breakdownFilter: { breakdowns: [{ property: 'x'.repeat(401), type: 'person' }] } },
      'breakdownFilter__breakdown',
    ],
    [
      'TrendsQuery',
      { breakdownFilter: { breakdown: 'x'.repeat(4001), breakdown_type: 'hogql' } },
      'breakdownFilter__breakdown',
    ],
    [
      'TrendsQuery',
      { series: [{ kind: 'EventsNode', math: 'hogql', math_hogql: 'x'.repeat(4001) }] },
      'math_hogql',
    ],
    [
      'FunnelsQuery',
      { funnelsFilter: { funnelAggregateByHogQL: 'x'.repeat(4001) } },
      'funnelAggregateByHogQL',
    ],
    ['TrendsQuery', { properties: [{ type: 'hogql', key: 'x'.repeat(4001) }] }, 'properties'],
    ['PathsQuery', { pathsFilter: { localPathCleaningFilters: LONG_RULES } }, 'localPathCleaning'],
  ] as const)(
    '%s refuses a text that it would print many times: %#',
    async (kind, members, attr) => {
      const two = Array.from({ length: 2 }, () => ({ kind: 'EventsNode', event: 'open' }))
      const of_events = kind === 'PathsQuery' ? {} : { series: two }
      const { status, body } = await history.ask({ kind, ...of_events, ...members })
      expect([status, body['code'], body['attr']]).toEqual([
        400,
        'invalid_input',
        expect.stringContaining(attr),
      ])
      expect(body['detail']).toMatch(/at most \d+ characters/)
    },
  )

  test.each(['FunnelsQuery', 'TrendsQuery', 'RetentionQuery'])(
    '%s by more cohorts than 100 is refused before any is looked for',
    async (kind) => {
      const two = Array.from({ length: 2 }, () => ({ kind: 'EventsNode', event: 'open' }))
      const of_events = kind === 'RetentionQuery' ? {} : { series: two }
      const breakdown = Array.from({ length: 50_000 }, () => 1)
      const by_cohorts = { breakdown, breakdown_type: 'cohort' }
      const { status, body } = await history.ask({
        kind,
        ...of_events,
        breakdownFilter: by_cohorts,
      })
      expect([status, body['detail']]).toEqual([400, 'A breakdown has at most 100 cohorts.'])
      expect(body['attr']).toBe('query__breakdownFilter__breakdown')
    },
  )

  test('that has no text for a choice is refused', async () => {
    const query = QUERIES.ExperimentExposureQuery
    const exposure_criteria = { multiple_variant_handling: { toString: 1, valueOf: 1 } }
    const asked = { ...query, kind: 'ExperimentExposureQuery', exposure_criteria }
    const { status, body } = await history.ask(asked)
    expect([status, body['code'], body['detail']]).toEqual([
      400,
      'invalid_choice',
      '{"toString":1,"valueOf":1} is not a valid choice.',
    ])
  })

  /** `Number` calls `valueOf` of an object, and throws. */
  const NO_NUMBER = { toString: 1, valueOf: 1 }
  const OF_GROUPS = { kind: 'HogQLQuery', query: "select 'a' as group_key" }
  const FILTERS = {
    cohort: { type: 'cohort', key: 'id', value: NO_NUMBER },
    'list of cohorts': { type: 'cohort', key: 'id', value: [NO_NUMBER] },
    behavior: {
      type: 'behavioral',
      key: 'open',
      value: 'performed_event_multiple',
      operator_value: NO_NUMBER,
    },
    'time of a behavior': {
      type: 'behavioral',
      key: 'open',
      value: 'performed_event',
      time_value: NO_NUMBER,
    },
    'type of groups': { type: 'group', key: 'plan', value: 'pro', group_type_index: NO_NUMBER },
    key: { type: 'person', key: NO_NUMBER, value: 'pro' },
  }
  test.each(Object.entries(FILTERS))(
    'that has an object in place of a number is no fault: %s',
    async (_, filter) => {
      const queries = [
        { kind: 'EventsQuery', select: ['count()'] },
        { kind: 'ActorsQuery', select: ['id'] },
        { kind: 'ActorsQuery', select: ['id'], source: OF_GROUPS },
      ]
      for (const query of queries) {
        const { status } = await history.ask({ ...query, properties: [filter] })
        expect([200, 400]).toContain(status)
      }
    },
  )

  test.each(['a\u0000b', "a'b", 'a"b', 'a\\b', '\ud800', 'a.b', '$.a', '', 'x'.repeat(5000)])(
    'that names the property %j leaves the project as it was',
    async (key) => {
      const properties = [{ key, value: 'x', operator: 'exact', type: 'event' }]
      const query = { kind: 'EventsQuery', select: ['count()'], after: 'all' }
      const named = await history.ask({ ...query, properties })
      expect([named.status, named.body['results']]).toEqual([200, [[0]]])
      expect((await history.ask(query)).body['results']).toEqual([[9]])
    },
  )
})
