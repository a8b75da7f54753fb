/** A remembered text asked at any later or earlier time compiles to what it compiles to again. */

import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { compileHogQL } from '../../../src/hogql/compile.ts'
import { compileText } from '../../../src/hogql/compile-cache.ts'
import {
  isBefore,
  microsecondsOf,
  RelativeTime,
  ValidityWindow,
} from '../../../src/hogql/times/relative-time.ts'
import { findZone } from '../../../src/hogql/times/zones.ts'
import { fewOrMany, randomRuns } from '../../random-runs.ts'
import { CONTEXT, NOW_US } from '../engine.ts'

const ZONES = [
  'Pacific/Apia',
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'Africa/Casablanca',
  'Asia/Kathmandu',
]

const MOMENTS = [
  'now()',
  'now() - interval 7 day',
  'now() - interval 36 hour',
  'now() + interval 1 month',
  'now() - interval 2 quarter',
  'now() - interval 20 year',
  "toTimeZone(now(), 'America/New_York') - interval 1 day",
  'today()',
  'yesterday()',
  'today() - interval 1 month',
  'toStartOfDay(now())',
  'toStartOfHour(now() - interval 90 minute)',
  'toStartOfWeek(now() - interval 3 week)',
  'toMonday(now())',
  'toStartOfMonth(now() - interval 1 month)',
  'toDateTime(toDate(now()))',
  "toDateTime('2024-03-31 01:30:00')",
  "date_trunc('quarter', now())",
]

/** Left sides, each compared with one moment or two. */
const SIDES = [
  'timestamp',
  'toStartOfDay(timestamp)',
  'toStartOfMonth(timestamp)',
  'toDate(timestamp)',
  'session.$start_timestamp',
]

const SELECTS = [
  'select count() from events',
  'select toStartOfDay(timestamp) as day, count() from events',
  'select toStartOfHour(timestamp), now(), max(timestamp) < now() from events',
]

const TEXTS = fc
  .tuple(
    fc.constantFrom(...SELECTS),
    fc.array(
      fc.tuple(
        fc.constantFrom(...SIDES),
        fc.constantFrom('<', '<=', '>', '>=', '=', '!='),
        fc.constantFrom(...MOMENTS),
      ),
      { minLength: 1, maxLength: 3 },
    ),
  )
  .map(([select, conditions]) => {
    const where = conditions.map((parts) => parts.join(' ')).join(' and ')
    const keys = [...select.matchAll(/toStartOf\w+\(timestamp\)|now\(\)(?=,)/g)].map(([key]) => key)
    return `${select} where ${where}${keys.length === 0 ? '' : ` group by ${keys.join(', ')}`}`
  })

/** Where something changes: midnights, ends of months and years, clocks; and 1:30 of a morning that has it twice. */
const EDGES = [
  '2024-01-01T00:00:00Z',
  '2024-02-29T00:00:00Z',
  '2024-03-01T00:00:00Z',
  '2024-03-10T07:00:00Z',
  '2024-03-31T01:00:00Z',
  '2024-03-31T22:00:00Z',
  '2024-06-15T12:00:00Z',
  '2024-10-05T15:30:00Z',
  '2024-10-27T01:00:00Z',
  '2024-11-03T06:00:00Z',
  '2024-12-31T23:00:00Z',
  '2025-01-01T00:00:00Z',
].map((text) => BigInt(Date.parse(text)) * 1000n)

const SECOND_US = 1_000_000n
const DAY_US = 86_400n * SECOND_US
const NEAR = fc.oneof(
  fc.bigInt({ min: -3n, max: 3n }),
  fc.bigInt({ min: -100n * SECOND_US, max: 100n * SECOND_US }),
  fc.bigInt({ min: -4n, max: 4n }).map((steps) => steps * 1800n * SECOND_US),
  fc.bigInt({ min: -DAY_US, max: DAY_US }),
)
/** The moments asked for are these days away from now. */
const DAYS = fc.constantFrom(0n, 0n, 1n, 7n, 21n, 30n, 31n)
const NOWS = fc
  .tuple(fc.constantFrom(...EDGES), DAYS, fc.array(NEAR, { minLength: 2, maxLength: 6 }))
  .map(([edge, days, steps]) => steps.map((step) => edge + days * DAY_US + step))

describe('texts asked again at other times', () => {
  test('compile to what they compile to anew', () => {
    fc.assert(
      fc.property(TEXTS, fc.constantFrom(...ZONES), NOWS, (text, timezone, nows) => {
        for (const now_us of nows) {
          const context = { ...CONTEXT, timezone, now_us }
          expect(compileText(text, context)).toEqual(compileHogQL(text, context))
        }
      }),
      randomRuns(40),
    )
  })
})

const QUARTER_US = 900n * SECOND_US
/** Four hours around a change; every other quarter of an hour, or with `EVERY_CASE=1` all. */
const STEP = fewOrMany(2, 1)
const QUARTERS = Array.from({ length: 32 / STEP + 1 }, (_, index) => BigInt(index * STEP - 16))
const CHANGED = ZONES.flatMap((timezone) =>
  findZone(timezone, NOW_US)
    .eras.slice(-fewOrMany(2, 4))
    .map((era) => [timezone, new Date(Number(era.from_us / 1000n)).toISOString()] as const),
)

test.each(CHANGED)('around a change of clocks: %s, %s', (timezone, changed_at) => {
  const change_us = BigInt(Date.parse(changed_at)) * 1000n
  for (const days of [1n, 7n]) {
    const text = `select count() from events where timestamp > now() - interval ${days} day and toStartOfDay(timestamp) < now() - interval ${days * 24n} hour`
    // Forth and back, so that each time is met by what was remembered before and after it.
    for (const quarter of [...QUARTERS, ...QUARTERS.toReversed()]) {
      const now_us = change_us + days * DAY_US + quarter * QUARTER_US
      const context = { ...CONTEXT, timezone, now_us }
      expect(compileText(text, context)).toEqual(compileHogQL(text, context))
    }
  }
})

test('what is before another time stays so for as long as it is said to', () => {
  const small = fc.bigInt({ min: -9n, max: 9n })
  fc.assert(
    fc.property(small, small, small, fc.boolean(), (at, other, later, is_left) => {
      const stay = new ValidityWindow(0n)
      const moving = new RelativeTime(at, stay)
      const before = (): boolean => (is_left ? isBefore(moving, other) : isBefore(other, moving))
      const is_before = before()
      const is_later = is_left ? at + later < other : other < at + later
      expect(is_before).toBe(
        is_left ? microsecondsOf(moving) < other : other < microsecondsOf(moving),
      )
      expect(stay.holds(later)).toBe(is_later === is_before)
    }),
    randomRuns(350),
  )
})
