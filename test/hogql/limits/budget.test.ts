/** Whatever a text says, the time to compile or refuse it grows with its length and no faster. */
import { describe, expect, test } from 'bun:test'
import { Refusal } from '../../../src/errors.ts'
import { BudgetExceeded, INLINE_BUDGET } from '../../../src/hogql/budget.ts'
import { compileHogQL } from '../../../src/hogql/compile.ts'
import { CONTEXT } from '../engine.ts'

const repeat = (text: string, count: number, between = ', '): string =>
  Array.from({ length: count }, () => text).join(between)

const list = (count: number, make: (index: number) => string, between = ', '): string =>
  Array.from({ length: count }, (_, index) => make(index)).join(between)

/** Texts of `count` equal parts. The first ones took many seconds, the others are the grammar's other repetitions. */
const CONSTRUCTS: Readonly<Record<string, (count: number) => string>> = {
  'stars of legs': (n) => repeat(`select ${repeat('*', 190)} from events`, n, ' union all '),
  stars: (n) => `select ${repeat('*', n)} from events`,
  // A pattern is tried on a name that may be as long as the text: 100 kB took two seconds.
  'letters of an alias that COLUMNS looks at': (n) =>
    `select COLUMNS('(x+x+)+y') from (select 1 as ${'x'.repeat(n)})`,
  'stars of stars': (n) =>
    `with ${list(n, (i) => `c${i} as (select *, * from ${i === 0 ? 'events' : `c${i - 1}`})`)} select 1 from c${n - 1}`,
  'items of a tuple': (n) => `select untuple(tuple(${repeat('1', n)}))`,
  'keys with totals': (n) =>
    `select ${list(n, (i) => `event as a${i}`)}, count() from events group by event with totals`,
  'parts of a path': (n) => `select properties${'.a'.repeat(n)} from events`,
  'columns by pattern': (n) => `select ${repeat(`columns('((a{30}){30})')`, n)} from events`,
  'a pattern over a long alias': (n) =>
    `select columns('${'.*a'.repeat(300)}') from (select 1 as "${'a'.repeat(n)}")`,
  'columns of one long name': (n) =>
    `select ${repeat('*', n)} from (select 1 as "${'a'.repeat(100_000)}")`,
  'types that double': (n) =>
    `with c0 as (select 1 as x), ${list(n, (i) => `c${i + 1} as (select (x, x) as x from c${i})`)} select toString(x) from c${n}`,
  'aliases that double': (n) => `select 1 as x0, ${list(n, (i) => `x${i} + x${i} as x${i + 1}`)}`,
  'stars in calls': (n) => `select tuple(${repeat('*', n)}) from events`,
  'selects in selects': (n) =>
    `select ${'(select '.repeat(90)}[${repeat('1', n)}]${')'.repeat(90)}`,
  'columns of columns': (n) =>
    `select ${list(n, (i) => `a${i}`)} from (select ${list(n, (i) => `1 as a${i}`)})`,
  'legs by name': (n) =>
    repeat(`select ${list(100, (i) => `1 as a${i}`)}`, n, ' union all by name '),
  legs: (n) => repeat('select event from events', n, ' union all '),
  literal: (n) => `select '${'x'.repeat(n)}'`,
  'doubled quotes': (n) => `select '${`''`.repeat(n)}'`,
  template: (n) => `select f'${'{1}'.repeat(n)}'`,
  conditions: (n) => `select 1 from events where ${repeat(`event = 'a'`, n, ' or ')}`,
  'times compared': (n) =>
    `select 1 from events where ${repeat('timestamp > now() - interval 1 day', n, ' and ')}`,
  joins: (n) =>
    `select 1 from events e0 ${list(n, (i) => `join events e${i + 1} using (uuid)`, ' ')}`,
  'keys of groups': (n) =>
    `select ${list(n, (i) => `properties.a${i}`)} from events group by ${list(n, (i) => `properties.a${i}`)}`,
  windows: (n) => `select ${repeat('count() over (partition by event)', n)} from events`,
  'selects as values': (n) => `select ${repeat('(select 1)', n)}`,
  'rows of values': (n) => `select * from (values ${repeat('(1, 2)', n)})`,
  blanks: (n) => `select ${'/**/ '.repeat(n)} 1`,
  brackets: (n) => `select ${'('.repeat(n)}1`,
}

/** As long as a request's text may be. */
const TEXT_LENGTH_MAX = 1_048_576

describe('a text of ever more', () => {
  test.each(Object.keys(CONSTRUCTS))('%s is compiled or refused at once', (name) => {
    const make = CONSTRUCTS[name]
    for (let count = 1; ; count *= 4) {
      const text = make?.(count) ?? ''
      if (text === '' || text.length > TEXT_LENGTH_MAX) return
      const { user, system } = process.cpuUsage()
      try {
        compileHogQL(text, CONTEXT)
      } catch (error) {
        expect(error).toBeInstanceOf(Refusal)
      }
      const spent = process.cpuUsage({ user, system })
      expect({ count, is_at_once: spent.user + spent.system < 1_500_000 }).toEqual({
        count,
        is_at_once: true,
      })
    }
  })
})

test('more cohorts than are compiled at once between requests are compiled on a thread', () => {
  const text = `select 1 from events where ${repeat('person_id in cohort 5', 100, ' or ')}`
  const compileInline = () => compileHogQL(text, { ...CONTEXT, budget: INLINE_BUDGET })
  expect(compileInline).toThrow(BudgetExceeded)
  expect(compileHogQL(text, CONTEXT).sql).toContain('cohort_people')
})

describe('a constant time beyond any calendar', () => {
  const COUNTS = ['999999999', '-999999999', '9999999999999', '99999999999999999999']
  const UNITS = ['second', 'minute', 'hour', 'day', 'week', 'month', 'quarter', 'year']
  const BASES = ['now()', 'today()', 'timestamp', `toDate('2024-01-01')`]

  test('is refused, or left to the engine', () => {
    const texts = COUNTS.flatMap((count) => [
      ...UNITS.flatMap((unit) =>
        BASES.map((base) => `select ${base} + interval ${count} ${unit} from events`),
      ),
      `select fromUnixTimestamp(${count})`,
      `select toDate(${count})`,
      `select addMonths(now(), ${count})`,
      `select toStartOfInterval(now(), interval ${count} month)`,
    ])
    for (const text of texts) {
      try {
        compileHogQL(text, CONTEXT)
      } catch (error) {
        expect(error).toBeInstanceOf(Refusal)
      }
    }
    const years = (): unknown => compileHogQL('select now() + interval 999999999 year', CONTEXT)
    expect(years).toThrow('A time or an interval of the query is out of range')
  })

  test('is of the years 1 to 9999, whatever is added to them or taken away', () => {
    const units = ['Second', 'Minute', 'Hour', 'Day', 'Week', 'Month', 'Quarter', 'Year']
    const outcome = (expression: string): string => {
      try {
        compileHogQL(`select ${expression}`, CONTEXT)
        return 'compiled'
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        return error.detail
      }
    }
    const shifted = (years: number): readonly string[] =>
      [1, 60, 3600, 86_400, 604_800, 2_629_746, 7_889_238, 31_556_952].flatMap((width_s, index) => {
        const unit = units[index] ?? ''
        const count = Math.ceil((years * 31_556_952) / width_s)
        return ['2026-01-01 00:00:00', '2026-01-01'].flatMap((text) => {
          const time = text.length > 10 ? `toDateTime('${text}')` : `toDate('${text}')`
          return [
            `${time} - interval ${count} ${unit}`,
            `${time} + interval ${count} ${unit}`,
            `${time} - interval -${count} ${unit}`,
            `add${unit}s(${time}, ${count})`,
            `add${unit}s(${time}, -${count})`,
            `subtract${unit}s(${time}, ${count})`,
            `dateSub('${unit}', ${count}, ${time})`,
            `toYear(${time} - toInterval${unit}(${count}))`,
          ]
        })
      })
    const refused =
      'A time or an interval of the query is out of range: times are of the years 1 to 9999.'
    for (const years of [10_001, 31_688, 900_000_000]) {
      for (const text of shifted(years)) expect([text, outcome(text)]).toEqual([text, refused])
    }
    for (const text of shifted(1900)) expect([text, outcome(text)]).toEqual([text, 'compiled'])
    const before_year_one = "toDateTime('2026-01-01 00:00:00') - interval 2027 year"
    expect(outcome(before_year_one)).toBe(refused)
  })
})
