/** quantileExact: the element at floor(level × n) of the sorted values, for any level and number of rows. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { openWorld, type World } from '../engine.ts'

setDefaultTimeout(60_000)

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

/** Products with these numbers of rows are whole, or would be without rounding: 0.29 × 100 is 28.999999999999996. */
const LEVELS = [0, 0.1, 0.123456, 0.25, 0.29, 0.3, 0.5, 0.57, 0.58, 0.7, 0.9, 0.95, 0.99, 0.999, 1]
const COUNTS = [1, 2, 3, 7, 10, 29, 100, 1000]

test('the element is at floor(level × n), the last one at most', async () => {
  const columns = LEVELS.map((level) => `quantileExact(${level})(number)`)
  for (const count of COUNTS) {
    const [row] = await world.ask(`select ${columns.join(', ')} from numbers(${count})`)
    const expected = LEVELS.map((level) => Math.min(Math.floor(level * count), count - 1))
    expect(row?.map(Number)).toEqual(expected)
  }
})

test('quantiles of times are times of the same precision, and 1970 over no rows', async () => {
  const [row] =
    await world.ask(`select median(t), quantile(0.3)(t), medianIf(t, t is null), medianOrNullIf(t, t is null), quantiles(0.3, 0.7)(t),
    quantilesIf(0.3, 0.7)(t, t is null), median(toStartOfMinute(t))
    from (select toDateTime64('2024-03-10 10:00:01.123', 3) + toIntervalSecond(number * number * 7) as t from numbers(6))`)
  expect(row).toEqual([
    '2024-03-10 10:00:46.623',
    '2024-03-10 10:00:18.623',
    '1970-01-01 00:00:00',
    null,
    ['2024-03-10 10:00:18.623', '2024-03-10 10:01:28.623'],
    ['1970-01-01 00:00:00', '1970-01-01 00:00:00'],
    '2024-03-10 10:00:30',
  ])
})

test('texts and times have an order too, rows may be chosen, and a window has its own', async () => {
  const [row] =
    await world.ask(`select quantileExact(0.5)(toString(number)), quantileExact(toDate('2024-01-01') + number),
    quantileExactIf(0.5)(number, number > 3), quantileExact(0.5)(distinct number % 4), medianExact(if(number < 5, null, number)) from numbers(10)`)
  expect(row).toEqual(['5', '2024-01-06', '7', '2', '7'])
  expect(
    await world.ask(
      'select quantileExact(0.5)(number) over (partition by number % 2) as q from numbers(8) order by number limit 2',
    ),
  ).toEqual([['4'], ['5']])
})
