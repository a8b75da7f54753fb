/** Trends, lifecycles and stickiness of any history, in any zone, equal what a plain count over its rows says. */
import { afterAll, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { lifecycleActors } from '../../../src/insights/activity/lifecycle.ts'
import { stickinessActors } from '../../../src/insights/activity/stickiness.ts'
import { FIRST_POINT } from '../../../src/insights/actors/point.ts'
import { limitTests } from '../../long-tests.ts'
import { randomRuns } from '../../random-runs.ts'
import {
  CALENDAR,
  type Calendar,
  HISTORY,
  type History,
  localTime,
  stepsOf,
} from '../reference-history.ts'
import { InsightWorld, insightContext } from '../world.ts'
import {
  COUNTINGS,
  countedLines,
  firstTimes,
  NONE,
  OTHER,
  ranked,
  recentPeople,
  recentPeopleByPlan,
  stepsByPerson,
} from './reference.ts'

limitTests(300_000)

const NOW = '2024-05-01T12:00:00Z'
const world = new InsightWorld()
afterAll(() => world[Symbol.asyncDispose]())

let histories = 0

/** Sends a history under names and people of its own; answers the name of its event `a` and its people's numbers. */
function send({ events, merges }: History, { timezone, week_start_day }: Calendar) {
  histories += 1
  const own = histories * 10
  world.know({ timezone, week_start_day })
  world.send(
    ...events.map(({ person, name, at_ms, properties }) => ({
      event: `${name}${histories}`,
      person: own + person,
      at: new Date(at_ms).toISOString(),
      properties,
    })),
  )
  for (const [old, now] of merges) world.merge(own + old, own + now)
  return { event: `a${histories}`, own }
}

function asked(event: string, { interval, from, to }: Calendar) {
  const series = [{ kind: 'EventsNode' as const, event }]
  // In steps of hours, a date alone would be the midnight it begins with.
  const date_to = interval === 'hour' ? `${to}T23:59:59.999999` : to
  return { series, interval, dateRange: { date_from: from, date_to } }
}

type Line = { data: number[]; days: string[]; breakdown_value?: string; status?: string }

async function linesOf(query: Parameters<InsightWorld['ask']>[0]): Promise<readonly Line[]> {
  return (await world.ask(query, NOW)).results as Line[]
}

const rounded = (data: readonly number[] | undefined): unknown =>
  data?.map((value) => Math.round(value * 1e6) / 1e6)

const RUNS = randomRuns(4)

describe('any history', () => {
  test('has the steps of the calendar, whatever its clocks do', async () => {
    await fc.assert(
      fc.asyncProperty(CALENDAR, async (calendar) => {
        const { event } = send({ events: [], merges: [] }, calendar)
        const [line] = await linesOf({ kind: 'TrendsQuery', ...asked(event, calendar) })
        const steps = stepsOf(calendar)
        const days = steps.map((step) =>
          calendar.interval === 'hour' ? localTime(Date.parse(step), calendar.timezone) : step,
        )
        // Where clocks go back by half an hour, an hour may begin at the half.
        if (calendar.timezone !== 'Australia/Lord_Howe') expect(line?.days).toEqual(days)
        expect(line?.data.every((count) => count === 0)).toBe(true)
      }),
      randomRuns(8),
    )
  })

  for (const [math, counting] of Object.entries(COUNTINGS)) {
    test(`has its ${math}, as a whole and by a property`, async () => {
      await fc.assert(
        fc.asyncProperty(HISTORY, CALENDAR, async (history, calendar) => {
          const { event } = send(history, calendar)
          const query = asked(event, calendar)
          const series = [{ kind: 'EventsNode' as const, event, math, math_property: 'n' }]
          const [whole] = await linesOf({ kind: 'TrendsQuery', ...query, series })
          const expected = countedLines(history, calendar, counting, false).get('')
          expect(rounded(whole?.data)).toEqual(rounded(expected))
          const breakdownFilter = { breakdown: 'plan', breakdown_limit: 2 }
          const split = await linesOf({ kind: 'TrendsQuery', ...query, series, breakdownFilter })
          const plans = ranked(countedLines(history, calendar, counting, true), 2)
          expect(
            split.map(({ breakdown_value, data }) => [breakdown_value, rounded(data)]),
          ).toEqual(inOrder(plans).map(([plan, data]) => [plan, rounded(data)]))
        }),
        RUNS,
      )
    })
  }

  test('has people active within days before each step, and first times', async () => {
    await fc.assert(
      fc.asyncProperty(HISTORY, CALENDAR, async (history, calendar) => {
        fc.pre(calendar.interval === 'day' || calendar.interval === 'week')
        const { event } = send(history, calendar)
        const query = { kind: 'TrendsQuery' as const, ...asked(event, calendar) }
        const dataOf = async (math: string): Promise<unknown> =>
          (await linesOf({ ...query, series: [{ kind: 'EventsNode', event, math }] }))[0]?.data
        expect(await dataOf('monthly_active')).toEqual(recentPeople(history, calendar, 30))
        if (calendar.interval === 'day') {
          expect(await dataOf('weekly_active')).toEqual([...recentPeople(history, calendar, 7)])
          const lines = await linesOf({
            ...query,
            series: [{ kind: 'EventsNode', event, math: 'weekly_active' }],
            breakdownFilter: { breakdown: 'plan' },
          })
          const by_plan = recentPeopleByPlan(history, calendar, 7)
          expect(new Map(lines.map((line) => [line.breakdown_value, line.data]))).toEqual(
            new Map([...by_plan].map(([plan, data]) => [plan, [...data]])),
          )
        }
        expect(await dataOf('first_time_for_user')).toEqual(firstTimes(history, calendar))
      }),
      RUNS,
    )
  })

  test.each(['day', 'week'] as const)(
    'has steps of a %s from midnight on, also after one that began at one o’clock',
    async (interval) => {
      // In Beirut there was no midnight at the beginning of 31 March 2024, a Sunday.
      const zone = { timezone: 'Asia/Beirut', week_start_day: 0 } as const
      const calendar = { ...zone, interval, from: '2024-04-02', to: '2024-04-21' }
      const day = interval === 'day' ? { from: '2024-03-31' } : {}
      const at = { person: 0, name: 'a', properties: {} } as const
      const early = { ...at, at_ms: Date.parse('2024-03-21T22:00:00Z') }
      const late = { ...at, at_ms: Date.parse('2024-04-20T21:30:00Z') }
      const history = { events: [early, late], merges: [] }
      const { event } = send(history, { ...calendar, ...day })
      const query = { kind: 'TrendsQuery' as const, ...asked(event, { ...calendar, ...day }) }
      const dataOf = async (math: string): Promise<unknown> =>
        (await linesOf({ ...query, series: [{ kind: 'EventsNode', event, math }] }))[0]?.data
      const people = recentPeople(history, { ...calendar, ...day }, 30)
      expect(await dataOf('monthly_active')).toEqual([...people])
      const counts = people.map((_, index) => (index === people.length - 1 ? 1 : 0))
      expect(await dataOf('total')).toEqual(counts)
    },
  )

  test('has as many people behind each number as the number says', async () => {
    await fc.assert(
      fc.asyncProperty(HISTORY, CALENDAR, async (history, calendar) => {
        const { event } = send(history, calendar)
        const series = [{ kind: 'EventsNode' as const, event, math: 'dau' }]
        const query = {
          kind: 'TrendsQuery' as const,
          ...asked(event, calendar),
          series,
          breakdownFilter: { breakdown: 'plan', breakdown_limit: 1 },
        }
        for (const { data, days, breakdown_value: breakdown = null } of await linesOf(query)) {
          // All others together may hold somebody twice, once for each value.
          if (breakdown === OTHER) continue
          const step = data.findIndex((count) => count > 0)
          const point = { day: days[step] ?? null, breakdown }
          const source = { kind: 'InsightActorsQuery' as const, source: query, ...point }
          expect((await world.ask(source, NOW)).results).toHaveLength(data[step] ?? 0)
        }
      }),
      RUNS,
    )
  })

  test('has as many people of each status and stickiness as their numbers say', async () => {
    await fc.assert(
      fc.asyncProperty(HISTORY, CALENDAR, fc.nat(), async (history, calendar, chosen) => {
        const { event } = send(history, calendar)
        const context = insightContext(NOW, calendar)
        const query = asked(event, calendar)
        const lifecycle = { kind: 'LifecycleQuery' as const, ...query }
        for (const { data, days, status = null } of await linesOf(lifecycle)) {
          const step = chosen % data.length
          // Two hours have one name where clocks go back.
          if (days.filter((day) => day === days[step]).length > 1) continue
          const point = { ...FIRST_POINT, day: days[step] ?? null, status }
          const rows = await world.rows(lifecycleActors(lifecycle, point, context), NOW)
          expect(rows).toHaveLength(Math.abs(data[step] ?? 0))
        }
        const stickiness = { kind: 'StickinessQuery' as const, ...query }
        const [line] = await linesOf(stickiness)
        const steps = (chosen % (line?.data.length ?? 1)) + 1
        const sticky = stickinessActors(stickiness, { ...FIRST_POINT, steps }, context)
        expect(await world.rows(sticky, NOW)).toHaveLength(line?.data[steps - 1] ?? 0)
      }),
      RUNS,
    )
  })

  test('has its lifecycle', async () => {
    await fc.assert(
      fc.asyncProperty(HISTORY, CALENDAR, async (history, calendar) => {
        const { event } = send(history, calendar)
        const lines = await linesOf({ kind: 'LifecycleQuery', ...asked(event, calendar) })
        const steps = stepsOf(calendar)
        // The last step counts whole, also what is after the end of the range.
        const active = [...stepsByPerson(history, calendar).values()]
        const before = stepBefore(steps, calendar)
        const counts = (holds: (was: boolean, is: boolean) => boolean): readonly number[] =>
          steps.map((step, index) => {
            const previous = steps[index - 1] ?? before
            return active.filter((own) => holds(own.has(previous), own.has(step))).length
          })
        const data = Object.fromEntries(lines.map((line) => [line.status, line.data]))
        // Nobody is known to have been created then, so nobody is new.
        expect(data['new']?.every((count: number) => count === 0)).toBe(true)
        expect(data['returning']).toEqual([...counts((was, is) => was && is)])
        expect(data['resurrecting']).toEqual([...counts((was, is) => !was && is)])
        expect(data['dormant']?.map((count: number) => Math.abs(count))).toEqual([
          ...counts((was, is) => was && !is),
        ])
      }),
      RUNS,
    )
  })

  test('has its stickiness', async () => {
    await fc.assert(
      fc.asyncProperty(HISTORY, CALENDAR, async (history, calendar) => {
        const { event } = send(history, calendar)
        const [line] = await linesOf({ kind: 'StickinessQuery', ...asked(event, calendar) })
        const steps = stepsOf(calendar)
        const active = [...stepsByPerson(upTo(history, calendar), calendar).values()].map(
          (own) => steps.filter((step) => own.has(step)).length,
        )
        expect(line?.data).toEqual(
          steps.map((_, index) => active.filter((count) => count === index + 1).length),
        )
      }),
      RUNS,
    )
  })
})

/** Answers put what has no value after all values that have one, and all others last. */
function inOrder<Data>(
  lines: readonly (readonly [string, Data])[],
): readonly (readonly [string, Data])[] {
  const place = (plan: string): number => (plan === OTHER ? 2 : Number(plan === NONE))
  return lines.toSorted(([a], [b]) => place(a) - place(b))
}

/** Without what came after the last day. */
function upTo(history: History, calendar: Calendar): History {
  const is_past = (at_ms: number): boolean =>
    localTime(at_ms, calendar.timezone).slice(0, 10) <= calendar.to
  return { ...history, events: history.events.filter(({ at_ms }) => is_past(at_ms)) }
}

/** The step before the first. */
function stepBefore(steps: readonly string[], calendar: Calendar): string {
  const [first = ''] = steps
  if (calendar.interval === 'hour') return new Date(Date.parse(first) - 3_600_000).toISOString()
  const back = { day: 1, week: 7, month: 1 }[calendar.interval]
  const date = new Date(`${first.slice(0, 10)}T00:00:00Z`)
  if (calendar.interval === 'month') date.setUTCMonth(date.getUTCMonth() - back)
  else date.setUTCDate(date.getUTCDate() - back)
  return date.toISOString().slice(0, 10)
}
