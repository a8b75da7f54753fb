/** decide and flags through the front door: versions, wrappings, whose properties count, errors, continuity. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { runInNewContext } from 'node:vm'
import { gzipSync } from 'node:zlib'
import LZString from 'lz-string'
import { findGeoipFiles, openGeoip } from '../../../src/geoip.ts'
import { ask, capture, flagOn, manage, putFlag } from '../targeting/flag-world.ts'
import { openWorld, type World } from '../world.ts'

const COMMON = {
  config: { enable_collect_everything: true },
  toolbarParams: {},
  isAuthenticated: false,
  supportedCompression: ['gzip', 'gzip-js', 'lz64'],
}

/** A person who has been seen, in a place that is known. */
const STORED = { $set: { plan: 'pro', age: 40, $geoip_country_code: 'FR' } }
/** An address that the bundled database places in the United States. */
const ADDRESS_US = '8.8.8.8'

let world: World

beforeAll(async () => {
  world = await openWorld({ geoip: openGeoip(findGeoipFiles(null)) })
  putFlag(world, { key: 'on', filters: { groups: [{}], payloads: { true: '{"a":1}' } } })
  putFlag(world, { key: 'inactive', active: false })
  putFlag(world, { key: 'deleted', deleted: true })
  putFlag(world, flagOn('pro', { key: 'plan', value: 'pro' }))
  putFlag(world, flagOn('of-age', { key: 'age', operator: 'gte', value: '18' }))
  putFlag(world, flagOn('french', { key: '$geoip_country_code', value: 'FR' }))
  putFlag(world, flagOn('american', { key: '$geoip_country_code', value: ['US'] }))
  putFlag(world, {
    key: 'multi',
    filters: {
      groups: [{ properties: [{ type: 'person', key: 'plan', value: 'pro' }], variant: 'b' }],
      multivariate: {
        variants: [
          { key: 'a', rollout_percentage: 50 },
          { key: 'b', rollout_percentage: 50 },
        ],
      },
      payloads: { b: '"for b"' },
    },
  })
  putFlag(world, {
    key: 'acme',
    filters: {
      aggregation_group_type_index: 0,
      groups: [
        { properties: [{ type: 'group', group_type_index: 0, key: 'size', value: 'large' }] },
      ],
    },
  })
  putFlag(world, { key: 'broken', filters: { groups: 'none' } })
  await capture(
    world,
    { event: 'seen', distinct_id: 'pat', properties: STORED },
    {
      event: '$groupidentify',
      distinct_id: 'pat',
      properties: { $group_type: 'company', $group_key: 'acme', $group_set: { size: 'large' } },
    },
  )
})

afterAll(() => world.close())

const featureFlags = async (
  body: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<unknown> => (await ask(world, '/decide?v=3', body, headers)).body['featureFlags']

describe('POST /decide', () => {
  const OFF = { american: false, acme: false }

  test.each([
    ['/decide', ['on', 'pro', 'of-age', 'french', 'multi']],
    ['/decide/', ['on', 'pro', 'of-age', 'french', 'multi']],
    ['/decide?v=1', ['on', 'pro', 'of-age', 'french', 'multi']],
    ['/decide?v=2', { on: true, pro: true, 'of-age': true, french: true, multi: 'b' }],
    ['/decide?v=two', { on: true, pro: true, 'of-age': true, french: true, multi: 'b' }],
    ['/decide/?v=3', { on: true, pro: true, 'of-age': true, french: true, multi: 'b', ...OFF }],
  ])('%s lists the active flags in the shape of its version', async (path, expected) => {
    const { status, body } = await ask(world, path, { distinct_id: 'pat' })
    expect(status).toBe(200)
    expect(body).toMatchObject(COMMON)
    expect(body['featureFlags']).toEqual(expected)
  })

  test('v=3 has payloads as stored, and says that one flag is broken', async () => {
    const { body } = await ask(world, '/decide?v=3', { distinct_id: 'pat' })
    expect(body['featureFlagPayloads']).toEqual({ on: '{"a":1}', multi: '"for b"' })
    expect(body['errorsWhileComputingFlags']).toBe(true)
    expect(body).not.toHaveProperty('flags')
  })

  test.each(['/decide?v=4', '/decide/?v=99', '/flags?v=2', '/flags/?v=2', '/flags', '/flags?v=9'])(
    '%s says of each flag what it is and why',
    async (path) => {
      const { body } = await ask(world, path, { distinct_id: 'pat' })
      const flags = body['flags'] as Record<string, unknown>
      expect(Object.keys(flags).toSorted()).toEqual(
        'acme american broken french multi of-age on pro'.split(' '),
      )
      expect(flags['multi']).toEqual({
        key: 'multi',
        enabled: true,
        variant: 'b',
        reason: {
          code: 'condition_match',
          condition_index: 0,
          description: 'Matched condition set 1',
        },
        metadata: { id: 8, payload: '"for b"', version: 1, description: null },
      })
      expect(flags['broken']).toMatchObject({
        enabled: false,
        reason: { code: 'invalid_definition' },
      })
      expect(body['errorsWhileComputingFlags']).toBe(true)
      expect(body).not.toHaveProperty('featureFlags')
    },
  )

  test('properties of the request lie over stored ones, key by key', async () => {
    expect(await featureFlags({ distinct_id: 'pat', person_properties: { plan: 'free' } })).toEqual(
      { on: true, pro: false, 'of-age': true, french: true, multi: false, ...OFF },
    )
  })

  test('somebody who was never seen is judged by what the request says', async () => {
    const person_properties = { plan: 'pro' }
    expect(await featureFlags({ distinct_id: 'new', person_properties })).toMatchObject({
      pro: true,
      'of-age': false,
      french: false,
    })
  })

  test('a group flag sees the stored group, under what the request says of it', async () => {
    const asked = { distinct_id: 'pat', groups: { company: 'acme' } }
    expect(await featureFlags(asked)).toMatchObject({ acme: true })
    const group_properties = { company: { size: 'small' } }
    expect(await featureFlags({ ...asked, group_properties })).toMatchObject({ acme: false })
    expect(await featureFlags({ ...asked, groups: { company: 'other' } })).toMatchObject({
      acme: false,
    })
  })

  test('a group with a long key has its stored properties', async () => {
    const group_key = 'g'.repeat(400)
    await capture(world, {
      event: '$groupidentify',
      distinct_id: 'pat',
      properties: { $group_type: 'company', $group_key: group_key, $group_set: { size: 'large' } },
    })
    for (const company of [group_key, `${group_key}more`]) {
      const answer = await featureFlags({ distinct_id: 'pat', groups: { company } })
      expect(answer).toMatchObject({ acme: true })
    }
  })

  test.each(['X-Forwarded-For', 'HTTP_X_FORWARDED_FOR'])(
    'the address in %s decides where the person is',
    async (header) => {
      const asked = { distinct_id: 'pat' }
      const from = { [header]: `${ADDRESS_US}, 10.0.0.1` }
      expect(await featureFlags(asked, from)).toMatchObject({ french: false, american: true })
      expect(await featureFlags({ ...asked, geoip_disable: true }, from)).toMatchObject({
        french: true,
        american: false,
      })
      const person_properties = { $geoip_country_code: 'FR' }
      expect(await featureFlags({ ...asked, person_properties }, from)).toMatchObject({
        french: true,
        american: false,
      })
    },
  )

  test('an address that cannot be placed changes nothing', async () => {
    for (const address of ['127.0.0.1', 'nonsense', '', '::', '8.8.8.8.8']) {
      const from = { 'X-Forwarded-For': address }
      expect(await featureFlags({ distinct_id: 'pat' }, from)).toMatchObject({ french: true })
    }
  })

  test('flag_keys_to_evaluate limits the answer, disable_flags empties it', async () => {
    const asked = { distinct_id: 'pat', flag_keys_to_evaluate: ['pro', 'nothing'] }
    expect(await featureFlags(asked)).toEqual({ pro: true })
    const decided = await ask(world, '/decide?v=3', { disable_flags: true })
    expect(decided.status).toBe(200)
    expect(decided.body['featureFlags']).toEqual({})
    expect(decided.body).not.toHaveProperty('featureFlagPayloads')
    const flagged = await ask(world, '/flags?v=2', { disable_flags: true })
    expect(flagged.body).toMatchObject({ flags: {}, errorsWhileComputingFlags: false })
  })
})

describe('POST /flags', () => {
  test('v=1 is the shape of decide v=3', async () => {
    const { body } = await ask(world, '/flags?v=1', { distinct_id: 'pat' })
    expect(body['featureFlags']).toMatchObject({ on: true, multi: 'b', acme: false })
    expect(body['featureFlagPayloads']).toEqual({ on: '{"a":1}', multi: '"for b"' })
    expect(body).not.toHaveProperty('flags')
  })

  test('the site configuration comes when it is asked for, or nothing is', async () => {
    const members = async (path: string) =>
      Object.keys((await ask(world, path, { distinct_id: 'pat' })).body)
    expect(await members('/flags?v=2')).toEqual([
      'flags',
      'errorsWhileComputingFlags',
      'requestId',
      'evaluatedAt',
    ])
    expect(await members('/flags?v=2&config=true')).toContain('supportedCompression')
    expect(await members('/flags')).toContain('supportedCompression')
    expect(await members('/flags?v=1&config=true')).toContain('supportedCompression')
  })
})

describe('bodies', () => {
  const asked = () => JSON.stringify({ token: world.first.api_token, distinct_id: 'pat' })
  const base64 = () => Buffer.from(asked()).toString('base64')
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' }

  test.each<
    [
      string,
      string,
      () => string | URLSearchParams | Uint8Array<ArrayBuffer>,
      Record<string, string>,
    ]
  >([
    ['plain JSON as text', '', asked, { 'Content-Type': 'text/plain' }],
    [
      'gzip with its header',
      '',
      () => new Uint8Array(gzipSync(asked())),
      { 'Content-Encoding': 'gzip' },
    ],
    [
      'gzip by its first bytes',
      '',
      () => new Uint8Array(gzipSync(asked())),
      { 'Content-Type': 'text/plain' },
    ],
    ['gzip-js', '&compression=gzip-js', () => new Uint8Array(gzipSync(asked())), {}],
    ['base64', '&compression=base64', base64, {}],
    ['a base64 form', '&compression=base64', () => new URLSearchParams({ data: base64() }), form],
    [
      'an lz64 form',
      '',
      () =>
        new URLSearchParams({
          data: LZString.compressToBase64(asked()),
          compression: 'lz64',
        }),
      form,
    ],
  ])('%s is understood', async (_name, query, body, headers) => {
    for (const path of ['/decide/', '/flags/']) {
      const answer = await world.send(`${path}?v=3${query}&ip=1&_=1795213738022&ver=1.57.2`, {
        method: 'POST',
        headers,
        body: body(),
      })
      expect(answer.status).toBe(200)
      expect(await answer.text()).toContain('"pro":')
    }
  })

  test.each(['api_key', 'token', '$token'])('the token may be called %s', async (name) => {
    const answer = await world.send('/decide?v=3', {
      method: 'POST',
      body: JSON.stringify({ [name]: ` ${world.first.api_token} `, distinct_id: 'pat' }),
    })
    expect(answer.status).toBe(200)
  })

  test.each([12, true, ['a', 1], { a: 1 }, '', ' ', 0, false, 'x'.repeat(5000), '__proto__', '💥'])(
    'a distinct id of %p is somebody',
    async (distinct_id) => {
      for (const path of ['/decide?v=3', '/flags?v=2']) {
        const { status, body } = await ask(world, path, { distinct_id })
        expect(status).toBe(200)
        expect(JSON.stringify(body)).toContain('"on":')
      }
    },
  )
})

describe('what cannot be answered', () => {
  const NO_KEY =
    'No project API key provided. You can find your project API key in the project settings.'
  const WRONG_KEY =
    'Project API key invalid. You can find your project API key in the project settings.'

  test.each<[string, string, number, string, string]>([
    ['{"distinct_id":"a"}', '/decide?v=3', 401, 'no_api_key', NO_KEY],
    ['', '/decide?v=3', 401, 'no_api_key', NO_KEY],
    ['{"token":"","distinct_id":"a"}', '/decide', 401, 'no_api_key', NO_KEY],
    ['{"token":"phc_no","distinct_id":"a"}', '/decide', 401, 'invalid_api_key', WRONG_KEY],
    ['{"token":7,"distinct_id":"a"}', '/decide', 401, 'invalid_api_key', WRONG_KEY],
    ['{"token":"phx_secret","distinct_id":"a"}', '/decide', 401, 'invalid_api_key', WRONG_KEY],
    [
      '{"token":"TOKEN"}',
      '/decide?v=3',
      400,
      'missing_distinct_id',
      'Decide requires a distinct_id.',
    ],
    [
      '{"token":"TOKEN","distinct_id":null}',
      '/decide?v=3',
      400,
      'missing_distinct_id',
      'Decide requires a distinct_id.',
    ],
    [
      '{"distinct_id":"a"}',
      '/flags?v=2',
      401,
      'no_api_key',
      'No API token provided. Please include a valid API token in your request.',
    ],
    [
      '{"token":"phc_no","distinct_id":"a"}',
      '/flags?v=2',
      401,
      'invalid_api_key',
      'The provided API key is invalid or has expired. Please check your API key and try again.',
    ],
  ])('%s to %s: %i %s', async (body, path, ...expected) => {
    const [status, code, detail] = expected
    const answer = await world.send(path, {
      method: 'POST',
      headers: { Origin: 'https://shop.example' },
      body: body.replace('TOKEN', world.first.api_token),
    })
    expect(answer.status).toBe(status)
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://shop.example')
    expect(await answer.json()).toMatchObject({ code, detail })
  })

  test.each(['{', 'undefined', '[]', '12', '"text"', 'null', '\u0000', '['.repeat(5000)])(
    'a body of %p is malformed',
    async (body) => {
      for (const path of ['/decide?v=3', '/flags?v=2']) {
        const answer = await world.send(path, { method: 'POST', body })
        expect(answer.status).toBe(400)
        expect(await answer.json()).toMatchObject({
          type: 'validation_error',
          code: 'malformed_data',
          detail: expect.stringMatching(/^Malformed request data: /),
        })
      }
    },
  )

  test('properties nested by the thousand are malformed, and nothing falls over', async () => {
    const deep = `${'{"a":'.repeat(3000)}1${'}'.repeat(3000)}`
    const body = `{"token":"${world.first.api_token}","distinct_id":"a","person_properties":${deep}}`
    const answer = await world.send('/decide?v=3', { method: 'POST', body })
    expect(answer.status).toBe(400)
  })
})

describe('other methods', () => {
  test.each(['/decide', '/decide/', '/flags/', '/flags?v=2'])(
    'GET %s tells what holds for every project, HEAD and OPTIONS succeed',
    async (path) => {
      const got = await world.send(path)
      expect(got.status).toBe(200)
      expect(await got.json()).toMatchObject({ ...COMMON, sessionRecording: false })
      expect((await world.send(path, { method: 'HEAD' })).status).toBe(200)
      const preflight = await world.send(path, {
        method: 'OPTIONS',
        headers: {
          Origin: 'https://shop.example',
          'Access-Control-Request-Headers': 'content-encoding,content-type,x-own',
        },
      })
      const has_body = path.startsWith('/decide')
      expect([preflight.status, await preflight.text()]).toEqual(
        has_body ? [200, '{"status":1}'] : [204, ''],
      )
      expect(Object.fromEntries(preflight.headers)).toMatchObject({
        'access-control-allow-origin': 'https://shop.example',
        'access-control-allow-credentials': 'true',
        'access-control-allow-headers': 'content-encoding,content-type,x-own',
      })
    },
  )

  test('others are not allowed', async () => {
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      expect((await world.send('/flags', { method })).status).toBe(405)
    }
  })
})

describe('a change', () => {
  test('is seen by the next request, whoever made it', async () => {
    const id = putFlag(world, { key: 'late' })
    expect(await featureFlags({ distinct_id: 'pat' })).toMatchObject({ late: true })
    const { Database } = await import('bun:sqlite')
    const elsewhere = new Database(`${world.data_dir}/control.db`)
    elsewhere.run('update feature_flags set deleted = 1 where id = ?', [id])
    elsewhere.close()
    // Other processes do not write within a turn of ours.
    await new Promise((resolve) => setImmediate(resolve))
    expect(await featureFlags({ distinct_id: 'pat' })).not.toHaveProperty('late')
  })
})

test('a first value ($initial_…) is missing until it is stored, whatever the present one is', async () => {
  putFlag(world, flagOn('first', { key: '$initial_utm_source', value: 'news' }))
  const query = { distinct_id: 'first visit', flag_keys_to_evaluate: ['first'] }
  const present = { ...query, person_properties: { utm_source: 'news' } }
  expect(await featureFlags(present)).toEqual({ first: false })
  await capture(world, { event: 'seen', ...query, properties: { utm_source: 'news' } })
  expect(await featureFlags(query)).toEqual({ first: true })
})

describe('experience continuity', () => {
  /** Half of everybody, so that who is hashed can be seen. */
  const half = { groups: [{ rollout_percentage: 50 }] }

  test('what an anonymous visitor saw stays after the login, and after the merge', async () => {
    putFlag(world, { key: 'kept', filters: half, ensure_experience_continuity: true })
    putFlag(world, { key: 'plain', filters: half })
    const seen = async (asked: Readonly<Record<string, unknown>>) =>
      (await featureFlags({ flag_keys_to_evaluate: ['kept', 'plain'], ...asked })) as {
        kept: boolean
        plain: boolean
      }
    let kept = 0
    for (let number = 0; number < 8; number += 1) {
      // Every other id is longer than what is stored of it.
      const anon = `anon-${number}`.padEnd(number % 2 === 0 ? 0 : 250, 'x')
      const user = `user-${number}`
      await capture(world, { event: 'seen', distinct_id: anon })
      const before = await seen({ distinct_id: anon })
      const during = await seen({ distinct_id: user, $anon_distinct_id: anon })
      await capture(world, {
        event: '$identify',
        distinct_id: user,
        properties: { $anon_distinct_id: anon },
      })
      const after = await seen({ distinct_id: user })
      expect([during.kept, after.kept]).toEqual([before.kept, before.kept])
      if (before.plain !== after.plain) kept += 1
    }
    expect(kept).toBeGreaterThan(0)
  })
})

describe('GET /array/…', () => {
  test.each([
    ['https://app.shop.example', true],
    ['http://app.shop.example:8080', true],
    ['https://blog.example', true],
    ['http://blog.example', true],
    ['capacitor://localhost', true],
    ['http://localhost:3000', true],
    ['https://shop.example', false],
    ['https://blog.example.evil.example', false],
    ['null', false],
  ])('a page of %s is recorded: %p', async (origin, is_recorded) => {
    const recording_domains = [
      'https://*.shop.example',
      'https://blog.example',
      'capacitor://localhost',
    ]
    const changes = { session_recording_opt_in: true, recording_domains }
    await manage(world, 'PATCH', '/api/projects/1/', changes)
    const got = await world.send(`/array/${world.first.api_token}/config`, { headers: { origin } })
    const { sessionRecording } = JSON.parse(await got.text())
    expect(sessionRecording !== false).toBe(is_recorded)
    const before = { session_recording_opt_in: false, recording_domains: null }
    await manage(world, 'PATCH', '/api/projects/1/', before)
  })

  test.each([
    ['1.00', null],
    ['0.50', '0.50'],
  ])(
    'a share of %s of the recordings is told as %p',
    async (session_recording_sample_rate, told) => {
      const changes = { session_recording_opt_in: true, session_recording_sample_rate }
      const set = await manage(world, 'PATCH', '/api/projects/1/', changes)
      expect(set.status).toBe(200)
      const got = await world.send(`/array/${world.first.api_token}/config`)
      expect(await got.json()).toMatchObject({ sessionRecording: { sampleRate: told } })
      await manage(world, 'PATCH', '/api/projects/1/', { session_recording_opt_in: false })
    },
  )

  test('config and config.js tell the same, with and without a final slash', async () => {
    const token = world.first.api_token
    const got = await world.send(`/array/${token}/config`, { headers: { Origin: 'https://a.b' } })
    expect(got.status).toBe(200)
    expect(got.headers.get('access-control-allow-origin')).toBe('https://a.b')
    const config = await got.json()
    expect(config).toEqual({
      token,
      hasFeatureFlags: true,
      ...COMMON,
      analytics: { endpoint: '/i/v0/e/' },
      elementsChainAsString: true,
      defaultIdentifiedOnly: true,
      siteApps: [],
      autocapture_opt_out: false,
      autocaptureExceptions: false,
      errorTracking: { autocaptureExceptions: false, suppressionRules: [] },
      capturePerformance: {
        network_timing: true,
        web_vitals: false,
        web_vitals_allowed_metrics: null,
      },
      captureDeadClicks: false,
      sessionRecording: false,
      surveys: false,
      heatmaps: false,
      flagsPersistenceDefault: false,
    })
    const script = await world.send(`/array/${token}/config.js/`)
    expect(script.headers.get('content-type')).toStartWith('application/javascript')
    const window: Record<string, unknown> = {}
    runInNewContext(await script.text(), { window })
    expect(JSON.parse(JSON.stringify(window))).toEqual({
      _POSTHOG_REMOTE_CONFIG: { [token]: { config, siteApps: [] } },
    })
  })

  test.each([
    ['phc_unknown', 404],
    ['no%20token', 400],
    ['%3Cscript%3E', 400],
  ])('%s is answered %i', async (token, status) => {
    for (const name of ['config', 'config.js']) {
      expect((await world.send(`/array/${token}/${name}`)).status).toBe(status)
    }
  })
})

describe('a flag for one runtime', () => {
  beforeAll(() => {
    putFlag(world, { key: 'at-client', evaluation_runtime: 'client' })
    putFlag(world, { key: 'at-server', evaluation_runtime: 'server' })
  })

  test.each([
    [{ 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/89.0' }, {}, ['at-client']],
    [{ 'user-agent': 'posthog-react-native/4.0.0' }, {}, ['at-client']],
    [{ 'user-agent': 'posthog-node/5.70.0' }, {}, ['at-server']],
    [{ 'user-agent': 'posthog-server/3.2.1 (Android SDK)' }, {}, ['at-server']],
    [{ 'user-agent': 'curl/8.5.0', origin: 'https://shop.example' }, {}, ['at-server']],
    [{ 'user-agent': 'posthog-other/1.0' }, {}, []],
    [{ 'user-agent': 'other/1.0' }, {}, []],
    [{ 'user-agent': 'other/1.0', origin: 'https://shop.example' }, {}, ['at-client']],
    [{ 'user-agent': 'other/1.0', 'sec-fetch-mode': 'cors' }, {}, ['at-client']],
    [{ 'user-agent': 'Mozilla/5.0' }, { evaluation_runtime: 'SERVER' }, ['at-server']],
    [{ 'user-agent': 'Mozilla/5.0' }, { evaluation_runtime: 'all' }, ['at-client', 'at-server']],
  ] as const)('with headers %j and body %j: %j', async (headers, body, keys) => {
    const answers = await Promise.all([
      ask(world, '/flags?v=2', { distinct_id: 'u', ...body }, headers),
      ask(world, '/decide?v=4', { distinct_id: 'u', ...body }, headers),
    ])
    for (const { body: answer } of answers) {
      const told = Object.keys(answer['flags'] as object).filter((key) => key.startsWith('at-'))
      expect(told).toEqual([...keys])
    }
  })
})
