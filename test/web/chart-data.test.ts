/** Texts, rows and charts without a browser: ages, rows of lines, names of properties, labels of breakdowns, buckets in the project's zone, stacked values, queries broken into lines. */
import { describe, expect, test } from 'bun:test'
import { array, assert, constantFrom, property } from 'fast-check'
import { breakdownText } from '../../src/web/pages/explore/views/answers.ts'
import { lineReader } from '../../src/web/pages/sql/results/row-lines.ts'
import { intervalOf } from '../../src/web/pages/web/range-interval.ts'
import { brokenIntoLines } from '../../src/web/parts/answer/hogql-lines.ts'
import {
  inZone,
  isIncomplete,
  stackValues,
  timeBuckets,
} from '../../src/web/parts/charts/chart-data.ts'
import { formatAgo, formatDuration, formatPercent } from '../../src/web/parts/format.ts'
import { propertyTitle } from '../../src/web/parts/names.ts'

test.each([
  ['2026-11-23T22:30:01.5Z', 'now'],
  ['2026-11-23T22:30:05Z', 'in 5 sec'],
  ['2026-11-26T22:29:00Z', 'in 3 days'],
  ['2026-11-23T23:29:50Z', 'in 1 hr'],
  ['2026-11-24T22:29:00Z', 'tomorrow'],
  ['2026-11-23T22:29:40Z', '20 sec ago'],
  ['2026-11-23T20:00:00Z', '2 hr ago'],
  ['2026-11-22T12:00:00Z', 'yesterday'],
  ['2026-10-14T12:00:00Z', 'last month'],
  ['2026-08-14T12:00:00Z', '3 months ago'],
  ['2025-08-14T12:00:00Z', 'last year'],
])('the age of %s is said as %s', (iso, text) => {
  expect(formatAgo(iso, new Date('2026-11-23T22:30:00Z'))).toBe(text)
})

test('a breakdown has a label also where the query has null in place of the list', () => {
  const bin = { property: 'price', type: 'event', histogram_bin_count: 2 }
  expect(breakdownText('[0.5,33]', [bin])).toBe('0.5 – 33')
  expect(breakdownText('[0.5,33]', null)).toBe('[0.5,33]')
  expect(breakdownText(['a', ''], null)).toBe('a · (none)')
})

test('a country of a breakdown has its name in place of its code', () => {
  const countries = [{ property: '$geoip_country_code' }]
  const codes = ['NL', 'nowhere', '$$_posthog_breakdown_other_$$']
  expect(codes.map((code) => breakdownText(code, countries))).toEqual([
    'Netherlands',
    'nowhere',
    'Other',
  ])
  expect(breakdownText('NL', [{ property: 'plan' }])).toBe('NL')
})

test('durations stay on one line, and percents of a column have as many digits', () => {
  expect([0, 0.35, 2.5, 42, 102, 7500].map(formatDuration)).toEqual([
    '0s',
    '350ms',
    '2.5s',
    '42s',
    '1m\u00a042s',
    '2h\u00a05m',
  ])
  expect([1, 0.524, 0.44, 0].map((ratio) => formatPercent(ratio))).toEqual([
    '100%',
    '52.4%',
    '44.0%',
    '0%',
  ])
})

test.each([
  ['$browser', 'Browser'],
  ['$initial_browser', 'First browser'],
  ['$initial_current_url', 'First URL'],
  ['$initial_utm_source', 'First UTM source'],
  ['$initial_constructor', '$initial_constructor'],
  ['plan', 'plan'],
])('the property %s is called %s', (name, title) => {
  expect(propertyTitle(name)).toBe(title)
})

describe('a bucket', () => {
  const now = new Date('2026-11-23T22:30:00Z')

  test.each([
    ['2026-11-23', 'day', 'UTC', true],
    ['2026-11-23', 'day', 'Europe/Moscow', false],
    ['2026-11-24', 'day', 'Europe/Moscow', true],
    ['2026-11-22', 'week', 'UTC', true],
    ['2026-11-15', 'week', 'UTC', false],
    ['2026-11-01', 'month', 'America/New_York', true],
    ['2026-10-01', 'month', 'UTC', false],
    ['2026-11-23 22:00:00', 'hour', 'UTC', true],
    ['2026-11-23 21:00:00', 'hour', 'UTC', false],
    ['2026-11-24', 'day', 'UTC', false],
    ['1 day', 'day', 'UTC', false],
  ] as const)('%p by %p in %p is not over: %p', (day, interval, zone, is_open) => {
    expect(isIncomplete(day, interval, zone, now)).toBe(is_open)
  })

  test('is named by its day, by its hour within a day, and as it is when it is no time', () => {
    const short = (day: string, interval: 'day' | 'hour' | 'month') =>
      timeBuckets([day], interval)[0]?.short
    expect(short('2026-11-23', 'day')).toBe('23 Nov')
    expect(short('2026-11-23 14:00:00', 'hour')).toBe('14:00')
    expect(short('2026-11-23 00:00:00', 'hour')).toBe('23 Nov')
    expect(short('2026-11-01', 'month')).toBe('Nov 2026')
    expect(short('<b>', 'day')).toBe('<b>')
  })

  test('of a zone that this browser does not know is read as it is', () => {
    expect(inZone(now, 'Mars/Olympus')).toEqual(now)
    expect(inZone(now, 'Asia/Kathmandu')).toEqual(new Date('2026-11-24T04:15:00Z'))
  })
})

test('stacked values lie above each other, those below zero below', () => {
  const stacked = stackValues([
    [1, 0, null],
    [2, -1, 3],
    [-4, -2, 5],
  ])
  expect(stacked).toEqual([
    [1, 0, null],
    [3, -1, 3],
    [-4, -3, 8],
  ])
})

describe('a query broken into lines', () => {
  test('has a clause on each, and inner queries are indented', () => {
    const query = "SELECT a, 'x FROM y' FROM (SELECT b FROM events WHERE c) AS t WHERE d IN (1, 2)"
    expect(brokenIntoLines(query).split('\n')).toEqual([
      "SELECT a, 'x FROM y'",
      'FROM (',
      '  SELECT b',
      '  FROM events',
      '  WHERE c',
      ') AS t',
      'WHERE d IN (1, 2)',
    ])
  })

  test('means the same: only blanks outside of quotes differ', () => {
    const word = constantFrom('SELECT', 'FROM', 'WHERE', '(', ')', 'a', "' FROM  (x'", ' ', ',')
    assert(
      property(array(word, { maxLength: 60 }), (words) => {
        const query = words.join(' ')
        const bare = (text: string): string => text.replaceAll(/('[^']*')|\s+/g, '$1')
        expect(bare(brokenIntoLines(query))).toBe(bare(query))
      }),
    )
  })
})

test.each([
  ['dStart', null, 'hour'],
  ['-1dStart', '-1dEnd', 'hour'],
  ['-24h', null, 'hour'],
  ['-7d', null, 'day'],
  ['-90d', null, 'day'],
  ['mStart', null, 'day'],
  ['-1mStart', '-1mEnd', 'day'],
  ['yStart', null, 'week'],
  ['-1yStart', '-1yEnd', 'week'],
  ['-12m', null, 'week'],
  ['all', null, 'month'],
  ['2026-11-01', '2026-11-20', 'day'],
] as const)('the graph from %s until %s is by %s', (date_from, date_to, interval) => {
  expect(intervalOf({ date_from, date_to }, new Date('2026-11-23T22:30:00Z'))).toBe(interval)
})

test('a row of a line has a value for each column, also for columns of the same name', () => {
  const values = ['a"\\', { a: [1, { b: ':"' }], 'b:': null }, [], null, '{"a":1}', -1.5]
  const lineOf = (names: readonly string[]): string =>
    `{${values.map((value, at) => `${JSON.stringify(names[at])}:${JSON.stringify(value)}`).join(',')}}`
  for (const names of [
    ['a', 'a', 'b', 'a', '2', '1'],
    ['c"', 'a:', '2', '1', 'e', '__proto__'],
  ]) {
    expect([names, lineReader(names)(lineOf(names))]).toEqual([names, values])
  }
})
