/** Every kind of no that the management API answers: status, family, code and what goes with it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { limitBodies } from '../../src/http/bodies/body.ts'
import { KeyLimits } from '../../src/query/service/key-limits.ts'
import { openWorld, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await openWorld({
    bodies: limitBodies({ body_bytes_max: 4096, receiving_bytes_max: 1_000_000 }),
  })
})
afterAll(() => world.close())

type Row = {
  readonly what: string
  readonly line: string
  readonly init?: RequestInit
  readonly status: number
  readonly type: string
  readonly code: string
  readonly detail: string | RegExp
  readonly attr?: string
}

const deep = `${'['.repeat(200)}${']'.repeat(200)}`
const INVALID = { status: 400, type: 'validation_error' } as const
const BROKEN = { status: 400, type: 'invalid_request', code: 'parse_error' } as const

const ROWS: readonly Row[] = [
  {
    ...INVALID,
    what: 'a blank',
    line: 'POST /api/projects/',
    init: { body: '{"name":""}' },
    code: 'blank',
    detail: 'This field may not be blank.',
    attr: 'name',
  },
  {
    ...INVALID,
    what: 'a null',
    line: 'POST /api/projects/',
    init: { body: '{"name":null}' },
    code: 'null',
    detail: 'This field may not be null.',
    attr: 'name',
  },
  {
    ...INVALID,
    what: 'something missing',
    line: 'POST /api/organizations/',
    init: { body: '{}' },
    code: 'required',
    detail: 'This field is required.',
    attr: 'name',
  },
  {
    ...INVALID,
    what: 'the first of several faults',
    line: 'POST /api/projects/',
    init: { body: '{"anonymize_ips":"x","name":7}' },
    code: 'invalid_input',
    detail: 'Not a valid string.',
    attr: 'name',
  },
  {
    ...INVALID,
    what: 'a nested fault',
    line: 'POST /api/projects/',
    init: { body: '{"app_urls":["a",7]}' },
    code: 'invalid_input',
    detail: 'Not a valid string.',
    attr: 'app_urls__1',
  },
  {
    ...BROKEN,
    what: 'broken JSON',
    line: 'POST /api/projects/',
    init: { body: '{"name":' },
    detail: /^JSON parse error - /,
  },
  {
    ...INVALID,
    what: 'no body',
    line: 'POST /api/organizations/',
    code: 'required',
    detail: 'This field is required.',
    attr: 'name',
  },
  {
    ...BROKEN,
    what: 'what is no UTF-8',
    line: 'POST /api/projects/',
    init: { body: new Uint8Array([123, 255, 125]) },
    detail: /^JSON parse error - /,
  },
  {
    ...BROKEN,
    what: 'what is nested too deep',
    line: 'POST /api/projects/',
    init: { body: deep },
    detail: /nested deeper/,
  },
  {
    what: 'a body of another type',
    line: 'POST /api/projects/',
    init: { body: 'name=x', headers: { 'Content-Type': 'text/plain' } },
    status: 415,
    type: 'invalid_request',
    code: 'unsupported_media_type',
    detail: 'Unsupported media type "text/plain" in request.',
  },
  {
    what: 'a body that is too large',
    line: 'POST /api/projects/',
    init: { body: JSON.stringify({ name: 'x'.repeat(5000) }) },
    status: 413,
    type: 'client_error',
    code: 'request_too_large',
    detail: 'Request too large.',
  },
  {
    what: 'an unknown path',
    line: 'GET /api/nothing/',
    status: 404,
    type: 'invalid_request',
    code: 'not_found',
    detail: 'Endpoint not found.',
  },
  {
    what: 'an unknown project',
    line: 'GET /api/projects/77/',
    status: 404,
    type: 'invalid_request',
    code: 'not_found',
    detail: 'Project not found.',
  },
  {
    what: 'an unknown organization',
    line: 'GET /api/organizations/77/',
    status: 404,
    type: 'invalid_request',
    code: 'not_found',
    detail: 'Organization not found.',
  },
  {
    what: 'an unknown thing',
    line: 'GET /api/projects/1/plugin_configs/77/',
    status: 404,
    type: 'invalid_request',
    code: 'not_found',
    detail: 'Not found.',
  },
  {
    what: 'another method',
    line: 'DELETE /api/users/@me/',
    status: 405,
    type: 'invalid_request',
    code: 'method_not_allowed',
    detail: 'Method "DELETE" not allowed.',
  },
]

describe('the management API answers', () => {
  test.each(ROWS)('$what with $status $code', async (row) => {
    const [method = '', path = ''] = row.line.split(' ')
    const headers = new Headers(row.init?.headers)
    headers.set('Authorization', `Bearer ${world.first.personal_api_key}`)
    const answer = await world.send(path, { ...row.init, method, headers })
    expect(answer.status).toBe(row.status)
    expect(answer.headers.get('content-type')).toBe('application/json')
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    expect(answer.headers.has('allow')).toBe(row.status === 405)
    const detail = row.detail instanceof RegExp ? expect.stringMatching(row.detail) : row.detail
    const { type, code, attr = null } = row
    expect(await answer.json()).toEqual({ type, code, detail, attr })
  })

  test('a body of unknown length that turns out too large with 413', async () => {
    const stream = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(1024).fill(32)),
    })
    const answer = await world.send('/api/projects/', {
      method: 'POST',
      headers: { Authorization: `Bearer ${world.first.personal_api_key}` },
      body: stream,
    })
    expect(answer.status).toBe(413)
  })

  test('too many calls of one key with 429, and when to come back', async () => {
    const clock = { now_ms: Date.now() }
    const now = () => new Date(clock.now_ms)
    const limits = { running_max: 0, per_minute: 3, per_hour: 0 }
    const busy = await openWorld({ now, call_limits: new KeyLimits(limits, now) })
    const ask = (key: string) =>
      busy.send('/api/users/@me/', { headers: { Authorization: `Bearer ${key}` } })
    const key = busy.first.personal_api_key
    for (let call = 0; call < 3; call += 1) expect((await ask(key)).status).toBe(200)
    const refused = await ask(key)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '20'])
    expect(await refused.json()).toEqual({
      type: 'throttled_error',
      code: 'throttled',
      detail: 'Request was throttled. Expected available in 20 seconds.',
      attr: null,
    })
    // Wrong keys are told so, whatever others did.
    expect((await ask('phx_nobody')).status).toBe(401)
    clock.now_ms += 20_000
    expect((await ask(key)).status).toBe(200)
    await busy.close()
  })

  test('a fault of its own without a word about it', async () => {
    const broken = await openWorld({
      publicUrl: () => {
        throw new Error('secret detail')
      },
    })
    const answer = await broken.send('/api/projects/', {
      headers: { Authorization: `Bearer ${broken.first.personal_api_key}` },
    })
    const text = await answer.text()
    expect([answer.status, JSON.parse(text).code]).toEqual([500, 'error'])
    expect(text).not.toContain('secret')
    await broken.close()
  })
})
