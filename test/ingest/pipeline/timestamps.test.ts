/** Times: every accepted form, and the rules of client clock, offset and future. */
import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { parseTimestamp, resolveTimestamp } from '../../../src/ingest/pipeline/timestamps.ts'

const us = (iso: string) => Date.parse(iso) * 1000

describe('parseTimestamp', () => {
  test.each<[unknown, string | null]>([
    ['2021-10-30T03:02:00Z', '2021-10-30T03:02:00.000Z'],
    ['2021-10-30T03:02:00.123Z', '2021-10-30T03:02:00.123Z'],
    ['2021-10-30T03:02:00+02:00', '2021-10-30T01:02:00.000Z'],
    ['2021-10-30T03:02:00-0530', '2021-10-30T08:32:00.000Z'],
    ['2021-10-30T03:02:00+03', '2021-10-30T00:02:00.000Z'],
    ['2021-10-30 03:02:00', '2021-10-30T03:02:00.000Z'],
    ['2021-10-30T03:02:00', '2021-10-30T03:02:00.000Z'],
    ['2021-10-30T03:02', '2021-10-30T03:02:00.000Z'],
    ['2021-10-30', '2021-10-30T00:00:00.000Z'],
    ['2021/10/30', '2021-10-30T00:00:00.000Z'],
    ['2021/10/30 03:02:00', '2021-10-30T03:02:00.000Z'],
    ['30/10/2021', null],
    ['20211030T030200Z', '2021-10-30T03:02:00.000Z'],
    ['2021-W43-5', '2021-10-29T00:00:00.000Z'],
    ['2021W435', '2021-10-29T00:00:00.000Z'],
    ['2020-W53-7', '2021-01-03T00:00:00.000Z'],
    ['2021-302', '2021-10-29T00:00:00.000Z'],
    ['2021-302T01:02:03Z', '2021-10-29T01:02:03.000Z'],
    ['Sat, 30 Oct 2021 03:02:00 GMT', '2021-10-30T03:02:00.000Z'],
    ['30 Oct 2021 03:02:00 +0100', '2021-10-30T02:02:00.000Z'],
    ['Sat, 30 Oct 2021 03:02:00', '2021-10-30T03:02:00.000Z'],
    ['30 Oct 2021 03:02', '2021-10-30T03:02:00.000Z'],
    ['31 Feb 2021 03:02:00 GMT', null],
    ['30 Oct 2021 03:02 PM', '2021-10-30T15:02:00.000Z'],
    ['Sat, 30 Oct 2021 03:02:00 +0200 (CEST)', '2021-10-30T01:02:00.000Z'],
    ['1635562920', '2021-10-30T03:02:00.000Z'],
    [1635562920, '2021-10-30T03:02:00.000Z'],
    [1635562920.5, '2021-10-30T03:02:00.500Z'],
    [1635562920123, '2021-10-30T03:02:00.123Z'],
    [1635562920123456, '2021-10-30T03:02:00.123Z'],
    ['1635562920123456789', '2021-10-30T03:02:00.123Z'],
    [1635562920123456800, '2021-10-30T03:02:00.123Z'],
    [' 2021-10-30T03:02:00Z ', '2021-10-30T03:02:00.000Z'],
    ['2020-02-29', '2020-02-29T00:00:00.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59.000Z'],
    ['2021-02-29', null],
    ['2021-13-01', null],
    ['2021-10-30T24:00:00Z', null],
    ['2021-10-30T03:60:00Z', null],
    ['2021-10-30T03:02:00+25:00', null],
    ['2021-366', null],
    ['2021-000', null],
    ['2021-W54-1', null],
    ['275760-09-13', null],
    ['-000001-01-01', null],
    ['yesterday', null],
    ['', null],
    ['12', null],
    [Number.NaN, null],
    [1e300, null],
    [true, null],
    [{}, null],
    [null, null],
  ])('reads %j', (value, iso) => {
    const at = parseTimestamp(value)
    expect(at === null ? null : new Date(at / 1000).toISOString()).toBe(iso)
  })

  test('reads a time without a zone as one of UTC, also on a machine with another zone', () => {
    const zone = process.env['TZ'] ?? 'Etc/UTC'
    process.env['TZ'] = 'America/New_York'
    try {
      for (const text of ['Sat, 30 Oct 2021 03:02:00', '30 Oct 2021 03:02', '2021-10-30 03:02']) {
        expect([text, parseTimestamp(text)]).toEqual([text, us('2021-10-30T03:02:00Z')])
      }
    } finally {
      process.env['TZ'] = zone
    }
  })

  test('keeps microseconds and drops what is finer', () => {
    expect(parseTimestamp('2021-10-30T03:02:00.123456789Z')).toBe(
      us('2021-10-30T03:02:00.123Z') + 456,
    )
    expect(parseTimestamp('2021-10-30T03:02:00.1Z')).toBe(us('2021-10-30T03:02:00.100Z'))
  })

  test('reads back every time that JavaScript writes', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true }),
        (date) => {
          expect(parseTimestamp(date.toISOString())).toBe(date.getTime() * 1000)
        },
      ),
    )
  })

  test('reads any value as a whole number or nothing', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        const at = parseTimestamp(value)
        expect(at === null || Number.isInteger(at)).toBe(true)
      }),
    )
  })
})

describe('resolveTimestamp', () => {
  const now = us('2021-10-29T01:44:00Z')
  test.each<[string, Partial<Parameters<typeof resolveTimestamp>[0]>, string, string | null]>([
    ['nothing told', {}, '2021-10-29T01:44:00.000Z', null],
    ['a time alone', { timestamp: '2021-10-28T00:00:00Z' }, '2021-10-28T00:00:00.000Z', null],
    [
      'time and sent_at',
      { timestamp: '2021-10-30T03:02:00Z', sent_at: us('2021-10-30T03:12:00Z') },
      '2021-10-29T01:34:00.000Z',
      null,
    ],
    [
      'sent_at to be ignored',
      {
        timestamp: '2021-10-29T03:02:00Z',
        sent_at: us('2021-10-30T03:12:00Z'),
        ignores_sent_at: true,
      },
      '2021-10-29T03:02:00.000Z',
      null,
    ],
    [
      'five seconds of skew',
      {
        timestamp: '2021-10-29T11:59:55Z',
        sent_at: us('2021-10-29T12:00:05Z'),
        now: us('2021-10-29T12:00:00Z'),
      },
      '2021-10-29T11:59:50.000Z',
      null,
    ],
    ['an offset', { offset: 6000 }, '2021-10-29T01:43:54.000Z', null],
    [
      'an offset and a time',
      { offset: 6000, timestamp: '2020-01-01' },
      '2021-10-29T01:43:54.000Z',
      null,
    ],
    [
      'an offset of nothing',
      { offset: 0, timestamp: '2020-01-01' },
      '2020-01-01T00:00:00.000Z',
      null,
    ],
    ['an offset that is no number', { offset: 'x' }, '2021-10-29T01:44:00.000Z', null],
    [
      'no time at all',
      { timestamp: 'soon' },
      '2021-10-29T01:44:00.000Z',
      'ignored_invalid_timestamp',
    ],
    ['an empty time', { timestamp: '' }, '2021-10-29T01:44:00.000Z', null],
    ['23 hours ahead', { timestamp: '2021-10-30T00:44:00Z' }, '2021-10-30T00:44:00.000Z', null],
    [
      'more than 23 hours ahead',
      { timestamp: '2021-10-30T00:44:00.001Z' },
      '2021-10-29T01:44:00.000Z',
      'event_timestamp_in_future',
    ],
    [
      'an offset of 23 h 1 min ahead',
      { offset: -82_860_000 },
      '2021-10-29T01:44:00.000Z',
      'event_timestamp_in_future',
    ],
    [
      'a time before year 1 by its zone',
      { timestamp: '0001-01-01T00:00:00+05:00' },
      '0001-01-01T00:00:00.000Z',
      null,
    ],
  ])('with %s', (_, claims, iso, warning) => {
    const told = {
      timestamp: undefined,
      offset: undefined,
      ignores_sent_at: false,
      sent_at: null,
      now,
    }
    const { timestamp, warning: given } = resolveTimestamp({ ...told, ...claims })
    expect([new Date(timestamp / 1000).toISOString(), given]).toEqual([iso, warning])
  })
})
