/** A law of the pass groupBeforeOverrides: groups made of stored persons first have the rows of groups made of events. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { limitTests } from '../long-tests.ts'
import { randomRuns } from '../random-runs.ts'
import { openWorld, type World } from './engine.ts'
import { personId } from './rows.ts'

limitTests(120_000)

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

const PERSONS = 6

const anEvent = fc.record({
  event: fc.constantFrom('a', 'b'),
  distinct_id: fc.option(fc.constantFrom('x', 'y', 'z')),
  person: fc.nat(PERSONS - 1),
  minute: fc.nat(5),
})

/** Stored persons and the persons that they were merged into, which may be of no event. */
const someOverrides = fc.uniqueArray(fc.tuple(fc.nat(PERSONS - 1), fc.nat(PERSONS)), {
  selector: ([old]) => old,
})

const AGGREGATES = [
  'count()',
  'count(distinct_id)',
  "countIf(event = 'a')",
  'min(timestamp)',
  "maxIf(timestamp, event = 'b')",
  'max(distinct_id)',
  "minIf(distinct_id, event = 'b')",
  'max(toDayOfWeek(timestamp) + length(event))',
  "max(timestamp) > toDateTime('2024-06-01 00:02:00')",
  'count() * 2 + countIf(distinct_id is null)',
]
const CONDITIONS = ['true', "event = 'a'", "timestamp > toDateTime('2024-06-01 00:01:00')"]
const HAVINGS = ['true', 'count() > 1', "max(event) = 'b'"]

const aQuery = fc.record({
  aggregates: fc.uniqueArray(fc.constantFrom(...AGGREGATES), { maxLength: 4 }),
  condition: fc.constantFrom(...CONDITIONS),
  having: fc.constantFrom(...HAVINGS),
})

type StoredEvent = typeof anEvent extends fc.Arbitrary<infer Event> ? Event : never

async function fill(
  events: readonly StoredEvent[],
  overrides: readonly (readonly [number, number])[],
): Promise<void> {
  const event_rows = events.map(({ event, distinct_id, person, minute }) => {
    const id = distinct_id === null ? 'null' : `'${distinct_id}'`
    return `(1, '${event}', ${id}, '${personId(person)}', timestamp '2024-06-01 00:0${minute}:00')`
  })
  const override_rows = overrides.map(
    ([old, person]) => `(1, '${personId(old)}', '${personId(person)}')`,
  )
  await world.connection.run('delete from all_events; delete from all_overrides')
  await insert('all_events (project_id, event, distinct_id, person_id, "timestamp")', event_rows)
  await insert('all_overrides', override_rows)
}

async function insert(table: string, rows: readonly string[]): Promise<void> {
  if (rows.length > 0) await world.connection.run(`insert into ${table} values ${rows.join(', ')}`)
}

test('rows are the same as of events that are led to their persons before they are grouped', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anEvent, { maxLength: 25 }),
      someOverrides,
      fc.array(aQuery, { minLength: 1, maxLength: 4 }),
      async (events, overrides, queries) => {
        await fill(events, overrides)
        for (const { aggregates, condition, having } of queries) {
          const rest = `from EVENTS where ${condition} group by p having ${having} order by p`
          const text = `select person_id as p, ${['1', ...aggregates].join(', ')} ${rest}`
          const plain =
            '(select person_id, event, distinct_id, timestamp from events order by event)'
          const rows = await world.ask(text.replace('EVENTS', 'events'))
          expect(rows).toEqual(await world.ask(text.replace('EVENTS', plain)))
        }
      },
    ),
    randomRuns(12),
  )
})
