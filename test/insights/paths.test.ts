/** Paths: examples worked by hand, and any history against plain loops over rows. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import type { PathsFilter, PathsQuery } from '../../src/contract/insights/paths.ts'
import { globPattern } from '../../src/insights/paths/items.ts'
import { pathActors, reachable } from '../../src/insights/paths/paths.ts'
import { limitTests } from '../long-tests.ts'
import { randomRuns } from '../random-runs.ts'
import { InsightWorld, insightContext, type Sent } from './world.ts'

limitTests(240_000)

const NOW = '2024-03-06T12:00:00Z'
const PAGES: PathsFilter = { includeEventTypes: ['$pageview'] }
const paths = (pathsFilter: PathsFilter, more: object = {}): PathsQuery => ({
  kind: 'PathsQuery',
  dateRange: { date_from: '2024-03-01', date_to: '2024-03-05' },
  pathsFilter,
  ...more,
})

/** Seconds after the first of March. */
const at = (second: number): string => new Date(Date.UTC(2024, 2, 1) + second * 1000).toISOString()
const view = (person: number, second: number, url: string): Sent => ({
  person,
  at: at(second),
  event: '$pageview',
  properties: { $current_url: url },
})

/** `1_/a 2_/b 3 60`: from, to, how many, and seconds on average. */
const edgesOf = (results: unknown): readonly string[] =>
  Array.isArray(results)
    ? results.map(
        ({ source, target, value, average_conversion_time }) =>
          `${source} ${target} ${value} ${average_conversion_time / 1000}`,
      )
    : []

describe('PathsQuery', () => {
  let world: InsightWorld
  beforeAll(() => {
    world = new InsightWorld()
    world.send(
      // 1 reads twice on the home page, and comes back after half an hour.
      view(1, 0, '/'),
      view(1, 10, '/'),
      view(1, 40, '/docs/a/'),
      view(1, 100, '/buy'),
      view(1, 1900, '/'),
      view(1, 1910, '/buy'),
      // 2, who is 3 by another name.
      view(2, 0, '/'),
      view(3, 50, '/docs/b'),
      view(2, 60, '/buy'),
      view(2, 70, '/thanks'),
      { person: 2, at: at(65), event: 'clicked', properties: {} },
      { person: 4, at: at(0), event: '$screen', properties: { $screen_name: 'Start' } },
      { person: 4, at: at(5), event: 'clicked', properties: {} },
    )
    world.merge(3, 2)
  })
  afterAll(() => world[Symbol.asyncDispose]())

  const edges = async (filter: PathsFilter, more: object = {}) =>
    edgesOf((await world.ask(paths(filter, more), NOW)).results)

  test('answers edges between pages, the heaviest first', async () => {
    const answer = await world.ask(paths(PAGES), NOW)
    expect(answer.results).toEqual([
      { source: '1_/', target: '2_/buy', value: 1, average_conversion_time: 10_000 },
      { source: '1_/', target: '2_/docs/a', value: 1, average_conversion_time: 30_000 },
      { source: '1_/', target: '2_/docs/b', value: 1, average_conversion_time: 50_000 },
      { source: '2_/docs/a', target: '3_/buy', value: 1, average_conversion_time: 60_000 },
      { source: '2_/docs/b', target: '3_/buy', value: 1, average_conversion_time: 10_000 },
      { source: '3_/buy', target: '4_/thanks', value: 1, average_conversion_time: 10_000 },
    ])
    expect(answer['hogql']).toBeString()
  })

  test.each<[string, PathsFilter, readonly string[]]>([
    [
      'groupings',
      { ...PAGES, pathGroupings: ['/docs/*'] },
      ['1_/ 2_/docs/* 2 40', '2_/docs/* 3_/buy 2 35', '1_/ 2_/buy 1 10', '3_/buy 4_/thanks 1 10'],
    ],
    [
      'rules of their own',
      { ...PAGES, localPathCleaningFilters: [{ regex: '/docs/.*', alias: '/doc' }] },
      ['1_/ 2_/doc 2 40', '2_/doc 3_/buy 2 35', '1_/ 2_/buy 1 10', '3_/buy 4_/thanks 1 10'],
    ],
    [
      'a start, written with a slash',
      { ...PAGES, startPoint: '/docs/a/' },
      ['1_/docs/a 2_/buy 1 60'],
    ],
    [
      'an end',
      { ...PAGES, endPoint: '/buy', stepLimit: 2 },
      ['1_/ 2_/buy 1 10', '1_/docs/a 2_/buy 1 60', '1_/docs/b 2_/buy 1 10'],
    ],
    [
      'a start and an end, the middle left out',
      { ...PAGES, startPoint: '/', endPoint: '/thanks', stepLimit: 2 },
      ['1_/ 2_... 1 50', '2_... 3_/thanks 1 20'],
    ],
    [
      'steps',
      { ...PAGES, stepLimit: 2 },
      ['1_/ 2_/buy 1 10', '1_/ 2_/docs/a 1 30', '1_/ 2_/docs/b 1 50'],
    ],
    [
      'a lightest edge',
      { ...PAGES, pathGroupings: ['/docs/*'], minEdgeWeight: 2 },
      ['1_/ 2_/docs/* 2 40', '2_/docs/* 3_/buy 2 35'],
    ],
    [
      'a heaviest edge',
      { ...PAGES, pathGroupings: ['/docs/*'], maxEdgeWeight: 1 },
      ['1_/ 2_/buy 1 10'],
    ],
    ['few edges', { ...PAGES, edgeLimit: 1 }, ['1_/ 2_/buy 1 10']],
    [
      'items left out',
      { ...PAGES, excludeEvents: ['/', '/thanks'] },
      ['1_/docs/a 2_/buy 1 60', '1_/docs/b 2_/buy 1 10'],
    ],
    [
      'screens and events',
      { includeEventTypes: ['$screen', 'custom_event'] },
      ['1_Start 2_clicked 1 5'],
    ],
    [
      'an expression',
      {
        includeEventTypes: ['hogql'],
        pathsHogQLExpression: "if(event = '$pageview', 'page', event)",
      },
      ['1_$screen 2_clicked 1 5', '1_page 2_clicked 1 5', '2_clicked 3_page 1 5'],
    ],
  ])('with %s', async (_, filter, expected) => {
    expect(await edges(filter)).toEqual([...expected])
  })

  test('of a funnel’s people, after, before and between its steps', async () => {
    const page = (url: string) => ({
      kind: 'EventsNode' as const,
      event: '$pageview',
      properties: [{ key: '$current_url', value: url, type: 'event' }],
    })
    const funnelSource = {
      kind: 'FunnelsQuery' as const,
      series: [page('/'), page('/buy'), page('/thanks')],
      dateRange: { date_from: '2024-03-01', date_to: '2024-03-05' },
    }
    const of = (funnelPathType: string, funnelStep: number) =>
      edges(PAGES, { funnelPathsFilter: { funnelPathType, funnelStep, funnelSource } })
    expect(await of('funnel_path_after_step', 2)).toEqual([
      // 1 buys, and comes back; 2 buys and is thanked.
      '1_/buy 2_/ 1 1800',
      '1_/buy 2_/thanks 1 10',
      '2_/ 3_/buy 1 10',
    ])
    expect(await of('funnel_path_before_step', 3)).toEqual([
      '1_/ 2_/docs/b 1 50',
      '2_/docs/b 3_/buy 1 10',
      '3_/buy 4_/thanks 1 10',
    ])
    expect(await of('funnel_path_between_steps', 2)).toEqual([
      '1_/ 2_/docs/a 1 30',
      '1_/ 2_/docs/b 1 50',
      '2_/docs/a 3_/buy 1 60',
      '2_/docs/b 3_/buy 1 10',
    ])
  })

  test('between steps of a funnel begin at the last step taken where an optional one was left out', async () => {
    world.send(
      ...['before', 'one', 'between', 'three'].map((event, minute) => ({
        person: 13,
        event,
        at: new Date(Date.UTC(2024, 6, 1, 0, minute)).toISOString(),
      })),
    )
    const july = { dateRange: { date_from: '2024-07-01', date_to: '2024-07-02' } }
    const step = (event: string) => ({ kind: 'EventsNode' as const, event })
    const funnelSource = {
      kind: 'FunnelsQuery' as const,
      series: [step('one'), { ...step('two'), optionalInFunnel: true }, step('three')],
      ...july,
    }
    const funnelPathsFilter = {
      funnelPathType: 'funnel_path_between_steps',
      funnelStep: 3,
      funnelSource,
    }
    expect(await edges({}, { ...july, funnelPathsFilter })).toEqual([
      '1_one 2_between 1 60',
      '2_between 3_three 1 60',
    ])
  })

  test('of who drops off, from the step before on, and until the window of the funnel is over', async () => {
    const step = (event: string) => ({ kind: 'EventsNode' as const, event })
    const left = (person: number, ...events: readonly (readonly [string, number])[]) =>
      world.send(
        ...events.map(([event, minute]) => ({
          person,
          event,
          at: new Date(Date.UTC(2024, 5, 1, 0, minute)).toISOString(),
        })),
      )
    left(11, ['one', 0], ['off1', 1], ['off2', 2], ['late', 90])
    left(12, ['early', 0], ['one', 1], ['two', 2], ['between', 3], ['late', 95])
    const june = { dateRange: { date_from: '2024-06-01', date_to: '2024-06-02' } }
    const funnelSource = {
      kind: 'FunnelsQuery' as const,
      series: [step('one'), step('two'), step('three')],
      ...june,
      funnelsFilter: { funnelWindowInterval: 60, funnelWindowIntervalUnit: 'minute' as const },
    }
    const of = (funnelPathType: string, funnelStep: number) =>
      edges({}, { ...june, funnelPathsFilter: { funnelPathType, funnelStep, funnelSource } })
    expect(await of('funnel_path_after_step', -2)).toEqual([
      '1_one 2_off1 1 60',
      '2_off1 3_off2 1 60',
    ])
    expect(await of('funnel_path_before_step', -2)).toEqual([
      '1_one 2_off1 1 60',
      '2_off1 3_off2 1 60',
    ])
    expect(await of('funnel_path_after_step', -3)).toEqual(['1_two 2_between 1 60'])
    expect(await of('funnel_path_before_step', -3)).toEqual([
      '1_early 2_one 1 60',
      '2_one 3_two 1 60',
      '3_two 4_between 1 60',
    ])
  })

  test('finds the people behind an edge, and those who leave', async () => {
    const people = async (keys: PathsFilter) => {
      const tree = pathActors(paths({ ...PAGES, ...keys }), insightContext(NOW))
      const rows = await world.rows(tree, NOW)
      return rows.map(([id, count]) => [Number.parseInt(String(id).slice(-4), 16), Number(count)])
    }
    expect(await people({ pathStartKey: '2_/docs/a', pathEndKey: '3_/buy' })).toEqual([[1, 1]])
    const from_home = await people({ pathStartKey: '1_/' })
    expect(from_home.toSorted(([a = 0], [b = 0]) => a - b)).toEqual([
      [1, 2],
      [2, 1],
    ])
    expect(await people({ pathEndKey: '4_/thanks' })).toEqual([[2, 1]])
    expect(await people({ pathDropoffKey: '3_/buy' })).toEqual([[1, 1]])
    const attempt = () => pathActors(paths({ pathStartKey: 'x' }), insightContext(NOW))
    expect(attempt).toThrow(expect.objectContaining({ attr: 'query__pathsFilter__pathStartKey' }))
  })
})

describe('edges', () => {
  test('that no way from a first step leads to are left out', () => {
    const edge = (source: string, target: string) => ({
      source,
      target,
      value: 1,
      average_conversion_time: 0,
    })
    const kept = [edge('1_a', '2_b'), edge('2_b', '3_c')]
    expect(reachable([...kept, edge('2_x', '3_c')])).toEqual(kept)
  })
})

test('a glob is a pattern of which only stars mean anything', () => {
  expect(globPattern('/a.b/*?(c)')).toBe(String.raw`/a\.b/.*\?\(c\)`)
})

describe('any history', () => {
  const happening = fc.record({
    person: fc.integer({ min: 1, max: 3 }),
    gap: fc.constantFrom(1, 20, 1799, 1800, 4000),
    url: fc.constantFrom('/a', '/b', '/c/', '/d'),
  })

  test('has the edges of its visits', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(happening, { minLength: 1, maxLength: 25 }),
        fc.integer({ min: 2, max: 4 }),
        async (happenings, stepLimit) => {
          await using world = new InsightWorld()
          let second = 0
          const events = happenings.map(({ person, gap, url }) => {
            second += gap
            return { person, second, url }
          })
          world.send(...events.map(({ person, second: when, url }) => view(person, when, url)))
          const filter = { ...PAGES, stepLimit, edgeLimit: 1000 }
          const { results } = await world.ask(paths(filter), NOW)
          expect(edgesOf(results)).toEqual(plainEdges(events, stepLimit))
        },
      ),
      randomRuns(3),
    )
  })
})

type Plain = { readonly person: number; readonly second: number; readonly url: string }

function plainEdges(events: readonly Plain[], step_limit: number): readonly string[] {
  const found = new Map<string, number[]>()
  for (const person of new Set(events.map((event) => event.person))) {
    let visit: { item: string; second: number }[] = []
    let last = -Infinity
    const close = (): void => {
      for (let step = 1; step < Math.min(step_limit, visit.length); step += 1) {
        const [from, to] = [visit[step - 1], visit[step]]
        const key = `${step}_${from?.item} ${step + 1}_${to?.item}`
        found.set(key, [...(found.get(key) ?? []), (to?.second ?? 0) - (from?.second ?? 0)])
      }
    }
    for (const { second, url } of events.filter((event) => event.person === person)) {
      if (second - last >= 1800) {
        close()
        visit = []
      }
      last = second
      const item = url.replace(/(.)\/$/, '$1')
      if (visit.at(-1)?.item === item) visit.pop()
      visit.push({ item, second })
    }
    close()
  }
  return [...found]
    .toSorted(([a, x], [b, y]) => y.length - x.length || (a < b ? -1 : 1))
    .map(
      ([key, times]) =>
        `${key} ${times.length} ${times.reduce((sum, time) => sum + time * 1e6, 0) / times.length / 1000 / 1000}`,
    )
}
