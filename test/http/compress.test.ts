/** Answers of the management API on the wire: compressed for those who take it, and equal to the plain ones. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { readConfig } from '../../src/config.ts'
import { accepts } from '../../src/http/answers/accept-encoding.ts'
import { openLog } from '../../src/logs.ts'
import type { Server } from '../../src/serve/listening.ts'
import { startServer } from '../../src/serve.ts'

const KEY = 'phx_preset_key_for_compression'
const DECODERS = { gzip: gunzipSync, zstd: zstdDecompressSync } as const

let folder = ''
let server: Server
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-compress-'))
  const env = {
    TIDEMARK_BOOTSTRAP_API_TOKEN: 'phc_compress',
    TIDEMARK_BOOTSTRAP_PERSONAL_API_KEY: KEY,
    TIDEMARK_PORT: '0',
  }
  server = await startServer(
    readConfig({ data_dir: folder }, env),
    openLog('error', [], { write: () => undefined }),
  )
}, 60_000)
afterAll(async () => {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

type WireAnswer = {
  readonly status: number
  readonly headers: Headers
  readonly body: Buffer
}

/** Sends one request and reads the bytes of its answer, as no client that decodes them can. */
function exchange(
  line: string,
  headers: Readonly<Record<string, string>>,
  body = '',
): Promise<WireAnswer> {
  const { hostname, port } = new URL(server.url)
  const all = {
    Host: `${hostname}:${port}`,
    Authorization: `Bearer ${KEY}`,
    Connection: 'close',
    'Content-Length': String(Buffer.byteLength(body)),
    ...headers,
  }
  const fields = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect(Number(port), hostname, () => {
      socket.write(`${line} HTTP/1.1\r\n${fields.join('')}\r\n${body}`)
    })
    socket.on('data', (bytes) => chunks.push(Buffer.from(bytes)))
    socket.on('end', () => socket.end())
    socket.on('close', () => resolve(readAnswer(Buffer.concat(chunks))))
    socket.on('error', reject)
  })
}

function readAnswer(bytes: Buffer): WireAnswer {
  const end = bytes.indexOf('\r\n\r\n')
  const [status_line = '', ...fields] = bytes.toString('latin1', 0, end).split('\r\n')
  const headers = new Headers(
    fields.map((field) => {
      const colon = field.indexOf(':')
      return [field.slice(0, colon), field.slice(colon + 1).trim()] as [string, string]
    }),
  )
  const rest = bytes.subarray(end + 4)
  const body = headers.get('transfer-encoding') === 'chunked' ? joinChunks(rest) : rest
  return { status: Number(status_line.split(' ')[1]), headers, body }
}

function joinChunks(bytes: Buffer): Buffer {
  const chunks: Buffer[] = []
  for (let at = 0; ; ) {
    const line_end = bytes.indexOf('\r\n', at)
    const length = Number.parseInt(bytes.toString('latin1', at, line_end), 16)
    if (!(length > 0)) return Buffer.concat(chunks)
    chunks.push(bytes.subarray(line_end + 2, line_end + 2 + length))
    at = line_end + 2 + length + 2
  }
}

const ask = (query: string, headers: Readonly<Record<string, string>>, path = 'query/') =>
  exchange(
    `POST /api/projects/1/${path}`,
    { 'Content-Type': 'application/json', ...headers },
    JSON.stringify({ query: { kind: 'HogQLQuery', query } }),
  )

const numbers = (count: number): string =>
  `select number, concat('line ', toString(number % 7)) from numbers(${count}) order by number limit ${count}`

/** Small, larger than what is compressed on the event loop, and larger than what is sent in one part. */
const COUNTS = [200, 20_000, 50_000] as const

describe.each(['gzip', 'zstd'] as const)('an answer for a client that takes %s', (coding) => {
  test.each(COUNTS)('is compressed and has the same %p rows', async (count) => {
    const plain = await ask(numbers(count), {})
    const packed = await ask(numbers(count), { 'Accept-Encoding': coding })
    expect([plain.headers.get('content-encoding'), packed.headers.get('content-encoding')]).toEqual(
      [null, coding],
    )
    expect([plain.headers.get('vary'), packed.headers.get('vary')]).toEqual([
      'Accept-Encoding',
      'Accept-Encoding',
    ])
    const unpacked = DECODERS[coding](packed.body)
    const { results } = JSON.parse(unpacked.toString())
    expect(results).toHaveLength(count)
    expect(results).toEqual(JSON.parse(plain.body.toString()).results)
    expect(packed.body.length * 2).toBeLessThan(unpacked.length)
  })
})

test('a long list, which is sent in parts, is compressed as a stream', async () => {
  const batch = Array.from({ length: 300 }, (_, index) => ({
    event: 'long',
    distinct_id: `person ${index}`,
    properties: { text: `${index} ${'text '.repeat(1000)}` },
  }))
  const sent = await exchange(
    'POST /batch/',
    { 'Content-Type': 'application/json' },
    JSON.stringify({ api_key: 'phc_compress', batch }),
  )
  expect(sent.status).toBe(200)
  const line = 'GET /api/projects/1/events/?limit=300&event=long'
  const plain = await exchange(line, {})
  expect(plain.body.length).toBeGreaterThan(1024 * 1024)
  for (const coding of ['gzip', 'zstd'] as const) {
    const packed = await exchange(line, { 'Accept-Encoding': coding })
    expect(packed.headers.get('content-encoding')).toBe(coding)
    expect(DECODERS[coding](packed.body).equals(plain.body)).toBe(true)
  }
}, 60_000)

test('zstd is preferred, and weights count', async () => {
  const codingFor = async (accept: string) =>
    (await ask(numbers(200), { 'Accept-Encoding': accept })).headers.get('content-encoding')
  expect(await codingFor('gzip, deflate, br, zstd')).toBe('zstd')
  expect(await codingFor('gzip, zstd;q=0')).toBe('gzip')
  expect(await codingFor('br, deflate')).toBeNull()
})

test('HEAD has the headers of GET and no body', async () => {
  const headers = { 'Accept-Encoding': 'zstd' }
  const path = '/api/projects/1/property_definitions/?limit=100'
  const [got, head] = [
    await exchange(`GET ${path}`, headers),
    await exchange(`HEAD ${path}`, headers),
  ]
  const shown = (answer: WireAnswer) =>
    ['content-encoding', 'content-type', 'vary', 'content-length'].map((name) =>
      answer.headers.get(name),
    )
  expect(shown(head)).toEqual(shown(got))
  expect(head.body).toHaveLength(0)
})

describe('what is not compressed', () => {
  const headers = { 'Accept-Encoding': 'gzip, zstd' }

  test('an answer below 1 kB', async () => {
    const { headers: sent, body } = await ask('select 1', headers)
    expect(body.length).toBeLessThan(1024)
    expect([sent.get('content-encoding'), sent.get('vary')]).toEqual([null, 'Accept-Encoding'])
  })

  test.each([
    'GET /api/projects/',
    'GET /api/projects/1/',
    'GET /api/organizations/',
    'GET /api/users/@me/',
    'GET /api/personal_api_keys/',
    'GET /api/organizations/@current/invites/',
  ])('%s, which may contain a token or a key', async (line) => {
    const { status, headers: sent } = await exchange(line, headers)
    expect([status, sent.get('content-encoding')]).toEqual([200, null])
  })

  test('rows as CSV, which are sent while they are computed', async () => {
    const { headers: sent, body } = await ask(numbers(2000), headers, 'query/?format=csv')
    expect([sent.get('content-encoding'), sent.get('content-type')]).toEqual([
      null,
      'text/csv; charset=utf-8',
    ])
    expect(body.toString().split('\n').length).toBeGreaterThan(2000)
  })

  test('the answer to an SDK that sends events or asks for flags', async () => {
    const event = { api_key: 'phc_compress', event: 'seen', distinct_id: 'a' }
    for (const path of ['/e/', '/flags/?v=2']) {
      const answer = await exchange(
        `POST ${path}`,
        { 'Content-Type': 'application/json', ...headers },
        JSON.stringify(event),
      )
      expect([answer.status, answer.headers.get('content-encoding')]).toEqual([200, null])
    }
  })
})

test('the tag of a compressed answer is weak, and still known', async () => {
  for (let index = 0; index < 20; index += 1) {
    const made = await exchange(
      'POST /api/projects/1/feature_flags/',
      { 'Content-Type': 'application/json' },
      JSON.stringify({
        key: `flag-${index}`,
        filters: { groups: [{ rollout_percentage: index }] },
      }),
    )
    expect(made.status).toBe(201)
  }
  const line = 'GET /api/projects/1/feature_flags/local_evaluation/'
  const first = await exchange(line, { 'Accept-Encoding': 'zstd' })
  const etag = first.headers.get('etag') ?? ''
  expect([first.headers.get('content-encoding'), etag.startsWith('W/"')]).toEqual(['zstd', true])
  const again = await exchange(line, { 'Accept-Encoding': 'zstd', 'If-None-Match': etag })
  expect([again.status, again.body.length]).toEqual([304, 0])
})

test.each([
  [null, false],
  ['', false],
  ['gzip', true],
  ['GZIP', true],
  ['br, x-gzip', true],
  ['gzip;q=0', false],
  ['gzip ; q=0.0, *', false],
  ['gzip;q=0.001', true],
  ['*', true],
  ['*;q=0', false],
  ['identity', false],
  ['gzipped', false],
  ['gzip;q=x', false],
  ['__proto__, constructor', false],
])('a client that sends %p takes gzip: %p', (header, is_taken) => {
  expect(accepts(header, 'gzip')).toBe(is_taken)
})
