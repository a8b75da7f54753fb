/** Plugins over the wire: set, run on real events, told of in logs; destinations are called and guarded. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { Addresses } from '../../../src/plugins/addresses.ts'
import { Destinations, trimLimit } from '../../../src/plugins/destinations.ts'
import { moveSent } from '../../../src/plugins/plugin-config.ts'
import { signatureOf } from '../../../src/plugins/webhook.ts'
import { createSnapshotJob } from '../../../src/snapshots/job.ts'
import { openWorld, type World } from '../world.ts'

/** These wait for what other threads do, which a busy machine takes its time for. */
setDefaultTimeout(60_000)

const ROOT = '/api/environments/1/plugin_configs/'
const PLUGIN = { geoip: 1, property_filter: 2, drop_events: 3, urls: 4, ip: 5, webhook: 6 } as const

let world: World
beforeAll(async () => {
  world = await openWorld({ addresses: new Addresses(['127.0.0.1']) })
})
afterAll(() => world.close())

type Json = Readonly<Record<string, unknown>>

async function ask(method: string, path: string, body?: unknown) {
  const answer = await world.send(path, {
    method,
    headers: { Authorization: `Bearer ${world.first.personal_api_key}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  const json: Json = text === '' ? {} : JSON.parse(text)
  return { status: answer.status, json, text }
}

async function configure(plugin: number, config: Json = {}, more: Json = {}): Promise<string> {
  const { status, json } = await ask('POST', ROOT, { plugin, config, ...more })
  expect([status, json['detail']]).toEqual([201, undefined])
  return `${ROOT}${String(json['id'])}/`
}

async function capture(...events: readonly Json[]): Promise<void> {
  const batch = events.map((event) => ({ distinct_id: 'd', ...event }))
  const answer = await world.send('/batch/', {
    method: 'POST',
    body: JSON.stringify({ api_key: world.first.api_token, batch }),
  })
  expect(answer.status).toBe(200)
}

async function rows(query: string): Promise<unknown> {
  const body = { query: { kind: 'HogQLQuery', query }, refresh: 'force_blocking' }
  return (await ask('POST', '/api/environments/1/query/', body)).json['results']
}

/** Asks until something is so; the test's own time limit ends it otherwise. */
async function until<T>(look: () => Promise<T>, isSo: (seen: T) => boolean): Promise<T> {
  for (;;) {
    const seen = await look()
    if (isSo(seen)) return seen
    await Bun.sleep(20)
  }
}

const logsOf = async (path: string, query = '') => (await ask('GET', `${path}logs/${query}`)).json
const messagesOf = (logs: Json) => (logs['results'] as Json[]).map(({ message }) => String(message))

describe('plugin configs', () => {
  test('are made, listed, read, changed and deleted', async () => {
    const path = await configure(PLUGIN.drop_events, { events: ['noise'] }, { order: 3 })
    const read = await ask('GET', path)
    expect(read.json).toMatchObject({
      plugin: PLUGIN.drop_events,
      plugin_info: { key: 'drop_events', kind: 'transformation' },
      name: 'Drop events',
      enabled: true,
      order: 3,
      config: { events: ['noise'] },
      team_id: 1,
    })
    const changed = await ask('PATCH', path, { enabled: false, name: 'Noise', plugin: 1, id: 99 })
    expect(changed.json).toEqual({
      ...read.json,
      enabled: false,
      name: 'Noise',
      updated_at: expect.any(String),
    })
    const list = await ask('GET', '/api/projects/1/plugin_configs/')
    expect(list.json).toMatchObject({ count: 1, next: null, results: [{ name: 'Noise' }] })
    expect((await ask('DELETE', path)).status).toBe(204)
    expect((await ask('GET', path)).status).toBe(404)
    expect((await ask('GET', `${path}logs/`)).status).toBe(404)
    const log = await ask('GET', '/api/projects/1/activity_log/?scope=PluginConfig')
    expect(log.json).toMatchObject({ total_count: 3 })
  })

  test.each([
    [{}, 'required', 'plugin'],
    [{ plugin: 99 }, 'does_not_exist', 'plugin'],
    [{ plugin: 'one' }, 'invalid_input', 'plugin'],
    [{ plugin: 2 }, 'required', 'config__properties'],
    [{ plugin: 2, config: { properties: [] } }, 'invalid_input', 'config__properties'],
    [{ plugin: 2, config: { properties: 'a' } }, 'invalid_input', 'config__properties'],
    [{ plugin: 2, config: { properties: [{ a: 1 }] } }, 'invalid_input', 'config__properties'],
    [{ plugin: 3, config: { events: ['a'], keep_only: 1 } }, 'invalid_input', 'config__keep_only'],
    [{ plugin: 5, order: -1 }, 'invalid_input', 'order'],
    [{ plugin: 6, config: {} }, 'required', 'config__url'],
    [
      { plugin: 6, config: { url: 'https://a.example', headers: { Host: 'x' } } },
      'invalid_input',
      'config__headers',
    ],
    [
      { plugin: 6, config: { url: 'https://a.example', headers: { Trailer: 'X-A' } } },
      'invalid_input',
      'config__headers',
    ],
    [
      { plugin: 6, config: { url: 'https://a.example', headers: { 'X-A': 'x\r\ny' } } },
      'invalid_input',
      'config__headers',
    ],
  ])('are refused the body %j', async (body, code, attr) => {
    const { status, json } = await ask('POST', ROOT, body)
    expect([status, json['code'], json['attr']]).toEqual([400, code, attr])
  })

  test('send no secret to a server that it was not given for', async () => {
    const headers = { Authorization: 'Bearer RECEIVER-SECRET' }
    const config = { url: 'https://receiver.example/a', events: ['paid'], headers, secret: 'abc' }
    const path = await configure(PLUGIN.webhook, config, { enabled: false })
    const hidden = (await ask('GET', path)).json['config'] as Json
    const stored = async () => (await ask('GET', path)).json['config']
    for (const url of [
      'https://mine.example/a',
      'http://receiver.example/a',
      'https://receiver.example:8443/a',
      'https://receiver.example@mine.example/a',
      'https://receiver.example.mine.example/a',
    ]) {
      for (const [sent, missing] of [
        [{ url }, 'headers'],
        [{ ...hidden, url }, 'headers'],
        [{ url, headers: {} }, 'secret'],
        [{ url, headers: { 'X-New': 'x' }, secret: hidden['secret'] }, 'secret'],
        [{ url, secret: null }, 'headers'],
      ] as const) {
        const { status, json } = await ask('PATCH', path, { config: sent })
        expect([status, json['code'], json['attr']]).toEqual([
          400,
          'required',
          `config__${missing}`,
        ])
      }
    }
    expect(await stored()).toEqual(hidden)
    // The same server, and another with secrets of its own.
    const nearer = { ...hidden, url: 'https://receiver.example/b' }
    expect((await ask('PATCH', path, { config: nearer })).status).toBe(200)
    expect(await stored()).toEqual(nearer)
    const moved = { url: 'https://mine.example/', headers: { 'X-New': 'x' }, secret: null }
    expect((await ask('PATCH', path, { config: moved })).status).toBe(200)
    expect(await stored()).toEqual({
      url: moved.url,
      events: ['paid'],
      headers: hidden['headers'],
    })
    // Without secrets an address is an address.
    const open = await configure(PLUGIN.webhook, { url: 'https://a.example/', events: ['paid'] })
    expect((await ask('PATCH', open, { config: { url: 'https://b.example/' } })).status).toBe(200)
    for (const one of [path, open]) await ask('DELETE', one)
  })
})

describe('a transformation', () => {
  test('takes properties out of events and persons', async () => {
    const path = await configure(PLUGIN.property_filter, { properties: ['secret', '$ip'] })
    const properties = { secret: 1, open: 2, $ip: '8.8.8.8', $set: { secret: 3, plan: 'pro' } }
    await capture({ event: 'filtered', distinct_id: 'f', properties, $set: { secret: 4 } })
    expect(
      await rows(
        `select properties.secret, properties.open, properties.$ip, person.properties.secret,
         person.properties.plan from events where event = 'filtered'`,
      ),
    ).toEqual([[null, 2, null, null, 'pro']])
    await ask('DELETE', path)
  })

  test('drops events by name, and stops as soon as it is switched off', async () => {
    const path = await configure(PLUGIN.drop_events, { events: ['noise'] })
    await capture({ event: 'noise' }, { event: 'signal' })
    await ask('PATCH', path, { enabled: false })
    await capture({ event: 'noise' })
    await ask('PATCH', path, { enabled: true, config: { keep_only: true } })
    await capture({ event: 'noise' }, { event: 'signal' })
    const seen = "select event, count() from events where event in ('noise', 'signal') group by 1"
    expect(await rows(`${seen} order by 1`)).toEqual([
      ['noise', 2],
      ['signal', 1],
    ])
    await ask('DELETE', path)
  })

  test('writes addresses in one way and hides the end of IP addresses', async () => {
    const paths = [await configure(PLUGIN.urls, { drop_query: true }), await configure(PLUGIN.ip)]
    const urls = { $current_url: 'HTTPS://A.example/Path/?q=1#h', $referrer: '$direct' }
    await capture(
      { event: 'n', distinct_id: '1', properties: { ...urls, $ip: '8.8.4.4' } },
      { event: 'n', distinct_id: '2', properties: { $current_url: 'x/', $ip: '2001:db8:1:2::9' } },
    )
    expect(
      await rows(
        `select properties.$current_url, properties.$referrer, properties.$ip from events
         where event = 'n' order by distinct_id`,
      ),
    ).toEqual([
      ['https://a.example/path', '$direct', '8.8.4.0'],
      ['x', null, '2001:db8:1::'],
    ])
    for (const path of paths) await ask('DELETE', path)
  })

  test('runs in the order that is set, in bodies of every size', async () => {
    const paths = [
      await configure(PLUGIN.drop_events, { events: ['late'] }, { order: 2 }),
      await configure(PLUGIN.property_filter, { properties: ['a'] }, { order: 1 }),
    ]
    const many = Array.from({ length: 500 }, (_, n) => ({
      event: n % 2 === 0 ? 'late' : 'kept',
      properties: { a: 1, filler: 'x'.repeat(100) },
    }))
    // Large bodies are prepared on another thread as soon as that has started.
    for (let round = 0; round < 4; round += 1) {
      await capture(...many)
      await Bun.sleep(50)
    }
    expect(
      await rows(
        `select event, count(), countIf(properties.a is not null) from events
         where event in ('late', 'kept') group by 1`,
      ),
    ).toEqual([['kept', 1000, 0]])
    const [first = '', second = ''] = paths
    const told = (path: string) => async () => {
      const numbers = messagesOf(await logsOf(path, '?limit=1000')).map((message) =>
        Number(/^(\d+) events: /.exec(message)?.[1] ?? 0),
      )
      return numbers.reduce((sum, number) => sum + number, 0)
    }
    expect(await until(told(second), (sum) => sum >= 2000)).toBe(2000)
    expect(await until(told(first), (sum) => sum >= 2000)).toBe(2000)
    for (const path of paths) await ask('DELETE', path)
  })

  test('of one project leaves the events of others alone', async () => {
    const other = await ask('POST', '/api/projects/', { name: 'other' })
    const made = await ask('POST', `/api/projects/${String(other.json['id'])}/plugin_configs/`, {
      plugin: PLUGIN.drop_events,
      config: { events: ['mine'] },
    })
    expect(made.status).toBe(201)
    await capture({ event: 'mine' })
    expect(await rows("select count() from events where event = 'mine'")).toEqual([[1]])
    const stranger = `${ROOT}${String(made.json['id'])}/`
    expect((await ask('GET', stranger)).status).toBe(404)
    expect((await ask('GET', `${stranger}logs/`)).status).toBe(404)
  })
})

describe('the log of a plugin config', () => {
  test('has the shape of the interface and its filters', async () => {
    const path = await configure(PLUGIN.ip)
    await ask('PATCH', path, { enabled: false })
    await ask('PATCH', path, { enabled: true })
    const id = Number(path.split('/').at(-2))
    const logs = await logsOf(path)
    expect(logs).toEqual({
      count: 3,
      next: null,
      previous: null,
      results: ['is on.', 'is off.', 'is on.'].map((state) => ({
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        team_id: 1,
        plugin_id: PLUGIN.ip,
        plugin_config_id: id,
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        source: 'SYSTEM',
        type: 'INFO',
        message: `IP anonymizer ${state}`,
        instance_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      })),
    })
    const [, middle] = logs['results'] as Json[]
    const at = encodeURIComponent(String(middle?.['timestamp']))
    const address = `https://tidemark.example${path}logs/`
    expect(await logsOf(path, '?limit=1&offset=1&search=IS')).toMatchObject({
      count: 3,
      next: `${address}?limit=1&offset=2&search=IS`,
      previous: `${address}?limit=1&search=IS`,
      results: [{ message: 'IP anonymizer is off.' }],
    })
    expect(await logsOf(path, '?search=off')).toMatchObject({ count: 1 })
    expect(await logsOf(path, '?search=%25')).toMatchObject({ count: 0 })
    expect(await logsOf(path, '?type_filter=ERROR&type_filter=WARN')).toMatchObject({ count: 0 })
    expect(await logsOf(path, '?type_filter=ERROR&type_filter=info')).toMatchObject({ count: 3 })
    const later = Number((await logsOf(path, `?after=${at}`))['count'])
    const earlier = Number((await logsOf(path, `?before=${at}`))['count'])
    expect([later <= 2, earlier <= 2]).toEqual([true, true])
    expect(await logsOf(path, '?after=2020-01-01T00:00:00Z')).toMatchObject({ count: 3 })
    expect(await logsOf(path, '?before=2020-01-01')).toMatchObject({ count: 0 })
  })

  test.each([
    ['limit=x', 'invalid_input', 'limit'],
    ['limit=-1', 'invalid_input', 'limit'],
    ['after=yesterday', 'invalid_date', 'after'],
    ['before=1', 'invalid_date', 'before'],
    ['type_filter=FATAL', 'invalid_choice', 'type_filter'],
  ])('refuses ?%s', async (query, code, attr) => {
    const path = await configure(PLUGIN.ip, {}, { enabled: false })
    expect(await logsOf(path, `?${query}`)).toMatchObject({ code, attr })
  })
})

describe('a webhook', () => {
  /** Answers what it is told to, one status after the other, and keeps what it was sent. */
  function receiver(...statuses: readonly number[]) {
    const seen: { readonly headers: Headers; readonly body: string }[] = []
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch(request) {
        seen.push({ headers: request.headers, body: await request.text() })
        const status = statuses[seen.length - 1] ?? 200
        return new Response('', { status, headers: { Location: 'http://127.0.0.1:1/' } })
      },
    })
    return { url: `http://127.0.0.1:${server.port}/in?a=1`, seen, stop: () => server.stop(true) }
  }

  test('gets the events it asked for, in order, signed, and keeps its secrets', async () => {
    const hook = receiver()
    const headers = { 'X-Key': 'hush' }
    const config = { url: hook.url, events: ['paid'], headers, secret: 'abc' }
    const path = await configure(PLUGIN.webhook, config)
    const shown = await ask('GET', path)
    expect(shown.text).not.toMatch(/hush|abc"/)
    await ask('PATCH', path, { config: shown.json['config'] })
    await capture(
      { event: 'free' },
      { event: 'paid', properties: { n: 1 } },
      { event: 'paid', properties: { n: 2 } },
    )
    await until(
      async () => hook.seen.length,
      (count) => count >= 1,
    )
    const [got] = hook.seen
    const body: { events: Json[] } = JSON.parse(got?.body ?? '{}')
    expect(body).toMatchObject({
      project_id: 1,
      events: [
        { event: 'paid', distinct_id: 'd', properties: { n: 1 }, uuid: expect.any(String) },
        { event: 'paid', properties: { n: 2 }, timestamp: expect.stringMatching(/Z$/) },
      ],
    })
    expect(got?.headers.get('x-key')).toBe('hush')
    expect(got?.headers.get('x-tidemark-signature')).toBe(signatureOf('abc', got?.body ?? ''))
    const messages = await until(
      async () => messagesOf(await logsOf(path)),
      (all) => all.length > 1,
    )
    expect(messages[0]).toBe('2 events sent, answered 200.')
    await ask('DELETE', path)
    await hook.stop()
  })

  test('that fails is tried again, and what is refused is told', async () => {
    const hook = receiver(500, 429, 200, 400, 302)
    const path = await configure(PLUGIN.webhook, { url: hook.url, events: ['try'] })
    for (let count = 0; count < 3; count += 1) {
      await capture({ event: 'try' })
      await until(
        async () => hook.seen.length,
        (seen) => seen >= 3 + count,
      )
      await Bun.sleep(20)
    }
    const messages = await until(
      async () => messagesOf(await logsOf(path)),
      (all) => all.length > 5,
    )
    expect(messages).toEqual([
      '1 events not sent after 1 tries: answered 302.',
      '1 events not sent after 1 tries: answered 400.',
      '1 events sent, answered 200.',
      '1 events not sent yet (try 2): answered 429.',
      '1 events not sent yet (try 1): answered 500.',
      'Webhook is on.',
    ])
    expect((await logsOf(path, '?type_filter=ERROR'))['count']).toBe(2)
    expect(hook.seen).toHaveLength(5)
    await ask('DELETE', path)
    await hook.stop()
  })

  test('that was switched off gets the events from when it is on again', async () => {
    const hook = receiver()
    const path = await configure(PLUGIN.webhook, { url: hook.url, events: ['off', 'on'] })
    await ask('PATCH', path, { enabled: false })
    await capture({ event: 'off' })
    await ask('PATCH', path, { enabled: true })
    await capture({ event: 'on' })
    await until(
      async () => hook.seen.length,
      (count) => count >= 1,
    )
    const { events }: { events: Json[] } = JSON.parse(hook.seen[0]?.body ?? '{}')
    expect(events.map(({ event }) => event)).toEqual(['on'])
    expect((await logsOf(path, '?type_filter=ERROR'))['count']).toBe(0)
    const skipped = expect.stringMatching(/^Events \d+ to \d+ of the server were not sent before/)
    expect(messagesOf(await logsOf(path))).toContainEqual(skipped)
    await ask('DELETE', path)
    await hook.stop()
  })

  test('that never answers well is given up after six tries', async () => {
    const hook = receiver(...Array.from({ length: 9 }, () => 503))
    const path = await configure(PLUGIN.webhook, { url: hook.url, events: ['never'] })
    await capture({ event: 'never' })
    const logs = await until(
      async () => messagesOf(await logsOf(path, '?type_filter=ERROR')),
      (all) => all.length > 0,
    )
    expect(logs).toEqual(['1 events not sent after 6 tries: answered 503.'])
    expect(hook.seen).toHaveLength(6)
    await ask('DELETE', path)
    await hook.stop()
  })

  test.each([
    'http://127.0.0.2/',
    'http://localhost/',
    'http://a.localhost./',
    'http://2130706434/',
    'http://0x7f.2/',
    'http://10.0.0.1:8080/',
    'http://172.16.0.1/',
    'http://192.168.1.1/',
    'http://169.254.169.254/latest/meta-data/',
    'http://100.64.0.1/',
    'http://0.0.0.0/',
    'http://[::1]/',
    'http://[::]/',
    'http://[::ffff:10.0.0.1]/',
    'http://[::ffff:a00:1]/',
    'http://[fd00::1]/',
    'http://[fe80::1]/',
    'http://[64:ff9b::a00:1]/',
    'http://[2002:a00:1::]/',
    'http://168.63.129.16/',
    'http://[64:ff9b:1::a00:1]/',
    'http://[::ffff:0:10.0.0.1]/',
    'http://[2001:0:a00:1::]/',
    'http://[2001:db8::1]/',
    'http://[3fff::1]/',
    'http://[4000::1]/',
    'http://[5f00::1]/',
    'http://[fd00:ec2::254]/',
    'http://[ff02::1]/',
    'https://user:pass@a.example/',
    'ftp://a.example/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'not a url',
  ])('may not lead to %s', async (url) => {
    // 127.0.0.1 is allowed in this world, everything else that is private is not.
    const config = url.includes('localhost')
      ? { url: url.replace('localhost', 'internal') }
      : { url }
    const strict = new Addresses()
    expect(() => strict.requirePublicUrl(url, 'config__url')).toThrow()
    if (url.includes('localhost')) return
    const { status, json } = await ask('POST', ROOT, { plugin: PLUGIN.webhook, config })
    expect([status, json['attr']]).toEqual([400, 'config__url'])
  })

  test('is judged again when it is sent: a name may come to lead inside', async () => {
    const strict = new Addresses()
    const refusalOf = (url: string) =>
      strict.resolve(new URL(url)).then(
        () => 'none',
        (error: unknown) => String(error),
      )
    // A name that leads inside and one that there is not are the same for who reads the log.
    for (const host of ['localhost', '[::ffff:7f00:1]', 'there-is-no-such-name.invalid']) {
      expect(await refusalOf(`http://${host}:1/`)).toBe(
        `Error: ${host.replace(/[[\]]/g, '')} has no public address`,
      )
    }
    expect(await strict.resolve(new URL('https://1.1.1.1/x'))).toMatchObject({
      ip: '1.1.1.1',
      port: 443,
    })
    expect(strict.requirePublicUrl('https://hooks.example/a?b', 'url').host).toBe('hooks.example')
  })

  test('that was sent events which a backup does not have gets those that come in their place', async () => {
    const hook = receiver()
    const path = await configure(PLUGIN.webhook, { url: hook.url, events: ['after'] })
    const { control, destinations } = world.needs
    const from = destinations.lastSeq()
    expect(moveSent(control, Number(path.split('/').at(-2)), { from, to: from + 1000 })).toBe(true)
    const log = { error: () => undefined }
    const addresses = new Addresses(['127.0.0.1'])
    const now = () => new Date()
    const begun = new Destinations({
      data_dir: world.data_dir,
      control,
      addresses,
      log,
      now,
      matchAction: () => Promise.resolve(new Map()),
    })
    await capture({ event: 'after' })
    await until(
      async () => hook.seen.length,
      (count) => count >= 1,
    )
    expect(hook.seen[0]?.body).toContain('"event":"after"')
    await begun.close()
    await ask('DELETE', path)
    await hook.stop()
  })

  test('that is behind finds its events in the log, up to a limit; what it skips is told', async () => {
    const log = new Database(join(world.data_dir, 'events.db'), { readonly: true })
    const snapshotsKeeping = (kept_max?: number) =>
      createSnapshotJob({
        data_dir: world.data_dir,
        settings: { rows: 1e9, age_s: 1e9, memory_mb: 256 },
        capture: world.capture,
        readers: world.engine,
        trimmable: (flushed_seq) => trimLimit(world.needs.control, flushed_seq, kept_max),
        log: { info: () => undefined, error: () => undefined },
      })
    const listSeqs = () =>
      log
        .query<{ seq: number }, []>('select seq from events order by seq')
        .all()
        .map(({ seq }) => seq)
    const [asked, hold] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const got: string[] = []
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch(request) {
        asked.resolve()
        await hold.promise
        const { events }: { events: Json[] } = JSON.parse(await request.text())
        got.push(...events.map(({ event }) => String(event)))
        return new Response('')
      },
    })
    const url = `http://127.0.0.1:${server.port}/`
    const path = await configure(PLUGIN.webhook, { url, events: ['a', 'b', 'c', 'd'] })
    const already = world.needs.destinations.lastSeq()
    await capture({ event: 'a' })
    await asked.promise
    for (const event of ['b', 'c', 'd']) await capture({ event })
    const seqs = listSeqs().filter((seq) => seq > already)
    const patient = snapshotsKeeping()
    await patient.run()
    await patient.close()
    expect(listSeqs()).toEqual(seqs)
    const strict = snapshotsKeeping(1)
    await strict.run()
    await strict.close()
    expect(listSeqs()).toEqual(seqs.slice(-1))
    const found = await rows("select count() from events where event in ('a', 'b', 'c', 'd')")
    expect(found).toEqual([[4]])
    hold.resolve()
    await until(
      async () => got,
      (all) => all.includes('d'),
    )
    const messages = await until(
      async () => messagesOf(await logsOf(path, '?type_filter=ERROR')),
      (all) => all.length > 0,
    )
    expect(got).toEqual(['a', 'd'])
    expect(messages).toEqual([
      `Events ${String(seqs[1])} to ${String(seqs[2])} of the server were stored away before they could be sent; those of the project are skipped.`,
    ])
    const last = snapshotsKeeping()
    await until(
      async () => {
        await last.run()
        return listSeqs()
      },
      (left) => left.length === 0,
    )
    await last.close()
    await ask('DELETE', path)
    await server.stop(true)
    log.close()
  })
})
