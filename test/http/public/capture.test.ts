/** Capture at the edge: answers, sizes, CORS. What happens to the events is for test/ingest. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { openWorld, type World } from '../world.ts'

const PATHS = ['/capture', '/batch', '/e', '/track', '/engage', '/i/v0/e', '/i/v0/ai/batch', '/s']
const MIB = 1024 * 1024

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

const event = (name: string) =>
  JSON.stringify({ api_key: world.first.api_token, event: name, distinct_id: 'u1' })

const post = (path: string, body: string | ReadableStream, headers: Record<string, string> = {}) =>
  world.send(path, { method: 'POST', body, headers })

const stored = (name: string) =>
  world.countEvents(`select count(*) as count from events where event = '${name}'`)

describe('capture', () => {
  test.each(PATHS.flatMap((path) => [path, `${path}/`, `${path}/?ver=1&ip=1`]))(
    'POST %s answers {"status":1} once the event is committed',
    async (path) => {
      const name = path === '/engage' || path.startsWith('/engage/') ? '$identify' : path
      const answer = await post(path, event(path))
      expect([answer.status, await answer.text()]).toEqual([200, '{"status":1}'])
      expect(answer.headers.get('content-type')).toBe('application/json')
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
      expect(stored(name)).toBeGreaterThan(0)
    },
  )

  test('GET takes the event from the address', async () => {
    const data = encodeURIComponent(btoa(event('by-get')))
    const answer = await world.send(`/e/?data=${data}`)
    expect([answer.status, await answer.text()]).toEqual([200, '{"status":1}'])
    expect(stored('by-get')).toBe(1)
  })

  test('a beacon is answered 204 without a body once it is stored, and told what is wrong', async () => {
    const origin = { Origin: 'https://site.example' }
    const answer = await post('/e/?ip=1&beacon=1', event('beacon'), origin)
    expect([answer.status, await answer.text(), stored('beacon')]).toEqual([204, '', 1])
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://site.example')
    expect((await post('/e/?beacon=1', '{"event":"beacon"}')).status).toBe(401)
    expect((await post('/e/?beacon=0', event('beacon'))).status).toBe(200)
  })

  test.each(['GET', 'POST'])(
    '%s without a body is answered as often as it is asked',
    async (method) => {
      const data = encodeURIComponent(btoa(event(`often-${method}`)))
      for (let count = 1; count <= 3; count += 1) {
        const answer = await world.send(`/e/?data=${data}`, { method })
        expect([answer.status, stored(`often-${method}`)]).toEqual([200, count])
      }
    },
  )

  test('takes a body whose length is not announced', async () => {
    const text = event('chunked')
    const body = new ReadableStream({
      start(stream) {
        for (const part of [text.slice(0, 10), text.slice(10)]) stream.enqueue(Buffer.from(part))
        stream.close()
      },
    })
    expect((await post('/capture/', body)).status).toBe(200)
    expect(stored('chunked')).toBe(1)
  })

  test.each([
    [
      'an unknown key',
      '{"api_key":"phc_nobody","event":"e","distinct_id":"u"}',
      401,
      'invalid_api_key',
    ],
    ['no key', '{"event":"e","distinct_id":"u"}', 401, 'missing_api_key'],
    [
      'a personal key',
      '{"api_key":"phx_a","event":"e","distinct_id":"u"}',
      401,
      'personal_api_key',
    ],
    ['no JSON', '{"api_key', 400, 'invalid_payload'],
    ['nothing', '', 400, 'no_data'],
    ['an empty object', '{}', 400, 'no_data'],
    ['an empty list', '[]', 400, 'no_data'],
    ['a batch without a key', '{"batch":[]}', 401, 'missing_api_key'],
  ])('with %s is refused in JSON', async (_what, body, status, code) => {
    const answer = await post('/capture/', body)
    expect(answer.status).toBe(status)
    expect(await answer.json()).toMatchObject({ code, detail: expect.any(String) })
  })

  test('refuses a body above 20 MB before it has arrived when its length is announced', async () => {
    const answer = await post('/batch/', 'only this arrives', {
      'content-length': String(20 * MIB + 1),
    })
    expect(answer.status).toBe(413)
    expect(await answer.json()).toEqual({
      type: 'client_error',
      code: 'request_too_large',
      detail: 'Request too large.',
      attr: null,
    })
  })

  test('stops reading an endless body at 20 MB', async () => {
    let pulled = 0
    const body = new ReadableStream({
      pull(stream) {
        pulled += MIB
        stream.enqueue(new Uint8Array(MIB))
      },
    })
    expect((await post('/batch/', body)).status).toBe(413)
    expect(pulled).toBeLessThan(30 * MIB)
  })

  test('takes a body of exactly 20 MB', async () => {
    const head = `{"api_key":"${world.first.api_token}","event":"full","distinct_id":"u1"`
    const body = `${head}${' '.repeat(20 * MIB - head.length - 1)}}`
    expect(body.length).toBe(20 * MIB)
    expect((await post('/capture/', body)).status).toBe(200)
    expect((await post('/capture/', `${body} `)).status).toBe(413)
  })

  test.each(['PUT', 'PATCH', 'DELETE'])(
    '%s is not allowed, which pages can read',
    async (method) => {
      const headers = { Origin: 'https://shop.example' }
      const answer = await world.send('/capture/', { method, headers })
      expect(answer.headers.get('access-control-allow-origin')).toBe('https://shop.example')
      expect(answer.status).toBe(405)
      expect(answer.headers.get('allow')).toBe('POST, GET, OPTIONS')
      expect(await answer.json()).toMatchObject({
        type: 'invalid_request',
        code: 'method_not_allowed',
        detail: `Method "${method}" not allowed.`,
      })
    },
  )
})

describe('capture for browsers', () => {
  const origin = 'https://shop.example:8443'
  const shared = {
    'access-control-allow-origin': origin,
    'access-control-allow-credentials': 'true',
    vary: 'Origin',
  }

  test.each(PATHS.flatMap((path) => [path, `${path}/`]))(
    'answers a preflight on %s',
    async (path) => {
      const answer = await world.send(path, {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'content-encoding,content-type,x-own',
        },
      })
      expect(answer.status).toBe(200)
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        ...shared,
        'access-control-allow-methods': 'GET, POST, OPTIONS',
        'access-control-allow-headers': 'content-encoding,content-type,x-own',
      })
    },
  )

  test.each([
    [200, () => event('from-browser')],
    [401, () => '{"api_key":"phc_nobody","event":"e","distinct_id":"u"}'],
    [400, () => '{'],
  ])('names the origin on a %d', async (status, body) => {
    const answer = await post('/e/', body(), { origin })
    expect(answer.status).toBe(status)
    expect(Object.fromEntries(answer.headers)).toMatchObject(shared)
  })

  test('names the origin on a 413', async () => {
    const answer = await post('/e/', 'x', { origin, 'content-length': String(21 * MIB) })
    expect(answer.status).toBe(413)
    expect(Object.fromEntries(answer.headers)).toMatchObject(shared)
  })

  test('says nothing of origins to others', async () => {
    const answer = await post('/e/', event('from-server'))
    expect(answer.headers.has('access-control-allow-origin')).toBe(false)
  })
})

describe('capture when the data thread cannot store', () => {
  test('is answered 503 with Retry-After, which pages may read', async () => {
    const full = await openWorld({
      capture: {
        send: () =>
          Promise.resolve({
            kind: 'refused',
            code: 'storage_unavailable',
            detail: 'Unable to store event. Please try again.',
            attr: null,
          }),
      },
    })
    const answer = await full.send('/capture/', { method: 'POST', body: '{}' })
    expect(answer.status).toBe(503)
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(answer.headers.has('access-control-expose-headers')).toBe(false)
    const headers = { Origin: 'https://shop.example' }
    const seen = await full.send('/capture/', { method: 'POST', body: '{}', headers })
    expect(seen.headers.get('access-control-expose-headers')).toBe('Retry-After')
    await full.close()
  })

  test('is answered 500 without details when it fails, and the cause is logged', async () => {
    const failing = await openWorld({
      capture: { send: () => Promise.reject(new Error('a secret inside')) },
    })
    const answer = await failing.send('/capture/?data=secret', { method: 'POST', body: '{}' })
    expect(answer.status).toBe(500)
    expect(await answer.json()).toEqual({
      type: 'server_error',
      code: 'error',
      detail: 'A server error occurred.',
      attr: null,
      extra: { error_id: expect.stringMatching(/^[0-9a-f-]{36}$/) },
    })
    expect(failing.log_lines.join()).toContain('a secret inside')
    expect(failing.log_lines.join()).not.toContain('data=secret')
    await failing.close()
  })
})
