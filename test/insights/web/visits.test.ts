/** Visits of any history beside a plain reference: totals, tables, and the time before. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { limitTests } from '../../long-tests.ts'
import { randomRuns } from '../../random-runs.ts'
import { InsightWorld } from '../world.ts'
import { daysBefore, overviewOf, type Row, tableOf, visitsOf } from './visits-reference.ts'

limitTests(240_000)

const NOW = '2024-03-20T12:00:00Z'

let world: InsightWorld
beforeAll(() => {
  world = new InsightWorld()
})
afterAll(() => world[Symbol.asyncDispose]())

// Clocks change in New York on the 10th of March.
const history = fc.record({
  timezone: fc.constantFrom('UTC', 'America/New_York', 'Asia/Kathmandu'),
  days: fc.constantFrom(['2024-03-10', '2024-03-10'], ['2024-03-09', '2024-03-11']),
  acts: fc.array(
    fc.record({
      session: fc.constantFrom('', 'a', 'b', 'c', 'd', 'e'),
      // Minutes around the edges of days, so that sessions lie across them, and the same instants come again.
      minute: fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 290, max: 320 })),
      day: fc.constantFrom(6, 7, 8, 9, 10, 11),
      second: fc.constantFrom(0, 5, 12),
      event: fc.constantFrom(
        '$pageview',
        '$pageview',
        '$pageview',
        '$screen',
        '$autocapture',
        'paid',
      ),
      path: fc.constantFrom('/', '/a', '/b', null),
      browser: fc.constantFrom('Firefox', 'Chrome', null),
    }),
    { maxLength: 30 },
  ),
})

type Figures = readonly { readonly value: number | null; readonly previous: number | null }[]
type Pair = readonly [now: number | null, before: number | null]
type Table = readonly (readonly [string, Pair, Pair, Pair])[]

describe('visits of any history', () => {
  test('are told as the reference tells them', async () => {
    let run = 0
    await fc.assert(
      fc.asyncProperty(history, async ({ timezone, days, acts }) => {
        run += 1
        const [from = '', to = ''] = days
        const rows: readonly Row[] = acts.map(({ session, day, minute, second, ...act }) => ({
          ...act,
          // A session is one person's, and some persons have several.
          person: run * 10 + (session.charCodeAt(0) % 3 || 0),
          // None lasts longer than two days: sessions are taken to end within one.
          session: session === '' ? '' : `${run}-${session}-${Math.floor((day + 1) / 2)}`,
          at_ms: Date.UTC(2024, 2, day, 0, minute, second),
        }))
        world.know({ timezone })
        world.send(
          ...rows.map(({ event, person, at_ms, session, path, browser }) => ({
            event,
            person,
            at: new Date(at_ms).toISOString(),
            properties: {
              run,
              $session_id: session,
              ...(path === null
                ? {}
                : { $pathname: path, $current_url: `https://x.example${path}` }),
              ...(browser === null ? {} : { $browser: browser }),
            },
          })),
        )
        const query = {
          dateRange: { date_from: from, date_to: to },
          compareFilter: { compare: true },
          properties: [{ key: 'run', value: run, operator: 'exact', type: 'event' }],
        }
        const now = visitsOf(rows, { timezone, from, to })
        const before = visitsOf(rows, daysBefore({ timezone, from, to }))
        const overview = await world.ask({ kind: 'WebOverviewQuery', ...query }, NOW)
        const figures = overview.results as Figures
        expect(figures.map(({ value }) => value)).toEqual([...overviewOf(now)])
        expect(figures.map(({ previous }) => previous)).toEqual([...overviewOf(before)])
        for (const [breakdownBy, by] of [
          ['Browser', 'browser'],
          ['Page', 'path'],
        ] as const) {
          const table = await world.ask(
            { kind: 'WebStatsTableQuery', breakdownBy, includeBounceRate: true, ...query },
            NOW,
          )
          const told = table.results as Table
          const side = (at: 0 | 1): unknown =>
            told
              .map(([value, ...pairs]) => [value, ...pairs.map((pair) => pair[at])])
              .filter(([, visitors]) => visitors !== 0)
              .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1))
          expect(side(0)).toEqual(tableOf(now, by).map((row) => [...row]))
          expect(side(1)).toEqual(tableOf(before, by).map((row) => [...row]))
        }
      }),
      randomRuns(6),
    )
  })
})
