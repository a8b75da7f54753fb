/** Retention: examples worked by hand, and any history beside a plain reference. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import type { RetentionQuery } from '../../../src/contract/insights/retention.ts'
import type { InsightQueryNode } from '../../../src/query/kinds/insight.ts'
import { limitTests } from '../../long-tests.ts'
import { randomRuns } from '../../random-runs.ts'
import { InsightWorld } from '../world.ts'
import { type Period, type Retention, type Row, retentionOf } from './reference.ts'

limitTests(240_000)

const NOW = '2024-03-13T12:00:00Z'

type Answer = readonly {
  readonly values: readonly { readonly count: number; readonly label: string }[]
  readonly label: string
  readonly date: string
  readonly breakdown_value?: unknown
}[]

let world: InsightWorld
beforeAll(() => {
  world = new InsightWorld()
})
afterAll(() => world[Symbol.asyncDispose]())

async function ask(query: Omit<RetentionQuery, 'kind'>, now = NOW): Promise<Answer> {
  const { results } = await world.ask({ kind: 'RetentionQuery', ...query }, now)
  return results as Answer
}

const counts = (answer: Answer): number[][] =>
  answer.map(({ values }) => values.map(({ count }) => count))

describe('worked by hand', () => {
  // Person 1 opens on the 10th (twice), 11th and 13th; 2 on the 11th and 12th; 3 on the 13th only; 4 reads on the
  // 12th and opened long ago; 5 is the same person as 1.
  const example = { id: 'open', type: 'events' as const }
  const filter = { totalIntervals: 4, targetEntity: example, returningEntity: example }
  beforeAll(() => {
    const at = (person: number, day: string, more: object = {}) =>
      world.send({ event: 'open', person, at: `2024-03-${day}:30:00Z`, ...more })
    at(1, '10T01', { properties: { plan: 'pro' } })
    at(1, '10T23', { properties: { plan: 'pro' } })
    at(1, '11T05')
    at(5, '13T05')
    at(2, '11T10', { properties: { plan: 'pro' } })
    at(2, '12T10')
    at(3, '13T00', { groups: ['acme'] })
    world.send({ event: 'read', person: 4, at: '2024-03-12T10:00:00Z' })
    world.send({ event: 'open', person: 4, at: '2023-03-12T10:00:00Z' })
    world.send({ event: 'open', person: 4, at: '2024-03-12T11:00:00Z' })
    world.merge(5, 1)
  })

  test('answers a row for each day, shorter by one each, whole', async () => {
    const answer = await world.ask(
      { kind: 'RetentionQuery', retentionFilter: filter, dateRange: null },
      NOW,
    )
    const day = (index: number, cells: readonly number[]) => ({
      values: cells.map((count, offset) => ({ count, label: `Day ${offset}` })),
      label: `Day ${index}`,
      date: `2024-03-1${index}T00:00:00+00:00`,
    })
    expect(answer).toEqual({
      results: [
        // 1 is there on the 10th, 11th and (as 5) the 13th.
        day(0, [1, 1, 0, 1]),
        // 1 and 2 on the 11th; of them 2 on the 12th, 1 on the 13th.
        day(1, [2, 1, 1]),
        // 2 and 4 on the 12th.
        day(2, [2, 0]),
        // 1 and 3 on the 13th.
        day(3, [2]),
      ],
      hogql: expect.any(String),
      error: null,
      timings: expect.any(Array),
      modifiers: {},
      timezone: 'UTC',
      resolved_date_range: {
        date_from: '2024-03-10T00:00:00+00:00',
        date_to: '2024-03-13T23:59:59.999999+00:00',
      },
    })
  })

  test('counts only first times, and only where the first of all matches', async () => {
    const first = { ...filter, retentionType: 'retention_first_time' as const }
    // 4 opened a year before.
    expect(counts(await ask({ retentionFilter: first }))).toEqual([
      [1, 1, 0, 1],
      [1, 1, 0],
      [0, 0],
      [1],
    ])
    const later = {
      ...filter,
      targetEntity: { ...example, properties: [{ key: 'plan', operator: 'is_not_set' }] },
    }
    const time = { ...later, retentionType: 'retention_first_time' as const }
    // Without a plan: 1 first on the 11th, 2 on the 12th, 3 on the 13th.
    expect(counts(await ask({ retentionFilter: time }))).toEqual([
      [0, 0, 0, 0],
      [1, 0, 1],
      [1, 0],
      [1],
    ])
    const ever = { ...later, retentionType: 'retention_first_ever_occurrence' as const }
    // The very first opening of 1 and 2 had a plan.
    expect(counts(await ask({ retentionFilter: ever }))).toEqual([
      [0, 0, 0, 0],
      [0, 0, 0],
      [0, 0],
      [1],
    ])
  })

  test('counts those who come back later too, enough times, and in brackets', async () => {
    expect(counts(await ask({ retentionFilter: { ...filter, cumulative: true } }))).toEqual([
      [1, 1, 1, 1],
      [2, 2, 1],
      [2, 0],
      [2],
    ])
    expect(counts(await ask({ retentionFilter: { ...filter, minimumOccurrences: 2 } }))).toEqual([
      [1, 0, 0, 0],
      [2, 0, 0],
      [2, 0],
      [2],
    ])
    const brackets = await ask({ retentionFilter: { ...filter, retentionCustomBrackets: [1, 2] } })
    expect(brackets[0]?.values.map(({ label }) => label)).toEqual(['Day 0', 'Day 1', 'Day 2-3'])
    expect(counts(brackets)).toEqual([
      [1, 1, 1],
      [2, 1, 1],
      [2, 0, 0],
      [2, 0, 0],
    ])
  })

  test('begins windows with the act itself', async () => {
    // 1 opens on the 10th at 01:30 and on the 11th at 05:30: 28 hours later. From 23:30 it would be six.
    const rolling = { ...filter, timeWindowMode: '24_hour_windows' as const }
    expect(counts(await ask({ retentionFilter: rolling }))).toEqual([
      [1, 1, 0, 1],
      [2, 1, 1],
      [2, 0],
      [2],
    ])
    const late = { ...rolling, totalIntervals: 3 }
    // The 11th at 05:30 to the 13th at 05:30 are two whole days.
    expect(counts(await ask({ retentionFilter: late }))).toEqual([[2, 1, 1], [2, 0], [2]])
  })

  test('is split by values, the most frequent first, or by cohorts', async () => {
    const split = { breakdown: 'plan', breakdown_limit: 1 }
    const answer = await ask({ retentionFilter: filter, breakdownFilter: split })
    expect(answer.map(({ breakdown_value }) => breakdown_value)).toEqual([
      ...Array<string>(4).fill('$$_posthog_breakdown_null_$$'),
      ...Array<string>(4).fill('$$_posthog_breakdown_other_$$'),
    ])
    expect(counts(answer)).toEqual([
      [0, 0, 0, 0],
      [1, 0, 1],
      [2, 0],
      [2],
      [1, 0, 0, 0],
      [1, 0, 0],
      [0, 0],
      [0],
    ])
    const hidden = { ...split, breakdown_hide_other_aggregation: true }
    expect(await ask({ retentionFilter: filter, breakdownFilter: hidden })).toHaveLength(4)
  })

  test('has each person in the value of the first event of all, whatever the returns carry', async () => {
    const join = (person: number, day: string, plan: string) =>
      world.send({ event: 'join', person, at: `2024-03-${day}T10:00:00Z`, properties: { plan } })
    join(31, '10', 'free')
    join(31, '11', 'pro')
    join(32, '11', 'pro')
    const entity = { id: 'join', type: 'events' as const }
    const source = {
      kind: 'RetentionQuery' as const,
      retentionFilter: {
        ...filter,
        targetEntity: entity,
        returningEntity: entity,
        retentionType: 'retention_first_ever_occurrence' as const,
      },
      breakdownFilter: { breakdowns: [{ property: 'plan', type: 'event' }] },
    }
    const answer = await ask(source)
    expect(answer.map(({ breakdown_value }) => String(breakdown_value))).toEqual([
      ...Array<string>(4).fill('free'),
      ...Array<string>(4).fill('pro'),
    ])
    expect(counts(answer)).toEqual([
      [1, 1, 0, 0],
      [0, 0, 0],
      [0, 0],
      [0],
      [0, 0, 0, 0],
      [1, 0, 0],
      [0, 0],
      [0],
    ])
    const behind = async (interval: number, breakdown: string) => {
      const query = {
        kind: 'InsightActorsQuery',
        source,
        interval,
        breakdown: [breakdown],
      } satisfies InsightQueryNode
      return (await world.ask(query, NOW)).results
    }
    expect(await behind(0, 'free')).toMatchObject([[expect.stringMatching(/1f$/), 2]])
    expect(await behind(1, 'pro')).toMatchObject([[expect.stringMatching(/20$/), 1]])
    expect(await behind(1, 'free')).toEqual([])
  })

  test('has the people of every value behind it, and of all others once', async () => {
    const plans = ['a', 'a', 'b', 'c'] as const
    const visit = (person: number, plan: string, day: string) =>
      world.send({
        event: 'visit',
        person,
        at: `2024-03-${day}T10:00:00Z`,
        properties: { plan, size: plan === 'a' ? 1 : 9 },
      })
    for (const [index, plan] of plans.entries()) visit(21 + index, plan, '11')
    for (const person of [21, 22]) visit(person, 'a', '12')
    // Of both other values, on different days.
    visit(23, 'c', '11')
    visit(23, 'c', '13')
    const entity = { id: 'visit', type: 'events' as const }
    const by = { ...filter, targetEntity: entity, returningEntity: entity }
    const behind = async (breakdownFilter: object, breakdown: unknown) => {
      const source = { kind: 'RetentionQuery', retentionFilter: by, breakdownFilter }
      const actors = { kind: 'InsightActorsQuery', source, interval: 1, breakdown }
      const { results } = await world.ask(actors as InsightQueryNode, NOW)
      return (results as [string, number][]).map(([id, steps]) => [
        Number.parseInt(id.slice(-4), 16),
        steps,
      ])
    }
    const other = '$$_posthog_breakdown_other_$$'
    const split = { breakdown: 'plan', breakdown_limit: 1 }
    expect(await behind(split, 'a')).toEqual([
      [21, 2],
      [22, 2],
    ])
    expect(await behind(split, other)).toEqual([
      [23, 2],
      [24, 1],
    ])
    const several = { breakdowns: [{ property: 'plan' }, { property: 'name' }], breakdown_limit: 1 }
    expect(await behind(several, [other])).toEqual([
      [23, 2],
      [24, 1],
    ])
    // Of a histogram all bins beyond the limit.
    const bins = { breakdown: 'size', breakdown_limit: 1, breakdown_histogram_bin_count: 2 }
    expect(await behind(bins, '[1,5]')).toEqual([
      [21, 2],
      [22, 2],
    ])
    expect(await behind(bins, other)).toEqual([
      [23, 2],
      [24, 1],
    ])
  })

  test('counts groups, and nobody in an empty time', async () => {
    expect(counts(await ask({ retentionFilter: filter, aggregation_group_type_index: 0 }))).toEqual(
      [[0, 0, 0, 0], [0, 0, 0], [0, 0], [1]],
    )
    const dateRange = { date_to: '2021-05-05' }
    const empty = await ask({ retentionFilter: { period: 'Month', totalIntervals: 2 }, dateRange })
    expect(empty.map(({ date, label }) => [date, label])).toEqual([
      ['2021-04-01T00:00:00+00:00', 'Month 0'],
      ['2021-05-01T00:00:00+00:00', 'Month 1'],
    ])
    expect(counts(empty)).toEqual([[0, 0], [0]])
  })

  test('has eleven steps unless told, or those of its range', async () => {
    expect(await ask({})).toHaveLength(11)
    const dateRange = { date_from: '2024-03-01', date_to: '2024-03-05' }
    expect((await ask({ dateRange })).map(({ date }) => date.slice(0, 10))).toEqual([
      '2024-03-01',
      '2024-03-02',
      '2024-03-03',
      '2024-03-04',
      '2024-03-05',
    ])
    const hours = await ask({ retentionFilter: { period: 'Hour', totalIntervals: 2 } })
    expect(hours.map(({ date }) => date)).toEqual([
      '2024-03-13T11:00:00+00:00',
      '2024-03-13T12:00:00+00:00',
    ])
  })

  test('refuses more numbers than an answer may have, whatever it would cut off', async () => {
    // Two hundred values in twenty-five hours are 325 cells each, once somebody comes every hour.
    const at = (index: number, hour: number) => ({
      event: 'hourly',
      person: 1000 + index,
      at: new Date(Date.parse(NOW) - hour * 3_600_000).toISOString(),
      properties: { who: index },
    })
    const hours = Array.from({ length: 25 }, (_, hour) => hour)
    for (let index = 0; index < 200; index += 1) {
      world.send(...hours.map((hour) => at(index, hour)))
    }
    const hourly = { id: 'hourly', type: 'events' as const }
    const asked = {
      retentionFilter: {
        period: 'Hour' as const,
        totalIntervals: 25,
        targetEntity: hourly,
        returningEntity: hourly,
      },
      breakdownFilter: { breakdown: 'who', breakdown_limit: 200 },
    }
    const refused = await ask(asked).catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 'query_too_large' })
    const fewer = { ...asked, breakdownFilter: { breakdown: 'who', breakdown_limit: 100 } }
    expect(await ask(fewer)).toHaveLength(101 * 25)
  })

  test('refuses more steps than an answer may have', async () => {
    const query = {
      retentionFilter: { period: 'Hour' as const },
      dateRange: { date_from: '-90d' },
    }
    const refused = await ask(query).catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 'invalid_input', attr: 'query__dateRange' })
  })
})

describe('any history', () => {
  const ZONES = ['UTC', 'America/New_York', 'Europe/Berlin', 'Asia/Kathmandu', 'America/Sao_Paulo']
  // Clocks change in New York on 10 March and in Berlin on 31 March 2024.
  const NOWS = ['2024-03-12T15:20:00Z', '2024-04-02T00:10:00Z', '2024-03-10T23:50:00Z']
  const SPANS_H = { Hour: 9, Day: 24 * 6, Week: 24 * 30, Month: 24 * 110 } as const
  const PERIODS: readonly Period[] = ['Hour', 'Day', 'Week', 'Month']
  const STARTS = {
    each: 'retention_recurring',
    first: 'retention_first_time',
    first_ever: 'retention_first_ever_occurrence',
  } as const

  const history = fc.record({
    timezone: fc.constantFrom(...ZONES),
    week_start_day: fc.constantFrom(0 as const, 1 as const),
    now: fc.constantFrom(...NOWS),
    period: fc.constantFrom(...PERIODS),
    intervals: fc.integer({ min: 1, max: 6 }),
    start: fc.constantFrom('each' as const, 'first' as const, 'first_ever' as const),
    cumulative: fc.boolean(),
    minimum: fc.constantFrom(1, 1, 2),
    brackets: fc.constantFrom<number[]>([], [], [1, 2], [2, 1, 1]),
    rolling: fc.boolean(),
    merged: fc.boolean(),
    acts: fc.array(
      fc.record({
        name: fc.constantFrom('go', 'go', 'back'),
        person: fc.integer({ min: 0, max: 3 }),
        // Parts of the span, so that the same instants come again.
        part: fc.integer({ min: 0, max: 60 }),
        plan: fc.constantFrom('pro', 'free', null),
      }),
      { maxLength: 25 },
    ),
  })

  test('is counted as the reference counts it', async () => {
    let run = 0
    await fc.assert(
      fc.asyncProperty(history, async (made) => {
        run += 1
        const { timezone, week_start_day, now, period, start } = made
        const now_ms = Date.parse(now)
        const span_ms = SPANS_H[period] * 3_600_000
        const rows: readonly Row[] = made.acts.map(({ name, person, part, plan }) => ({
          // Late ones come after "now".
          at_ms: Math.floor((now_ms - (span_ms * (part - 4)) / 60) / 1000) * 1000,
          event: `${run}-${name}`,
          person: run * 10 + person,
          ...(plan === null ? {} : { plan }),
        }))
        world.know({ timezone, week_start_day })
        world.send(
          ...rows.map(({ at_ms, event, person, plan }) => ({
            event,
            person,
            at: new Date(at_ms).toISOString(),
            properties: plan === undefined ? {} : { plan },
          })),
        )
        if (made.merged) world.merge(run * 10 + 3, run * 10)
        const resolved = rows.map((row) =>
          made.merged && row.person === run * 10 + 3 ? { ...row, person: run * 10 } : row,
        )
        const asked: Retention = {
          ...made,
          now_ms,
          isTarget: (row) => row.event === `${run}-go` && row.plan === 'pro',
          isTargetEvent: (row) => row.event === `${run}-go`,
          isReturn: (row) => row.event === `${run}-back` || row.event === `${run}-go`,
        }
        const query: RetentionQuery = {
          kind: 'RetentionQuery',
          retentionFilter: {
            period,
            totalIntervals: made.intervals,
            retentionType: STARTS[start],
            cumulative: made.cumulative,
            minimumOccurrences: made.minimum,
            retentionCustomBrackets: made.brackets,
            timeWindowMode: made.rolling ? '24_hour_windows' : 'strict_calendar_dates',
            targetEntity: {
              id: `${run}-go`,
              type: 'events',
              properties: [{ key: 'plan', value: 'pro', operator: 'exact' }],
            },
            returningEntity: { id: null, type: 'events' },
          },
          properties: [
            { type: 'hogql', key: `event in ('${run}-go', '${run}-back')`, value: null },
          ],
        }
        const answer = await ask(query, now)
        const reference = retentionOf(resolved, asked)
        expect(counts(answer)).toEqual(reference)
        // Behind each start stand as many people as it counts, each with as many steps.
        const interval = run % made.intervals
        const behind = await world.ask({ kind: 'InsightActorsQuery', source: query, interval }, now)
        const line = reference[interval] ?? []
        expect(behind.results).toHaveLength(line[0] ?? 0)
      }),
      randomRuns(14),
    )
  })
})
