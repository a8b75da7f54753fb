/** Trends split by values, worked out by formulas, and refused: examples worked by hand. */

import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { FunnelsQuery } from '../../../src/contract/insights/funnels.ts'
import type { TrendsQuery } from '../../../src/contract/insights/trends.ts'
import { InsightWorld } from '../world.ts'
import { BOUGHT, linesOf, NOW, numbersOf, query, seen, trendsWorld } from './world.ts'

setDefaultTimeout(120_000)

const world = trendsWorld()
afterAll(() => world[Symbol.asyncDispose]())

describe('breakdowns', () => {
  const split = (
    breakdownFilter: NonNullable<TrendsQuery['breakdownFilter']>,
    members = {},
  ): Promise<unknown> => numbersOf(world, { breakdownFilter, ...members })
  const NONE = 'None (i.e. no value)'
  const OTHER = 'Other (i.e. all remaining values)'

  test('name truth, what is missing, and what is beyond the limit', async () => {
    expect(await split({ breakdown: 'paid' })).toEqual([
      ['true', [1, 1, 0, 0]],
      ['false', [1, 0, 0, 0]],
      [NONE, [0, 2, 1, 0]],
    ])
    expect(await split({ breakdown: 'paid', breakdown_limit: 1 })).toEqual([
      ['true', [1, 1, 0, 0]],
      [OTHER, [1, 2, 1, 0]],
    ])
    const breakdownFilter = {
      breakdown: 'paid',
      breakdown_limit: 1,
      breakdown_hide_other_aggregation: true,
    }
    const { results, hasMore } = await world.ask(query({ breakdownFilter }), NOW)
    expect(hasMore).toBe(true)
    expect(results).toMatchObject([{ breakdown_value: 'true' }])
  })

  test.each(['constructor', '__proto__', 'toString'])(
    'call the value %s by its name, though every object has one',
    async (name) => {
      expect(await split({ breakdown: `'${name}'`, breakdown_type: 'hogql' })).toEqual([
        [name, [2, 3, 1, 0]],
      ])
    },
  )

  test('cut numbers into equal parts', async () => {
    // From 10 to 50 in two parts; the last one holds its end.
    expect(await split({ breakdown: 'price', breakdown_histogram_bin_count: 2 })).toEqual([
      ['[10,30]', [2, 0, 0, 0]],
      ['[30,50.01]', [0, 2, 0, 0]],
      [NONE, [0, 1, 1, 0]],
    ])
  })

  test('cut numbers into equal parts although some texts read as infinite', async () => {
    await using odd = new InsightWorld()
    const at = '2024-06-10T10:00:00Z'
    const sizes = [1, 'Infinity', '-inf', 'nan', 3]
    odd.send(...sizes.map((size, person) => ({ event: 'odd', person, at, properties: { size } })))
    const { results } = await odd.ask(
      {
        kind: 'TrendsQuery',
        series: [{ kind: 'EventsNode', event: 'odd' }],
        trendsFilter: { display: 'ActionsTable' },
        breakdownFilter: { breakdown: 'size', breakdown_histogram_bin_count: 2 },
        dateRange: { date_from: '2024-06-10', date_to: '2024-06-10' },
      },
      NOW,
    )
    const lines = results as { label: string; aggregated_value: number }[]
    expect(lines.map(({ label, aggregated_value }) => [label, aggregated_value])).toEqual([
      ['[1,2]', 1],
      ['[2,3.01]', 1],
      [NONE, 3],
    ])
  })

  test('take addresses without their tails, an empty one for the root', async () => {
    expect(await split({ breakdown: '$current_url', breakdown_normalize_url: true })).toEqual([
      ['https://x.org/pricing', [2, 0, 0, 0]],
      ['/', [0, 0, 1, 0]],
      [NONE, [0, 3, 0, 0]],
    ])
  })

  test('may be of groups, of the event itself, and in HogQL', async () => {
    expect(
      await split({ breakdown: 'size', breakdown_type: 'group', breakdown_group_type_index: 0 }),
    ).toEqual([
      ['big', [0, 1, 0, 0]],
      [NONE, [2, 2, 1, 0]],
    ])
    expect(await split({ breakdown: 'distinct_id', breakdown_type: 'event_metadata' })).toEqual([
      ['d1', [2, 1, 0, 0]],
      ['d2', [0, 2, 0, 0]],
      ['d7', [0, 0, 1, 0]],
    ])
    expect(
      await split({
        breakdown: "concat('p', toString(toDayOfWeek(timestamp)))",
        breakdown_type: 'hogql',
      }),
    ).toEqual([
      ['p7', [0, 3, 0, 0]],
      ['p6', [2, 0, 0, 0]],
      ['p1', [0, 0, 1, 0]],
    ])
  })

  test('may be several, their values in lists', async () => {
    const breakdowns = [{ property: 'plan', type: 'person' }, { property: 'paid' }]
    const lines = await linesOf(world, { breakdownFilter: { breakdowns } })
    expect(lines.map(({ label, breakdown_value, data }) => [label, breakdown_value, data])).toEqual(
      [
        ['free::true', ['free', 'true'], [0, 1, 0, 0]],
        ['pro::false', ['pro', 'false'], [1, 0, 0, 0]],
        ['pro::true', ['pro', 'true'], [1, 0, 0, 0]],
        [
          `${NONE}::${NONE}`,
          ['$$_posthog_breakdown_null_$$', '$$_posthog_breakdown_null_$$'],
          [0, 0, 1, 0],
        ],
        [`free::${NONE}`, ['free', '$$_posthog_breakdown_null_$$'], [0, 1, 0, 0]],
        [`pro::${NONE}`, ['pro', '$$_posthog_breakdown_null_$$'], [0, 1, 0, 0]],
      ],
    )
  })

  test.each<NonNullable<TrendsQuery['breakdownFilter']>>([
    { breakdown: ['all', 3], breakdown_type: 'cohort' },
    // As newer editors send them.
    {
      breakdowns: [
        { property: 0, type: 'cohort' },
        { property: 3, type: 'cohort' },
      ],
    },
  ])('may be cohorts, each by itself: %j', async (breakdownFilter) => {
    const lines = await linesOf(world, { breakdownFilter })
    expect(lines.map(({ label, breakdown_value, data }) => [label, breakdown_value, data])).toEqual(
      [
        ['all users', 'all', [2, 3, 1, 0]],
        ['vip', 3, [0, 0, 0, 0]],
      ],
    )
  })

  test('are called by their series where there are several', async () => {
    expect(await split({ breakdown: 'paid' }, { series: [seen(), BOUGHT] })).toEqual([
      ['seen - true', [1, 1, 0, 0]],
      ['seen - false', [1, 0, 0, 0]],
      [`seen - ${NONE}`, [0, 2, 1, 0]],
      [`bought - ${NONE}`, [0, 0, 0, 1]],
    ])
  })
})

describe('formulas', () => {
  const worked = (
    trendsFilter: NonNullable<TrendsQuery['trendsFilter']>,
    members = {},
  ): Promise<unknown> => numbersOf(world, { series: [seen(), BOUGHT], trendsFilter, ...members })

  test('are lines of their own in place of the series', async () => {
    expect(await worked({ formula: 'A + B * 10' })).toEqual([
      ['Formula (A + B * 10)', [2, 3, 1, 10]],
    ])
    const formulaNodes = [{ formula: 'A / B', custom_name: 'rate' }, { formula: 'B' }]
    expect(await worked({ formulaNodes })).toEqual([
      ['rate', [0, 0, 0, 0]],
      ['Formula (B)', [0, 0, 0, 1]],
    ])
    expect(await worked({ formulas: ['B / A'], display: 'BoldNumber' })).toEqual([
      ['Formula (B / A)', 1 / 6],
    ])
  })

  test('have a line for each value; a series without it is zero there', async () => {
    const lines = await linesOf(world, {
      series: [seen(), BOUGHT],
      trendsFilter: { formula: 'A - B' },
      breakdownFilter: { breakdown: 'paid' },
    })
    expect(lines).toMatchObject([
      {
        label: 'Formula (A - B)',
        action: null,
        breakdown_value: 'true',
        data: [1, 1, 0, 0],
        count: 2,
      },
      { breakdown_value: 'false', data: [1, 0, 0, 0] },
      { breakdown_value: '$$_posthog_breakdown_null_$$', data: [0, 2, 1, -1] },
    ])
  })

  test('are worked out for both times of a comparison', async () => {
    const lines = await linesOf(world, {
      series: [seen(), BOUGHT],
      trendsFilter: { formula: 'A * 2' },
      compareFilter: { compare: true },
    })
    expect(lines).toMatchObject([
      { data: [4, 6, 2, 0], compare_label: 'current' },
      { data: [0, 0, 0, 2], compare_label: 'previous' },
    ])
  })
})

describe('what makes no sense is refused', () => {
  test.each<[Partial<TrendsQuery>, string]>([
    [{ series: [seen({ math: 'guess' })] }, 'query__series__0__math'],
    [{ series: [seen({ math: 'constructor' })] }, 'query__series__0__math'],
    [
      { series: [seen({ math: 'toString_count_per_actor', math_property: 'n' })] },
      'query__series__0__math',
    ],
    [{ series: [seen({ math: 'sum' })] }, 'query__series__0__math_property'],
    [{ series: [seen({ math: 'hogql' })] }, 'query__series__0__math_hogql'],
    [
      { series: [seen({ math: 'hogql', math_hogql: 'count({x})' })] },
      'query__series__0__math_hogql',
    ],
    [{ trendsFilter: { formula: 'B' } }, 'query__trendsFilter__formula'],
    [{ trendsFilter: { formulas: ['A', '('] } }, 'query__trendsFilter__formulas__1'],
    [
      { breakdownFilter: { breakdown: 'x', breakdown_type: 'moon' } },
      'query__breakdownFilter__breakdown_type',
    ],
    [
      { breakdownFilter: { breakdown: 'x', breakdown_type: 'cohort' } },
      'query__breakdownFilter__breakdown',
    ],
    [{ dateRange: { date_from: 'soon' } }, 'query__dateRange__date_from'],
    [{ dateRange: { date_from: '2024-03-12', date_to: '2024-03-01' } }, 'query__dateRange'],
    [{ compareFilter: { compare: true, compare_to: 'then' } }, 'query__compareFilter__compare_to'],
  ])('%j', async (members, attr) => {
    const asked = async (): Promise<unknown> => world.ask(query(members), NOW)
    const refused = await asked().catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 'invalid_input', attr })
  })
})

test('an answer that would be cut off is refused', async () => {
  await using few = new InsightWorld()
  few.know({ rows_max: 3 })
  const days = ['08', '09', '10', '11'].map((day) => `2024-03-${day}T10:00:00Z`)
  few.send(...days.map((at) => ({ person: 1, at })))
  const asked = query({ dateRange: { date_from: '2024-03-08', date_to: '2024-03-11' } })
  const refused = await few.ask(asked, NOW).catch((error: unknown) => error)
  expect(refused).toMatchObject({ code: 'query_too_large', attr: 'query__breakdownFilter' })
})

describe('an answer of more numbers than one may hold', () => {
  /** Sixty values; a week has ten thousand minutes. */
  const values = Array.from({ length: 60 }, (_, index) => ({
    person: index + 1,
    at: '2024-03-10T10:00:00Z',
    properties: { value: `v${index}` },
  }))
  const dateRange = { date_from: '2024-03-07', date_to: '2024-03-12' }
  const breakdownFilter = { breakdown: 'value', breakdown_limit: 60 }

  const interval = 'hour'
  const weeks = { date_from: '2024-02-20', date_to: '2024-03-12' }
  const series = Array.from({ length: 26 }, () => seen())

  test.each<[string, Partial<TrendsQuery>]>([
    ['steps of many values', { interval: 'minute' }],
    ['lines of many series', { interval, dateRange: weeks, series }],
    [
      'worked out',
      {
        interval,
        dateRange: weeks,
        trendsFilter: { formulas: Array.from({ length: 20 }, () => 'A') },
      },
    ],
  ])('is refused before it is made: %s', async (_what, members) => {
    await using many = new InsightWorld()
    many.send(...values)
    const refused = await many
      .ask(query({ dateRange, breakdownFilter, ...members }), NOW)
      .catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 'query_too_large', attr: 'query__breakdownFilter' })
  })

  test('is refused of funnels by time too', async () => {
    await using many = new InsightWorld()
    many.send(...values)
    const asked: FunnelsQuery = {
      kind: 'FunnelsQuery',
      series: [seen(), BOUGHT],
      interval: 'minute',
      dateRange,
      breakdownFilter,
      funnelsFilter: { funnelVizType: 'trends' },
    }
    const refused = await many.ask(asked, NOW).catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 'query_too_large' })
  })
})
