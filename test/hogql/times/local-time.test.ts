/** Times by the clock of the project's zone: what the platform's own calendar says, across every change of clocks. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { compileHogQL } from '../../../src/hogql/compile.ts'
import { findZone, instantOfLocal, offsetAtInstant } from '../../../src/hogql/times/zones.ts'
import { randomRuns } from '../../random-runs.ts'
import { CONTEXT, NOW_US, openWorld, type World } from '../engine.ts'

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

const ZONES = [
  'America/New_York',
  'America/Sao_Paulo',
  'Asia/Kolkata',
  'Asia/Tehran',
  'Australia/Lord_Howe',
  'Europe/Berlin',
  'Pacific/Apia',
  'UTC',
] as const

const FIRST_S = Date.UTC(2005, 0) / 1000
const LAST_S = Date.UTC(2032, 0) / 1000

function platformClock(seconds: number, timezone: string): string {
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone: timezone,
    dateStyle: 'short',
    timeStyle: 'medium',
  })
  return format.format(seconds * 1000)
}

describe('zones', () => {
  test.each(ZONES)('%s: offsets and their way back agree with the platform', (name) => {
    const zone = findZone(name, NOW_US)
    fc.assert(
      fc.property(fc.integer({ min: FIRST_S, max: LAST_S }), (seconds) => {
        const us = BigInt(seconds) * 1_000_000n
        const local_us = us + BigInt(offsetAtInstant(zone, us)) * 1_000_000n
        const local = new Date(Number(local_us / 1000n))
          .toISOString()
          .slice(0, 19)
          .replace('T', ' ')
        expect(local).toBe(platformClock(seconds, name))
        const back = instantOfLocal(zone, local_us)
        // A local time that comes twice means the first of the two instants.
        expect(back === us || back < us).toBe(true)
        expect(offsetAtInstant(zone, back) * 1_000_000).toBe(Number(local_us - back))
      }),
      randomRuns(60),
    )
  })
})

describe('instants on the clock', () => {
  test.each(ZONES)('%s: formatted values agree with the platform', async (timezone) => {
    const seconds = fc.sample(fc.integer({ min: FIRST_S, max: LAST_S }), { numRuns: 200, seed: 7 })
    const text = `select formatDateTime(fromUnixTimestamp(arrayJoin([${seconds.join(', ')}])), '%Y-%m-%d %H:%i:%S')`
    const rows = await world.run(compileHogQL(`${text} limit 1000`, { ...CONTEXT, timezone }))
    expect(rows.map(([value]) => value)).toEqual(seconds.map((at) => platformClock(at, timezone)))
  })

  test.each(ZONES)('%s: the start of a day is midnight on the clock', async (timezone) => {
    const seconds = fc.sample(fc.integer({ min: FIRST_S, max: LAST_S }), { numRuns: 200, seed: 8 })
    const text = `select toUnixTimestamp(toStartOfDay(x)), toString(toDate(x)) from (select fromUnixTimestamp(arrayJoin([${seconds.join(', ')}])) as x) limit 1000`
    const rows = await world.run(compileHogQL(text, { ...CONTEXT, timezone }))
    for (const [index, [start, date]] of rows.entries()) {
      const day = platformClock(seconds[index] ?? 0, timezone).slice(0, 10)
      expect(date).toBe(day)
      const shown = platformClock(Number(start), timezone)
      // Where clocks jump over midnight, the day starts with the jump.
      expect(shown.slice(0, 10)).toBe(day)
      expect(platformClock(Number(start) - 1, timezone).slice(0, 10) < day).toBe(true)
    }
  })
})

const CUT_CASES = [
  ['Europe/Berlin', "toStartOfDay(toDateTime('2024-03-31 15:00:00'))", '2024-03-30 23:00:00'],
  ['Europe/Berlin', "toStartOfHour(toDateTime('2024-07-01 15:30:00'))", '2024-07-01 13:00:00'],
  ['Asia/Kolkata', "toStartOfHour(toDateTime('2024-07-01 15:45:00'))", '2024-07-01 09:30:00'],
  [
    'Asia/Kolkata',
    "toStartOfFifteenMinutes(toDateTime('2024-07-01 15:50:00'))",
    '2024-07-01 10:15:00',
  ],
  ['America/New_York', "toDate(toDateTime('2024-07-01T02:00:00Z'))", '2024-06-30'],
  ['America/New_York', "toDateTime('2024-07-01 00:00:00')", '2024-07-01 04:00:00'],
  ['America/New_York', "toDateTime('2024-03-10 01:30:00') + interval 1 day", '2024-03-11 05:30:00'],
  [
    'America/New_York',
    "toDateTime('2024-03-10 01:30:00') + interval 24 hour",
    '2024-03-11 06:30:00',
  ],
  [
    'America/New_York',
    "dateDiff('day', toDateTime('2024-07-01 23:00:00'), toDateTime('2024-07-02 01:00:00'))",
    '1',
  ],
  ['America/New_York', "toHour(toTimeZone(toDateTime('2024-07-01 00:00:00'), 'UTC'))", '4'],
  [
    'America/New_York',
    "toString(toTimeZone(toDateTime('2024-07-01 00:00:00'), 'Europe/Berlin'))",
    '2024-07-01 06:00:00.000000',
  ],
  ['America/New_York', 'today()', '2024-06-15'],
  ['Pacific/Apia', 'today()', '2024-06-16'],
  [
    'Europe/Berlin',
    "toStartOfInterval(toDateTime('2024-07-01 15:30:00'), interval 1 day)",
    '2024-06-30 22:00:00',
  ],
  ['Europe/Berlin', "dateTrunc('month', toDateTime('2024-07-01 00:30:00'))", '2024-07-01'],
  ['Europe/Berlin', "toDateTime('2024-07-01 00:30:00') >= toDate('2024-07-01')", 1],
  ['Europe/Berlin', "toDateTime('2024-07-01 00:30:00') = '2024-07-01 00:30:00'", 1],
] as const

describe('cuts and shifts', () => {
  test.each(CUT_CASES)('%s: %s', async (timezone, expression, expected) => {
    const [constant] = await world.ask(`select ${expression}`, { timezone })
    expect(constant).toEqual([expected])
    // The same over a column, where nothing can be computed beforehand.
    const column = expression.replace(
      /toDateTime\('([^']*)'\)/g,
      "toDateTime(concat('$1', substring(s, 1, 0)))",
    )
    const [row] = await world.ask(`select ${column} from (select arrayJoin(['x']) as s)`, {
      timezone,
    })
    expect(row).toEqual([expected])
  })

  test('an unknown zone is refused', () => {
    expect(() => compileHogQL("select toTimeZone(now(), 'Mars/Olympus')", CONTEXT)).toThrow(
      "Unknown timezone 'Mars/Olympus'.",
    )
  })

  test('weeks start as the project says', async () => {
    const text = "select toStartOfWeek(toDate('2024-06-15'))"
    expect(await world.ask(text, { week_start_day: 0 })).toEqual([['2024-06-09']])
    expect(await world.ask(text, { week_start_day: 1 })).toEqual([['2024-06-10']])
  })

  test.each(['UTC', 'Europe/Berlin'])(
    'in %s a text of an instant has as many digits behind the second as its type',
    async (timezone) => {
      const at = "(select toDateTime('2024-05-05 03:04:05') as t)"
      const shown = await world.ask(
        `select toString(t), toString(toStartOfDay(t)), concat(toStartOfHour(t), ''), toString(dateTrunc('day', t)),
          toString(dateTrunc('week', t)), toString(toStartOfSecond(t)), toString(addHours(toDate(t), 5)) from ${at}`,
        { timezone },
      )
      expect(shown).toEqual([
        [
          '2024-05-05 03:04:05.000000',
          '2024-05-05 00:00:00',
          '2024-05-05 03:00:00',
          '2024-05-05 00:00:00',
          '2024-04-29',
          '2024-05-05 03:04:05.000000',
          '2024-05-05 05:00:00',
        ],
      ])
    },
  )

  test('numbers that have a whole logarithm or root have just that', async () => {
    expect(await world.ask('select log10(1000), log2(8), cbrt(27), cbrt(-27)')).toEqual([
      [3, 3, 3, -3],
    ])
  })
})
