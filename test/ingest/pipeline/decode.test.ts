/** Bodies: every shape in every wrapping lands as the same event; what is no request is refused. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { gzipSync } from 'node:zlib'
import * as fc from 'fast-check'
import { compressToBase64 } from 'lz-string'
import { Refusal } from '../../../src/errors.ts'
import { decodeRequest } from '../../../src/ingest/pipeline/decode.ts'
import type { RawCapture } from '../../../src/ingest/threads/messages.ts'
import { limitOf } from '../../long-tests.ts'
import { fewOrMany, randomRuns } from '../../random-runs.ts'
import { bytesOf, Folder, NOW, OTHER_TOKEN, STORED_ONE, TOKEN } from '../folder.ts'

const folder = new Folder()
beforeAll(async () => {
  await folder.open({ body_bytes_max: 200_000 })
})
afterAll(() => folder.remove())

const event = { event: 'seen', distinct_id: 'u', properties: { text: 'Zürich 日本 😀', n: 1 } }
const inProperties = {
  event: 'seen',
  properties: { ...event.properties, token: TOKEN, distinct_id: 'u' },
}

const SHAPES: readonly [name: string, body: unknown][] = [
  ['one event with api_key', { ...event, api_key: TOKEN }],
  ['one event with token', { ...event, token: TOKEN }],
  [
    'one event with $token and $distinct_id',
    { event: 'seen', $token: TOKEN, $distinct_id: 'u', properties: event.properties },
  ],
  ['one event with everything in its properties', inProperties],
  ['a list', [inProperties]],
  ['a batch', { api_key: TOKEN, batch: [event] }],
  ['a batch with token', { token: TOKEN, batch: [event] }],
]

const form = (fields: Record<string, string>): Partial<RawCapture> => ({
  body: bytesOf(new URLSearchParams(fields).toString()),
  content_type: 'application/x-www-form-urlencoded',
})
const multipart = (fields: Record<string, string>): Partial<RawCapture> => {
  const parts = Object.entries(fields).map(
    ([name, text]) => `--xyz\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`,
  )
  return {
    body: bytesOf(`${parts.join('')}--xyz--\r\n`),
    content_type: 'multipart/form-data; boundary=xyz',
  }
}
const base64 = (json: string) => Buffer.from(json).toString('base64')
/** As posthog-js up to 1.261 does it: each UTF-16 unit by itself, so that an emoji is two times three bytes. */
const cesu8 = (json: string) =>
  Buffer.concat(
    json.split('').map((unit) => {
      const code = unit.charCodeAt(0)
      if (code < 0x800) return Buffer.from(unit)
      return Buffer.from([0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f)])
    }),
  )

const WRAPPINGS: readonly [name: string, wrap: (json: string) => Partial<RawCapture>][] = [
  ['JSON', (json) => ({ body: bytesOf(json) })],
  ['JSON after a byte order mark', (json) => ({ body: bytesOf(`\uFEFF${json}`) })],
  ['JSON as text/plain', (json) => ({ body: bytesOf(json), content_type: 'text/plain' })],
  ['JSON without a content type', (json) => ({ body: bytesOf(`\n ${json}\n`), content_type: '' })],
  ['gzip, announced', (json) => ({ body: bytesOf(gzipSync(json)), content_encoding: 'gzip' })],
  ['gzip, unannounced', (json) => ({ body: bytesOf(gzipSync(json)), content_type: 'text/plain' })],
  ['gzip in gzip', (json) => ({ body: bytesOf(gzipSync(gzipSync(json))) })],
  [
    'gzip-js',
    (json) => ({ body: bytesOf(gzipSync(json)), query: 'compression=gzip-js&ip=1&ver=1.2' }),
  ],
  [
    'gzip announced as lz64',
    (json) => ({ body: bytesOf(gzipSync(json)), query: 'compression=lz64' }),
  ],
  ['JSON announced as gzip', (json) => ({ body: bytesOf(json), content_encoding: 'gzip' })],
  ['base64 form', (json) => form({ data: base64(json), compression: 'base64' })],
  ['base64 form, unnamed', (json) => form({ data: base64(json) })],
  [
    'base64 form, pluses unescaped',
    (json) => ({ body: bytesOf(`data=${base64(json)}`), content_type: 'text/plain' }),
  ],
  ['base64 form of CESU-8', (json) => form({ data: cesu8(json).toString('base64') })],
  ['gzip in a base64 form', (json) => form({ data: gzipSync(json).toString('base64') })],
  ['JSON form', (json) => form({ data: json })],
  ['multipart form with JSON', (json) => multipart({ data: json, compression: '' })],
  ['multipart form with base64', (json) => multipart({ ip: '1', data: base64(json) })],
  ['multipart form with a file', (json) => multipart({ 'data"; filename="event.json': json })],
  ['lz64 form', (json) => form({ data: compressToBase64(json), compression: 'lz64' })],
  ['lz64 body', (json) => ({ body: bytesOf(compressToBase64(json)), query: 'compression=lz64' })],
  ['base64 body', (json) => ({ body: bytesOf(base64(json)), content_type: 'text/plain' })],
  ['base64 in base64', (json) => ({ body: bytesOf(base64(base64(json))) })],
  ['GET with JSON', (json) => ({ body: bytesOf(''), query: `data=${encodeURIComponent(json)}` })],
  [
    'GET with base64',
    (json) => ({ body: bytesOf(''), query: `data=${encodeURIComponent(base64(json))}` }),
  ],
]

const rawRequest = (body: Uint8Array<ArrayBuffer>, content_type = ''): RawCapture => ({
  path: '/batch',
  query: '',
  content_type,
  content_encoding: '',
  client_ip: '',
  received_at_ms: NOW,
  body,
})

describe('a body', () => {
  for (const [shape, body] of SHAPES) {
    test.each(WRAPPINGS)(`with ${shape} as %s is stored`, async (_, wrap) => {
      const before = folder.events().length
      expect(await folder.send('', wrap(JSON.stringify(body)))).toEqual(STORED_ONE)
      const stored = folder.events().slice(before)
      expect(stored).toHaveLength(1)
      expect(stored[0]).toMatchObject({
        event: 'seen',
        distinct_id: 'u',
        properties: { text: 'Zürich 日本 😀', n: 1 },
      })
    })
  }

  test.each(['/e', '/capture', '/track', '/i/v0/e', '/batch', '/capture/'])(
    'in any shape is taken on %s',
    async (path) => {
      for (const [, body] of SHAPES) expect(await folder.send(body, { path })).toEqual(STORED_ONE)
    },
  )

  test('with numbers that JSON does not have is stored with nulls for them', async () => {
    const body = `{"api_key":"${TOKEN}","event":"nan","distinct_id":"u","properties":{"a":NaN,"b":-Infinity,"c":"NaN \\"Infinity"}}`
    expect(await folder.send(body)).toEqual(STORED_ONE)
    expect(folder.events().at(-1)?.properties).toMatchObject({
      a: null,
      b: null,
      c: 'NaN "Infinity',
    })
  })

  test('with a number beyond every double is stored with null for it', async () => {
    const body = `{"api_key":"${TOKEN}","event":"big","distinct_id":"u","properties":{"a":1e999,"b":9007199254740993}}`
    expect(await folder.send(body)).toEqual(STORED_ONE)
    expect(folder.events().at(-1)?.properties).toMatchObject({ a: null, b: 9007199254740992 })
  })

  test('of /engage updates a person', async () => {
    const body = { $set: { plan: 'pro' }, $token: TOKEN, $distinct_id: 'engaged' }
    expect(await folder.send(body, { path: '/engage/' })).toEqual(STORED_ONE)
    expect(folder.events().at(-1)?.event).toBe('$identify')
    expect(folder.person('engaged')?.properties).toMatchObject({ plan: 'pro' })
  })

  test.each<[string, Partial<RawCapture>, object]>([
    ['nothing', { body: bytesOf('') }, { code: 'no_data' }],
    ['blanks', { body: bytesOf('  \n') }, { code: 'no_data' }],
    ['an empty form field', form({ data: '', compression: 'base64' }), { code: 'no_data' }],
    ['a form without data', form({ ip: '1' }), { code: 'no_data' }],
    [
      'a word that could be base64',
      { body: bytesOf('undefined') },
      {
        code: 'invalid_payload',
        detail: 'Malformed request data: JSON Parse error: Unexpected identifier "undefined"',
      },
    ],
    [
      'null',
      { body: bytesOf('null') },
      {
        code: 'invalid_payload',
        detail: 'Malformed request data: neither an object nor a list',
      },
    ],
    ['a number', { body: bytesOf('12') }, { code: 'invalid_payload' }],
    ['cut JSON', { body: bytesOf('{"event":"a"') }, { code: 'invalid_payload' }],
    [
      'invalid UTF-8',
      { body: new Uint8Array([0x7b, 0xff, 0xfe, 0x7d]) },
      { code: 'invalid_payload' },
    ],
    [
      'a cut gzip stream',
      { body: bytesOf(gzipSync('{"event":"a"}').subarray(0, 20)) },
      { code: 'invalid_payload' },
    ],
    [
      'a batch that is no list',
      { body: bytesOf({ api_key: TOKEN, batch: {} }) },
      { code: 'invalid_payload', attr: 'batch' },
    ],
    [
      'null among the events',
      { body: bytesOf({ api_key: TOKEN, batch: [event, null] }) },
      { code: 'invalid_payload', detail: 'Invalid payload: some events are null' },
    ],
    [
      'a number among the events',
      { body: bytesOf({ api_key: TOKEN, batch: [event, 7] }) },
      { code: 'invalid_payload' },
    ],
    [
      'a bad uuid',
      { body: bytesOf({ api_key: TOKEN, batch: [event, { ...event, uuid: 'x' }] }) },
      { code: 'invalid_payload', attr: 'uuid', detail: 'Event field "uuid" is not a valid UUID!' },
    ],
    [
      'bad properties',
      { body: bytesOf({ api_key: TOKEN, batch: [{ ...event, properties: [] }] }) },
      { code: 'invalid_payload', attr: 'properties' },
    ],
    [
      'a bad sent_at',
      { body: bytesOf({ api_key: TOKEN, batch: [event], sent_at: 'soon' }) },
      { code: 'invalid_payload', attr: 'sent_at' },
    ],
    [
      'JSON nested 129 levels deep',
      {
        body: bytesOf(
          `{"api_key":"${TOKEN}","event":"a","distinct_id":"b","properties":${'{"a":'.repeat(127)}[]${'}'.repeat(127)}}`,
        ),
      },
      { code: 'invalid_payload' },
    ],
    [
      'JSON nested 50,000 levels deep',
      { body: bytesOf(`{"api_key":"${TOKEN}","a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`) },
      { code: 'invalid_payload' },
    ],
    ['more than the limit', { body: bytesOf(' '.repeat(200_001)) }, { code: 'request_too_large' }],
    [
      'a gzip bomb',
      { body: bytesOf(gzipSync('a'.repeat(20_000_000))) },
      { code: 'request_too_large' },
    ],
    [
      'an lz64 bomb',
      form({ data: compressToBase64('a'.repeat(1_000_000)), compression: 'lz64' }),
      { code: 'request_too_large' },
    ],
    ['no key', { body: bytesOf(event) }, { code: 'missing_api_key' }],
    ['a null key', { body: bytesOf({ ...event, api_key: null }) }, { code: 'missing_api_key' }],
    [
      'an empty key',
      { body: bytesOf({ ...event, api_key: ' ' }) },
      { code: 'empty', detail: 'Provided API key is not valid: empty' },
    ],
    [
      'a key that is no text',
      { body: bytesOf({ ...event, api_key: 7 }) },
      { code: 'not_string', detail: 'Provided API key is not valid: not_string' },
    ],
    [
      'a long key',
      { body: bytesOf({ ...event, api_key: 'x'.repeat(65) }) },
      { code: 'too_long', detail: 'Provided API key is not valid: too_long' },
    ],
    [
      'a foreign key',
      { body: bytesOf({ ...event, api_key: 'é' }) },
      { code: 'not_ascii', detail: 'Provided API key is not valid: not_ascii' },
    ],
    [
      'a personal key',
      { body: bytesOf({ ...event, api_key: 'phx_abc' }) },
      { code: 'personal_api_key', detail: 'Provided API key is not valid: personal_api_key' },
    ],
    [
      'an unknown key',
      { body: bytesOf({ ...event, api_key: 'phc_none' }) },
      { code: 'invalid_api_key', attr: 'api_key' },
    ],
    [
      'a list with two keys',
      {
        body: bytesOf([
          { ...event, token: TOKEN },
          { ...event, token: OTHER_TOKEN },
        ]),
      },
      { code: 'invalid_api_key' },
    ],
  ])('with %s is refused and stores nothing', async (_, request, refusal) => {
    const before = folder.events().length
    expect(await folder.send('', request)).toMatchObject({ kind: 'refused', ...refusal })
    expect(folder.events()).toHaveLength(before)
  })

  test.each<[string, (length: number) => string]>([
    ['a string that never ends', (length) => `"a":NaN,"b":"${'\\"'.repeat(length / 2)}`],
    [
      'nothing but numbers that JSON does not have',
      (length) => `"a":[${'NaN,'.repeat(length / 4)}1]}`,
    ],
    ['a string of backslashes', (length) => `"a":NaN,"b":"${'\\'.repeat(length)}"}`],
    ['many empty strings', (length) => `"a":NaN,"b":[${'"",'.repeat(length / 3)}""]}`],
    ['a number of dashes', (length) => `"a":NaN,"b":${'-'.repeat(length)}}`],
    ['names of tokens without one', (length) => '"token"   :'.repeat(length / 10)],
    ['blanks where a token should be', (length) => `"token":${' '.repeat(length)}}`],
  ])(
    'of megabytes with %s is decoded in seconds',
    (_, make) => {
      const length = fewOrMany(3, 18) * 1024 * 1024
      const body = bytesOf(`{"api_key":"${TOKEN}",${make(length)}`)
      const started = process.cpuUsage()
      try {
        decodeRequest(rawRequest(body), { body_bytes_max: 2 * length, knowsToken: () => true })
      } catch (error) {
        expect(error).toBeInstanceOf(Refusal)
      }
      // What reads a character again for each one before it takes hours.
      const { user, system } = process.cpuUsage(started)
      expect(user + system).toBeLessThan(10_000_000)
    },
    limitOf(60_000),
  )

  test('with a million fields has its first hundred read', () => {
    const body = bytesOf(`${'a&'.repeat(1_000_000)}data=1`)
    const decode = () =>
      decodeRequest(rawRequest(body, 'application/x-www-form-urlencoded'), {
        body_bytes_max: body.length,
        knowsToken: () => true,
      })
    expect(decode).toThrow('No data found.')
  })

  test('of lz64 beyond a megabyte is too large', () => {
    const body = bytesOf(`compression=lz64&data=${'A'.repeat(1024 * 1024 + 1)}`)
    const decode = () =>
      decodeRequest(rawRequest(body), { body_bytes_max: 2 * body.length, knowsToken: () => true })
    expect(decode).toThrow('Request too large.')
  })

  describe('of some length', () => {
    const long = { ...event, properties: { text: 'x'.repeat(100_000) } }
    // Only what is parsed is found not to be JSON.
    const cut = (body: object) => bytesOf(JSON.stringify(body).slice(0, -1))

    test.each<[string, Partial<RawCapture>, object]>([
      ['no token', { body: cut(long) }, { code: 'missing_api_key' }],
      [
        'an unknown token',
        { body: cut({ token: 'phc_none', ...long }) },
        { code: 'invalid_api_key' },
      ],
      [
        'an unknown token at its end',
        { body: cut({ ...long, api_key: 'phc_none' }) },
        { code: 'invalid_api_key' },
      ],
      [
        'an unknown token in the query',
        { body: cut({ api_key: TOKEN, ...long }), query: 'token=phc_none' },
        { code: 'invalid_api_key' },
      ],
      [
        'an unknown token below gzip',
        { body: bytesOf(gzipSync(cut({ api_key: 'phc_none', ...long }))) },
        { code: 'invalid_api_key' },
      ],
      ['a token', { body: cut({ api_key: TOKEN, ...long }) }, { code: 'invalid_payload' }],
    ])('with %s is parsed only for a known one', async (_, request, refusal) => {
      expect(await folder.send('', request)).toMatchObject({ kind: 'refused', ...refusal })
    })

    test.each<[string, unknown, Partial<RawCapture>]>([
      ['its token behind its events', { batch: [long], api_key: TOKEN }, {}],
      [
        'its token behind a thousand others',
        {
          batch: [
            long,
            ...Array.from({ length: 1000 }, () => ({ ...event, properties: { token: 'other' } })),
          ],
          api_key: TOKEN,
        },
        {},
      ],
      [
        'its token in its properties',
        [{ ...long, properties: { ...long.properties, token: TOKEN } }],
        {},
      ],
      [
        'its token between blanks',
        `{"api_key" : " ${TOKEN} ",${JSON.stringify(long).slice(1)}`,
        {},
      ],
      ['its token in the query', long, { query: `token=${TOKEN}` }],
    ])('with %s is stored', async (_, body, request) => {
      expect(await folder.send(body, request)).toMatchObject({ kind: 'stored' })
    })
  })

  test('that is any sequence of bytes is stored or refused', async () => {
    const start = fc.constantFrom(
      '',
      '{"api_key":"phc_one","batch":',
      'data=',
      '[',
      '\u001f\u008b\u0008',
    )
    const piece = fc.oneof(fc.uint8Array({ maxLength: 60 }), fc.json().map(bytesOf))
    await fc.assert(
      fc.asyncProperty(start, piece, fc.string(), async (head, tail, query) => {
        const body = new Uint8Array([...Buffer.from(head, 'latin1'), ...tail])
        const answer = await folder.send('', { body, query })
        expect(['stored', 'refused']).toContain(answer.kind)
      }),
      randomRuns(80),
    )
    expect(await folder.send({ ...event, api_key: TOKEN })).toEqual(STORED_ONE)
  })

  test('with any JSON for an event is stored or refused', async () => {
    const names = fc.constantFrom(
      'event',
      'distinct_id',
      'properties',
      'uuid',
      'timestamp',
      'offset',
      '$set',
      '$set_once',
      '$unset',
      '$elements',
      '$groups',
      'alias',
      '$anon_distinct_id',
      '__proto__',
    )
    const events = fc.constantFrom(
      '$identify',
      '$create_alias',
      '$groupidentify',
      '$merge_dangerously',
      'x',
    )
    const member = fc.dictionary(names, fc.jsonValue({ maxDepth: 3 }))
    await fc.assert(
      fc.asyncProperty(events, member, member, async (name, sent, properties) => {
        const answer = await folder.send({
          api_key: TOKEN,
          batch: [{ event: name, distinct_id: 'any', ...sent, properties }],
          sent_at: new Date(NOW).toISOString(),
        })
        expect(['stored', 'refused']).toContain(answer.kind)
      }),
      randomRuns(80),
    )
    expect(await folder.send({ ...event, api_key: TOKEN })).toEqual(STORED_ONE)
  })
})
