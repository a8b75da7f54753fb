/** When something comes back, by the clocks of a zone: intervals, crontabs, and the days on which clocks jump. */
import { describe, expect, test } from 'bun:test'
import { assert, constantFrom, integer, property } from 'fast-check'
import { isCron, nextTime } from '../../../src/targeting/flags/recurrence.ts'
import { randomRuns } from '../../random-runs.ts'

const BERLIN = 'Europe/Berlin'
const at = (text: string) => new Date(text)

describe('a crontab line', () => {
  const line = (cron_expression: string, timezone = 'UTC') => ({
    recurrence_interval: null,
    cron_expression,
    end_date: null,
    timezone,
  })

  test.each([
    ['0 9 * * 1-5', '2026-11-20T12:00:00Z', 'UTC', '2026-11-23T09:00:00Z'],
    ['0 9 * * MON-FRI', '2026-11-20T08:59:59Z', 'UTC', '2026-11-20T09:00:00Z'],
    ['*/15 * * * *', '2026-11-20T12:01:00Z', 'UTC', '2026-11-20T12:15:00Z'],
    ['5/20 8 * * *', '2026-11-20T08:26:00Z', 'UTC', '2026-11-20T08:45:00Z'],
    ['30 4 1,15 * *', '2026-11-20T00:00:00Z', 'UTC', '2026-12-01T04:30:00Z'],
    ['0 0 29 feb *', '2026-01-01T00:00:00Z', 'UTC', '2028-02-29T00:00:00Z'],
    // Either kind of day will do where both choose.
    ['0 0 13 * 5', '2026-11-14T00:00:00Z', 'UTC', '2026-11-20T00:00:00Z'],
    ['0 0 * * 7', '2026-11-20T00:00:00Z', 'UTC', '2026-11-22T00:00:00Z'],
    ['0 9 * * *', '2026-03-28T08:00:00Z', BERLIN, '2026-03-29T07:00:00Z'],
    ['0 9 * * *', '2026-10-24T08:00:00Z', BERLIN, '2026-10-25T08:00:00Z'],
    // Clocks jump over it: it comes when they have.
    ['30 2 * * *', '2026-03-28T12:00:00Z', BERLIN, '2026-03-29T01:00:00Z'],
    ['@daily', '2026-11-20T12:00:00Z', BERLIN, '2026-11-20T23:00:00Z'],
  ])('%s comes after %s in %s at %s', (text, after, zone, next) => {
    expect(isCron(text)).toBe(true)
    expect(nextTime(line(text, zone), at(after), at(after))).toEqual(at(next))
  })

  test.each([
    '',
    '* * * *',
    '* * * * * *',
    '60 * * * *',
    '* 24 * * *',
    '* * 0 * *',
    '* * * 13 *',
    '* * * * 8',
    '5-1 * * * *',
    '*/0 * * * *',
    '1,,2 * * * *',
    'a * * * *',
    '1-2-3 * * * *',
    '-1 * * * *',
    `${'1,'.repeat(100)}1 * * * *`,
  ])('%j is none', (text) => {
    expect(isCron(text)).toBe(false)
    expect(nextTime(line(text), at('2026-01-01'), at('2026-01-01'))).toBeNull()
  })

  test('may name a day that never comes', () => {
    expect(isCron('0 0 31 2 *')).toBe(true)
    expect(nextTime(line('0 0 31 2 *'), at('2026-01-01'), at('2026-01-01'))).toBeNull()
  })
})

describe('something that comes back', () => {
  const every = (
    recurrence_interval: 'daily' | 'monthly' | 'weekly' | 'yearly',
    timezone = 'UTC',
  ) => ({
    recurrence_interval,
    cron_expression: null,
    end_date: null,
    timezone,
  })

  test.each([
    ['daily', '2026-11-20T09:00:00Z', '2026-11-20T09:00:00Z', '2026-11-21T09:00:00Z'],
    ['daily', '2026-11-20T09:00:00Z', '2026-12-24T09:00:01Z', '2026-12-25T09:00:00Z'],
    ['weekly', '2026-11-20T09:00:00Z', '2026-12-01T00:00:00Z', '2026-12-04T09:00:00Z'],
    ['monthly', '2026-01-31T09:00:00Z', '2026-02-01T00:00:00Z', '2026-02-28T09:00:00Z'],
    ['monthly', '2026-01-31T09:00:00Z', '2026-03-01T00:00:00Z', '2026-03-31T09:00:00Z'],
    ['monthly', '2016-01-31T09:00:00Z', '2026-03-01T00:00:00Z', '2026-03-31T09:00:00Z'],
    ['yearly', '2024-02-29T09:00:00Z', '2024-03-01T00:00:00Z', '2025-02-28T09:00:00Z'],
    ['yearly', '2024-02-29T09:00:00Z', '2027-03-01T00:00:00Z', '2028-02-29T09:00:00Z'],
  ] as const)('%s since %s comes after %s at %s', (interval, start, now, next) => {
    expect(nextTime(every(interval), at(start), at(now))).toEqual(at(next))
  })

  test('keeps its hour when the clocks jump', () => {
    const daily = every('daily', BERLIN)
    expect(nextTime(daily, at('2026-03-28T08:00:00Z'), at('2026-03-28T08:00:00Z'))).toEqual(
      at('2026-03-29T07:00:00Z'),
    )
  })

  test('ends with its end date', () => {
    const ending = { ...every('daily'), end_date: at('2026-11-22T09:00:00Z') }
    const start = at('2026-11-20T09:00:00Z')
    expect(nextTime(ending, start, at('2026-11-21T09:00:00Z'))).toEqual(at('2026-11-22T09:00:00Z'))
    expect(nextTime(ending, start, at('2026-11-22T09:00:00Z'))).toBeNull()
  })

  test('comes at its next time and skips none, whatever the interval', () => {
    const intervals = constantFrom('daily', 'weekly', 'monthly', 'yearly')
    const starts = integer({ min: Date.UTC(2015, 0), max: Date.UTC(2025, 0) })
    const spans = integer({ min: 0, max: 2 * 365 * 86_400_000 })
    assert(
      property(intervals, starts, spans, (interval, start_ms, span_ms) => {
        const recurrence = every(interval)
        const start = new Date(Math.floor(start_ms / 1000) * 1000)
        const now = new Date(start.getTime() + span_ms)
        const found = nextTime(recurrence, start, now)
        // One step after the other, each from the very start.
        let slow = start
        for (let count = 1; slow <= now; count += 1) {
          const next = nextTime(recurrence, start, slow)
          if (next === null || next <= slow) throw new Error(`does not move at ${count}`)
          slow = next
        }
        expect(found).toEqual(slow)
      }),
      randomRuns(4),
    )
  })
})
