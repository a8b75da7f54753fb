/** Look-ups and one person's sessions, of any history, beside the same over rows in memory. */
import { afterAll, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import type { TimelineEntry } from '../../../src/insights/sessions-timeline.ts'
import { limitTests } from '../../long-tests.ts'
import { idOf } from '../../query/world.ts'
import { randomRuns } from '../../random-runs.ts'
import { InsightWorld } from '../world.ts'

limitTests(240_000)

const NOW = '2024-03-31T12:00:00Z'
const MINUTE_MS = 60_000
const RUNS = randomRuns(4)
const world = new InsightWorld()
afterAll(() => world[Symbol.asyncDispose]())

let histories = 0

const before = (minutes: number): string =>
  new Date(Date.parse(NOW) - minutes * MINUTE_MS).toISOString()

/** Characters of two units each: cut in the middle they would be none. */
const LONG = `x${'😀'.repeat(200)}`
const VALUE = fc.constantFrom('a', 'b', '', '1', LONG, `${LONG}y`, 1, 2.5, -3, true, false, null)

type Value = boolean | number | string | null | undefined

/** What a value is called; null for none. */
function textOf(value: Value): string | null {
  if (value === undefined || value === null || value === '') return null
  return Array.from(String(value)).slice(0, 128).join('')
}

/** Values and how often each is, the most frequent first. */
function sampleOf(values: readonly Value[], most: number) {
  const texts = values.flatMap((value) => textOf(value) ?? [])
  const often = (text: string): number => texts.filter((other) => other === text).length
  const different = [...new Set(texts)].toSorted(
    (a, b) => often(b) - often(a) || (a < b ? -1 : Number(a > b)),
  )
  return { sample_values: different.slice(0, most), sample_count: different.length }
}

describe('any history', () => {
  test('has the properties and values of its events of the last thirty days', async () => {
    const event = fc.record({
      // Some a day too old.
      minute: fc.integer({ min: 1, max: 31 * 24 }).map((hours) => hours * 60 - 30),
      is_named: fc.boolean(),
      properties: fc.record(
        { n: VALUE, plan: VALUE, $ip: VALUE, deep: fc.constant({ x: 1 }) },
        { requiredKeys: [] },
      ),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(event, { maxLength: 25 }),
        fc.integer({ min: 1, max: 4 }),
        async (events, most) => {
          histories += 1
          const name = `look${histories}`
          world.send(
            ...events.map(({ minute, is_named, properties }) => ({
              event: is_named ? name : `other${histories}`,
              person: 1,
              at: before(minute),
              properties,
            })),
          )
          const found = events.filter((one) => one.is_named && one.minute < 30 * 24 * 60)
          const rows = (['n', 'plan'] as const)
            .map((property) => {
              const values = found.map(({ properties }) => properties[property])
              return { property, ...sampleOf(values, most) }
            })
            .filter(({ sample_count }) => sample_count > 0)
            .toSorted((a, b) => b.sample_count - a.sample_count)
          const query = { kind: 'EventTaxonomyQuery' as const, event: name }
          const { results } = await world.ask({ ...query, maxPropertyValues: most }, NOW)
          expect(results).toEqual(rows)
        },
      ),
      RUNS,
    )
  })

  test('has the values of its people', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(VALUE, { maxLength: 12 }),
        fc.integer({ min: 1, max: 4 }),
        async (values, most) => {
          histories += 1
          const property = `of${histories}`
          for (const [index, value] of values.entries()) {
            world.addPerson(histories * 100 + index, '2024-01-01', { [property]: value })
          }
          const { results } = await world.ask(
            {
              kind: 'ActorsPropertyTaxonomyQuery',
              properties: [property, 'never'],
              maxPropertyValues: most,
            },
            NOW,
          )
          expect(results).toEqual([sampleOf(values, most), { sample_values: [], sample_count: 0 }])
        },
      ),
      RUNS,
    )
  })

  test('has the sessions of a person, those without a name parted by pauses', async () => {
    const event = fc.record({
      person: fc.nat(2),
      // Each at a time of its own; pauses of exactly half an hour come about often.
      minute: fc.nat(40).map((step) => step * 10),
      session: fc.constantFrom('s1', 's2', '', ''),
    })
    const made = fc.record({
      events: fc.uniqueArray(event, { selector: ({ minute }) => minute, maxLength: 30 }),
      is_merged: fc.boolean(),
      after: fc.constantFrom(null, 100, 250),
      until: fc.constantFrom(null, 50, 100),
    })
    await fc.assert(
      fc.asyncProperty(made, async ({ events, is_merged, after, until }) => {
        histories += 1
        const own = histories * 100
        world.send(
          ...events.map(({ person, minute, session }) => ({
            event: 'seen',
            person: own + person,
            at: before(minute),
            properties: { minute, ...(session === '' ? {} : { $session_id: session }) },
          })),
        )
        if (is_merged) world.merge(own + 1, own)
        const mine = events.filter(
          ({ person, minute }) =>
            (person === 0 || (is_merged && person === 1)) &&
            minute < (after ?? 24 * 60) &&
            minute > (until ?? -1),
        )
        const { results, ...envelope } = await world.ask(
          {
            kind: 'SessionsTimelineQuery',
            personId: Buffer.from(idOf(own)).toString('hex').replace(UUID_HEX, '$1-$2-$3-$4-$5'),
            ...(after === null ? {} : { after: before(after) }),
            ...(until === null ? {} : { before: before(until) }),
          },
          NOW,
        )
        const shown: unknown = (results as readonly TimelineEntry[]).map(
          ({ sessionId, events: inside }) => [
            sessionId,
            inside.map(({ properties }) => minuteOf(properties)),
          ],
        )
        expect(shown).toEqual(sessionsOf(mine))
        expect(envelope['hasMore']).toBe(false)
      }),
      randomRuns(6),
    )
  })
})

const UUID_HEX = /^(.{8})(.{4})(.{4})(.{4})(.{12})$/

const minuteOf = (properties: unknown): unknown =>
  typeof properties === 'object' && properties !== null && 'minute' in properties
    ? properties.minute
    : null

type Act = { readonly minute: number; readonly session: string }

/** Names of sessions and the minutes of their events, the newest first; minutes are counted back from now. */
function sessionsOf(acts: readonly Act[]): readonly unknown[] {
  const named = ['s1', 's2'].map((name) => acts.filter(({ session }) => session === name))
  const unnamed = acts.filter(({ session }) => session === '')
  const ascending = unnamed.map(({ minute }) => minute).toSorted((a, b) => a - b)
  // Where half an hour or more lies between an event and the one before, something new begins.
  const begins = ascending.filter((minute, index) => {
    const earlier = ascending[index + 1]
    return earlier === undefined || earlier - minute >= 30
  })
  const pieces = begins.map((begin, index) =>
    unnamed.filter(
      ({ minute }) => minute <= begin && minute > (begins[index - 1] ?? Number.NEGATIVE_INFINITY),
    ),
  )
  return [...named, ...pieces]
    .filter((piece) => piece.length > 0)
    .map((piece) => piece.toSorted((a, b) => a.minute - b.minute))
    .toSorted((a, b) => (a.at(-1)?.minute ?? 0) - (b.at(-1)?.minute ?? 0))
    .map((piece) => [piece[0]?.session || null, piece.map(({ minute }) => minute)])
}
