/** The days of events that a query reads: what its conditions say, and never less. */
import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { compileHogQL } from '../../../src/hogql/compile.ts'
import { randomRuns } from '../../random-runs.ts'
import { CONTEXT, NOW_US } from '../engine.ts'

/** Of the day, as days since 1970. */
const day = (text: string): number => Date.parse(text) / 86_400_000
const daysOf = (hogql: string, timezone = 'UTC'): readonly (number | null)[] => {
  const [events] = compileHogQL(hogql, { ...CONTEXT, timezone }).reads.events
  if (events === undefined) throw new Error('no events are read')
  return [events.days.from, events.days.until]
}

const ALL = [null, null]
const MARCH = [day('2024-03-01'), day('2024-04-01')]
const IN_MARCH = "timestamp >= '2024-03-01' and timestamp < '2024-04-01'"
/** Times without a fraction may be meant up to their end: a day more costs nothing but a file. */
const MARCH_AND_ITS_END = [day('2024-03-01'), day('2024-04-02')]

test.each([
  ['no condition', 'select count() from events', ALL],
  ['both ends', `select event from events where ${IN_MARCH}`, MARCH_AND_ITS_END],
  [
    'the last week',
    'select event from events where timestamp > now() - interval 7 day',
    [day('2024-06-08'), null],
  ],
  [
    'one end',
    "select event from events where timestamp < '2024-04-01 00:00:01'",
    [null, day('2024-04-02')],
  ],
  [
    'one moment',
    "select event from events where timestamp = toDateTime('2024-03-05 10:00:00')",
    [day('2024-03-05'), day('2024-03-06')],
  ],
  ['either of two', `select event from events where ${IN_MARCH} or event = 'a'`, ALL],
  ['not in it', `select event from events where not (${IN_MARCH})`, ALL],
  [
    'after the rows are put together',
    "select event, max(timestamp) as m from events group by event having m > '2024-03-01'",
    ALL,
  ],
  ['another time of the event', "select event from events where created_at > '2024-03-01'", ALL],
  [
    'a sub-select',
    `select count() from (select event from events where ${IN_MARCH})`,
    MARCH_AND_ITS_END,
  ],
  [
    'a name for a select',
    `with m as (select event from events where ${IN_MARCH}) select count() from m`,
    MARCH_AND_ITS_END,
  ],
  [
    'two selects',
    `select event from events where ${IN_MARCH} union all select event from events where timestamp >= '2024-05-01' and timestamp < '2024-05-02 12:00:00'`,
    [day('2024-03-01'), day('2024-05-03')],
  ],
  [
    'two selects, one of them of all',
    `select event from events where ${IN_MARCH} union all select event from events`,
    ALL,
  ],
  [
    'a condition that asks for others',
    `select event from events where ${IN_MARCH} and event in (select event from events where timestamp >= '2024-01-01')`,
    [day('2024-01-01'), null],
  ],
  [
    'people beside events',
    `select person.properties.age from events where ${IN_MARCH}`,
    MARCH_AND_ITS_END,
  ],
  [
    'events beside events',
    `select count() from events a join events b on a.event = b.event where a.timestamp >= '2024-03-01' and b.timestamp >= '2024-02-01'`,
    [day('2024-02-01'), null],
  ],
  [
    'events that are there or not',
    `select count() from events a left join events b on a.event = b.event where a.timestamp >= '2024-03-01' and b.timestamp >= '2024-02-01'`,
    ALL,
  ],
  [
    'a day of the clock',
    "select count() from events where toDate(timestamp) = '2024-03-05'",
    [day('2024-03-04'), day('2024-03-07')],
  ],
] as const)('%s', (_, hogql, days) => {
  expect(daysOf(hogql)).toEqual([...days])
})

test('days are those of UTC, whatever clock the condition means', () => {
  const hogql =
    "select event from events where timestamp >= '2024-03-01 00:00:00' and timestamp < '2024-03-01 00:00:01'"
  expect(daysOf(hogql, 'Asia/Tokyo')).toEqual([day('2024-02-29'), day('2024-03-01')])
  expect(daysOf(hogql, 'America/New_York')).toEqual([day('2024-03-01'), day('2024-03-02')])
  expect(daysOf("select event from events where timestamp < '1969-12-31 12:00:00'")).toEqual([
    null,
    0,
  ])
})

test('a session is looked for around the days that are asked for', () => {
  const [from, until] = daysOf(`select session.$session_duration from events where ${IN_MARCH}`)
  expect(from).toBeLessThan(MARCH[0] ?? 0)
  expect(until).toBeGreaterThan(MARCH[1] ?? 0)
})

test('no moment between the bounds is left out', () => {
  const moment = fc.integer({ min: -4_000_000_000, max: 8_000_000_000 })
  fc.assert(
    fc.property(moment, moment, moment, (one, other, asked) => {
      const [low, high] = one < other ? [one, other] : [other, one]
      const [from, until] = daysOf(`select event from events
        where timestamp >= fromUnixTimestamp(${low}) and timestamp <= fromUnixTimestamp(${high})`)
      if (asked < low || asked > high) return
      const asked_day = Math.floor(asked / 86_400)
      expect(asked_day).toBeGreaterThanOrEqual(from ?? Number.NEGATIVE_INFINITY)
      expect(asked_day).toBeLessThan(until ?? Number.POSITIVE_INFINITY)
    }),
    randomRuns(50),
  )
  expect(NOW_US).toBeGreaterThan(0n)
})

test('a query without events reads no days', () => {
  expect(compileHogQL('select 1', CONTEXT).reads.events).toEqual([])
})
