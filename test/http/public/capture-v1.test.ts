/** The newer capture protocol: an answer for each event, through the published client and by hand. */
import { describe, expect, setDefaultTimeout, spyOn, test } from 'bun:test'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { PostHog } from 'posthog-node'
import { joinWorld } from '../shared-world.ts'

const world = await joinWorld()
const { project_id } = world.first

setDefaultTimeout(60_000)

const PATH = '/i/v1/analytics/events'
const TIME = '2026-02-03T12:05:06.789Z'

const send = (
  body: string | Uint8Array<ArrayBuffer>,
  headers: Readonly<Record<string, string>> = {},
) =>
  world.send(PATH, {
    method: 'POST',
    headers: { Authorization: `Bearer ${world.first.api_token}`, ...headers },
    body,
  })
const batchOf = (...batch: readonly unknown[]) => JSON.stringify({ created_at: TIME, batch })
const event = (more: object = {}) => ({
  event: 'ordered',
  uuid: Bun.randomUUIDv7(),
  distinct_id: 'u',
  timestamp: TIME,
  options: {},
  properties: {},
  ...more,
})

async function rows(query: string): Promise<unknown> {
  const answer = await world.send(`/api/projects/${project_id}/query/`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${world.first.personal_api_key}` },
    body: JSON.stringify({ query: { kind: 'HogQLQuery', query }, refresh: 'force_blocking' }),
  })
  return JSON.parse(await answer.text()).results
}

describe('posthog-node in capture mode v1', () => {
  test('stores events with what the protocol says beside their properties', async () => {
    const before = process.env['POSTHOG_CAPTURE_MODE']
    process.env['POSTHOG_CAPTURE_MODE'] = 'v1'
    const paths: string[] = []
    const failures: unknown[] = []
    const client = new PostHog(world.first.api_token, {
      host: 'http://localhost',
      fetch: async (url, init) => {
        paths.push(new URL(url).pathname)
        const { method, headers, body } = init
        return world.send(new URL(url).pathname, {
          method,
          headers: headers as Record<string, string>,
          body: body as string | Uint8Array<ArrayBuffer>,
        })
      },
    })
    client.on('error', (error) => failures.push(error))
    client.capture({
      distinctId: 'sdk',
      event: 'bought',
      timestamp: new Date(TIME),
      properties: { price: 3, $session_id: 's1', $set: { plan: 'pro' } },
    })
    client.capture({
      distinctId: 'sdk',
      event: 'unnoticed',
      properties: { $process_person_profile: false },
    })
    client.capture({ distinctId: 'sdk', event: '$ai_generation', properties: { $ai_model: 'm' } })
    await client.shutdown()
    if (before === undefined) delete process.env['POSTHOG_CAPTURE_MODE']
    else process.env['POSTHOG_CAPTURE_MODE'] = before
    expect(failures).toEqual([])
    expect(paths).toContain(PATH)
    expect(
      await rows(`
        select event, properties.price, properties.$session_id, properties.$lib, properties.$process_person_profile,
          person.properties.plan
        from events where distinct_id = 'sdk' order by event`),
    ).toMatchObject([
      ['$ai_generation', null, null, 'posthog-node', null, 'pro'],
      ['bought', 3, 's1', 'posthog-node', null, 'pro'],
      ['unnoticed', null, null, 'posthog-node', false, 'pro'],
    ])
  })
})

describe('a batch', () => {
  test('is answered event by event: what cannot be stored is dropped, the others are stored', async () => {
    const cases = [
      [event(), 'ok'],
      [event({ event: ' ' }), 'missing_event_name'],
      [event({ distinct_id: '' }), 'missing_distinct_id'],
      [event({ timestamp: 'soon' }), 'invalid_event_timestamp'],
      [event({ properties: [] }), 'malformed_event_properties'],
      [event({ options: { process_person_profile: 'maybe' } }), 'invalid_options'],
      [event({ properties: { long: 'x'.repeat(1024 * 1024) } }), 'payload_too_large'],
      [
        event({ properties: { long: 'x'.repeat(1024 * 1024 - 300), $ip: '8.8.8.8' } }),
        'payload_too_large',
      ],
      [event({ options: { process_person_profile: 'FALSE' }, distinct_id: ' v1 ' }), 'ok'],
    ] as const
    const answer = await send(gzipSync(batchOf(...cases.map(([one]) => one))), {
      'content-encoding': 'gzip',
    })
    expect(answer.status).toBe(200)
    const results = Object.fromEntries(
      cases.map(([{ uuid }, outcome]) => [
        uuid,
        outcome === 'ok' ? { result: 'ok' } : { result: 'drop', details: outcome },
      ]),
    )
    expect(await answer.json()).toEqual({ results })
    expect(
      await rows("select distinct_id from events where event = 'ordered' order by distinct_id"),
    ).toEqual([['u'], ['v1']])
  })

  test('may be sent again: what was stored is not stored twice', async () => {
    const body = batchOf(event({ event: 'once' }))
    expect((await send(body)).status).toBe(200)
    expect((await send(body)).status).toBe(200)
    expect(await rows("select count() from events where event = 'once'")).toEqual([[1]])
  })

  test('has its times corrected by the clock of its sender', async () => {
    const sent_at = new Date(Date.now() - 3_600_000).toISOString()
    await send(batchOf(event({ event: 'slow clock', timestamp: sent_at })), {
      'posthog-request-timestamp': sent_at,
    })
    expect(
      await rows(
        "select abs(dateDiff('minute', timestamp, now())) < 5 from events where event = 'slow clock'",
      ),
    ).toEqual([[1]])
  })

  const twice = event()
  test.each([
    ['no JSON', '{', {}, 400, 'request_parsing_error'],
    ['no list', '{"batch":{}}', {}, 400, 'request_parsing_error'],
    ['nothing', '', {}, 400, 'empty_body'],
    ['no events', '{"batch":[]}', {}, 400, 'empty_batch'],
    ['an event without a uuid', batchOf({ ...event(), uuid: 'x' }), {}, 400, 'missing_event_uuid'],
    ['a uuid twice', batchOf(twice, twice), {}, 400, 'duplicate_event_uuid'],
    [
      'too much',
      batchOf(event({ properties: { a: 'x'.repeat(5_000_000) } })),
      {},
      413,
      'payload_too_large',
    ],
    [
      'another encoding',
      batchOf(event()),
      { 'content-encoding': 'compress' },
      415,
      'unsupported_encoding',
    ],
    [
      'other bytes than its encoding says',
      batchOf(event()),
      { 'content-encoding': 'br' },
      400,
      'request_decoding_error',
    ],
    [
      'another token',
      batchOf(event()),
      { Authorization: 'Bearer phc_other' },
      401,
      'invalid_api_token',
    ],
  ] as const)('with %s is refused as a whole', async (_name, body, headers, status, error) => {
    const answer = await send(body, headers)
    expect(answer.status).toBe(status)
    expect(await answer.json()).toMatchObject({ error })
  })

  describe.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
  ] as const)('packed with %s, as posthog-go may be told to,', (encoding, pack) => {
    const headers = { 'content-encoding': encoding }
    const sendPacked = (text: string) => send(new Uint8Array(pack(text)), headers)

    test('is stored', async () => {
      expect((await sendPacked(batchOf(event({ event: `packed ${encoding}` })))).status).toBe(200)
      const found = await rows(`select count() from events where event = 'packed ${encoding}'`)
      expect(found).toEqual([[1]])
    })

    test('is refused before it is unpacked if it has more bytes than it may', async () => {
      expect((await sendPacked(' '.repeat(5_000_000))).status).toBe(413)
    })
  })

  test('that is long, packed or not, is read on a thread: this one parses 64 KiB at most', async () => {
    const events = Array.from({ length: 500 }, () => event({ properties: { a: 'x'.repeat(500) } }))
    const parse = spyOn(JSON, 'parse')
    const answers = [await send(batchOf(...events)), await send(gzipSync(batchOf(...events)))]
    const lengths = parse.mock.calls.map(([text]) => text.length)
    parse.mockRestore()
    for (const answer of answers) {
      expect(answer.status).toBe(200)
      const { results } = (await answer.json()) as { readonly results: object }
      expect(Object.keys(results).toSorted()).toEqual(events.map(({ uuid }) => uuid).toSorted())
    }
    expect(Math.max(0, ...lengths)).toBeLessThanOrEqual(64 * 1024)
  })

  test('may come from pages', async () => {
    const preflight = await world.send(PATH, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://shop.example',
        'access-control-request-headers': 'authorization',
      },
    })
    expect(preflight.headers.get('access-control-allow-headers')).toBe('authorization')
    const answer = await send(batchOf(event()), { origin: 'https://shop.example' })
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://shop.example')
  })
})
