/** Whatever is sent to the endpoints that anybody may call: each answers by itself, and goes on to answer. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import * as fc from 'fast-check'
import { codePoint } from '../../code-points.ts'
import { openWorld, type World } from '../world.ts'

const REQUESTS = Number(Bun.env['REQUESTS'] ?? 600)

setDefaultTimeout(120_000 + 20 * REQUESTS)

/** The same requests in every run; another number tries others. */
const SEED = Number(Bun.env['SEED'] ?? 1)

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

const PATHS = [
  '/capture/',
  '/batch/',
  '/e/',
  '/track/',
  '/engage/',
  '/s/',
  '/decide/?v=3',
  '/flags/?v=2',
  '/flags/definitions',
  '/api/surveys/',
  '/api/early_access_features/',
  '/array/phc_x/config',
]
const NAMES = ['$pageview', '$identify', '$create_alias', '$groupidentify', '$exception', 'a', '']
const MEMBERS = ['$set', '$set_once', '$unset', '$groups', '$anon_distinct_id', 'alias', '$ip', 'a']
const HEADERS = [
  ['content-type', 'application/json'],
  ['content-type', 'application/x-www-form-urlencoded'],
  ['content-encoding', 'gzip'],
  ['x-forwarded-for', '999.1.1.1, x'],
] as const

const json = fc.jsonValue({ maxDepth: 3, stringUnit: codePoint })
const event = fc.record(
  {
    event: fc.oneof(fc.constantFrom(...NAMES), json),
    distinct_id: fc.oneof(fc.constantFrom('u', 'v'), json),
    properties: fc.oneof(fc.dictionary(fc.constantFrom(...MEMBERS), json), json),
    timestamp: json,
    offset: json,
    uuid: fc.oneof(fc.uuid(), json),
  },
  { requiredKeys: ['event', 'distinct_id'] },
)
const asked = fc.record({ distinct_id: json, groups: json, person_properties: json })
const sent = fc.oneof(event, asked, fc.record({ batch: fc.array(event, { maxLength: 4 }) }), json)
const request = fc.record({
  path: fc.constantFrom(...PATHS),
  method: fc.constantFrom('POST', 'POST', 'POST', 'GET'),
  sent,
  has_key: fc.nat(9).map((number) => number > 0),
  how: fc.constantFrom('plain', 'plain', 'packed', 'cut', 'form', 'address', 'nothing'),
  header: fc.constantFrom(...HEADERS),
})

type Asked = typeof request extends fc.Arbitrary<infer Request> ? Request : never

/** A body, or what is asked in the address, in one of the ways that clients have. */
function written({ path, sent: value, has_key, how }: Asked): {
  readonly target: string
  readonly body: string | Uint8Array<ArrayBuffer> | null
} {
  const api_key = has_key ? world.first.api_token : 'phc_nobody'
  const is_object = typeof value === 'object' && value !== null && !Array.isArray(value)
  const text = JSON.stringify(is_object ? { api_key, ...value } : value)
  const data = encodeURIComponent(Buffer.from(text).toString('base64'))
  const more = path.includes('?') ? '&' : '?'
  if (how === 'nothing') return { target: path, body: null }
  if (how === 'address') return { target: `${path}${more}data=${data}`, body: null }
  if (how === 'form') return { target: path, body: `data=${data}` }
  if (how === 'cut') return { target: path, body: text.slice(0, text.length / 2) }
  if (how === 'plain') return { target: path, body: text }
  return { target: `${path}${more}compression=gzip-js`, body: Bun.gzipSync(Buffer.from(text)) }
}

test('any request is answered, and none is a fault of the server', async () => {
  const statuses = new Map<number, number>()
  for (const one of fc.sample(request, { numRuns: REQUESTS, seed: SEED })) {
    const { target, body } = written(one)
    const answer = await world.send(target, {
      method: one.method,
      headers: [[...one.header]],
      ...(one.method === 'GET' ? {} : { body }),
    })
    await answer.text()
    expect([one, answer.status < 500]).toEqual([one, true])
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
  }
  // Requests that are all refused would show little.
  expect(statuses.get(200)).toBeGreaterThan(REQUESTS / 10)
  expect(world.log_lines.filter((line) => line.includes('"level":"error"'))).toEqual([])
})
