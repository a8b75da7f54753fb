/** Lists of the people behind a number, of any history, are those that looking at everybody's events finds. */
import { afterAll, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import type { ActorsSource } from '../../../src/contract/insights/actors.ts'
import { limitTests } from '../../long-tests.ts'
import { idOf } from '../../query/world.ts'
import { randomRuns } from '../../random-runs.ts'
import { bestTimes, chainsOf } from '../folds/histories.ts'
import { InsightWorld } from '../world.ts'

limitTests(240_000)

const NOW = '2024-03-06T12:00:00Z'
const FIRST_MS = Date.UTC(2024, 2, 1)
const HOUR_MS = 3_600_000
const DAYS = 5
const RANGE = { date_from: '2024-03-01', date_to: '2024-03-05' }
const world = new InsightWorld()
afterAll(() => world[Symbol.asyncDispose]())

type Act = { readonly person: number; readonly name: string; readonly hour: number }

const HISTORY = fc.record({
  acts: fc.array(
    fc.record({
      person: fc.nat(5),
      name: fc.constantFrom('a', 'a', 'b'),
      // Some before the first day; many at the same time.
      hour: fc.integer({ min: -8, max: DAYS * 8 - 1 }).map((third) => third * 3),
    }),
    { maxLength: 30 },
  ),
  /** By person; some have no profile. */
  plans: fc.array(fc.constantFrom('pro', 'free', undefined), { minLength: 6, maxLength: 6 }),
  merges: fc.uniqueArray(fc.tuple(fc.constantFrom(4, 5), fc.nat(3)), {
    selector: ([old]) => old,
    maxLength: 2,
  }),
  day: fc.nat(DAYS - 1),
  wanted: fc.constantFrom('pro', 'free', null),
  is_searched: fc.boolean(),
  limit: fc.constantFrom(1, 2, 100),
  offset: fc.constantFrom(0, 1),
})
type History = typeof HISTORY extends fc.Arbitrary<infer Made> ? Made : never

let histories = 0

function send({ acts, plans, merges }: History): void {
  histories += 1
  const own = histories * 10
  world.send(
    ...acts.map(({ person, name, hour }) => ({
      event: `${name}${histories}`,
      person: own + person,
      at: new Date(FIRST_MS + hour * HOUR_MS).toISOString(),
    })),
  )
  for (const [person, plan] of plans.entries()) {
    if (plan === undefined) continue
    world.addPerson(own + person, '2024-01-01', { plan, email: `p${person}@${plan}.org` })
  }
  for (const [old, now] of merges) world.merge(own + old, own + now)
}

/** One person's events, with those of whom they were before. */
type Person = { readonly person: number; readonly acts: readonly Act[] }

function peopleOf({ acts, merges }: History): readonly Person[] {
  const now = new Map<number, number>(merges)
  const whose = ({ person }: Act): number => now.get(person) ?? person
  return [...new Set(acts.map(whose))].map((person) => ({
    person,
    acts: acts.filter((act) => whose(act) === person).toSorted((a, b) => a.hour - b.hour),
  }))
}

const dayOf = ({ hour }: Act): number => Math.floor(hour / 24)
const dateOf = (day: number): string =>
  new Date(FIRST_MS + day * 24 * HOUR_MS).toISOString().slice(0, 10)
const isA = ({ name }: Act): boolean => name === 'a'

/** On how many days somebody did `a`, of those asked about. */
const daysOf = ({ acts }: Person): ReadonlySet<number> =>
  new Set(acts.filter((act) => isA(act) && act.hour >= 0).map(dayOf))

/** How many steps somebody took: `a`, and `b` within a day after it. */
function stepsOf({ acts }: Person): number {
  const happened = acts
    .filter(({ hour }) => hour >= 0)
    .map(({ hour, name }) => ({ at: hour, steps: [name === 'a' ? 0 : 1] }))
  return bestTimes(happened, chainsOf(happened, { step_count: 2, window: 24 }))?.length ?? 0
}

/** One source: how it is asked for, and how often each of the people did what it asks for; 0 who are not behind it. */
type Behind = {
  readonly source: (event: (name: string) => string, day: number) => ActorsSource
  readonly events: (person: Person, day: number) => number
}

const node = (event: string) => ({ kind: 'EventsNode' as const, event })
const number = (holds: boolean): number => Number(holds)

const SOURCES: Readonly<Record<string, Behind>> = {
  'a text': {
    source: (event) => ({
      kind: 'HogQLQuery',
      query: `select person_id as actor_id, count() as event_count from events where event = '${event('a')}' group by actor_id`,
    }),
    events: ({ acts }) => acts.filter(isA).length,
  },
  'a day of trends': {
    source: (event, day) => ({
      kind: 'InsightActorsQuery',
      day: dateOf(day),
      source: { kind: 'TrendsQuery', series: [node(event('a'))], dateRange: RANGE },
    }),
    events: ({ acts }, day) => acts.filter((act) => isA(act) && dayOf(act) === day).length,
  },
  'so many days of stickiness': {
    source: (event, day) => ({
      kind: 'StickinessActorsQuery',
      day: day + 1,
      source: { kind: 'StickinessQuery', series: [node(event('a'))], dateRange: RANGE },
    }),
    events: (person, day) => number(daysOf(person).size === day + 1),
  },
  'those of a lifecycle who come again the next day': {
    source: (event, day) => ({
      kind: 'InsightActorsQuery',
      day: dateOf(day),
      status: 'returning',
      source: { kind: 'LifecycleQuery', series: [node(event('a'))], dateRange: RANGE },
    }),
    events: ({ acts }, day) =>
      number([day - 1, day].every((one) => acts.some((act) => isA(act) && dayOf(act) === one))),
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
      return {
        kind: 'InsightActorsQuery',
        interval: day,
        source: { kind: 'RetentionQuery', dateRange: { date_to: RANGE.date_to }, retentionFilter },
      }
    },
    events: (person, day) => {
      const days = daysOf(person)
      return days.has(day) ? [...days].filter((one) => one >= day).length : 0
    },
  },
  'a step of a funnel': {
    source: (event, day) => ({
      kind: 'FunnelsActorsQuery',
      funnelStep: (day % 2) + 1,
      source: funnel(event),
    }),
    events: (person, day) => number(stepsOf(person) > day % 2),
  },
  'those who leave a funnel': {
    source: (event) => ({ kind: 'FunnelsActorsQuery', funnelStep: -2, source: funnel(event) }),
    events: (person) => number(stepsOf(person) === 1),
  },
}

const funnel = (event: (name: string) => string) => ({
  kind: 'FunnelsQuery' as const,
  series: [node(event('a')), node(event('b'))],
  dateRange: RANGE,
  funnelsFilter: { funnelWindowInterval: 24, funnelWindowIntervalUnit: 'hour' as const },
})

const uuidOf = (person: number): string =>
  Buffer.from(idOf(histories * 10 + person))
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')

/** Narrowed by their profile: whoever has none is not found by what it says. */
function isWanted({ plans, wanted, is_searched }: History, person: number): boolean {
  const plan = plans[person]
  return (wanted === null || plan === wanted) && (!is_searched || plan === 'pro')
}

describe('the people behind a number', () => {
  test.each(Object.entries(SOURCES))('that is %s', async (_, { source, events }) => {
    await fc.assert(
      fc.asyncProperty(HISTORY, async (history) => {
        send(history)
        const { day, wanted, limit, offset } = history
        const found = peopleOf(history)
          .filter((person) => events(person, day) > 0 && isWanted(history, person.person))
          .map(({ person }) => uuidOf(person))
          .toSorted()
        const { results, ...envelope } = await world.ask(
          {
            kind: 'ActorsQuery',
            source: source((name) => `${name}${histories}`, day),
            select: ['id'],
            orderBy: ['id'],
            ...(wanted === null
              ? {}
              : {
                  properties: [{ key: 'plan', value: wanted, operator: 'exact', type: 'person' }],
                }),
            ...(history.is_searched ? { search: '@PRO' } : {}),
            limit,
            offset,
          },
          NOW,
        )
        expect(results).toEqual(found.slice(offset, offset + limit).map((id) => [id]))
        expect(envelope['hasMore']).toBe(found.length > offset + limit)
      }),
      randomRuns(4),
    )
  })

  test.each(['a text', 'a day of trends', 'a row of retention'])(
    'that is %s did as much as it says, whoever did most first',
    async (name) => {
      const behind = SOURCES[name]
      await fc.assert(
        fc.asyncProperty(HISTORY, async (history) => {
          send(history)
          const people = peopleOf(history).flatMap((person) => {
            const count = behind?.events(person, history.day) ?? 0
            return count > 0 ? [[uuidOf(person.person), count] as const] : []
          })
          const source = behind?.source((event) => `${event}${histories}`, history.day) ?? null
          const { results } = await world.ask(
            {
              kind: 'ActorsQuery',
              source,
              select: ['id', 'event_count'],
              orderBy: ['event_count DESC', 'id'],
            },
            NOW,
          )
          expect(results).toEqual(
            people.toSorted(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)).map((row) => [...row]),
          )
        }),
        randomRuns(3),
      )
    },
  )
})
