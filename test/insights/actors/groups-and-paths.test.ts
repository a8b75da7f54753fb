/** Lists of the groups behind a number, and of the people behind a way, of any history: what looking at all events finds. */
import { afterAll, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import type { ActorsSource } from '../../../src/contract/insights/actors.ts'
import { limitTests } from '../../long-tests.ts'
import { idOf } from '../../query/world.ts'
import { randomRuns } from '../../random-runs.ts'
import { InsightWorld } from '../world.ts'

limitTests(240_000)

const NOW = '2024-03-06T12:00:00Z'
const FIRST_MS = Date.UTC(2024, 2, 1)
const HOUR_MS = 3_600_000
const DAYS = 5
const RANGE = { date_from: '2024-03-01', date_to: '2024-03-05' }
const world = new InsightWorld()
afterAll(() => world[Symbol.asyncDispose]())

let histories = 0

type Act = {
  readonly person: number
  readonly group: string | null
  readonly name: string
  readonly hour: number
}

const acts: fc.Arbitrary<readonly Act[]> = fc.array(
  fc.record({
    person: fc.nat(3),
    group: fc.constantFrom('red', 'blue', 'green', null),
    name: fc.constantFrom('a', 'a', 'b'),
    // Some before the first day; no two at the same time once their number is added.
    hour: fc.integer({ min: -24, max: DAYS * 24 - 1 }),
  }),
  { maxLength: 40 },
)

/** When the act happened, of its place in the history: minutes keep those of one hour apart. */
const hoursAt = ({ hour }: Act, index: number): number => hour + (index + 1) / 60

type Own = readonly { readonly name: string; readonly at: number }[]

const dayOf = (at: number): number => Math.floor(at / 24)
const dateOf = (day: number): string =>
  new Date(FIRST_MS + day * 24 * HOUR_MS).toISOString().slice(0, 10)
const daysOf = (own: Own): ReadonlySet<number> =>
  new Set(own.flatMap(({ name, at }) => (name === 'a' && at >= 0 ? dayOf(at) : [])))
const node = (event: string) => ({ kind: 'EventsNode' as const, event })
const GROUPED = { aggregation_group_type_index: 0, dateRange: RANGE }

type Behind = {
  readonly source: (event: (name: string) => string, day: number) => ActorsSource
  readonly isBehind: (own: Own, day: number) => boolean
}

const SOURCES: Readonly<Record<string, Behind>> = {
  'a day of trends that count groups': {
    source: (event, day) => ({
      kind: 'InsightActorsQuery',
      day: dateOf(day),
      source: {
        kind: 'TrendsQuery',
        series: [{ ...node(event('a')), math: 'unique_group', math_group_type_index: 0 }],
        dateRange: RANGE,
      },
    }),
    isBehind: (own, day) => daysOf(own).has(day),
  },
  'so many days of stickiness': {
    source: (event, day) => ({
      kind: 'StickinessActorsQuery',
      day: day + 1,
      source: { kind: 'StickinessQuery', series: [node(event('a'))], ...GROUPED },
    }),
    isBehind: (own, day) => daysOf(own).size === day + 1,
  },
  'a row of retention': {
    source: (event, day) => {
      const entity = { id: event('a'), type: 'events' as const }
      const retentionFilter = {
        period: 'Day' as const,
        totalIntervals: DAYS,
        targetEntity: entity,
        returningEntity: entity,
      }
      const dateRange = { date_to: RANGE.date_to }
      return {
        kind: 'InsightActorsQuery',
        interval: day,
        source: { kind: 'RetentionQuery', ...GROUPED, dateRange, retentionFilter },
      }
    },
    isBehind: (own, day) => daysOf(own).has(day),
  },
  'the second step of a funnel': {
    source: (event) => ({
      kind: 'FunnelsActorsQuery',
      funnelStep: 2,
      source: {
        kind: 'FunnelsQuery',
        series: [node(event('a')), node(event('b'))],
        funnelsFilter: { funnelWindowInterval: 24, funnelWindowIntervalUnit: 'hour' },
        ...GROUPED,
      },
    }),
    isBehind: (own) =>
      own.some(
        (first) =>
          first.name === 'a' &&
          first.at >= 0 &&
          own.some(({ name, at }) => name === 'b' && at > first.at && at - first.at <= 24),
      ),
  },
}

test.each(Object.entries(SOURCES))('the groups behind %s', async (_, { source, isBehind }) => {
  await fc.assert(
    fc.asyncProperty(acts, fc.nat(DAYS - 1), async (sent, day) => {
      histories += 1
      const keyOf = (group: string): string => `${group}${histories}`
      world.send(
        ...sent.map((act, index) => ({
          event: `${act.name}${histories}`,
          person: act.person,
          at: new Date(FIRST_MS + hoursAt(act, index) * HOUR_MS).toISOString(),
          groups: act.group === null ? [] : [keyOf(act.group)],
        })),
      )
      const names = ['blue', 'green', 'red']
      for (const name of names) world.addGroup(0, keyOf(name), { name })
      const found = names.filter((group) =>
        isBehind(
          sent.flatMap((act, index) =>
            act.group === group ? { name: act.name, at: hoursAt(act, index) } : [],
          ),
          day,
        ),
      )
      const { results } = await world.ask(
        {
          kind: 'ActorsQuery',
          source: source((name) => `${name}${histories}`, day),
          select: ['id'],
          orderBy: ['id'],
        },
        NOW,
      )
      expect(results).toEqual(found.map((group) => [keyOf(group)]))
    }),
    randomRuns(2),
  )
})

const STEPS_MAX = 5
const BREAK_S = 1800

type View = { readonly person: number; readonly gap: number; readonly page: string }

/** The visits of one person: pages in order, the same one in a row told once, up to a limit. */
function visitsOf(views: readonly View[], person: number): readonly (readonly string[])[] {
  const visits: string[][] = []
  let since_s = 0
  for (const view of views) {
    since_s += view.gap
    if (view.person !== person) continue
    const visit = visits.at(-1)
    if (visit === undefined || since_s >= BREAK_S) visits.push([view.page])
    else if (visit.at(-1) !== view.page) visit.push(view.page)
    since_s = 0
  }
  return visits.map((visit) => visit.slice(0, STEPS_MAX))
}

const uuidOf = (person: number): string =>
  Buffer.from(idOf(person))
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')

test('the people behind an edge of paths, and how often they went it', async () => {
  const view = fc.record({
    person: fc.nat(2),
    gap: fc.constantFrom(1, 20, 600, 1799, 1800, 4000),
    page: fc.constantFrom('x', 'y', 'z'),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(view, { maxLength: 30 }),
      fc.integer({ min: 1, max: 3 }),
      fc.constantFrom('x', 'y'),
      fc.constantFrom('y', 'z', null),
      async (views, step, from, to) => {
        histories += 1
        const own = 1000 + histories * 10
        const named = (page: string): string => `/${histories}/${page}`
        let second = 0
        world.send(
          ...views.map(({ person, gap, page }) => {
            second += gap
            return {
              event: '$pageview',
              person: own + person,
              at: new Date(FIRST_MS + second * 1000).toISOString(),
              properties: { $current_url: named(page) },
            }
          }),
        )
        const wanted = [0, 1, 2].flatMap((person) => {
          const went = visitsOf(views, person).filter(
            (visit) =>
              visit[step - 1] === from &&
              visit[step] !== undefined &&
              (to === null || visit[step] === to),
          )
          return went.length === 0 ? [] : [[uuidOf(own + person), went.length] as const]
        })
        const { results } = await world.ask(
          {
            kind: 'ActorsQuery',
            source: {
              kind: 'InsightActorsQuery',
              source: {
                kind: 'PathsQuery',
                dateRange: RANGE,
                pathsFilter: {
                  includeEventTypes: ['$pageview'],
                  stepLimit: STEPS_MAX,
                  pathStartKey: `${step}_${named(from)}`,
                  ...(to === null ? {} : { pathEndKey: `${step + 1}_${named(to)}` }),
                },
              },
            },
            select: ['id', 'event_count'],
            orderBy: ['event_count DESC', 'id'],
          },
          NOW,
        )
        const ordered = wanted.toSorted(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
        expect(results).toEqual(ordered.map((row) => [...row]))
      },
    ),
    randomRuns(4),
  )
})
