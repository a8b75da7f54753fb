/** Dates as callers write them, in zones whose clocks change. */
import { describe, expect, test } from 'bun:test'
import { readDate } from '../../src/insights/dates/dates.ts'

/** Two days after Berlin put its clocks forward; half past noon there. */
const NOW = new Date('2024-04-02T10:30:00Z')

const iso = (text: string, timezone = 'Europe/Berlin', now = NOW): string => {
  const at_us = readDate(text, { timezone, now }, 'date')
  const micros = String(at_us % 1_000_000n).padStart(6, '0')
  return `${new Date(Number(at_us / 1000n)).toISOString().slice(0, 19)}.${micros}Z`
}

describe('a date', () => {
  test.each([
    // in the project's zone unless it says otherwise
    ['2024-01-31', '2024-01-30T23:00:00.000000Z'],
    ['2024-07-31', '2024-07-30T22:00:00.000000Z'],
    ['2024-07', '2024-06-30T22:00:00.000000Z'],
    ['2024-01-31 12:34', '2024-01-31T11:34:00.000000Z'],
    ['2024-01-31T12:34:56.789', '2024-01-31T11:34:56.789000Z'],
    ['2024-01-31T12:34:56.123456', '2024-01-31T11:34:56.123456Z'],
    ['2024-01-31T12:34:56Z', '2024-01-31T12:34:56.000000Z'],
    ['2024-01-31T12:34:56+05:30', '2024-01-31T07:04:56.000000Z'],
    ['2024-01-31T12:34:56-0800', '2024-01-31T20:34:56.000000Z'],
    ['2024-02-29', '2024-02-28T23:00:00.000000Z'],
    // lengths of time
    ['-30s', '2024-04-02T10:29:30.000000Z'],
    ['-90M', '2024-04-02T09:00:00.000000Z'],
    ['-60h', '2024-03-30T22:30:00.000000Z'],
    ['-1hStart', '2024-04-02T09:00:00.000000Z'],
    ['-1hEnd', '2024-04-02T09:59:59.999999Z'],
    // dates of the calendar: the clock shows the same, whatever it did in between
    ['-1d', '2024-04-01T10:30:00.000000Z'],
    ['1d', '2024-04-01T10:30:00.000000Z'],
    ['-3d', '2024-03-30T11:30:00.000000Z'],
    ['-1w', '2024-03-26T11:30:00.000000Z'],
    ['-1q', '2024-01-02T11:30:00.000000Z'],
    ['-1m', '2024-03-02T11:30:00.000000Z'],
    ['-1y', '2023-04-02T10:30:00.000000Z'],
    ['today', '2024-04-02T10:30:00.000000Z'],
    ['dStart', '2024-04-01T22:00:00.000000Z'],
    ['dEnd', '2024-04-02T21:59:59.999999Z'],
    ['-2dStart', '2024-03-30T23:00:00.000000Z'],
    ['-2dEnd', '2024-03-31T21:59:59.999999Z'],
    ['mStart', '2024-03-31T22:00:00.000000Z'],
    ['-1mStart', '2024-02-29T23:00:00.000000Z'],
    ['-1mEnd', '2024-03-31T21:59:59.999999Z'],
    ['yStart', '2023-12-31T23:00:00.000000Z'],
    ['-1yEnd', '2023-12-31T22:59:59.999999Z'],
  ])('%s is %s', (text, instant) => {
    expect(iso(text)).toBe(instant)
  })

  test('of a longer month is the last day of a shorter one', () => {
    const march = new Date('2024-03-31T12:00:00Z')
    expect(iso('-1m', 'UTC', march)).toBe('2024-02-29T12:00:00.000000Z')
    expect(iso('-13m', 'UTC', march)).toBe('2023-02-28T12:00:00.000000Z')
  })

  test.each([
    '',
    'soon',
    '2024-02-30',
    '2024-13-01',
    '7',
    '-7',
    '-7x',
    '-99999d',
    '-9999y',
    '0000-12-31',
    '2024-01-01T25:00',
    'd',
  ])('is not %p', (text) => {
    const told = Promise.try(() => iso(text)).then(
      (instant) => instant,
      (error) => `${error.code} ${error.attr}: ${error.detail}`,
    )
    const shown = JSON.stringify(text)
    const expected = text === 'd' ? iso('1d') : `invalid_input date: Not a date: ${shown}`
    return expect(told).resolves.toBe(expected)
  })
})
