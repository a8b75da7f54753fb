/** Who is behind numbers of trends, and which numbers may be chosen: examples worked by hand. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { TrendsQuery } from '../../../src/contract/insights/trends.ts'
import { BOUGHT, DAYS, LABELS, NOW, query, seen, trendsWorld } from './world.ts'

setDefaultTimeout(120_000)

const world = trendsWorld()
afterAll(() => world[Symbol.asyncDispose]())

/** The number of a person's id, or a group's key, with how many events are behind it. */
async function actors(source: Partial<TrendsQuery>, point: object): Promise<unknown> {
  const { results } = await world.ask(
    { kind: 'InsightActorsQuery', source: query(source), ...point },
    NOW,
  )
  return (results as [string, number][]).map(([id, events]) => [
    /^[0-9a-f-]{36}$/.test(id) ? Number(id.slice(-4)) : id,
    events,
  ])
}

const NONE = '$$_posthog_breakdown_null_$$'
const OTHER = '$$_posthog_breakdown_other_$$'

describe('the people behind a number', () => {
  test('are those of its day, whoever they were then, with or without a profile', async () => {
    expect(await actors({}, { day: '2024-03-09' })).toEqual([[1, 2]])
    expect(await actors({}, { day: '2024-03-10' })).toEqual([
      [2, 2],
      [1, 1],
    ])
    expect(await actors({}, { day: '2024-03-11' })).toEqual([[7, 1]])
    expect(await actors({}, { day: '2024-03-12' })).toEqual([])
    // 5 is 2 since they were merged.
    const compareFilter = { compare: true }
    expect(await actors({ compareFilter }, { day: '2024-03-08', compare: 'previous' })).toEqual([
      [2, 1],
    ])
  })

  test('are those of its series, its hour and its week', async () => {
    expect(await actors({ series: [seen(), BOUGHT] }, { day: '2024-03-12', series: 1 })).toEqual([
      [2, 1],
    ])
    const hour = { day: '2024-03-10 03:00:00' }
    expect(await actors({ interval: 'hour' }, hour)).toEqual([[2, 1]])
    expect(await actors({ interval: 'week' }, { day: '2024-03-11' })).toEqual([[7, 1]])
  })

  test('are groups where groups are counted', async () => {
    const group = { math_group_type_index: 0 }
    for (const math of ['unique_group', 'weekly_active']) {
      expect(await actors({ series: [seen({ math, ...group })] }, { day: '2024-03-10' })).toEqual([
        ['acme', 1],
        ['beta', 1],
      ])
    }
  })

  test('of windows, sums and first times are all that count there', async () => {
    const math = (name: string) => ({ series: [seen({ math: name })] })
    expect(await actors(math('weekly_active'), { day: '2024-03-09' })).toEqual([
      [1, 2],
      [2, 1],
    ])
    const cumulative = { trendsFilter: { display: 'ActionsLineGraphCumulative' } }
    expect(await actors(cumulative, { day: '2024-03-11' })).toEqual([
      [1, 3],
      [2, 2],
      [7, 1],
    ])
    expect(await actors(math('first_time_for_user'), { day: '2024-03-09' })).toEqual([[1, 1]])
    expect(await actors(math('first_time_for_user'), { day: '2024-03-10' })).toEqual([])
  })

  test('of one number for all the time are those of all the time', async () => {
    const total = { trendsFilter: { display: 'ActionsPie' } }
    expect(await actors(total, {})).toEqual([
      [1, 3],
      [2, 2],
      [7, 1],
    ])
  })

  test('have the value that the number is of', async () => {
    const plan = { breakdownFilter: { breakdown: 'plan', breakdown_type: 'person' } }
    const day = '2024-03-10'
    expect(await actors(plan, { day, breakdown: 'free' })).toEqual([[2, 2]])
    expect(await actors(plan, { day: '2024-03-11', breakdown: NONE })).toEqual([[7, 1]])
    const few = { breakdownFilter: { breakdown: 'paid', breakdown_limit: 1 } }
    expect(await actors(few, { day, breakdown: OTHER })).toEqual([
      [1, 1],
      [2, 1],
    ])
    const bins = { breakdownFilter: { breakdown: 'price', breakdown_histogram_bin_count: 2 } }
    expect(await actors(bins, { day, breakdown: '[30,50.01]' })).toEqual([
      [1, 1],
      [2, 1],
    ])
    const few_bins = { breakdownFilter: { ...bins.breakdownFilter, breakdown_limit: 1 } }
    expect(await actors(few_bins, { day, breakdown: OTHER })).toEqual([
      [2, 2],
      [1, 1],
    ])
    expect(await actors(few_bins, { day: '2024-03-11', breakdown: OTHER })).toEqual([[7, 1]])
    expect(await actors(few_bins, { day: '2024-03-09', breakdown: OTHER })).toEqual([])
    const two = {
      breakdownFilter: { breakdowns: [{ property: 'plan', type: 'person' }, { property: 'paid' }] },
    }
    expect(await actors(two, { day, breakdown: ['free', 'true'] })).toEqual([[2, 1]])
    const cohort = { breakdownFilter: { breakdown: ['all', 3], breakdown_type: 'cohort' } }
    expect(await actors(cohort, { day, breakdown: 'all' })).toHaveLength(2)
    expect(await actors(cohort, { day, breakdown: 3 })).toEqual([])
  })

  test.each([
    [{}, { day: '2024-04-01' }, 'query__source__day'],
    [{}, { day: 'then' }, 'query__source__day'],
    [{}, { day: '2024-03-09', compare: 'previous' }, 'query__source__compare'],
    [{}, { day: '2024-03-09', series: 3 }, 'query__series'],
    [
      { breakdownFilter: { breakdown: 'paid' } },
      { breakdown: ['a', 'b'] },
      'query__source__breakdown',
    ],
  ])('%j has no number at %j', async (source, point, attr) => {
    const refused = await actors(source, point).catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 'invalid_input', attr })
  })
})

describe('the numbers that may be chosen', () => {
  const options = async (source: Partial<TrendsQuery>): Promise<unknown> => {
    const asked = { kind: 'InsightActorsQuery' as const, source: query(source) }
    const { results } = await world.ask({ kind: 'InsightActorsQueryOptions', source: asked }, NOW)
    return results
  }
  const day = DAYS.map((value, index) => ({ label: LABELS[index], value }))
  const nothing = {
    day: null,
    interval: null,
    series: null,
    status: null,
    compare: null,
    breakdown: null,
    breakdowns: null,
  }

  test('are days, series and times', async () => {
    expect(await options({ series: [seen(), BOUGHT], compareFilter: { compare: true } })).toEqual({
      ...nothing,
      day,
      series: [
        { label: 'seen', value: 0 },
        { label: 'bought', value: 1 },
      ],
      compare: [
        { label: 'Current', value: 'current' },
        { label: 'Previous', value: 'previous' },
      ],
    })
  })

  test('are the values that the answer tells apart', async () => {
    const series = [{ label: 'seen', value: 0 }]
    expect(await options({ breakdownFilter: { breakdown: 'paid', breakdown_limit: 1 } })).toEqual({
      ...nothing,
      day,
      series,
      breakdown: [
        { label: 'true', value: 'true' },
        { label: 'Other (i.e. all remaining values)', value: OTHER },
      ],
    })
    const breakdowns = [{ property: 'plan', type: 'person' }, { property: 'paid' }]
    expect(
      await options({
        breakdownFilter: { breakdowns, breakdown_limit: 2 },
        trendsFilter: { display: 'ActionsPie' },
      }),
    ).toEqual({
      ...nothing,
      series,
      breakdowns: [
        {
          values: [
            { label: 'free', value: 'free' },
            { label: 'pro', value: 'pro' },
            { label: 'Other (i.e. all remaining values)', value: OTHER },
          ],
        },
        {
          values: [
            { label: 'true', value: 'true' },
            { label: 'false', value: 'false' },
            { label: 'Other (i.e. all remaining values)', value: OTHER },
          ],
        },
      ],
    })
    expect(
      await options({ breakdownFilter: { breakdown: ['all', 3], breakdown_type: 'cohort' } }),
    ).toEqual({
      ...nothing,
      day,
      series,
      breakdown: [
        { label: 'all users', value: 'all' },
        { label: 'vip', value: 3 },
      ],
    })
  })
})
