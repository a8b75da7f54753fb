/** The second dialect where HogQL and ClickHouse differ: what is refused before it is asked, and what is spelled otherwise. */
import { expect, test } from 'bun:test'
import { Refusal } from '../../../src/errors.ts'
import { clickhouseDialect } from '../../../src/hogql/clickhouse/dialect.ts'
import { PLAIN_STATE } from '../../../src/hogql/clickhouse/table-state.ts'
import { compileHogQL } from '../../../src/hogql/compile.ts'
import { CONTEXT } from '../engine.ts'

const DIALECT = clickhouseDialect(PLAIN_STATE)

function detailOf(text: string): string | null {
  try {
    compileHogQL(text, CONTEXT, DIALECT)
    return null
  } catch (error) {
    if (error instanceof Refusal && error.attr === 'query') return error.detail
    throw error
  }
}

test('a column is refused where ClickHouse takes a constant alone, a constant is not', () => {
  expect(detailOf('select splitByChar(event, distinct_id) from events')).toBe(
    'A column as argument 1 of splitByChar is not available where ClickHouse answers',
  )
  expect(detailOf("select arrayMap(x -> extract(event, x), ['a']) from events")).toBe(
    'A column as argument 2 of extract is not available where ClickHouse answers',
  )
  expect(detailOf("select splitByChar(substring(',;', 1, 1), event) from events")).toBeNull()
})

test('a sub-query that reads folded rows around it is refused, another one is not', () => {
  const folded = '(select languageCodeToName(event) as name, event from events) as f'
  const around = `select (select count() from events as e where e.event = f.name) from ${folded}`
  expect(detailOf(around)).toBe(
    'A sub-query that reads rows around it, next to a fold, is not available where ClickHouse answers',
  )
  expect(detailOf(`select (select count() from events) from ${folded}`)).toBeNull()
})

test("weeks begin on the project's day", () => {
  const printed = (week_start_day: 0 | 1): string =>
    compileHogQL(
      'select toStartOfWeek(timestamp) from events',
      { ...CONTEXT, week_start_day },
      DIALECT,
    ).sql
  expect(printed(0)).toContain('toStartOfWeek(toTimeZone(t1.`timestamp`, {p1:String})) AS')
  expect(printed(1)).toContain('toStartOfWeek(toTimeZone(t1.`timestamp`, {p1:String}), 1) AS')
})

test('frames over times are counted in microseconds, as far as an offset of 32 bits goes', () => {
  const framed = (seconds: number): string =>
    `select count() over (order by timestamp range between ${seconds} preceding and current row) from events`
  expect(compileHogQL(framed(2147), CONTEXT, DIALECT).sql).toContain(
    'ORDER BY toUnixTimestamp64Micro(toDateTime64(toTimeZone(t1.`timestamp`, {p1:String}), 6)) RANGE BETWEEN 2147000000 PRECEDING',
  )
  expect(detailOf(framed(2148))).toBe(
    'RANGE over more than 2147 seconds of times with fractions (toUnixTimestamp of them has no such limit) is not available where ClickHouse answers',
  )
})

test('the second argument of fromUnixTimestamp is a zone, not a format', () => {
  const printed = compileHogQL("select fromUnixTimestamp(1, 'Asia/Tokyo')", CONTEXT, DIALECT).sql
  expect(printed).toContain('toDateTime64(1, 0, {p1:String})')
  expect(detailOf("select fromUnixTimestamp(1, '%Y')")).toBe("Unknown timezone '%Y'.")
})
