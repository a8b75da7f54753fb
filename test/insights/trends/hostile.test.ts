/** Whatever is asked of events over time is answered or refused in words, never with a fault of ours. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { INSIGHT_QUERIES } from '../../../src/contract/insights/kinds.ts'
import { ERRORS, Refusal } from '../../../src/errors.ts'
import { validatorOf } from '../../../src/http/bodies/shape.ts'
import { limitTests } from '../../long-tests.ts'
import { randomRuns } from '../../random-runs.ts'
import { trendsWorld } from './world.ts'

limitTests(300_000)

const NOW = '2024-03-12T12:00:00Z'
const world = trendsWorld()
beforeAll(() => {
  // A value of every type under one name, and names that are words of the language.
  world.send(
    {
      person: 1,
      at: '2024-03-10T10:00:00Z',
      properties: { mixed: { a: [1] }, select: 1, 'a"b': 2 },
    },
    {
      person: 2,
      at: '2024-03-10T11:00:00Z',
      properties: { mixed: '\u0000', n: 1e308, 'a.b': true },
    },
    { person: 3, at: '2024-03-10T12:00:00Z', properties: { mixed: -0, n: -1e308, '': 'empty' } },
  )
})
afterAll(() => world[Symbol.asyncDispose]())

const NAME = fc.constantFrom(
  'mixed',
  'n',
  'select',
  'a"b',
  'a.b',
  '',
  "'; drop table x --",
  '{x}',
  '$session_duration',
  '$time',
  'price',
  'paid',
  '💥',
)
const DATE = fc.constantFrom(
  '-7d',
  'all',
  '2024-03-09',
  '2024-03-10T10:00:00',
  '-0d',
  '-1dStart',
  'dStart',
  'yStart',
  '-5h',
  '-1M',
  '1970-01-01',
  '1950-01-01',
  'x',
  '',
  null,
)
const TYPE = fc.constantFrom(
  'event',
  'person',
  'group',
  'session',
  'hogql',
  'cohort',
  'event_metadata',
  'element',
  'feature',
  'moon',
)
const OPERATOR = fc.constantFrom(
  'exact',
  'is_not',
  'icontains',
  'regex',
  'gt',
  'between',
  'is_set',
  'is_date_before',
  'in',
  'semver_gt',
  'odd',
)
const VALUE = fc.constantFrom<unknown>(
  'pro',
  '',
  1,
  -1.5,
  true,
  null,
  [],
  ['a', 'b'],
  [1, 2],
  '(',
  '%',
  '\u0000',
  { a: 1 },
)
const MATH = fc.constantFrom(
  'total',
  'dau',
  'weekly_active',
  'monthly_active',
  'unique_session',
  'unique_group',
  'first_time_for_user',
  'first_matching_event_for_user',
  'hogql',
  'avg',
  'sum',
  'p99',
  'median_count_per_actor',
  'avg_count_per_actor',
)

/** Mostly not there, so that one odd member does not hide what the others do. */
const optional = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value })

const FILTERS = fc.array(fc.record({ key: NAME, type: TYPE, operator: OPERATOR, value: VALUE }), {
  maxLength: 2,
})

const SERIES = fc.record({
  kind: fc.constant('EventsNode'),
  event: fc.constantFrom('seen', 'bought', '', null, "o'brien"),
  math: optional(MATH),
  math_property: optional(NAME),
  math_property_type: optional(
    fc.constantFrom('event_properties', 'person_properties', 'session_properties'),
  ),
  math_hogql: optional(
    fc.constantFrom('count()', 'sum(properties.n)', 'event', '1', 'count(', 'max(timestamp)'),
  ),
  math_group_type_index: optional(fc.nat(4)),
  properties: optional(FILTERS),
})

const BREAKDOWN = fc.oneof(
  fc.record({
    breakdown: fc.oneof(
      NAME,
      fc.array(NAME, { maxLength: 4 }),
      fc.constantFrom<unknown>(3, ['all', 3], 99),
    ),
    breakdown_type: optional(TYPE),
    breakdown_limit: optional(fc.constantFrom(1, 1000)),
    breakdown_histogram_bin_count: optional(fc.constantFrom(1, 7, 100)),
    breakdown_normalize_url: optional(fc.boolean()),
    breakdown_hide_other_aggregation: optional(fc.boolean()),
  }),
  fc.record({
    breakdowns: fc.array(
      fc.record({
        property: NAME,
        type: optional(TYPE),
        histogram_bin_count: optional(fc.constantFrom(1, 5)),
      }),
      { maxLength: 3 },
    ),
  }),
)

const QUERY = fc.record({
  kind: fc.constantFrom(
    'TrendsQuery' as const,
    'LifecycleQuery' as const,
    'StickinessQuery' as const,
    'CalendarHeatmapQuery' as const,
  ),
  series: fc.array(SERIES, { minLength: 1, maxLength: 1 }),
  interval: optional(fc.constantFrom('minute', 'hour', 'day', 'week', 'month')),
  dateRange: fc.oneof(
    fc.constant({ date_from: '2024-03-08', date_to: '2024-03-12' }),

    fc.record({ date_from: DATE, date_to: DATE, explicitDate: optional(fc.boolean()) }),
  ),
  properties: optional(FILTERS),
  samplingFactor: optional(fc.constantFrom(0.1, 1)),
  filterTestAccounts: optional(fc.boolean()),
})

const OF_TRENDS = fc.record({
  breakdownFilter: optional(BREAKDOWN),
  compareFilter: optional(fc.record({ compare: fc.boolean(), compare_to: optional(DATE) })),
  trendsFilter: optional(
    fc.record({
      display: optional(
        fc.constantFrom(
          'BoldNumber',
          'ActionsLineGraphCumulative',
          'WorldMap',
          'ActionsPie',
          'odd',
        ),
      ),
      formula: optional(fc.constantFrom('A+B', 'A/0', '(', 'A')),
      smoothingIntervals: optional(fc.constantFrom(1, 3)),
    }),
  ),
})

/** Members that are not there are not sent. */
const sent = (value: object): object => JSON.parse(JSON.stringify(value))

test('any query of a right shape is answered, or refused in words', async () => {
  const outcomes: string[] = []
  await fc.assert(
    fc.asyncProperty(QUERY, OF_TRENDS, async (query, more) => {
      const asked = sent(query.kind === 'TrendsQuery' ? { ...query, ...more } : query)
      const { code, detail } = await answerOf(query.kind, asked)
      outcomes.push(code)
      expect([...Object.keys(ERRORS), 'answered']).toContain(code)
      expect(detail).not.toBe('')
      // The one thing that only the engine says no to: a pattern that is none.
      if (code === 'query_failed')
        expect(detail).toBe('A regular expression of the query cannot be read: missing ).')
    }),
    randomRuns(60),
  )
  const answered = outcomes.filter((code) => code === 'answered')
  expect(answered.length / outcomes.length).toBeGreaterThan(0.2)
})

type Outcome = { readonly code: string; readonly detail: string }

async function answerOf(kind: keyof typeof INSIGHT_QUERIES, asked: object): Promise<Outcome> {
  try {
    const query = validatorOf(INSIGHT_QUERIES[kind]).require(asked)
    await world.ask(query, NOW)
    return { code: 'answered', detail: 'everything' }
  } catch (error) {
    if (error instanceof Refusal) return { code: error.code, detail: error.detail }
    throw error
  }
}
