/** Ranges of time: what relative and absolute dates come to, what they are compared with, and their steps. */
import { describe, expect, test } from 'bun:test'
import { bucketsOf, requireStep } from '../../src/insights/dates/buckets.ts'
import {
  isoLocal,
  previousRange,
  readRange,
  resolvedRange,
  type TimedQuery,
} from '../../src/insights/dates/date-range.ts'

/** Twenty past eleven in New York, where the clocks had changed on the 10th. */
const NOW = new Date('2024-03-12T15:20:30.123Z')

const dates = (timezone: string, week_start_day: 0 | 1 = 0) => ({
  now: NOW,
  timezone,
  week_start_day,
})

const ends = (sent: TimedQuery, timezone = 'UTC', is_exact = false): readonly string[] => {
  const { date_from, date_to } = resolvedRange(readRange(sent, dates(timezone), { is_exact }))
  return [date_from, date_to]
}

const range = (date_from?: string, date_to?: string, interval?: TimedQuery['interval']) => ({
  dateRange: { date_from: date_from ?? null, date_to: date_to ?? null },
  interval: interval ?? null,
})

describe('a range', () => {
  const TODAY = '2024-03-12T23:59:59.999999'
  test.each([
    [{}, 'UTC', '2024-03-05T00:00:00+00:00', `${TODAY}+00:00`],
    [range('-7d'), 'America/New_York', '2024-03-05T00:00:00-05:00', `${TODAY}-04:00`],
    [range('today', 'today'), 'UTC', '2024-03-12T00:00:00+00:00', `${TODAY}+00:00`],
    [range('dStart'), 'Asia/Kathmandu', '2024-03-12T00:00:00+05:45', `${TODAY}+05:45`],
    [
      range('-1mStart', '-1mEnd'),
      'UTC',
      '2024-02-01T00:00:00+00:00',
      '2024-02-29T23:59:59.999999+00:00',
    ],
    [
      range('2024-03-01', '2024-03-03'),
      'UTC',
      '2024-03-01T00:00:00+00:00',
      '2024-03-03T23:59:59.999999+00:00',
    ],
    [
      range('2024-03-01T10:30:00', '2024-03-03T08:00:00'),
      'UTC',
      '2024-03-01T10:30:00+00:00',
      '2024-03-03T23:59:59.999999+00:00',
    ],
    [
      range('2024-03-01T10:30:00', '2024-03-03T08:00:00', 'hour'),
      'UTC',
      '2024-03-01T10:30:00+00:00',
      '2024-03-03T08:00:00+00:00',
    ],
    [
      range('-24h', undefined, 'hour'),
      'America/New_York',
      '2024-03-11T11:00:00-04:00',
      '2024-03-12T11:59:59.999999-04:00',
    ],
    [
      range('-1h', undefined, 'minute'),
      'UTC',
      '2024-03-12T14:00:00+00:00',
      '2024-03-12T15:20:59.999999+00:00',
    ],
    [
      range('2024-03-10', '2024-03-10T23:59:59', 'hour'),
      'America/New_York',
      '2024-03-10T00:00:00-05:00',
      '2024-03-10T23:59:59-04:00',
    ],
    // In steps of hours, a date alone is the midnight it begins with.
    [
      range('2024-03-10', '2024-03-11', 'hour'),
      'UTC',
      '2024-03-10T00:00:00+00:00',
      '2024-03-11T00:00:00+00:00',
    ],
    [
      range('2024-3-9', '2024-3-9'),
      'UTC',
      '2024-03-09T00:00:00+00:00',
      '2024-03-09T23:59:59.999999+00:00',
    ],
  ])('%j in %s', (sent, timezone, from, to) => {
    expect(ends(sent, timezone)).toEqual([from, to])
  })

  test('to the instant keeps its ends', () => {
    expect(ends(range('-1d'), 'UTC', true)).toEqual([
      '2024-03-11T15:20:30.123000+00:00',
      '2024-03-12T15:20:30.123000+00:00',
    ])
    const explicit = { dateRange: { date_to: '2024-03-03T08:00:00', explicitDate: true } }
    expect(ends(explicit)[1]).toBe('2024-03-03T08:00:00+00:00')
  })

  test('of all time begins with the first event', () => {
    const earliest_us = BigInt(Date.parse('2023-12-31T23:30:00Z')) * 1000n
    const all = readRange(range('all'), dates('UTC'), { earliest_us })
    expect(resolvedRange(all).date_from).toBe('2023-12-31T23:30:00+00:00')
  })

  test.each([
    [range('soon'), 'query__dateRange__date_from'],
    [range('-1d', '2024-13-01'), 'query__dateRange__date_to'],
  ])('%j is refused', (sent, attr) => {
    expect(() => ends(sent)).toThrow(expect.objectContaining({ code: 'invalid_input', attr }))
  })
})

describe('the time before', () => {
  const before = (sent: TimedQuery, timezone = 'UTC', compare_to: string | null = null) => {
    const { date_from, date_to } = resolvedRange(
      previousRange(readRange(sent, dates(timezone)), compare_to),
    )
    return [date_from, date_to]
  }
  test.each([
    // Eight days with today: a week earlier, so that days of the week meet.
    [range('-7d'), '2024-02-27T00:00:00+00:00', '2024-03-05T23:59:59.999999+00:00'],
    [
      range('2024-03-04', '2024-03-06'),
      '2024-03-01T00:00:00+00:00',
      '2024-03-03T23:59:59.999999+00:00',
    ],
    [
      range('-24h', undefined, 'hour'),
      '2024-03-10T15:00:00+00:00',
      '2024-03-11T15:59:59.999999+00:00',
    ],
  ])('%j', (sent, from, to) => {
    expect(before(sent)).toEqual([from, to])
  })

  test('keeps to days whatever their clocks do', () => {
    expect(before(range('2024-03-10', '2024-03-11'), 'America/New_York')).toEqual([
      '2024-03-08T00:00:00-05:00',
      '2024-03-09T23:59:59.999999-05:00',
    ])
  })

  test('may be as long ago as is asked for', () => {
    expect(before(range('2024-03-10', '2024-03-11'), 'America/New_York', '-1m')).toEqual([
      '2024-02-10T00:00:00-05:00',
      '2024-02-11T23:59:59.999999-05:00',
    ])
    expect(() => before(range('-7d'), 'UTC', '2024-01-01')).toThrow('Not a time to go back')
  })

  test('begins at midnight also where the range has none', () => {
    // In Beirut clocks went from midnight to one o'clock on 31 March 2024.
    expect(before(range('2024-03-31', '2024-04-01'), 'Asia/Beirut', '-1w')).toEqual([
      '2024-03-24T00:00:00+02:00',
      '2024-03-25T23:59:59.999999+02:00',
    ])
    expect(before(range('2024-03-31', '2024-04-01'), 'Asia/Beirut')).toEqual([
      '2024-03-29T00:00:00+02:00',
      '2024-03-30T23:59:59.999999+02:00',
    ])
  })
})

describe('steps', () => {
  const days = (sent: TimedQuery, timezone: string, week_start_day: 0 | 1 = 0): readonly string[] =>
    bucketsOf(readRange(sent, dates(timezone, week_start_day))).map(({ day }) => day)

  test('of weeks begin on the day that the project says', () => {
    const sent = range('2024-03-01', '2024-03-12', 'week')
    expect(days(sent, 'UTC', 0)).toEqual(['2024-02-25', '2024-03-03', '2024-03-10'])
    expect(days(sent, 'UTC', 1)).toEqual(['2024-02-26', '2024-03-04', '2024-03-11'])
  })

  test.each([
    ['day', ['2024-03-31T01:00:00+03:00', '2024-04-01T00:00:00+03:00']],
    ['week', ['2024-03-31T01:00:00+03:00', '2024-04-07T00:00:00+03:00']],
  ] as const)(
    'of a %s begin and end at midnight after one that began at one o’clock',
    (interval, starts) => {
      const sent = { ...dates('Asia/Beirut'), week_start_day: 0 as const }
      const of_march = readRange(range('2024-03-31', '2024-04-08', interval), sent)
      const found = bucketsOf(of_march).slice(0, 2)
      expect(found.map(({ start_us }) => isoLocal(start_us, sent))).toEqual([...starts])
      const first = requireStep(of_march, '2024-03-31')
      const second = bucketsOf(of_march)[1]?.start_us ?? 0n
      expect([first.from_us, first.to_us]).toEqual([of_march.from_us, second - 1n])
      // A range that ends in the first hour of a step has that step.
      const until_second = { ...of_march, to_us: second }
      expect(bucketsOf(until_second)).toHaveLength(2)
    },
  )

  test('of hours leave out the one that clocks jump over, and have twice the one they go back to', () => {
    const spring = days(range('2024-03-10', '2024-03-10T23:59', 'hour'), 'America/New_York')
    expect(spring).toHaveLength(23)
    expect(spring.slice(1, 4)).toEqual([
      '2024-03-10 01:00:00',
      '2024-03-10 03:00:00',
      '2024-03-10 04:00:00',
    ])
    const autumn = days(range('2023-11-05', '2023-11-05T23:59', 'hour'), 'America/New_York')
    expect(autumn).toHaveLength(25)
    expect(autumn.slice(0, 3)).toEqual([
      '2023-11-05 00:00:00',
      '2023-11-05 01:00:00',
      '2023-11-05 01:00:00',
    ])
  })

  test('are limited', () => {
    expect(() => days(range('2000-01-01', '2024-01-01', 'hour'), 'UTC')).toThrow(
      'more than 10000 steps',
    )
  })
})
