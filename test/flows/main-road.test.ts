/** The main road, walked by a real SDK and by a crowd: an event goes in over the wire and comes back as an answer. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PostHog } from 'posthog-node'
import { makeBatches, sendBatches, tally } from './clients/ledger.ts'
import { API_TOKEN, askHogQL, type Server, startServer } from './processes/server.ts'

/** Two hundred thousand events with `EVERY_CASE=1`. */
const BATCHES = process.env['EVERY_CASE'] === '1' ? 2000 : 250

setDefaultTimeout(180_000 + BATCHES * 500)

const folder = mkdtempSync(join(tmpdir(), 'tidemark-road-'))
let server: Server

beforeAll(async () => {
  server = await startServer({
    data_dir: join(folder, 'data'),
    env: { TIDEMARK_SNAPSHOT_ROWS: '10000' },
  })
})

afterAll(async () => {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

describe('posthog-node', () => {
  test('captures, identifies and flushes; the events come back with the person of each', async () => {
    const client = new PostHog(API_TOKEN, { host: server.url, flushAt: 2, disableGeoip: true })
    client.capture({ distinctId: 'ada', event: 'signed up', properties: { plan: 'pro', seats: 3 } })
    client.identify({ distinctId: 'ada', properties: { email: 'ada@example.com', age: 36 } })
    client.capture({
      distinctId: 'bob',
      event: 'signed up',
      properties: { plan: 'free', $set: { email: 'bob@example.com' }, $set_once: { first: 'a' } },
    })
    client.capture({
      distinctId: 'bob',
      event: 'signed in',
      properties: { $set_once: { first: 'b' }, $unset: ['email'] },
    })
    await client.shutdown()

    const { results } = await askHogQL(
      server.url,
      `select event, distinct_id, properties.plan, person.properties.email, person.properties.first
       from events where distinct_id in ('ada', 'bob') order by distinct_id, event`,
    )
    expect(results).toEqual([
      ['$identify', 'ada', null, 'ada@example.com', null],
      ['signed up', 'ada', 'pro', 'ada@example.com', null],
      ['signed in', 'bob', null, null, 'a'],
      ['signed up', 'bob', 'free', null, 'a'],
    ])
    const persons = await askHogQL(
      server.url,
      `select pdi.distinct_id, toString(persons.properties.age) from persons
       join person_distinct_ids as pdi on pdi.person_id = persons.id order by 1`,
    )
    expect(persons.results).toEqual([
      ['ada', '36'],
      ['bob', null],
    ])
  })

  test('gives a merged person all events of both ids', async () => {
    const client = new PostHog(API_TOKEN, { host: server.url, flushAt: 1, disableGeoip: true })
    client.capture({ distinctId: 'anon-7', event: 'visited' })
    await client.flush()
    client.capture({
      distinctId: 'cleo',
      event: '$identify',
      properties: { $anon_distinct_id: 'anon-7', $set: { email: 'cleo@example.com' } },
    })
    await client.shutdown()
    const { results } = await askHogQL(
      server.url,
      `select event, distinct_id from events where person.properties.email = 'cleo@example.com' order by event`,
    )
    expect(results).toEqual([
      ['$identify', 'cleo'],
      ['visited', 'anon-7'],
    ])
  })
})

describe(`${BATCHES * 100} events over four connections`, () => {
  const batches = makeBatches(20_261_121, BATCHES)
  const ours = `properties.$lib_version = '1.261.8'`

  test('are all answered and all there', async () => {
    await sendBatches(server.url, batches, 4)
    expect(batches.every((batch) => batch.answered)).toBe(true)
    const { results } = await askHogQL(
      server.url,
      `select count(), count(distinct uuid) from events where ${ours}`,
    )
    expect(results).toEqual([[BATCHES * 100, BATCHES * 100]])
  })

  test.each([
    ['event', 'event', (event) => event.event],
    ['day', 'toString(toDate(timestamp))', (event) => event.timestamp.slice(0, 10)],
    ['plan', 'properties.plan', (event) => String(event.properties['plan'])],
    ['browser', 'properties.$browser', (event) => String(event.properties['$browser'])],
    ['coupon', 'toString(properties.coupon)', (event) => String(event.properties['coupon'])],
  ] satisfies [string, string, Parameters<typeof tally>[1]][])(
    'count per %s as an independent tally does',
    async (_name, expression, key) => {
      const { results } = await askHogQL(
        server.url,
        `select ${expression} as key, count() from events where ${ours} group by key order by key`,
      )
      expect(results).toEqual(tally(batches, key))
    },
  )

  test('keep their numbers exact', async () => {
    const prices = batches
      .flatMap(({ events }) => events.map((event) => Number(event.properties['quantity'])))
      .reduce((sum, quantity) => sum + quantity, 0)
    const { results } = await askHogQL(
      server.url,
      `select sum(toInt(properties.quantity)) from events where ${ours}`,
    )
    expect(results).toEqual([[prices]])
  })
})
