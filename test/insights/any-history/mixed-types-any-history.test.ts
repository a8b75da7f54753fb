/** Values of several types in one batch, over the server's own door: each is read by the type of the first one. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { limitTests } from '../../long-tests.ts'
import { randomRuns } from '../../random-runs.ts'
import { type Histories, type History, openHistories } from '../history.ts'

limitTests(300_000)

const NOW = '2026-03-10T12:00:00Z'
const NONE = '$$_posthog_breakdown_null_$$'
const RUNS = randomRuns(3)

let histories: Histories
beforeAll(async () => {
  histories = await openHistories(NOW)
})
afterAll(() => histories.close())

type Value = boolean | number | string | null
type PropertyType = 'Boolean' | 'Numeric' | 'String'

const VALUE = fc.constantFrom<Value>(
  null,
  true,
  false,
  1,
  2.5,
  -3,
  '7.5',
  '1',
  'none',
  'true',
  'FALSE',
)

/** Events of one batch, in the order sent: on one of three days, often at the same instant, with a session or without. */
const BATCH = fc.array(
  fc.record({
    value: VALUE,
    day: fc.constantFrom(2, 3, 7),
    session: fc.constantFrom('s1', 's2', null),
    person: fc.constantFrom('ann', 'ben'),
  }),
  { minLength: 1, maxLength: 12 },
)
type Sent = {
  readonly value: Value
  readonly day: number
  readonly session: string | null
  readonly person: string
}

async function open(batch: readonly Sent[]): Promise<History> {
  const history = await histories.open()
  await history.send(
    batch.map(({ value, day, session, person }) => ({
      event: 'seen',
      distinct_id: person,
      timestamp: `2026-03-0${day}T12:00:00Z`,
      properties: { value, ...(session === null ? {} : { $session_id: session }) },
    })),
  )
  return history
}

/** The type of the first value that has one; texts where none has. */
function typeOf(batch: readonly Sent[]): PropertyType {
  const first = batch.find(({ value }) => value !== null)?.value ?? ''
  if (typeof first === 'number') return 'Numeric'
  return typeof first === 'boolean' || ['true', 'FALSE'].includes(first) ? 'Boolean' : 'String'
}

/** A value as its property's type has it; null where the type cannot hold it. */
function readAs(type: PropertyType, value: Value): Value {
  if (value === null) return null
  const text = String(value)
  switch (type) {
    case 'String':
      return text
    case 'Boolean':
      return text === 'true' ? true : text === 'false' ? false : null
    case 'Numeric':
      return typeof value === 'boolean' || Number.isNaN(Number(text)) ? null : Number(text)
  }
}

/** How often each value is there, by its name in answers. */
function countsOf(values: readonly Value[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const value of values) {
    const name = value === null ? NONE : String(value)
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return counts
}

const dateRange = { date_from: '2026-03-01', date_to: '2026-03-08' }
const series = [{ kind: 'EventsNode', event: 'seen' }]

type Line = { readonly count: number; readonly breakdown_value: string; readonly data: number[] }

async function results<Shape>(history: History, query: object): Promise<Shape> {
  const { status, body } = await history.ask(query)
  expect([status, body['detail']]).toEqual([200, undefined])
  return body['results'] as Shape
}

/** The counts of trends broken down by the property. */
async function trendCounts(history: History): Promise<ReadonlyMap<string, number>> {
  const breakdownFilter = { breakdown: 'value', breakdown_type: 'event' }
  const query = { kind: 'TrendsQuery', series, dateRange, breakdownFilter }
  const lines = await results<readonly Line[]>(history, query)
  return new Map(lines.map(({ breakdown_value, count }) => [breakdown_value, count]))
}

async function definitionOf(history: History): Promise<Readonly<Record<string, unknown>>> {
  const path = 'property_definitions/?properties=value&check_types=true'
  const answer = await history.call('GET', path)
  const { results: found } = JSON.parse(await answer.text())
  return found[0]
}

describe('any batch', () => {
  test('is read by the type of its first value, and by another after a change', async () => {
    await fc.assert(
      fc.asyncProperty(BATCH, async (batch) => {
        const history = await open(batch)
        const type = typeOf(batch)
        const values = batch.map(({ value }) => value)
        const is_typed = values.some((value) => value !== null)
        const definition = await definitionOf(history)
        expect(definition['property_type']).toBe(is_typed ? type : null)
        const read = values.map((value) => readAs(type, value))
        expect(await trendCounts(history)).toEqual(countsOf(read))

        const lost = values.filter((value, index) => value !== null && read[index] === null).length
        if (is_typed && type !== 'String') {
          expect(definition['type_check']).toMatchObject({ unreadable_count: lost })
        }
        const path = `property_definitions/${String(definition['id'])}/`
        const changed = await history.call('PATCH', path, { property_type: 'String' })
        expect(changed.status).toBe(200)
        const texts = values.map((value) => readAs('String', value))
        expect(await trendCounts(history)).toEqual(countsOf(texts))
      }),
      RUNS,
    )
  })

  test('has the sums and averages of the numbers in it, and the sessions of each day', async () => {
    await fc.assert(
      fc.asyncProperty(BATCH, async (batch) => {
        const history = await open(batch)
        const numbers = (sent: readonly Sent[]): readonly number[] =>
          sent.flatMap(({ value }) => {
            const number = readAs('Numeric', readAs(typeOf(batch), value))
            return typeof number === 'number' ? [number] : []
          })
        const asked = (math: string) => ({ ...series[0], math, math_property: 'value' })
        const query = {
          kind: 'TrendsQuery',
          series: [asked('sum'), { ...series[0], math: 'unique_session' }, asked('min')],
          dateRange,
        }
        const [sums, sessions, least] = await results<readonly Line[]>(history, query)
        const days = Array.from({ length: 8 }, (_, index) =>
          batch.filter(({ day }) => day === index + 1),
        )
        // Truths are no numbers to add.
        if (typeOf(batch) !== 'Boolean') {
          expect(sums?.data).toEqual(days.map((day) => numbers(day).reduce((a, b) => a + b, 0)))
          expect(least?.data).toEqual(
            days.map((day) => (numbers(day).length === 0 ? 0 : Math.min(...numbers(day)))),
          )
        }
        expect(sessions?.data).toEqual(
          days.map((day) => new Set(day.map(({ session }) => session)).size),
        )
      }),
      RUNS,
    )
  })
})

test('a number that is the text NaN is neither more nor less than any other', async () => {
  const history = await open(
    [10, 'NaN', 'inf', 3, null].map((value) => ({ value, day: 2, session: null, person: 'ann' })),
  )
  const countOf = async (operator: string): Promise<number | undefined> => {
    const properties = [{ key: 'value', type: 'event', operator, value: 5 }]
    const query = { kind: 'TrendsQuery', series, dateRange, properties }
    const [line] = await results<readonly Line[]>(history, query)
    return line?.count
  }
  const counts = await Promise.all(['gt', 'gte', 'lt', 'lte'].map(countOf))
  expect(counts).toEqual([2, 2, 1, 1])
  const text = `
    select countIf(properties.value > 5), countIf(5 <= properties.value), countIf(not properties.value > 5),
      countIf(properties.value + 1 > 5), toString(max(toFloat(properties.value))), min(properties.value), median(properties.value)
    from events where event = 'seen'`
  expect(await results<unknown>(history, { kind: 'HogQLQuery', query: text })).toEqual([
    [2, 2, 3, 2, 'inf', 3, 10],
  ])
  const sorted = `select toString(properties.value) from events where event = 'seen' order by properties.value desc limit 3`
  expect(await results<unknown>(history, { kind: 'HogQLQuery', query: sorted })).toEqual([
    ['inf'],
    ['10'],
    ['3'],
  ])
})
