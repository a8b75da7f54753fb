/** posthog-node in three majors, unmodified, against the running server, read back through HogQL. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MAJORS, open4, open5 } from './clients/node-clients.ts'
import { askUntil } from './clients/patience.ts'
import { layWire, textIn, uuidsSent, type Wire } from './clients/wire.ts'
import { askHogQL, type Server, startServer } from './processes/server.ts'

const TIMEOUT_MS = 180_000
setDefaultTimeout(TIMEOUT_MS)
const folder = mkdtempSync(join(tmpdir(), 'tidemark-node-'))

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A server of its own for the tests of one client, with a wire before it. */
function serverFor(name: string, env: Readonly<Record<string, string>> = {}) {
  const started: { server?: Server; wire?: Wire } = {}
  beforeAll(async () => {
    started.server = await startServer({ data_dir: join(folder, name), env })
    started.wire = await layWire(started.server.url)
  }, TIMEOUT_MS)
  afterAll(async () => {
    started.wire?.close()
    await started.server?.stop()
  }, TIMEOUT_MS)
  const wire = (): Wire => {
    if (started.wire === undefined) throw new Error('no wire was laid')
    return started.wire
  }
  const ask = async (query: string) => (await askHogQL(started.server?.url ?? '', query)).results
  return { wire, ask }
}

describe.each(MAJORS)('posthog-node $version', ({ version, content_encoding, open }) => {
  const { wire, ask } = serverFor(`major-${version}`)

  test(
    'captures events with their properties, and those of their persons',
    async () => {
      const properties = {
        plan: 'pro',
        seats: 3,
        price: 9.75,
        is_paid: true,
        coupon: null,
        tags: ['a', { b: [1] }],
        title: 'Ωmega "quoted" 😀\n',
      }
      const client = open(wire().url)
      client.capture({
        distinctId: 'ada',
        event: 'ordered',
        timestamp: new Date('2026-02-03T12:05:06.789Z'),
        properties: { ...properties, $set: { email: 'ada@example.com', age: 36 } },
      })
      client.capture({
        distinctId: 'ada',
        event: 'returned',
        properties: { $set: { age: 37 }, $set_once: { first: 'a' } },
      })
      client.capture({
        distinctId: 'ada',
        event: 'left',
        properties: { $set_once: { first: 'b' }, $unset: ['email'] },
      })
      await client.shutdown()

      const [ordered] = await ask(
        `select distinct_id, toString(toDate(timestamp)), properties from events where event = 'ordered'`,
      )
      expect(ordered?.slice(0, 2)).toEqual(['ada', '2026-02-03'])
      expect(JSON.parse(String(ordered?.[2]))).toMatchObject({
        ...properties,
        $lib: 'posthog-node',
        $lib_version: version,
      })
      const persons = await ask(
        `select toString(person.properties.age), person.properties.first, person.properties.email, count()
         from events where distinct_id = 'ada' group by 1, 2, 3`,
      )
      expect(persons).toEqual([['37', 'a', null, 3]])
    },
    TIMEOUT_MS,
  )

  test(
    'sends batches to /batch/, each once, in its own encoding',
    async () => {
      const client = open(wire().url)
      const before = wire().passed.length
      for (let number = 0; number < 250; number++) {
        client.capture({
          distinctId: `user-${number % 7}`,
          event: 'ticked',
          properties: { number },
        })
      }
      await client.shutdown()
      const batches = wire().passed.slice(before)
      expect(batches.length).toBeGreaterThan(1)
      expect(new Set(batches.map(({ method, path }) => `${method} ${path}`))).toEqual(
        new Set(['POST /batch/']),
      )
      expect(new Set(batches.map(({ headers }) => headers['content-encoding']))).toEqual(
        new Set([content_encoding]),
      )
      expect([...uuidsSent(batches).values()]).toEqual(Array.from({ length: 250 }, () => 1))
      const [ticked] = await ask(
        `select count(), count(distinct uuid), sum(toInt(properties.number)), count(distinct person_id)
         from events where event = 'ticked'`,
      )
      expect(ticked).toEqual([250, 250, (249 * 250) / 2, 7])
    },
    TIMEOUT_MS,
  )

  test(
    'identifies, and gives both ids of an alias to one person with all events',
    async () => {
      const client = open(wire().url)
      client.capture({ distinctId: 'visitor-1', event: 'visited' })
      client.identify({ distinctId: 'bob', properties: { email: 'bob@example.com', plan: 'free' } })
      await client.flush()
      client.alias({ distinctId: 'bob', alias: 'visitor-1' })
      await client.flush()
      client.capture({ distinctId: 'visitor-1', event: 'visited again' })
      await client.shutdown()

      const events = await ask(
        `select event, distinct_id, person.properties.plan from events
         where person.properties.email = 'bob@example.com' order by event`,
      )
      expect(events).toEqual([
        ['$create_alias', 'bob', 'free'],
        ['$identify', 'bob', 'free'],
        ['visited', 'visitor-1', 'free'],
        ['visited again', 'visitor-1', 'free'],
      ])
      const persons = await ask(
        `select count(distinct person_id), count(), min(person.is_identified)
         from person_distinct_ids where distinct_id in ('bob', 'visitor-1')`,
      )
      expect(persons).toEqual([[1, 2, true]])
    },
    TIMEOUT_MS,
  )

  test(
    'identifies groups, and events carry the properties of theirs',
    async () => {
      const client = open(wire().url)
      client.groupIdentify({
        groupType: 'company',
        groupKey: 'acme',
        properties: { name: 'Acme', seats: 5 },
      })
      client.groupIdentify({ groupType: 'company', groupKey: 'acme', properties: { seats: 6 } })
      client.capture({
        distinctId: 'cleo',
        event: 'joined',
        groups: { company: 'acme', team: 'red' },
      })
      await client.shutdown()
      const joined = await ask(
        `select $group_0, group_0.properties.name, toString(group_0.properties.seats), $group_1, group_1.properties.name
         from events where event = 'joined'`,
      )
      expect(joined).toEqual([['acme', 'Acme', '6', 'red', null]])
      expect(await ask('select index, key, properties.name from groups')).toEqual([
        [0, 'acme', 'Acme'],
      ])
    },
    TIMEOUT_MS,
  )

  test(
    'sends again after a lost reply, and what came twice is stored once',
    async () => {
      const client = open(wire().url)
      const before = wire().passed.length
      wire().loseReplies(2, 'repeated')
      client.capture({ distinctId: 'dan', event: 'repeated', properties: { $set: { seen: 1 } } })
      client.capture({ distinctId: 'dan', event: 'repeated' })
      await client.shutdown()
      const sent = uuidsSent(wire().passed.slice(before))
      expect([...sent.values()]).toEqual([3, 3])
      const stored = await ask(
        `select toString(uuid) from events where event = 'repeated' order by 1`,
      )
      expect(stored.map(([uuid]) => uuid)).toEqual([...sent.keys()].toSorted())
    },
    TIMEOUT_MS,
  )
})

describe('what the newer majors offer', () => {
  const { wire, ask } = serverFor('newer')

  test.each([
    ['5', open5],
    ['4', open4],
  ] as const)(
    'posthog-node %s migrates history: times are kept to the millisecond',
    async (major, open) => {
      const client = open(wire().url, { historicalMigration: true })
      const before = wire().passed.length
      const times = ['2019-05-06T07:08:09.123Z', '2020-01-01T00:00:00.001Z']
      for (const time of times) {
        client.capture({ distinctId: 'eve', event: `old ${major}`, timestamp: new Date(time) })
      }
      await client.shutdown()
      expect(
        wire()
          .passed.slice(before)
          .map(({ body }) => textIn(body)),
      ).toEqual([expect.stringContaining('"historical_migration":true')])
      const stored = await ask(
        `select toUnixTimestamp64Milli(timestamp) from events where event = 'old ${major}' order by timestamp`,
      )
      expect(stored).toEqual(times.map((time) => [Date.parse(time)]))
    },
    TIMEOUT_MS,
  )

  test.each([
    ['5', open5],
    ['4', open4],
  ] as const)(
    'posthog-node %s captures exceptions, and single events at once',
    async (major, open) => {
      const client = open(wire().url)
      client.captureException(new RangeError(`out of ${major}`), `fay-${major}`, { where: 'here' })
      await client.captureImmediate({ distinctId: `fay-${major}`, event: 'at once' })
      // Major 4 waits for neither of them, not even when it shuts down.
      const stored = await askUntil(
        async () => {
          await client.flush()
          return ask(
            `select event, properties.where, JSONExtractString(properties, '$exception_list', 1, 'type'),
               JSONExtractString(properties, '$exception_list', 1, 'value')
             from events where distinct_id = 'fay-${major}' order by event`,
          )
        },
        (rows) => rows.length === 2,
      )
      await client.shutdown()
      expect(stored).toEqual([
        ['$exception', 'here', 'RangeError', `out of ${major}`],
        ['at once', null, '', ''],
      ])
    },
    TIMEOUT_MS,
  )

  test.each([
    ['5', open5],
    ['4', open4],
  ] as const)(
    'posthog-node %s keeps what found no answer, and what it flushes later is stored once',
    async (major, open) => {
      const client = open(wire().url, { fetchRetryCount: 1 })
      const event = `kept ${major}`
      const before = wire().passed.length
      wire().loseReplies(2, event)
      client.capture({ distinctId: 'jan', event })
      const flushed = await askUntil(
        async () => {
          await client.flush().catch(() => null)
          return [...uuidsSent(wire().passed.slice(before)).values()]
        },
        (counts) => counts.includes(3),
      )
      await client.shutdown()
      expect(flushed).toEqual([3])
      expect(await ask(`select count() from events where event = '${event}'`)).toEqual([[1]])
    },
    TIMEOUT_MS,
  )

  test(
    'posthog-node 4 sends forms of lz64 where it may not send JSON',
    async () => {
      const client = open4(wire().url, { captureMode: 'form' })
      const before = wire().passed.length
      client.capture({ distinctId: 'ida', event: 'formed', properties: { title: 'Ωmega + 😀' } })
      await client.shutdown()
      const [form] = wire().passed.slice(before)
      expect([form?.path, form?.query.includes('ip=1')]).toEqual(['/e/', true])
      expect(textIn(form?.body ?? new Uint8Array())).not.toContain('formed')
      const formed = await ask(
        `select distinct_id, properties.title from events where event = 'formed'`,
      )
      expect(formed).toEqual([['ida', 'Ωmega + 😀']])
    },
    TIMEOUT_MS,
  )

  test(
    'posthog-node 5 sets and removes person properties, and captures AI events',
    async () => {
      const client = open5(wire().url)
      client.setPersonProperties({
        distinctId: 'gus',
        properties: { plan: 'pro', city: 'Ulm' },
        propertiesOnce: { first: 1 },
      })
      client.unsetPersonProperties({ distinctId: 'gus', properties: ['city'] })
      client.captureAi({
        distinctId: 'gus',
        event: '$ai_generation',
        properties: { $ai_model: 'some-model', $ai_input_tokens: 12 },
      })
      await client.shutdown()
      expect(
        await ask(
          `select properties.plan, properties.city, toString(properties.first) from persons
           where properties.plan = 'pro'`,
        ),
      ).toEqual([['pro', null, '1']])
      expect(
        await ask(
          `select properties.$ai_model, person.properties.plan from events where event = '$ai_generation'`,
        ),
      ).toEqual([['some-model', 'pro']])
    },
    TIMEOUT_MS,
  )
})

describe('a server that takes small bodies only', () => {
  const { wire, ask } = serverFor('small', { TIDEMARK_BODY_BYTES_MAX: '4096' })

  test.each([
    ['5', open5],
    ['4', open4],
  ] as const)(
    'posthog-node %s halves batches that are too large until they pass',
    async (major, open) => {
      const client = open(wire().url, { flushAt: 1000 })
      const filling = (number: number): string =>
        Bun.hash(String(number)).toString(36).repeat(40).slice(0, 400)
      for (let number = 0; number < 30; number++) {
        client.capture({
          distinctId: 'hal',
          event: `filled ${major}`,
          properties: { number, filling: filling(number) },
        })
      }
      await client.shutdown()
      expect(
        await ask(
          `select count(), sum(toInt(properties.number)) from events where event = 'filled ${major}'`,
        ),
      ).toEqual([[30, 435]])
    },
    TIMEOUT_MS,
  )
})
