/** Stickiness: examples worked by hand. Any history: any-history.test.ts. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { StickinessQuery } from '../../../src/contract/insights/activity.ts'
import { stickinessActors } from '../../../src/insights/activity/stickiness.ts'
import { FIRST_POINT } from '../../../src/insights/actors/point.ts'
import { InsightWorld, insightContext } from '../world.ts'

setDefaultTimeout(120_000)

const NOW = '2024-03-06T12:00:00Z'
const query = {
  kind: 'StickinessQuery' as const,
  series: [{ kind: 'EventsNode' as const, event: 'seen' }],
  dateRange: { date_from: '2024-03-02', date_to: '2024-03-05' },
}

/** 1 was there on three days (twice on the first), 2 on one (and once before), 3 on two, all days of the range. */
function exampleWorld(): InsightWorld {
  const world = new InsightWorld()
  const times = {
    1: ['02T01', '02T23', '03T10', '05T23'],
    2: ['01T10', '04T10'],
    3: ['02T10', '03T10'],
  }
  for (const [person, hours] of Object.entries(times)) {
    for (const hour of hours) world.send({ person: Number(person), at: `2024-03-${hour}:30:00Z` })
  }
  return world
}

const ACTION = { id: 'seen', name: 'seen', type: 'events', order: 0 }

describe('StickinessQuery', () => {
  const world = exampleWorld()
  afterAll(() => world[Symbol.asyncDispose]())

  test('counts people by the number of days they were active on', async () => {
    expect((await world.ask(query, NOW)).results).toEqual([
      {
        count: 3,
        data: [1, 1, 1, 0],
        days: [1, 2, 3, 4],
        label: 'seen',
        labels: ['1 day', '2 days', '3 days', '4 days'],
        action: ACTION,
      },
    ])
  })

  test('cumulates, compares, and counts only days with enough events', async () => {
    const cumulative = {
      ...query,
      stickinessFilter: { computedAs: 'cumulative' as const },
      compareFilter: { compare: true },
    }
    expect((await world.ask(cumulative, NOW)).results).toMatchObject([
      {
        // The persons, who are in several numbers.
        count: 3,
        data: [3, 2, 1, 0],
        labels: ['1 day or more', '2 days or more', '3 days or more', '4 days or more'],
        compare_label: 'current',
      },
      // From 27 February to 1 March.
      { data: [1, 0, 0, 0], compare: true, compare_label: 'previous' },
    ])
    const twice = {
      ...query,
      stickinessFilter: { stickinessCriteria: { operator: 'gte' as const, value: 2 } },
    }
    expect((await world.ask(twice, NOW)).results).toMatchObject([{ data: [1, 0, 0, 0] }])
  })

  test('counts in steps of several days', async () => {
    // The 2nd with the 3rd, the 4th with the 5th.
    expect((await world.ask({ ...query, intervalCount: 2 }, NOW)).results).toMatchObject([
      { data: [2, 1], labels: ['1 day', '2 days'] },
    ])
    // Counted from the end: the 4th with the 3rd, the 2nd alone.
    const dateRange = { date_from: '2024-03-02', date_to: '2024-03-04' }
    const odd = { ...query, intervalCount: 2, dateRange }
    expect((await world.ask(odd, NOW)).results).toMatchObject([{ data: [1, 2] }])
  })

  test('counts the values of an expression in place of persons', async () => {
    const series = [{ ...query.series[0], math: 'hogql', math_hogql: 'toHour(timestamp)' }]
    const source = { ...query, series } as StickinessQuery
    // At ten on the 2nd, 3rd and 4th, at one once, at 23 on the 2nd and 5th.
    expect((await world.ask(source, NOW)).results).toMatchObject([{ data: [1, 1, 1, 0] }])
    const behind = { kind: 'StickinessActorsQuery' as const, source, day: 3 }
    expect((await world.ask(behind, NOW)).results).toEqual([['10', 4]])
    const { results } = await world.ask({ kind: 'ActorsQuery', source: behind }, NOW)
    expect(results).toMatchObject([[{ id: '10' }, '10', 1]])
  })

  test('finds the people behind each number', async () => {
    const people = async (steps: number | null, operator: string | null): Promise<unknown> => {
      const tree = stickinessActors(query, { ...FIRST_POINT, steps, operator }, insightContext(NOW))
      const rows = await world.rows(tree, NOW)
      return rows
        .map(([id, events]) => [Number(String(id).slice(-4)), Number(events)] as const)
        .toSorted(([a], [b]) => a - b)
    }
    expect(await people(1, null)).toEqual([[2, 1]])
    expect(await people(3, 'exact')).toEqual([[1, 4]])
    expect(await people(2, 'gte')).toEqual([
      [1, 4],
      [3, 2],
    ])
    expect(await people(null, null)).toEqual([
      [1, 4],
      [2, 1],
      [3, 2],
    ])
  })

  test('an empty range is refused, and one before the first event is zero', async () => {
    const early = { ...query, dateRange: { date_from: '2020-01-01', date_to: '2020-01-02' } }
    expect((await world.ask(early, NOW)).results).toMatchObject([{ count: 0, data: [0, 0] }])
    const never = { ...query, dateRange: { date_from: '2024-03-05', date_to: '2024-03-01' } }
    expect(await world.ask(never, NOW).catch(String)).toContain(
      'The date range ends before it begins.',
    )
  })
})
