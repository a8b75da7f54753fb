/** Correlations of any history equal what counting its people one by one says. */
import { afterAll, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import type { FunnelCorrelationQuery } from '../../../src/contract/insights/correlation.ts'
import { limitTests } from '../../long-tests.ts'
import { randomRuns } from '../../random-runs.ts'
import { bestTimes, chainsOf } from '../folds/histories.ts'
import { InsightWorld } from '../world.ts'

limitTests(240_000)

const NOW = '2024-03-20T12:00:00Z'
const FIRST_MS = Date.UTC(2024, 2, 1)
const HOUR_MS = 3_600_000
const world = new InsightWorld()
afterAll(() => world[Symbol.asyncDispose]())

type Act = {
  readonly person: number
  readonly name: 'docs' | 'help' | 'pay' | 'visit'
  readonly hour: number
  readonly properties: { readonly page?: string; readonly n?: boolean | number }
}

const HISTORY = fc.record({
  acts: fc.array(
    fc.record({
      person: fc.nat(7),
      name: fc.constantFrom('docs', 'docs', 'help', 'pay', 'visit', 'visit'),
      // Some before the first day; many at the same time.
      hour: fc.integer({ min: -3, max: 30 }),
      properties: fc.record(
        { page: fc.constantFrom('api', 'faq', ''), n: fc.constantFrom(1, 2.5, true) },
        { requiredKeys: [] },
      ),
    }),
    { maxLength: 60 },
  ),
  /** By person; some have no profile. */
  plans: fc.array(fc.constantFrom('pro', 'free', '', null, undefined), {
    minLength: 8,
    maxLength: 8,
  }),
  merges: fc.uniqueArray(fc.tuple(fc.constantFrom(6, 7), fc.nat(5)), {
    selector: ([old]) => old,
    maxLength: 2,
  }),
  window: fc.constantFrom(4, 12, 48),
})
type History = typeof HISTORY extends fc.Arbitrary<infer Made> ? Made : never

let histories = 0

/** Sends a history under names and people of its own, and answers the query for its correlations. */
function send({ acts, plans, merges, window }: History): FunnelCorrelationQuery {
  histories += 1
  const own = histories * 10
  world.send(
    ...acts.map(({ person, name, hour, properties }) => ({
      event: `${name}${histories}`,
      person: own + person,
      at: new Date(FIRST_MS + hour * HOUR_MS).toISOString(),
      properties,
    })),
  )
  for (const [person, plan] of plans.entries()) {
    if (plan !== undefined) world.addPerson(own + person, '2024-01-01', { plan })
  }
  for (const [old, now] of merges) world.merge(own + old, own + now)
  const step = (name: string) => ({ kind: 'EventsNode' as const, event: `${name}${histories}` })
  return {
    kind: 'FunnelCorrelationQuery',
    funnelCorrelationType: 'events',
    source: {
      kind: 'FunnelsActorsQuery',
      funnelStep: 1,
      source: {
        kind: 'FunnelsQuery',
        series: [step('visit'), step('pay')],
        dateRange: { date_from: '2024-03-01', date_to: '2024-03-10' },
        funnelsFilter: { funnelWindowInterval: window, funnelWindowIntervalUnit: 'hour' },
      },
    },
  }
}

type Person = {
  readonly person: number
  readonly converted: boolean
  /** What they did strictly between their first step and the end. */
  readonly during: readonly Act[]
}

const STEPS = ['visit', 'pay']

/** Everybody who began, merged people as one. */
function peopleOf({ acts, merges, window }: History): readonly Person[] {
  const now = new Map<number, number>(merges)
  const counted = acts.filter(({ hour }) => hour >= 0).toSorted((a, b) => a.hour - b.hour)
  const whose = (act: Act): number => now.get(act.person) ?? act.person
  return [...new Set(counted.map(whose))].flatMap((person) => {
    const mine = counted.filter((act) => whose(act) === person)
    const happened = mine.map(({ hour, name }) => {
      const step = STEPS.indexOf(name)
      return { at: hour, steps: step < 0 ? [] : [step] }
    })
    const [began, came] = bestTimes(happened, chainsOf(happened, { step_count: 2, window })) ?? []
    if (began === undefined) return []
    const until = came ?? began + window
    const during = mine.filter(({ name, hour }) => {
      return !STEPS.includes(name) && hour > began && hour < until
    })
    return [{ person, converted: came !== undefined, during }]
  })
}

/** What the answer is where each person has these things; the odds by the formula of textbooks, one added to each cell. */
function answerOf(
  people: readonly Person[],
  thingsOf: (of: Person) => readonly string[],
  least: number,
) {
  const have = people.map((person) => ({ ...person, things: new Set(thingsOf(person)) }))
  const successes = people.filter(({ converted }) => converted).length
  const failures = people.length - successes
  if (successes === 0 || failures === 0) return { events: new Map(), skewed: true }
  const names = [...new Set(have.flatMap(({ things }) => [...things]))]
  const rows = names.flatMap((name) => {
    const of = have.filter(({ things }) => things.has(name))
    const s = of.filter(({ converted }) => converted).length
    const f = of.length - s
    const odds = (s + 1) / (successes - s + 1) / ((f + 1) / (failures - f + 1))
    const row = [s, f, Math.round(odds * 1e6) / 1e6, odds > 1 + 1e-9 ? 'success' : 'failure']
    return of.length < least ? [] : [[name, row] as const]
  })
  return { events: new Map(rows), skewed: successes > 10 * failures || failures > 10 * successes }
}

type Told = {
  readonly event: { readonly event: string }
  readonly success_count: number
  readonly failure_count: number
  readonly odds_ratio: number
  readonly correlation_type: string
}
type Answer = { readonly events: readonly Told[]; readonly skewed: boolean }

async function asked(query: FunnelCorrelationQuery) {
  const { events, skewed } = (await world.ask(query, NOW)).results as Answer
  const odds = events.map(({ odds_ratio }) => odds_ratio)
  const told = events.map(
    (one) =>
      [
        one.event.event,
        [
          one.success_count,
          one.failure_count,
          Math.round(one.odds_ratio * 1e6) / 1e6,
          one.correlation_type,
        ],
      ] as const,
  )
  // Those of success first, the strongest of either side before the weaker ones.
  const of_success = odds.filter((one) => one > 1).toSorted((a, b) => b - a)
  const of_failure = odds.filter((one) => one <= 1).toSorted((a, b) => a - b)
  expect(odds).toEqual([...of_success, ...of_failure])
  return { events: new Map(told), skewed }
}

const RUNS = randomRuns(4)

describe('any history', () => {
  test('has the events that go along with coming through', async () => {
    await fc.assert(
      fc.asyncProperty(HISTORY, async (history) => {
        const query = send(history)
        const run = histories
        const did = ({ during }: Person) => during.map(({ name }) => `${name}${run}`)
        expect(await asked(query)).toEqual(answerOf(peopleOf(history), did, 1))
      }),
      RUNS,
    )
  })

  test('has the properties of people that go along with coming through', async () => {
    await fc.assert(
      fc.asyncProperty(HISTORY, async (history) => {
        const query = send(history)
        const is = ({ person }: Person) => {
          const plan = history.plans[person]
          return plan === undefined ? [] : [`plan::${plan ?? ''}`]
        }
        const found = await asked({
          ...query,
          funnelCorrelationType: 'properties',
          funnelCorrelationNames: ['plan'],
        })
        expect(found).toEqual(answerOf(peopleOf(history), is, 1))
      }),
      RUNS,
    )
  })

  test('has the properties of events that go along with coming through', async () => {
    await fc.assert(
      fc.asyncProperty(HISTORY, async (history) => {
        const query = send(history)
        const name = `docs${histories}`
        const did = ({ during }: Person) =>
          during
            .filter((act) => act.name === 'docs')
            .flatMap(({ properties }) =>
              Object.entries(properties).map(([key, value]) => `${name}::${key}::${value}`),
            )
        const found = await asked({
          ...query,
          funnelCorrelationType: 'event_with_properties',
          funnelCorrelationEventNames: [name],
        })
        // What fewer than three people have is left out.
        expect(found).toEqual(answerOf(peopleOf(history), did, 3))
      }),
      RUNS,
    )
  })
})
