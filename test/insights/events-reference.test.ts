/** Lists of events of any history beside the same list over rows in memory: conditions, orders, pages, what is gathered. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { limitTests } from '../long-tests.ts'
import { randomRuns } from '../random-runs.ts'
import { InsightWorld } from './world.ts'

limitTests(240_000)

const NOW = '2024-03-10T12:00:00Z'
const NOW_MS = Date.parse(NOW)
const MINUTE_MS = 60_000

let world: InsightWorld
beforeAll(() => {
  world = new InsightWorld()
})
afterAll(() => world[Symbol.asyncDispose]())

const history = fc.record({
  acts: fc.array(
    fc.record({
      name: fc.constantFrom('go', 'stop', 'wait'),
      person: fc.integer({ min: 0, max: 3 }),
      // Up to three days back and a little ahead; the same minutes come again.
      minute: fc.integer({ min: -1, max: 72 }).map((hours) => hours * 60),
      plan: fc.constantFrom('pro', 'free', '', null),
      n: fc.constantFrom(1, 2.5, -3, null),
    }),
    { maxLength: 25 },
  ),
  events: fc.constantFrom(null, ['go'], ['go', 'stop'], ['never']),
  plan: fc.constantFrom(null, 'pro', 'free'),
  least: fc.constantFrom(null, 2, -5),
  after: fc.constantFrom(null, '-1d', '-48h', 'all'),
  merged: fc.boolean(),
  whose: fc.constantFrom(null, 0, 1),
  limit: fc.constantFrom(1, 3, 100),
  offset: fc.constantFrom(0, 2),
})

/** How far back each of the texts reaches. */
const AFTER_MS = { '-1d': 24 * 60, '-48h': 48 * 60, all: Number.POSITIVE_INFINITY } as const

const uuidOf = (person: number): string =>
  `00000000-0000-0000-0000-${person.toString(16).padStart(12, '0')}`

describe('events of any history', () => {
  test('are listed and gathered as plain rows are', async () => {
    let run = 0
    await fc.assert(
      fc.asyncProperty(history, async (made) => {
        run += 1
        const whoever = (person: number): number =>
          run * 10 + (made.merged && person === 3 ? 0 : person)
        const rows = made.acts.map((act, index) => ({ ...act, index, event: `${run}-${act.name}` }))
        world.send(
          ...rows.map(({ event, person, minute, plan, n, index }) => ({
            event,
            person: run * 10 + person,
            at: new Date(NOW_MS - minute * MINUTE_MS).toISOString(),
            properties: { index, ...(plan === null ? {} : { plan }), ...(n === null ? {} : { n }) },
          })),
        )
        if (made.merged) world.merge(run * 10 + 3, run * 10)
        const reach = AFTER_MS[made.after ?? '-1d']
        const names = made.events?.map((name) => `${run}-${name}`) ?? null
        const found = rows.filter(
          ({ event, person, minute, plan, n }) =>
            (names === null || names.includes(event)) &&
            (made.plan === null || plan === made.plan) &&
            (made.least === null || (n !== null && n > made.least)) &&
            (made.whose === null || whoever(person) === run * 10 + made.whose) &&
            minute < reach &&
            minute > -1,
        )
        const query = {
          kind: 'EventsQuery' as const,
          ...(names === null ? {} : { events: names }),
          after: made.after,
          personId: made.whose === null ? null : uuidOf(run * 10 + made.whose),
          where: [
            `event like '${run}-%'`,
            ...(made.least === null ? [] : [`toFloat(properties.n) > ${made.least}`]),
          ],
          properties:
            made.plan === null ? [] : [{ key: 'plan', value: made.plan, operator: 'exact' }],
        }
        const listed = await world.ask(
          {
            ...query,
            select: ['toInt(properties.index)'],
            orderBy: ['timestamp DESC', 'toInt(properties.index)'],
            limit: made.limit,
            offset: made.offset,
          },
          NOW,
        )
        const ordered = found.toSorted((a, b) => a.minute - b.minute || a.index - b.index)
        const page = ordered.slice(made.offset, made.offset + made.limit)
        expect(listed.results).toEqual(page.map(({ index }) => [index]))
        expect(listed['hasMore']).toBe(ordered.length > made.offset + made.limit)
        const gathered = await world.ask(
          { ...query, select: ['event', 'count()', 'uniq(person_id)'], orderBy: ['event'] },
          NOW,
        )
        const by_name = [...new Set(found.map(({ event }) => event))].toSorted()
        expect(gathered.results).toEqual(
          by_name.map((name) => {
            const of = found.filter(({ event }) => event === name)
            return [name, of.length, new Set(of.map(({ person }) => whoever(person))).size]
          }),
        )
      }),
      randomRuns(10),
    )
  })
})
