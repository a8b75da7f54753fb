/** Histograms of retention and funnels: as if every event carried the name of its bin, and the same people behind them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { binEdges, NO_VALUE } from '../../src/insights/members/breakdown.ts'
import type { InsightQueryNode } from '../../src/query/kinds/insight.ts'
import { limitTests } from '../long-tests.ts'
import { randomRuns } from '../random-runs.ts'
import { InsightWorld, type Sent } from './world.ts'

limitTests(120_000)

const NOW = '2024-06-12T12:00:00Z'
const DAY_MS = 86_400_000
const dateRange = { date_from: '2024-06-03', date_to: '2024-06-12' }

/** The names of bins, cut plainly: equal parts to two decimals, the last a hundredth beyond the most. */
function binsOf(numbers: readonly number[], count: number): readonly (readonly [number, number])[] {
  if (numbers.length === 0) return []
  const cents = (value: number): number => Math.round(value * 100) / 100
  // By six decimals: 19.99 * 100 is less than 1999.
  const floor = (value: number): number => Math.floor(Number((value * 100).toFixed(6))) / 100
  const [least, most] = [Math.min(...numbers), Math.max(...numbers)]
  const first = floor(least)
  const edges = [first]
  for (let part = 1; part < count; part += 1) {
    edges.push(cents(first + ((most - first) / count) * part))
  }
  edges.push(cents(floor(most) + 0.01))
  const sorted = [...new Set(edges)].toSorted((a, b) => a - b)
  return sorted.slice(1).map((upper, index) => [sorted[index] ?? 0, upper] as const)
}

type Act = {
  readonly person: number
  readonly day: number
  readonly event: 'buy' | 'look'
  readonly price: number | null
}

const act: fc.Arbitrary<Act> = fc.record({
  person: fc.integer({ min: 1, max: 4 }),
  day: fc.integer({ min: 0, max: 9 }),
  event: fc.constantFrom('buy', 'look'),
  price: fc.option(fc.constantFrom(0, 1, 2.5, 9.99, 19.99, 33.333, -4)),
})

/** Events with their price and the name of its bin; no two at the same time. */
function sentOf(acts: readonly Act[], bin_count: number): readonly Sent[] {
  const bins = binsOf(
    acts.flatMap(({ price }) => price ?? []),
    bin_count,
  )
  return acts.map(({ person, day, event, price }, index) => {
    const bin = price === null ? undefined : bins.find(([, upper]) => price < upper)
    const at = new Date(Date.parse('2024-06-03T00:00:00Z') + day * DAY_MS + index * 1000)
    const named = bin === undefined ? {} : { price, bin: `[${bin[0]},${bin[1]}]` }
    return { event, person, at: at.toISOString(), properties: named }
  })
}

const series = [
  { kind: 'EventsNode' as const, event: 'look' },
  { kind: 'EventsNode' as const, event: 'buy' },
]
const funnelOf = (funnelsFilter: object): InsightQueryNode => ({
  kind: 'FunnelsQuery',
  series,
  dateRange,
  funnelsFilter,
})
const retention: InsightQueryNode = {
  kind: 'RetentionQuery',
  dateRange,
  retentionFilter: {
    period: 'Day',
    totalIntervals: 10,
    targetEntity: { id: 'look', type: 'events' },
    returningEntity: { id: 'buy', type: 'events' },
  },
}
const ATTRIBUTIONS = ['first_touch', 'last_touch', 'all_events', 'step'] as const

describe('a breakdown by bins', () => {
  test('is one by the names of the bins that the numbers lie in', async () => {
    const history = fc.array(act, { minLength: 1, maxLength: 30 })
    await fc.assert(
      fc.asyncProperty(history, fc.integer({ min: 1, max: 5 }), async (acts, bin_count) => {
        await using world = new InsightWorld()
        world.send(...sentOf(acts, bin_count))
        const queries = [
          retention,
          ...ATTRIBUTIONS.map((kind) => funnelOf({ breakdownAttributionType: kind })),
          funnelOf({ funnelVizType: 'trends' }),
        ]
        for (const query of queries) {
          const split = async (breakdownFilter: object) =>
            (await world.ask({ ...query, breakdownFilter } as InsightQueryNode, NOW)).results
          const by_number = await split({
            breakdown: 'price',
            breakdown_type: 'event',
            breakdown_histogram_bin_count: bin_count,
          })
          const by_name = await split({ breakdown: 'bin', breakdown_type: 'event' })
          expect(by_number).toEqual(by_name)
        }
      }),
      randomRuns(1),
    )
  })
})

describe('the bins of numbers', () => {
  const price = fc.integer({ min: -1_000_000, max: 1_000_000 }).map((cents) => cents / 100)

  test.each([
    ['prices', price],
    ['any numbers', fc.double({ noNaN: true, min: -1e300, max: 1e300 })],
  ])('hold the least and the most of %s', (_, number) => {
    fc.assert(
      fc.property(number, number, fc.integer({ min: 1, max: 100 }), (one, other, bin_count) => {
        const [least, most] = [Math.min(one, other), Math.max(one, other)]
        const edges = binEdges(least, most, bin_count)
        expect(edges[0]).toBeLessThanOrEqual(least)
        expect(edges.at(-1)).toBeGreaterThan(most)
        expect(edges.length).toBeLessThanOrEqual(bin_count + 1)
      }),
    )
  })

  test('end a hundredth beyond the most, whatever its binary fraction', () => {
    expect(binEdges(1, 19.99, 3)).toEqual([1, 7.33, 13.66, 20])
    expect(binEdges(19.99, 19.99, 2)).toEqual([19.99, 20])
  })
})

type Line = {
  readonly data: readonly number[]
  readonly days: readonly string[]
  readonly compare_label: string
  readonly breakdown_value: string
}

describe('the people behind a bin', () => {
  const world = new InsightWorld()
  beforeAll(() => {
    // Prices 0 to 20 in two bins: [0,10] and [10,20.01]. Who looked at 3 first and at 15 later is of the first.
    world.send(
      { event: 'look', person: 1, at: '2024-06-03T10:00:00Z', properties: { price: 3 } },
      { event: 'look', person: 1, at: '2024-06-03T11:00:00Z', properties: { price: 15 } },
      { event: 'buy', person: 1, at: '2024-06-04T10:00:00Z', properties: { price: 3 } },
      { event: 'look', person: 2, at: '2024-06-03T10:00:00Z', properties: { price: 20 } },
      { event: 'buy', person: 2, at: '2024-06-05T10:00:00Z', properties: { price: 20 } },
      { event: 'look', person: 3, at: '2024-06-03T10:00:00Z', properties: { price: 0 } },
      { event: 'look', person: 4, at: '2024-06-03T10:00:00Z', properties: {} },
    )
  })
  afterAll(() => world[Symbol.asyncDispose]())

  const breakdownFilter = {
    breakdown: 'price',
    breakdown_type: 'event',
    breakdown_histogram_bin_count: 2,
  }
  const behind = async (source: object) => {
    const query = { kind: 'ActorsQuery', select: ['id'], orderBy: ['id'], source }
    const { results } = await world.ask(query as InsightQueryNode, NOW)
    return (results as [string][]).map(([id]) => Number(id.slice(-2)))
  }

  test('are all of those who are in none', async () => {
    const odd = ['dear', 'Infinity', '', undefined]
    world.send(
      ...[...odd, 1, 2].map((size, index) => ({
        event: 'fit',
        person: 5 + index,
        at: '2024-06-03T10:00:00Z',
        properties: size === undefined ? {} : { size },
      })),
    )
    const by_size = { ...breakdownFilter, breakdown: 'size' }
    const fit = { kind: 'EventsNode' as const, event: 'fit', math: 'dau' }
    const funnel = { ...funnelOf({}), series: [fit], breakdownFilter: by_size }
    const steps = { kind: 'FunnelsActorsQuery', source: funnel, funnelStep: 1 }
    expect(await behind({ ...steps, funnelStepBreakdown: [''] })).toEqual([5, 6, 7, 8])
    const trends = { kind: 'TrendsQuery', series: [fit], dateRange, breakdownFilter: by_size }
    const entity = { id: 'fit', type: 'events' }
    const of_fit = { ...retention, retentionFilter: { period: 'Day', targetEntity: entity } }
    for (const point of [
      { source: trends, day: '2024-06-03' },
      { source: { ...of_fit, breakdownFilter: by_size }, interval: 0 },
    ]) {
      const source = { kind: 'InsightActorsQuery', ...point, breakdown: NO_VALUE }
      expect(await behind(source)).toEqual([5, 6, 7, 8])
    }
  })

  const MATHS = ['dau', 'weekly_active', 'first_time_for_user', 'first_matching_event_for_user']
  test.each(MATHS)(
    'are as many as the chart of %s has, also in none of the bins of its range',
    async (math) => {
      const event = `rent ${math}`
      const rent = (person: number, date: string, price: number | string) =>
        world.send({ event, person, at: `${date}T10:00:00Z`, properties: { price } })
      // The range of 6 to 12 June has the bins [0,10] and [10,20.01].
      rent(21, '2024-06-06', 0)
      rent(22, '2024-06-06', 20)
      rent(23, '2024-06-06', 'dear')
      // Before it.
      rent(21, '2024-06-01', 70)
      rent(24, '2024-06-01', 15)
      rent(25, '2024-06-01', -5)
      rent(26, '2024-06-01', 'dear')
      const trends = {
        kind: 'TrendsQuery',
        series: [{ kind: 'EventsNode', event, math }],
        dateRange: { date_from: '2024-06-06', date_to: '2024-06-12' },
        compareFilter: { compare: true },
        breakdownFilter,
      }
      const { results } = await world.ask(trends as InsightQueryNode, NOW)
      const points = (results as Line[]).flatMap(({ data, days, compare_label, ...line }) =>
        data.map((count, step) => ({
          count,
          point: { day: days[step], compare: compare_label, breakdown: line.breakdown_value },
        })),
      )
      const nones = points.filter(({ point }) => point.breakdown === NO_VALUE)
      expect(nones.map(({ count }) => count)).toContain(3)
      for (const { count, point } of points) {
        const source = { kind: 'InsightActorsQuery', source: trends, ...point }
        expect([point, (await behind(source)).length]).toEqual([point, count])
      }
    },
  )

  test('are those of a step of a funnel', async () => {
    const first = { ...funnelOf({}), breakdownFilter }
    const { results } = await world.ask(first, NOW)
    const counts = (results as { breakdown: unknown; count: number }[][]).map((steps) => [
      steps[0]?.breakdown,
      ...steps.map(({ count }) => count),
    ])
    expect(counts).toEqual([
      [['[0,10]'], 2, 1],
      [['[10,20.01]'], 1, 1],
      [[''], 1, 0],
    ])
    const step = (funnelStep: number, bin: string, source: object = first) =>
      behind({ kind: 'FunnelsActorsQuery', source, funnelStep, funnelStepBreakdown: [bin] })
    expect(await step(1, '[0,10]')).toEqual([1, 3])
    expect(await step(2, '[0,10]')).toEqual([1])
    expect(await step(-2, '[0,10]')).toEqual([3])
    expect(await step(1, '[10,20.01]')).toEqual([2])
    expect(await step(1, '')).toEqual([4])
    const all = {
      ...funnelOf({ breakdownAttributionType: 'all_events' }),
      breakdownFilter,
    }
    // Every value's events are a history of their own.
    expect(await step(1, '[10,20.01]', all)).toEqual([1, 2])
    expect(await step(2, '[10,20.01]', all)).toEqual([2])
    const unnamed = { kind: 'FunnelsActorsQuery', source: all, funnelStep: 1 }
    const refused = await behind(unnamed).catch((error: unknown) => error)
    expect(refused).toMatchObject({ attr: 'query__source__funnelStepBreakdown' })
    const odd = await step(1, 'dear').catch((error: unknown) => error)
    expect(odd).toMatchObject({ code: 'invalid_input' })
  })

  test('are those of a start of retention', async () => {
    const source = { ...retention, breakdownFilter }
    const start = (breakdown: string) =>
      behind({ kind: 'InsightActorsQuery', source, interval: 0, breakdown })
    expect(await start('[0,10]')).toEqual([1, 3])
    expect(await start('[10,20.01]')).toEqual([1, 2])
  })
})
