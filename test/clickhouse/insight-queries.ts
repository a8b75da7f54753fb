/** Queries of every kind of insight over one made history, asked of both engines. */

import type { InsightQueryNode } from '../../src/query/kinds/insight.ts'
import type { Known, Sent } from '../insights/world.ts'

export const NOW = '2024-04-05T12:00:00Z'
const RANGE = { date_from: '2024-03-25', date_to: '2024-04-04' }
export const KNOWN: Known = {
  property_types: { 'event:price': 'Numeric', 'event:paid': 'Boolean', 'person:age': 'Numeric' },
  experiments: [
    {
      id: 1,
      flag_key: 'trial',
      variants: ['control', 'test'],
      holdout_id: null,
      group_type_index: null,
      exposure_criteria: null,
      stats_config: null,
      only_count_matured_users: false,
      start_date: new Date('2024-03-23T00:00:00Z'),
      end_date: null,
    },
  ],
}

export const PERSON_COUNT = 60

export const pick = <Item>(items: readonly Item[], at: number): Item => {
  const item = items[at % items.length]
  if (item === undefined) throw new Error('nothing to pick')
  return item
}

function pageOf(page: number): Readonly<Record<string, string>> {
  const $pathname = `/page/${page}`
  return { $pathname, $host: 'shop.example', $current_url: `https://shop.example${$pathname}` }
}

/** 160 visits of 60 persons over two weeks, four events each, across the start of summer time: for a seed the same ones each time. */
export function makeEvents(seed = 7): readonly Sent[] {
  let state = seed
  const next = (): number => {
    state = (state * 1103515245 + 12345) % 2147483648
    return state >> 8
  }
  return Array.from({ length: 160 }).flatMap(() => {
    const begin = Date.UTC(2024, 2, 23) + (next() % (14 * 86_400)) * 1000
    const person = next() % PERSON_COUNT
    return Array.from({ length: 4 }, (_, index) => ({
      event: pick(
        ['$pageview', 'signup', 'bought', '$pageview', '$autocapture', '$feature_flag_called'],
        next(),
      ),
      at: new Date(begin + (index * 900 + (next() % 800)) * 1000).toISOString(),
      person,
      properties: {
        $browser: pick(['Chrome', 'Firefox', null, ''], next()),
        plan: pick(['free', 'pro', null], next()),
        price: pick([10, 2.5, 'none', null], next()),
        paid: pick([true, false, null], next()),
        $session_id: `s${next() % 60}`,
        ...pageOf(next() % 4),
        $event_type: 'click',
        $external_click_url: 'https://elsewhere.example/',
        $feature_flag: 'trial',
        $feature_flag_response: pick(['control', 'test'], next()),
        '$feature/trial': pick(['control', 'test'], next()),
      },
      groups: next() % 2 === 0 ? [] : [`g${next() % 3}`],
    }))
  })
}

const series = (members: object = {}, event: string | null = '$pageview') => [
  { kind: 'EventsNode' as const, event, ...members },
]
const trends = (members: object, more: object = {}): InsightQueryNode => ({
  kind: 'TrendsQuery',
  series: series(members),
  dateRange: RANGE,
  ...more,
})
const breakdown = (of: string, type: string): object => ({
  breakdownFilter: { breakdown: of, breakdown_type: type },
})
const target = { id: '$pageview', type: 'events' as const }

const PLAIN: Readonly<Record<string, InsightQueryNode>> = {
  'events per day': trends({}),
  'events per hour': trends(
    {},
    { interval: 'hour', dateRange: { date_from: '2024-03-30', date_to: '2024-04-01' } },
  ),
  'events per week': trends({}, { interval: 'week' }),
  'events per month': trends({}, { interval: 'month' }),
  'persons per day': trends({ math: 'dau' }),
  'persons of the last seven days': trends({ math: 'weekly_active' }),
  'sessions per day': trends({ math: 'unique_session' }),
  'sum of a number': trends({ math: 'sum', math_property: 'price' }),
  'average of a number': trends({ math: 'avg', math_property: 'price' }),
  'the greatest number': trends({ math: 'max', math_property: 'price' }),
  'ninety per cent of a number': trends({ math: 'p90', math_property: 'price' }),
  'first time of a person': trends({ math: 'first_time_for_user' }),
  'events of a person on average': trends({ math: 'avg_count_per_actor' }, { interval: 'week' }),
  'persons so far': trends(
    { math: 'dau' },
    { trendsFilter: { display: 'ActionsLineGraphCumulative' } },
  ),
  'by browser': trends({}, breakdown('$browser', 'event')),
  'by plan': trends({}, breakdown('plan', 'event')),
  'persons by their plan': trends({ math: 'dau' }, breakdown('plan', 'person')),
  'by size of group': trends(
    {},
    {
      breakdownFilter: {
        breakdown: 'size',
        breakdown_type: 'group',
        breakdown_group_type_index: 0,
      },
    },
  ),
  'of one plan': trends({
    properties: [{ key: 'plan', value: 'pro', operator: 'exact', type: 'event' }],
  }),
  'of prices above': trends({
    properties: [{ key: 'price', value: 5, operator: 'gt', type: 'event' }],
  }),
  'of persons above an age': trends({
    properties: [{ key: 'age', value: 25, operator: 'gt', type: 'person' }],
  }),
  'as one number': trends({}, { trendsFilter: { display: 'BoldNumber' } }),
  'a formula of two': {
    kind: 'TrendsQuery',
    series: [...series(), ...series({}, 'bought')],
    dateRange: RANGE,
    trendsFilter: { formula: 'A / B' },
  },
  'compared with before': trends({}, { compareFilter: { compare: true } }),
  lifecycle: { kind: 'LifecycleQuery', series: series(), dateRange: RANGE },
  stickiness: { kind: 'StickinessQuery', series: series(), dateRange: RANGE },
  retention: {
    kind: 'RetentionQuery',
    dateRange: { date_to: RANGE.date_to },
    retentionFilter: { totalIntervals: 8, targetEntity: target, returningEntity: target },
  },
  'retention of first times by week': {
    kind: 'RetentionQuery',
    dateRange: { date_to: RANGE.date_to },
    retentionFilter: {
      totalIntervals: 3,
      period: 'Week',
      retentionType: 'retention_first_time',
      targetEntity: target,
      returningEntity: target,
    },
  },
}

const steps = (...events: readonly string[]) => events.flatMap((event) => series({}, event))
const funnel = (filter: object = {}, more: object = {}): Funnel => ({
  kind: 'FunnelsQuery',
  series: steps('$pageview', 'signup', 'bought'),
  dateRange: RANGE,
  funnelsFilter: filter,
  ...more,
})
type Funnel = Extract<InsightQueryNode, { kind: 'FunnelsQuery' }>
const by = (value: unknown, breakdown_type = 'event', more: object = {}) => ({
  breakdownFilter: { breakdown: value, breakdown_type, ...more },
})
const exclusion = { kind: 'EventsNode', event: '$autocapture', funnelFromStep: 0, funnelToStep: 1 }

const FUNNELS: Readonly<Record<string, InsightQueryNode>> = {
  funnel: funnel(),
  'funnel in strict order': funnel({ funnelOrderType: 'strict' }),
  'funnel in any order': funnel({ funnelOrderType: 'unordered' }),
  'funnel with an exclusion': funnel({ exclusions: [exclusion] }),
  'funnel with an optional step': funnel(
    {},
    {
      series: [
        ...steps('$pageview'),
        ...series({ optionalInFunnel: true }, 'signup'),
        ...steps('bought'),
      ],
    },
  ),
  'funnel by browser': funnel({}, by('$browser')),
  'funnel by the browser of a step': funnel(
    { breakdownAttributionType: 'step', breakdownAttributionValue: 1 },
    by('$browser'),
  ),
  'funnel by the browser of all steps': funnel(
    { breakdownAttributionType: 'all_events' },
    by('$browser'),
  ),
  'funnel by the last browser': funnel({ breakdownAttributionType: 'last_touch' }, by('$browser')),
  'funnel by plan of the person': funnel({}, by('plan', 'person')),
  'funnel by bins of a price': funnel(
    {},
    by('price', 'event', { breakdown_histogram_bin_count: 3 }),
  ),
  'funnel of groups': funnel({}, { aggregation_group_type_index: 0 }),
  'funnel of a session': funnel({ funnelAggregateByHogQL: 'properties.$session_id' }),
  'funnel of seventy years': funnel(
    {},
    { dateRange: { date_from: '1971-01-01', date_to: '2030-01-01' } },
  ),
  'times to convert': funnel({ funnelVizType: 'time_to_convert' }),
  'funnel over time': funnel({ funnelVizType: 'trends' }),
  'funnel over time in any order': funnel({
    funnelVizType: 'trends',
    funnelOrderType: 'unordered',
  }),
  'funnel over time by browser': funnel({ funnelVizType: 'trends' }, by('$browser')),
  'actors of a step': { kind: 'FunnelsActorsQuery', source: funnel(), funnelStep: 2 },
  'actors who left at a step': { kind: 'FunnelsActorsQuery', source: funnel(), funnelStep: -3 },
  'actors of a step with a plan': {
    kind: 'FunnelsActorsQuery',
    source: funnel({}, by('plan', 'person')),
    funnelStep: 1,
    funnelStepBreakdown: 'pro',
  },
  'persons of a step': {
    kind: 'ActorsQuery',
    select: ['id', 'properties.age'],
    properties: [{ key: 'age', value: 22, operator: 'gt', type: 'person' }],
    source: { kind: 'FunnelsActorsQuery', source: funnel(), funnelStep: 2 },
  },
}

const correlation = (members: object): InsightQueryNode =>
  ({
    kind: 'FunnelCorrelationQuery',
    source: {
      kind: 'FunnelsActorsQuery',
      source: funnel({}, { series: steps('signup', 'bought') }),
      funnelStep: 1,
    },
    ...members,
  }) as InsightQueryNode

const CORRELATIONS: Readonly<Record<string, InsightQueryNode>> = {
  'correlated events': correlation({ funnelCorrelationType: 'events' }),
  'correlated properties of events': correlation({
    funnelCorrelationType: 'event_with_properties',
    funnelCorrelationEventNames: ['$pageview'],
  }),
  'correlated elements': correlation({
    funnelCorrelationType: 'event_with_properties',
    funnelCorrelationEventNames: ['$autocapture'],
  }),
  'correlated properties of persons': correlation({
    funnelCorrelationType: 'properties',
    funnelCorrelationNames: ['$all'],
  }),
  'correlated plans': correlation({
    funnelCorrelationType: 'properties',
    funnelCorrelationNames: ['plan'],
  }),
  'actors of a correlation': {
    kind: 'FunnelCorrelationActorsQuery',
    source: correlation({ funnelCorrelationType: 'events' }),
    funnelCorrelationPersonEntity: { kind: 'EventsNode', event: '$pageview' },
    funnelCorrelationPersonConverted: true,
  } as InsightQueryNode,
}

const paths = (filter: object, more: object = {}): InsightQueryNode => ({
  kind: 'PathsQuery',
  pathsFilter: filter,
  dateRange: RANGE,
  ...more,
})
const funnelPath = (funnelPathType: string, funnelStep: number): InsightQueryNode =>
  paths(
    { includeEventTypes: ['$pageview', 'custom_event'] },
    { funnelPathsFilter: { funnelPathType, funnelStep, funnelSource: funnel() } },
  )

const PATHS: Readonly<Record<string, InsightQueryNode>> = {
  'paths of pages': paths({ includeEventTypes: ['$pageview'] }),
  'paths of all events': paths({}),
  'paths from a page': paths({
    includeEventTypes: ['$pageview'],
    startPoint: 'https://shop.example/page/2',
  }),
  'paths to a page': paths({
    includeEventTypes: ['$pageview'],
    endPoint: 'https://shop.example/page/3',
  }),
  'paths of groups without some pages': paths(
    { excludeEvents: ['https://shop.example/page/1'], includeEventTypes: ['$pageview'] },
    { aggregation_group_type_index: 0 },
  ),
  'paths after a step': funnelPath('funnel_path_after_step', 2),
  'paths before a step': funnelPath('funnel_path_before_step', 2),
  'paths between steps': funnelPath('funnel_path_between_steps', 2),
  'paths before leaving': funnelPath('funnel_path_before_step', -2),
  'actors of a path': {
    kind: 'InsightActorsQuery',
    source: paths({
      includeEventTypes: ['$pageview'],
      pathEndKey: '2_https://shop.example/page/2',
    }),
  } as InsightQueryNode,
}

const web = (
  kind: 'WebExternalClicksTableQuery' | 'WebOverviewQuery' | 'WebStatsTableQuery',
  members: object = {},
): InsightQueryNode =>
  ({
    kind,
    properties: [],
    dateRange: RANGE,
    compareFilter: { compare: true },
    ...members,
  }) as InsightQueryNode
const EXPERIMENT = { experiment_id: 1 }
const metric = (members: object): InsightQueryNode => ({
  kind: 'ExperimentQuery',
  ...EXPERIMENT,
  metric: { kind: 'ExperimentMetric', ...members },
})
const bought = { kind: 'EventsNode', event: 'bought' }
const actorsOf = (source: InsightQueryNode, point: object = {}): InsightQueryNode =>
  ({ kind: 'InsightActorsQuery', source, ...point }) as InsightQueryNode

const OTHERS: Readonly<Record<string, InsightQueryNode>> = {
  visits: web('WebOverviewQuery'),
  'visits with a goal': web('WebOverviewQuery', {
    conversionGoal: { customEventName: 'bought' },
  }),
  ...Object.fromEntries(
    [
      'Page',
      'InitialPage',
      'ExitPage',
      'Browser',
      'InitialReferringDomain',
      'InitialChannelType',
    ].map((breakdownBy) => [
      `visits by ${breakdownBy}`,
      web('WebStatsTableQuery', {
        breakdownBy,
        includeBounceRate: breakdownBy === 'Page',
      }),
    ]),
  ),
  'clicks that lead away': web('WebExternalClicksTableQuery'),
  'a calendar': {
    kind: 'CalendarHeatmapQuery',
    series: series(),
    dateRange: RANGE,
  },
  'events of the project': { kind: 'TeamTaxonomyQuery' },
  'properties of an event': { kind: 'EventTaxonomyQuery', event: '$pageview' },
  'properties of persons': {
    kind: 'ActorsPropertyTaxonomyQuery',
    properties: ['plan'],
  },
  'a list of events': {
    kind: 'EventsQuery',
    select: ['event', 'timestamp', 'properties.plan', 'person.properties.age'],
    after: '2024-03-28',
    before: '2024-04-01',
    // Two events of a random history may have the same time.
    orderBy: ['timestamp DESC', 'uuid'],
  },
  'counted events': {
    kind: 'EventsQuery',
    select: ['event', 'count()'],
    after: '2024-03-20',
    orderBy: ['event'],
  },
  'all persons': {
    kind: 'ActorsQuery',
    select: ['id', 'created_at', 'properties.age'],
  },
  'found persons': {
    kind: 'PersonsNode',
    properties: [{ key: 'plan', value: 'pro', operator: 'exact', type: 'person' }],
  },
  'a person’s sessions': { kind: 'SessionsTimelineQuery' },
  exposures: { kind: 'ExperimentExposureQuery', ...EXPERIMENT },
  'a mean': metric({
    metric_type: 'mean',
    source: { ...bought, math: 'sum', math_property: 'price' },
  }),
  'a funnel metric': metric({ metric_type: 'funnel', series: steps('signup', 'bought') }),
  'a ratio': metric({
    metric_type: 'ratio',
    numerator: bought,
    denominator: { kind: 'EventsNode', event: '$pageview' },
  }),
  'a retention metric': metric({
    metric_type: 'retention',
    start_event: { kind: 'EventsNode', event: 'signup' },
    completion_event: bought,
    retention_window_start: 0,
    retention_window_end: 7,
    retention_window_unit: 'day',
    start_handling: 'first_seen',
  }),
  'an older experiment of trends': {
    kind: 'ExperimentTrendsQuery',
    ...EXPERIMENT,
    count_query: trends({}),
  },
  'an older experiment of funnels': {
    kind: 'ExperimentFunnelsQuery',
    ...EXPERIMENT,
    funnels_query: funnel({}, { series: steps('signup', 'bought') }),
  },
  'actors of a day': actorsOf(trends({ math: 'dau' }), { day: '2024-03-28' }),
  'actors of a retention': actorsOf(
    {
      kind: 'RetentionQuery',
      dateRange: { date_to: RANGE.date_to },
      retentionFilter: { totalIntervals: 8, targetEntity: target, returningEntity: target },
    },
    { interval: 0 },
  ),
  'new actors': actorsOf(
    { kind: 'LifecycleQuery', series: series(), dateRange: RANGE },
    { day: '2024-03-26', status: 'new' },
  ),
  'sticky actors': {
    kind: 'StickinessActorsQuery',
    source: { kind: 'StickinessQuery', series: series(), dateRange: RANGE },
    day: 2,
    operator: 'gte',
  },
  'choices of an insight': {
    kind: 'InsightActorsQueryOptions',
    source: actorsOf(trends({}, breakdown('$browser', 'event'))),
  } as InsightQueryNode,
}

/** By name. Adding a line asks one more query of both engines. */
export const INSIGHT_QUESTIONS: Readonly<Record<string, InsightQueryNode>> = {
  ...PLAIN,
  ...FUNNELS,
  ...CORRELATIONS,
  ...PATHS,
  ...OTHERS,
}
