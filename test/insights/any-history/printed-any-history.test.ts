/** The printed HogQL of any query about any history, asked as a text, has the rows of the insight. */
import { afterAll, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { Refusal } from '../../../src/errors.ts'
import type { ExperimentDefinition } from '../../../src/insights/experiments/experiment-definition.ts'
import type { InsightQueryNode } from '../../../src/query/kinds/insight.ts'
import { limitTests } from '../../long-tests.ts'
import { idOf } from '../../query/world.ts'
import { randomRuns } from '../../random-runs.ts'
import { InsightWorld, type Sent } from '../world.ts'

limitTests(240_000)

const NOW = '2024-03-08T12:00:00Z'
const FIRST_MS = Date.UTC(2024, 2, 1)
const MINUTE_MS = 60_000
const RUNS = randomRuns(3)
const world = new InsightWorld()
afterAll(() => world[Symbol.asyncDispose]())

const event: fc.Arbitrary<Sent> = fc.record({
  event: fc.constantFrom('a', 'b', 'c', '$pageview', '$feature_flag_called'),
  // Many at the same time.
  at: fc
    .integer({ min: 0, max: 7 * 24 * 4 })
    .map((quarter) => new Date(FIRST_MS + quarter * 15 * MINUTE_MS).toISOString()),
  person: fc.integer({ min: 1, max: 6 }),
  properties: fc.record(
    {
      plan: fc.constantFrom('pro', 'free', "it's", '', 'Other'),
      price: fc.constantFrom(1, 2.5, -3, '4', 'none'),
      $current_url: fc.constantFrom('/a', '/b/', '/c?x=1', 'https://x.org/d'),
      $session_id: fc.constantFrom('s1', 's2'),
      $host: fc.constant('x.org'),
      $feature_flag: fc.constant('trial'),
      $feature_flag_response: fc.constantFrom('control', 'test', 'elsewhere'),
    },
    { requiredKeys: ['$host', '$feature_flag'] },
  ),
  groups: fc.constantFrom([], ['acme'], ['other']),
})

world.know({
  property_types: { 'event:price': 'Numeric' },
  cohorts: [
    { id: 3, name: 'one', is_static: false },
    { id: 4, name: 'two', is_static: false },
  ],
  experiments: [
    experimentOf(1, {}),
    experimentOf(2, {
      exposure_criteria: {
        multiple_variant_handling: 'first_seen',
        exposure_config: { kind: 'ExperimentEventExposureConfig', event: 'c', properties: [] },
      },
      only_count_matured_users: true,
    }),
    experimentOf(3, { group_type_index: 0 }),
  ],
})

/** An experiment of the flag `trial` that runs through all of the history. */
function experimentOf(id: number, more: Partial<ExperimentDefinition>): ExperimentDefinition {
  return {
    id,
    flag_key: 'trial',
    variants: ['control', 'test'],
    holdout_id: null,
    group_type_index: null,
    exposure_criteria: null,
    stats_config: null,
    only_count_matured_users: false,
    start_date: new Date(FIRST_MS),
    end_date: null,
    ...more,
  }
}
for (let person = 1; person <= 6; person += 1) {
  world.addPerson(person, '2024-03-01T00:00:00Z', { plan: person % 2 === 0 ? 'pro' : 'free' })
}
world.addGroup(0, 'acme', { size: 'big' })

const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined, freq: 1 })
const oneOf = <const Values extends readonly unknown[]>(...values: Values) =>
  fc.constantFrom(...(values as readonly Values[number][]))
const node = (name: string, more: object = {}) => ({ kind: 'EventsNode', event: name, ...more })

const RANGE = { date_from: '2024-03-02', date_to: '2024-03-07' }
const SHARED = {
  dateRange: oneOf(RANGE, { date_from: '-7d' }, { date_from: 'all' }),
  properties: maybe(
    oneOf(
      [{ key: 'plan', value: ['pro', "it's"], operator: 'exact', type: 'event' }],
      [{ key: 'price', value: 2, operator: 'gt', type: 'event' }],
      [{ key: 'plan', value: 'o', operator: 'icontains', type: 'person' }],
      [{ key: 'id', value: 3, type: 'cohort' }],
      [{ key: '$group_0', value: ['acme'], operator: 'exact', type: 'event' }],
      [{ key: '$group_key', value: 'acme', operator: 'is_not', type: 'group' }],
      [{ key: "properties.plan != 'free'", type: 'hogql' }],
    ),
  ),
}
const breakdownFilter = maybe(
  oneOf(
    { breakdown: 'plan', breakdown_type: 'event', breakdown_limit: 2 },
    { breakdown: 'plan', breakdown_type: 'person' },
    { breakdown: 'price', breakdown_type: 'event', breakdown_histogram_bin_count: 3 },
    { breakdown: ['all', 3, 4], breakdown_type: 'cohort' },
    { breakdown: "concat(event, '-')", breakdown_type: 'hogql' },
    {
      breakdowns: [
        { property: 'plan', type: 'event' },
        { property: 'plan', type: 'person' },
      ],
    },
  ),
)
const compareFilter = maybe(oneOf({ compare: true }, { compare: true, compare_to: '-1w' }))
const interval = maybe(oneOf('hour', 'day', 'week', 'month'))
const math = oneOf(
  {},
  { math: 'dau' },
  { math: 'weekly_active' },
  { math: 'unique_session' },
  { math: 'unique_group', math_group_type_index: 0 },
  { math: 'first_time_for_user' },
  { math: 'sum', math_property: 'price' },
  { math: 'p90', math_property: 'price' },
  { math: 'avg', math_property: '$session_duration' },
  { math: 'max_count_per_actor' },
  { math: 'hogql', math_hogql: 'count() + 1' },
)
const TWO = { series: fc.constant([node('a'), node('b')]) }
const funnelSeries = oneOf(
  [node('a'), node('b')],
  [node('a'), node('b', { optionalInFunnel: true }), node('c')],
  [node('a'), node('a'), node('$pageview')],
)
const funnel = fc.record({
  kind: fc.constant('FunnelsQuery'),
  series: funnelSeries,
  ...SHARED,
  interval,
  breakdownFilter,
  funnelsFilter: fc.record({
    funnelOrderType: oneOf('ordered', 'strict', 'unordered'),
    funnelVizType: oneOf('steps', 'steps', 'time_to_convert', 'trends'),
    funnelWindowInterval: oneOf(1, 14),
    funnelWindowIntervalUnit: oneOf('hour', 'day'),
    breakdownAttributionType: maybe(oneOf('first_touch', 'last_touch', 'all_events', 'step')),
    exclusions: maybe(oneOf([{ ...node('$pageview'), funnelFromStep: 0, funnelToStep: 1 }])),
    funnelAggregateByHogQL: maybe(oneOf('properties.$session_id')),
  }),
})
const stepFunnel = { kind: 'FunnelsQuery', series: [node('a'), node('b')], dateRange: RANGE }
const day = { day: '2024-03-04' }

/** Queries by kind; more of a kind where it has more shapes. */
const QUERIES: Readonly<Record<string, fc.Arbitrary<object>>> = {
  trends: fc.record({
    kind: fc.constant('TrendsQuery'),
    series: fc.array(
      fc
        .tuple(oneOf('a', 'b', null), math)
        .map(([name, how]) => ({ ...node(name ?? 'c'), ...how })),
      { minLength: 1, maxLength: 3 },
    ),
    ...SHARED,
    interval,
    breakdownFilter,
    compareFilter,
    trendsFilter: maybe(
      oneOf(
        { formula: 'A * 2' },
        { display: 'BoldNumber' },
        { display: 'ActionsLineGraphCumulative' },
      ),
    ),
  }),
  funnels: funnel,
  'actors of funnels': fc.record({
    kind: fc.constant('ActorsQuery'),
    source: fc.record({
      kind: fc.constant('FunnelsActorsQuery'),
      source: funnel.map((source) => ({
        ...source,
        funnelsFilter: { ...source.funnelsFilter, funnelVizType: 'steps' },
      })),
      funnelStep: oneOf(1, 2, -2),
    }),
  }),
  'actors of a day': oneOf(
    { kind: 'TrendsQuery', series: [node('a')], dateRange: RANGE },
    { kind: 'LifecycleQuery', series: [node('a')], dateRange: RANGE },
  ).map((source) => ({
    kind: 'ActorsQuery',
    source: { kind: 'InsightActorsQuery', source, ...day, status: 'new' },
  })),
  actors: fc.record({
    kind: fc.constant('ActorsQuery'),
    select: maybe(oneOf(['person', 'id'], ['properties.plan', 'count()'])),
    search: maybe(oneOf('pro')),
    orderBy: maybe(oneOf(['id'])),
  }),
  retention: fc.record({
    kind: fc.constant('RetentionQuery'),
    ...SHARED,
    breakdownFilter,
    retentionFilter: fc.record({
      period: oneOf('Day', 'Week'),
      totalIntervals: oneOf(3, 7),
      retentionType: oneOf(
        'retention_recurring',
        'retention_first_time',
        'retention_first_ever_occurrence',
      ),
      cumulative: fc.boolean(),
      targetEntity: fc.constant({ id: 'a', type: 'events' }),
      returningEntity: fc.constant({ id: 'b', type: 'events' }),
      minimumOccurrences: maybe(oneOf(2)),
      timeWindowMode: maybe(oneOf('24_hour_windows')),
    }),
  }),
  paths: fc.record({
    kind: fc.constant('PathsQuery'),
    ...SHARED,
    pathsFilter: fc.record({
      includeEventTypes: maybe(oneOf(['$pageview'], ['custom_event'], ['$pageview', 'hogql'])),
      pathsHogQLExpression: maybe(oneOf('upper(event)')),
      startPoint: maybe(oneOf('a', '/a')),
      endPoint: maybe(oneOf('b')),
      stepLimit: maybe(oneOf(2, 4)),
      edgeLimit: maybe(oneOf(2)),
      pathGroupings: maybe(oneOf(['/a*'])),
      excludeEvents: maybe(oneOf(['c'])),
      minEdgeWeight: maybe(oneOf(2)),
    }),
    funnelPathsFilter: maybe(
      fc.record({
        funnelPathType: oneOf(
          'funnel_path_before_step',
          'funnel_path_between_steps',
          'funnel_path_after_step',
        ),
        funnelSource: fc.constant(stepFunnel),
        funnelStep: oneOf(2, -2),
      }),
    ),
  }),
  lifecycle: fc.record({
    kind: fc.constant('LifecycleQuery'),
    series: fc.constant([node('a')]),
    ...SHARED,
    interval: oneOf('day', 'week'),
  }),
  stickiness: fc.record({
    kind: fc.constant('StickinessQuery'),
    ...TWO,
    ...SHARED,
    compareFilter,
    stickinessFilter: maybe(oneOf({ computedAs: 'cumulative' })),
  }),
  correlation: oneOf('events', 'properties', 'event_with_properties').map((type) => ({
    kind: 'FunnelCorrelationQuery',
    source: { kind: 'FunnelsActorsQuery', source: stepFunnel, funnelStep: 1 },
    funnelCorrelationType: type,
    funnelCorrelationNames: ['plan'],
    funnelCorrelationEventNames: ['$pageview'],
    funnelCorrelationExcludeNames: [],
  })),
  'web overview': fc.record({
    kind: fc.constant('WebOverviewQuery'),
    dateRange: SHARED.dateRange,
    properties: fc.constant([]),
    compareFilter,
    conversionGoal: maybe(oneOf({ customEventName: 'b' })),
  }),
  'web tables': fc.record({
    kind: fc.constant('WebStatsTableQuery'),
    breakdownBy: oneOf(
      'Page',
      'InitialPage',
      'ExitPage',
      'Browser',
      'InitialChannelType',
      'Country',
    ),
    dateRange: SHARED.dateRange,
    properties: fc.constant([]),
    compareFilter,
    includeBounceRate: maybe(fc.constant(true)),
    conversionGoal: maybe(oneOf({ customEventName: 'b' })),
  }),
  events: fc.record({
    kind: fc.constant('EventsQuery'),
    select: oneOf(['*', 'person'], ['event', 'count()'], ['properties.plan', 'timestamp']),
    after: fc.constant('2024-03-01'),
    limit: maybe(oneOf(3)),
    offset: maybe(oneOf(2)),
  }),
  'metrics of experiments': fc.record({
    kind: fc.constant('ExperimentQuery'),
    experiment_id: oneOf(1, 2, 3),
    metric: fc.record({
      kind: fc.constant('ExperimentMetric'),
      conversion_window: maybe(oneOf(2)),
      conversion_window_unit: fc.constant('day'),
      metric_type: fc.constant('mean'),
      source: oneOf(
        node('a'),
        node('a', { math: 'sum', math_property: 'price' }),
        node('b', { math: 'max', math_property: 'price' }),
        node('a', { math: 'dau' }),
        node('a', { math: 'unique_session' }),
      ),
      upper_bound_percentile: maybe(oneOf(0.9)),
      threshold: maybe(oneOf(2)),
    }),
  }),
  'ratios, funnels and returns of experiments': fc.record({
    kind: fc.constant('ExperimentQuery'),
    experiment_id: oneOf(1, 2, 3),
    metric: fc
      .tuple(
        oneOf(
          { metric_type: 'ratio', numerator: node('a'), denominator: node('b') },
          { metric_type: 'funnel', series: [node('a'), node('b')] },
          {
            metric_type: 'funnel',
            series: [node('a'), node('b')],
            funnel_order_type: 'unordered',
          },
          {
            metric_type: 'retention',
            start_event: node('a'),
            completion_event: node('b'),
            retention_window_start: 0,
            retention_window_end: 3,
            retention_window_unit: 'day',
            start_handling: 'first_seen',
          },
        ),
        oneOf({}, { conversion_window: 2, conversion_window_unit: 'day' }),
      )
      .map(([metric, within]) => ({ kind: 'ExperimentMetric', ...metric, ...within })),
  }),
  'exposures and older experiments': oneOf(
    { kind: 'ExperimentExposureQuery', experiment_id: 1 },
    { kind: 'ExperimentExposureQuery', experiment_id: 2 },
    { kind: 'ExperimentFunnelsQuery', experiment_id: 1, funnels_query: stepFunnel },
    {
      kind: 'ExperimentTrendsQuery',
      experiment_id: 1,
      count_query: { kind: 'TrendsQuery', series: [node('a')] },
    },
  ),
  others: oneOf(
    { kind: 'WebExternalClicksTableQuery', dateRange: RANGE, properties: [] },
    { kind: 'CalendarHeatmapQuery', series: [node('a', { math: 'dau' })], dateRange: RANGE },
    { kind: 'CalendarHeatmapQuery', series: [node('a')], dateRange: RANGE },
    { kind: 'SessionsTimelineQuery', personId: uuidOf(1), after: '2024-03-01' },
    { kind: 'PersonsNode', search: 'pro' },
    { kind: 'TeamTaxonomyQuery' },
    { kind: 'EventTaxonomyQuery', event: 'a' },
  ),
}

function uuidOf(person: number): string {
  const hex = Buffer.from(idOf(person)).toString('hex')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

describe('the printed text of any history has the rows of', () => {
  test.each(Object.entries(QUERIES))('%s', async (_name, query) => {
    let compared = 0
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 12 }), query, async (events, asked) => {
        world.send(...events)
        try {
          await world.comparePrinted(JSON.parse(JSON.stringify(asked)) as InsightQueryNode, NOW)
          compared += 1
        } catch (error) {
          // Not every random combination is a query.
          if (!(error instanceof Refusal) || !isOfQuery(error)) throw error
        }
      }),
      RUNS,
    )
    expect(compared).toBeGreaterThan(0)
  })
})

/** Refusals of a printed text have the attribute `query` alone. */
const isOfQuery = ({ attr }: Refusal): boolean => attr?.startsWith('query__') === true
