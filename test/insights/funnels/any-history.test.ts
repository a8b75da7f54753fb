/** Funnels of any history, through the query process, equal what looking at every chain of events says. */
import { afterAll, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import type { FunnelsQuery } from '../../../src/contract/insights/funnels.ts'
import { limitTests } from '../../long-tests.ts'
import { randomRuns } from '../../random-runs.ts'
import { bestTimes, chainsOf, type Happening, mostSteps } from '../folds/histories.ts'
import { InsightWorld } from '../world.ts'

limitTests(300_000)

const NOW = '2024-05-01T12:00:00Z'
const STEPS = 3
const FIRST_MS = Date.UTC(2024, 2, 1)
const QUARTER_MS = 900_000
const world = new InsightWorld()
afterAll(() => world[Symbol.asyncDispose]())

type Seen = {
  readonly person: number
  readonly step: number
  readonly at: number
  readonly on: string
}
type History = {
  readonly events: readonly Seen[]
  readonly merges: readonly (readonly [old: number, now: number])[]
}

/** Steps 0 to 2 of a funnel and, as 3, something else; within four days, by quarters of an hour. */
const history = (at: fc.Arbitrary<number>): fc.Arbitrary<History> =>
  fc.record({
    events: fc.array(
      fc.record({
        person: fc.integer({ min: 0, max: 4 }),
        step: fc.nat(STEPS),
        at,
        on: fc.constantFrom('phone', 'desk', ''),
      }),
      { maxLength: 30 },
    ),
    merges: fc.uniqueArray(fc.tuple(fc.constantFrom(3, 4), fc.integer({ min: 0, max: 2 })), {
      selector: ([old]) => old,
      maxLength: 2,
    }),
  })

/** Many at the same time. */
const CROWDED = history(fc.nat(24).map((hour) => hour * 16))
const WINDOW = fc.constantFrom(16, 32, 64, 384)

let histories = 0

/** Sends a history under names and people of its own, and answers what a query about it has in common. */
function send({ events, merges }: History, window: number): FunnelsQuery {
  histories += 1
  const own = histories * 10
  world.send(
    ...events.map(({ person, step, at, on }) => ({
      event: `${step}-${histories}`,
      person: own + person,
      at: new Date(FIRST_MS + at * QUARTER_MS).toISOString(),
      properties: on === '' ? {} : { on },
    })),
  )
  for (const [old, now] of merges) world.merge(own + old, own + now)
  return {
    kind: 'FunnelsQuery',
    series: Array.from({ length: STEPS }, (_, step) => ({
      kind: 'EventsNode' as const,
      event: `${step}-${histories}`,
    })),
    dateRange: { date_from: '2024-03-01', date_to: '2024-03-08' },
    funnelsFilter: { funnelWindowInterval: window * 15, funnelWindowIntervalUnit: 'minute' },
  }
}

/** What everybody did, in order of time, merged people as one; something else is no step. */
function peopleOf({ events, merges }: History): readonly (readonly Happening[])[] {
  const now = new Map(merges)
  const people = new Map<number, Happening[]>()
  for (const { person, step, at, on } of events.toSorted((a, b) => a.at - b.at)) {
    const who = now.get(person) ?? person
    const happening = { at, steps: step === STEPS ? [] : [step], value: on }
    people.set(who, [...(people.get(who) ?? []), happening])
  }
  return [...people.values()]
}

type Took = readonly (readonly number[] | null)[]

const ordered = (
  people: readonly (readonly Happening[])[],
  window: number,
  is_strict = false,
): Took =>
  people.map((one) => bestTimes(one, chainsOf(one, { step_count: STEPS, window, is_strict })))

/** Counts, averages and medians of every step, of the times people took them at. */
function stepsOf(took: Took): readonly object[] {
  return Array.from({ length: STEPS }, (_, step) => {
    const who = took.filter((times) => (times?.length ?? 0) > step)
    const needed = who
      .map((times) => ((times?.[step] ?? 0) - (times?.[step - 1] ?? 0)) * 900)
      .filter((seconds) => step > 0 && seconds > 0)
      .toSorted((a, b) => a - b)
    const [low, high] = [needed[Math.floor((needed.length - 1) / 2)], needed[needed.length >> 1]]
    return {
      count: who.length,
      average_conversion_time:
        needed.length === 0 ? null : needed.reduce((sum, one) => sum + one, 0) / needed.length,
      median_conversion_time: low === undefined || high === undefined ? null : (low + high) / 2,
    }
  })
}

const shown = (steps: unknown): unknown =>
  Array.isArray(steps)
    ? steps.map(({ count, average_conversion_time: average, median_conversion_time: median }) => ({
        count,
        average_conversion_time: average === null ? null : Math.round(average * 1e6) / 1e6,
        median_conversion_time: median,
      }))
    : steps

const results = async (query: FunnelsQuery): Promise<unknown> =>
  (await world.ask(query, NOW)).results

const RUNS = randomRuns(4)

describe('any history', () => {
  test('has the steps that its chains take', async () => {
    await fc.assert(
      fc.asyncProperty(CROWDED, WINDOW, async (one, window) => {
        const found = await results(send(one, window))
        expect(shown(found)).toEqual(shown(stepsOf(ordered(peopleOf(one), window))))
      }),
      RUNS,
    )
  })

  test('has the strict steps that its unbroken chains take', async () => {
    // One thing at a time.
    const apart = history(fc.nat(360)).map(({ events, merges }) => {
      const seen = new Set<number>()
      return { merges, events: events.filter(({ at }) => !seen.has(at) && seen.add(at)) }
    })
    await fc.assert(
      fc.asyncProperty(apart, WINDOW, async (one, window) => {
        const query = send(one, window)
        const found = await results({
          ...query,
          funnelsFilter: { ...query.funnelsFilter, funnelOrderType: 'strict' },
        })
        const took = ordered(peopleOf(one), window, true)
        const counts = stepsOf(took).map((step) => ({ ...step }))
        expect(found).toMatchObject(
          counts.map((step) => ({ count: 'count' in step ? step.count : 0 })),
        )
      }),
      RUNS,
    )
  })

  test.each([
    ['', false],
    [' that nothing else breaks', true],
  ])('has as many different steps as its fullest window%s', async (_, is_breaking) => {
    await fc.assert(
      fc.asyncProperty(CROWDED, WINDOW, async (one, window) => {
        const query = send(one, window)
        const other = { kind: 'EventsNode' as const, event: `${STEPS}-${histories}` }
        const exclusions = [{ ...other, funnelFromStep: 0, funnelToStep: STEPS - 1 }]
        const found = await results({
          ...query,
          funnelsFilter: {
            ...query.funnelsFilter,
            funnelOrderType: 'unordered',
            ...(is_breaking ? { exclusions } : {}),
          },
        })
        const forbids = [0, 1]
        const most = peopleOf(one).map((events) => {
          const broken = events.map((event) =>
            is_breaking && event.steps.length === 0 ? { ...event, forbids } : event,
          )
          return mostSteps(broken, { step_count: STEPS, window })
        })
        const counts = [1, 2, 3].map((steps) => ({ count: most.filter((n) => n >= steps).length }))
        expect(found).toMatchObject(counts)
      }),
      RUNS,
    )
  })

  test('comes through on the days that its chains begin', async () => {
    await fc.assert(
      fc.asyncProperty(CROWDED, WINDOW, async (one, window) => {
        // Days of New York: on the first of March they began five hours later.
        world.know({ timezone: 'America/New_York' })
        const query = send(one, window)
        const found = await results({
          ...query,
          dateRange: { date_from: '2024-02-29', date_to: '2024-03-06' },
          funnelsFilter: { ...query.funnelsFilter, funnelVizType: 'trends' },
        })
        world.know({})
        const days = Array.from({ length: 7 }, (_, day) => {
          const longest = peopleOf(one).flatMap((events) => {
            const chains = chainsOf(events, { step_count: STEPS, window })
            const begun = chains.filter(([first]) => {
              const at = events[first ?? -1]?.at ?? Number.NaN
              return Math.floor((at - 20) / 96) === day - 1
            })
            return begun.length === 0 ? [] : [Math.max(...begun.map(({ length }) => length))]
          })
          return { entered: longest.length, through: longest.filter((n) => n === STEPS).length }
        })
        expect(found).toMatchObject([
          {
            count: days.length,
            data: days.map(({ entered, through }) =>
              entered === 0 ? 0 : Math.round((10_000 * through) / entered) / 100,
            ),
          },
        ])
      }),
      RUNS,
    )
  })

  test.each(['all_events', 'step'] as const)('is broken down by %s', async (attribution) => {
    await fc.assert(
      fc.asyncProperty(CROWDED, WINDOW, async (one, window) => {
        const query = send(one, window)
        const found = await results({
          ...query,
          breakdownFilter: { breakdown: 'on', breakdown_type: 'event' },
          funnelsFilter: {
            ...query.funnelsFilter,
            breakdownAttributionType: attribution,
            ...(attribution === 'step' ? { breakdownAttributionValue: 1 } : {}),
          },
        })
        const values = ['phone', 'desk', ''].flatMap((value) => {
          const people = peopleOf(one).flatMap((events) => attributed(events, value, attribution))
          const steps = stepsOf(ordered(people, window))
          const is_any = steps.some((step) => 'count' in step && step.count !== 0)
          return is_any ? [[value, shown(steps)] as const] : []
        })
        const list = Array.isArray(found) ? found : []
        const by_value = new Map(list.map((steps) => [steps[0].breakdown[0], shown(steps)]))
        expect(by_value).toEqual(new Map(values))
      }),
      RUNS,
    )
  })

  test('keeps the value that comes furthest, and has everybody else behind Other', async () => {
    await fc.assert(
      fc.asyncProperty(CROWDED, WINDOW, async (one, window) => {
        const query = send(one, window)
        const source = {
          ...query,
          breakdownFilter: { breakdown: 'on', breakdown_type: 'event', breakdown_limit: 1 },
          funnelsFilter: {
            ...query.funnelsFilter,
            breakdownAttributionType: 'all_events' as const,
          },
        }
        // How far each person comes by the events of each value.
        const rows = ['', 'desk', 'phone'].flatMap((value) =>
          peopleOf(one).flatMap((events, person) =>
            attributed(events, value, 'all_events').flatMap((its) => {
              const times = bestTimes(its, chainsOf(its, { step_count: STEPS, window }))
              return times === null ? [] : [{ value, person, length: times.length }]
            }),
          ),
        )
        const reached = (some: typeof rows): number[] =>
          [1, 2, 3].map((step) => some.filter(({ length }) => length >= step).length)
        const of_values = ['', 'desk', 'phone']
          .map((value) => ({ value, counts: reached(rows.filter((row) => row.value === value)) }))
          .filter(({ counts: [first = 0] }) => first > 0)
          // Ties keep the order of the values.
          .toSorted((x, y) => rankOf(y.counts) - rankOf(x.counts))
        const [kept] = of_values
        const others = rows.filter(({ value }) => value !== kept?.value)
        const expected = [
          ...(kept === undefined ? [] : [[kept.value, ...kept.counts]]),
          ...(of_values.length < 2 ? [] : [['Other', ...reached(others)]]),
        ]
        const found = await results(source)
        const lists: readonly { breakdown: string[]; count: number }[][] = Array.isArray(found)
          ? found
          : []
        expect(
          lists.map((steps) => [steps[0]?.breakdown[0], ...steps.map(({ count }) => count)]),
        ).toEqual(expected)
        for (const funnelStep of [1, 2, -2]) {
          const behind = {
            kind: 'FunnelsActorsQuery' as const,
            source,
            funnelStep,
            funnelStepBreakdown: ['Other'],
          }
          const answer = await world.ask(behind, NOW)
          const wanted = others.filter(({ length }) =>
            funnelStep > 0 ? length >= funnelStep : length === 1,
          )
          const people = new Set(wanted.map(({ person }) => person))
          const list = Array.isArray(answer.results) ? answer.results : []
          expect([funnelStep, list.length]).toEqual([funnelStep, people.size])
        }
      }),
      RUNS,
    )
  })
})

/** More conversions before fewer, then more of the steps before. */
const rankOf = ([first = 0, second = 0, third = 0]: readonly number[]): number =>
  third * 10_000 + second * 100 + first

/** The history of somebody as one of a value; nothing for who has no event of it. */
function attributed(
  events: readonly Happening[],
  value: string,
  attribution: 'all_events' | 'step',
): readonly (readonly Happening[])[] {
  if (attribution === 'all_events') return [events.filter((event) => event.value === value)]
  const is_second = ({ steps }: Happening): boolean => steps.includes(1)
  if (!events.some((event) => is_second(event) && event.value === value)) return []
  return [events.filter((event) => !is_second(event) || event.value === value)]
}
