/** Mistakes in HogQL are refused in our words, and every time that is answered is of the years 1 to 9999. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { Refusal } from '../../src/errors.ts'
import { compileHogQL } from '../../src/hogql/compile.ts'
import type { CompileContext } from '../../src/hogql/context.ts'
import type { QueryEngine } from '../../src/query/engine/engine.ts'
import { limitTests } from '../long-tests.ts'
import { randomRuns } from '../random-runs.ts'
import { MISTAKES } from './mistaken-statements.ts'
import { MARCH_US, World } from './world.ts'

limitTests(1_800_000)

const CONTEXT: CompileContext = {
  project_id: 1,
  timezone: 'Asia/Kolkata',
  week_start_day: 0,
  hidden_tables: [],
  now_us: BigInt(MARCH_US),
  property_types: new Map(),
  has_property_columns: true,
}

let world: World
let engine: QueryEngine
beforeAll(() => {
  world = new World()
  const numbers = [0, 1, -1, 7, 99_999, 1e9, -1e9, 1e15, -1e15, 9e18]
  world.send(
    ...numbers.map((n) => ({ properties: JSON.stringify({ n, s: `text ${n}`, list: [1, 'a'] }) })),
  )
  engine = world.openEngine()
})
afterAll(() => world[Symbol.asyncDispose]())

/** The answer of a statement, or its refusal; anything else is a fault of ours and thrown. */
async function answerOf(hogql: string): Promise<unknown[][] | Refusal> {
  try {
    const compiled = compileHogQL(hogql, CONTEXT)
    const values = compiled.values.map(({ type, value }) => ({ type, text: String(value) }))
    const answer = await engine.run(
      { ...compiled, project_id: 1, values, rows_max: 100, more_is_too_many: true },
      { timeout_ms: 60_000 },
    )
    return JSON.parse(Buffer.from(answer.rows_json).toString())
  } catch (error) {
    if (error instanceof Refusal) return error
    throw new Error(hogql, { cause: error })
  }
}

/** What a query may be refused with. */
const CODES = [
  'invalid_input',
  'query_failed',
  'query_too_large',
  'query_memory',
  'result_too_large',
]

/** Words of the engine: its kinds of errors, its types, names that only we and it know. */
const ENGINE_WORDS =
  /Binder|Catalog|LINE \d|macro|Parser|Conversion Error|Invalid Input|INTERNAL|VARCHAR|BIGINT|DOUBLE|STRUCT|DuckDB|[Cc]andidate|explicit type cast|No function matches|\bch_|\bt\d+\.|Unnest|UNNEST|Failed to/

test('no mistake is answered in the words of the engine, and none is a fault', async () => {
  const codes = new Map<string, number>()
  await fc.assert(
    fc.asyncProperty(MISTAKES, async (text) => {
      const outcome = await answerOf(
        `select ${text}${text.includes(' from ') ? '' : ' from events'}`,
      )
      const code = outcome instanceof Refusal ? outcome.code : 'answered'
      codes.set(code, (codes.get(code) ?? 0) + 1)
      if (!(outcome instanceof Refusal)) return
      expect(CODES).toContain(outcome.code)
      expect(outcome.detail.replaceAll(text, '')).not.toMatch(ENGINE_WORDS)
    }),
    { ...randomRuns(300), endOnFailure: true },
  )
  for (const code of ['answered', 'invalid_input', 'query_failed']) {
    expect(codes.get(code)).toBeGreaterThan(5)
  }
})

test.each([
  ['toDateTime64(timestamp, -1)', 'The precision of a time is between 0 and 9 digits'],
  ["case interval 1 day when 'a' then 1 else 2 end", 'An interval can only be compared'],
  ['event = tuple()', 'An empty tuple can only follow IN'],
  ["match(event, '(a')", 'A regular expression of the query cannot be read: missing ).'],
  [
    "match(event, '[z-a]')",
    'A regular expression of the query cannot be read: invalid character class range.',
  ],
  ["toDateTime64(toFloat('nan'), 3)", 'goes beyond the range of its type'],
])('select %s is refused with its reason', async (text, detail) => {
  const outcome = await answerOf(`select ${text} from events`)
  expect(outcome).toBeInstanceOf(Refusal)
  expect(String(outcome instanceof Refusal && outcome.detail)).toContain(detail)
})

const amount = fc.oneof(
  fc.constantFrom(
    'properties.n',
    'toInt(properties.n)',
    'toInt(properties.n) * 1000',
    '-toInt(properties.n)',
  ),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
  fc.integer({ min: -20_000, max: 20_000 }).map(String),
)
const UNITS = ['Second', 'Minute', 'Hour', 'Day', 'Week', 'Month', 'Quarter', 'Year']
/** Times and dates as far away as numbers reach. */
const odd_time = fc.oneof(
  fc
    .tuple(fc.constantFrom('add', 'subtract'), fc.constantFrom(...UNITS), amount)
    .map(([f, unit, n]) => `${f}${unit}s(timestamp, ${n})`),
  fc
    .tuple(fc.constantFrom('+', '-'), fc.constantFrom(...UNITS), amount)
    .map(([sign, unit, n]) => `timestamp ${sign} toInterval${unit}(${n})`),
  fc
    .tuple(
      fc.constantFrom('toDateTime', 'toDate', 'fromUnixTimestamp', 'fromUnixTimestamp64Milli'),
      amount,
    )
    .map(([f, n]) => `${f}(${n})`),
  fc.tuple(amount, amount).map(([n, m]) => `makeDate(${n}, ${m}, 1)`),
  fc.tuple(amount, amount).map(([n, m]) => `makeDateTime(${n}, 1, 1, ${m}, 0, 0)`),
  fc
    .tuple(
      fc.constantFrom('toStartOfYear', 'toStartOfWeek', 'toLastDayOfMonth', 'toTimeZone'),
      amount,
    )
    .map(([f, n]) =>
      f === 'toTimeZone'
        ? `toTimeZone(addYears(timestamp, ${n}), 'America/New_York')`
        : `${f}(addDays(timestamp, ${n}))`,
    ),
  fc.tuple(amount).map(([n]) => `[addMonths(toDate(timestamp), ${n})]`),
)
const FOUR_DIGITS =
  /^(?!0000)\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d{6})?(?:Z|[+-]\d\d:\d\d(?::\d\d)?))?$/

test('a time far out of the years 1 to 9999 is refused, or answered as the nearest one', async () => {
  let answered = 0
  await fc.assert(
    fc.asyncProperty(odd_time, async (text) => {
      const outcome = await answerOf(`select ${text} from events`)
      if (outcome instanceof Refusal) {
        expect(CODES).toContain(outcome.code)
        expect(outcome.detail).not.toMatch(ENGINE_WORDS)
        return
      }
      answered += 1
      const times = outcome.flat(2).filter((time) => time !== null)
      for (const time of times) expect(time).toMatch(FOUR_DIGITS)
    }),
    { ...randomRuns(300), endOnFailure: true },
  )
  expect(answered).toBeGreaterThan(20)
})

test('a time after the last year is its end, as ClickHouse saturates', async () => {
  const columns = [
    'toDateTime(-99999999999)',
    "toTimeZone(addYears(timestamp, 9000), 'UTC')",
    'toDate(addYears(timestamp, -3000))',
    'makeDate(99999, 1, 1)',
  ]
  const rows = await answerOf(`select ${columns.join(', ')} from events limit 1`)
  expect(rows).toEqual([
    ['0001-01-01T05:53:28+05:53:28', '9999-12-31T23:59:59.999999Z', '0001-01-01', '1970-01-01'],
  ])
})
