/** Every path that the installed SDKs can call is answered: by what it is for, by an empty list, or by an honest 404. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { Glob } from 'bun'
import { openWorld, type World } from '../world.ts'

type Answered = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly status: number
  readonly body?: object
  /** Whether it is called with a personal key, by servers: browsers do not call it. */
  readonly by_key?: true
}

const NODE_MODULES = join(import.meta.dir, '../../../node_modules')
const SDKS = [
  'posthog-js',
  'posthog-js-1.57',
  'posthog-js-1.150',
  'posthog-js-1.261',
  'posthog-node',
  'posthog-node-3',
  'posthog-node-4',
  // What the newest posthog-node and posthog-react-native call.
  'posthog-node/node_modules/@posthog/core',
]

/** A path within a text of the source; what stands in braces differs from call to call. */
const WRITTEN =
  /["'`}](\/(?:api|i|e|s|flags|decide|batch|array|static|capture|engage|track)\/(?:[\w@./-]|\$?\{[^}"'`]{0,80}\})*)/g

const event = () => ({ api_key: world.first.api_token, event: 'seen', distinct_id: 'a' })
const flags = () => ({ token: world.first.api_token, distinct_id: 'a' })

/** One line per path in the sources, with the call that is made of it. `{}` stands for what differs. */
const CALLS: Readonly<Record<string, () => Answered>> = {
  '/api/conversations/v1/widget/message': () => ({
    method: 'POST',
    path: '/api/conversations/v1/widget/message',
    status: 404,
  }),
  '/api/conversations/v1/widget/messages/{}': () => ({
    method: 'GET',
    path: '/api/conversations/v1/widget/messages/1?limit=1',
    status: 404,
  }),
  '/api/conversations/v1/widget/messages/{}/read': () => ({
    method: 'POST',
    path: '/api/conversations/v1/widget/messages/1/read',
    status: 404,
  }),
  '/api/conversations/v1/widget/restore': () => ({
    method: 'POST',
    path: '/api/conversations/v1/widget/restore',
    status: 404,
  }),
  '/api/conversations/v1/widget/restore/request': () => ({
    method: 'POST',
    path: '/api/conversations/v1/widget/restore/request',
    status: 404,
  }),
  '/api/conversations/v1/widget/tickets': () => ({
    method: 'GET',
    path: '/api/conversations/v1/widget/tickets?limit=1',
    status: 404,
  }),
  '/api/early_access_features/': () => byToken('/api/early_access_features/'),
  '/api/product_tours/': () => byToken('/api/product_tours/'),
  '/api/surveys/': () => byToken('/api/surveys/'),
  '/api/web_experiments/': () => byToken('/api/web_experiments/'),
  '/api/feature_flag/local_evaluation': () => ({
    ...byToken('/api/feature_flag/local_evaluation'),
    by_key: true,
  }),
  '/api/projects/@current/feature_flags/{}/remote_config': () => remoteConfig(''),
  '/api/projects/@current/feature_flags/{}/remote_config/': () => remoteConfig('/'),
  '/api/projects/@current/messaging/emails/{}/': () => messaging('emails/1/', 'GET'),
  '/api/projects/@current/messaging/preferences/': () => messaging('preferences/', 'POST'),
  '/api/projects/@current/messaging/send/email/': () => messaging('send/email/', 'POST'),
  '/array/{}/config': () => byToken(`/array/${world.first.api_token}/config`),
  '/array/{}/config.js': () => byToken(`/array/${world.first.api_token}/config.js`),
  '/batch/': () => ({
    method: 'POST',
    path: '/batch/',
    status: 200,
    body: { api_key: world.first.api_token, batch: [event()] },
  }),
  '/decide/': () => ({ method: 'POST', path: '/decide/?v=3', status: 200, body: flags() }),
  '/e/': () => ({ method: 'POST', path: '/e/', status: 200, body: event() }),
  '/engage/': () => ({
    method: 'POST',
    path: '/engage/',
    status: 200,
    body: { $set: { a: 1 }, $token: world.first.api_token, $distinct_id: 'a' },
  }),
  '/flags/': () => ({ method: 'POST', path: '/flags/?v=2', status: 200, body: flags() }),
  '/flags/definitions': () => ({ ...byToken('/flags/definitions'), by_key: true }),
  '/i/v0/ai/batch/': () => ({
    method: 'POST',
    path: '/i/v0/ai/batch/',
    status: 200,
    body: { api_key: world.first.api_token, batch: [event()] },
  }),
  '/i/v1/analytics/events': () => ({
    method: 'POST',
    path: '/i/v1/analytics/events',
    // The token comes as a bearer token; the personal key of this test is none.
    status: 401,
  }),
  '/i/v1/logs': () => ({ method: 'POST', path: '/i/v1/logs?token=a', status: 404 }),
  '/i/v1/metrics': () => ({ method: 'POST', path: '/i/v1/metrics?token=a', status: 404 }),
  '/i/v1/{}': () => ({ method: 'POST', path: '/i/v1/traces', status: 404 }),
  '/s/': () => ({ method: 'POST', path: '/s/', status: 200, body: [event()] }),
  '/static/{}.js': () => ({ method: 'GET', path: '/static/surveys.js?v=1', status: 200 }),
  '/static/{}/{}.js': () => ({ method: 'GET', path: '/static/1.0.0/recorder.js', status: 404 }),
  '/static/{}array.js': () => ({ method: 'GET', path: '/static/array.js', status: 200 }),
}

const byToken = (path: string): Answered => ({
  method: 'GET',
  path: `${path}?token=${world.first.api_token}`,
  status: 200,
})
// No flag has that key.
const remoteConfig = (slash: string): Answered => ({
  method: 'GET',
  path: `/api/projects/@current/feature_flags/key/remote_config${slash}`,
  status: 404,
  by_key: true,
})
const messaging = (rest: string, method: 'GET' | 'POST'): Answered => ({
  method,
  path: `/api/projects/@current/messaging/${rest}`,
  status: 404,
  by_key: true,
})

/** Parts of paths that are joined with others in the source, and folders of the packages themselves. */
const FRAGMENTS: ReadonlySet<string> = new Set([
  '/array/',
  '/static/',
  '/i/',
  '/api/conversations/v1/widget/messages/',
])

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

const normal = (path: string): string =>
  path
    .replaceAll(/\$?\{[^}]*\}/g, '{}')
    .replace(/^\/static\/[\w-]+\.js$/, '/static/{}.js')
    .replace(/^\/array\/[^/]+\//, '/array/{}/')

async function pathsIn(sdk: string): Promise<readonly string[]> {
  const found = new Set<string>()
  const files = new Glob('{dist,lib}/**/*.{js,mjs,cjs}').scan({ cwd: join(NODE_MODULES, sdk) })
  for await (const file of files) {
    const text = await Bun.file(join(NODE_MODULES, sdk, file)).text()
    for (const [, path = ''] of text.matchAll(WRITTEN)) found.add(normal(path))
  }
  return [...found].filter((path) => !FRAGMENTS.has(path))
}

describe.each(SDKS)('every path in the source of %s', (sdk) => {
  test('has a line above', async () => {
    const paths = await pathsIn(sdk)
    expect(paths.length).toBeGreaterThan(0)
    expect(paths.filter((path) => !(path in CALLS))).toEqual([])
  })
})

test('no line above is for a path that no SDK has', async () => {
  const paths = new Set((await Promise.all(SDKS.map(pathsIn))).flat())
  expect(Object.keys(CALLS).filter((path) => !paths.has(path))).toEqual([])
})

describe.each(Object.keys(CALLS))('%s', (name) => {
  const callOf = () => CALLS[name]?.() ?? { method: 'GET' as const, path: name, status: 0 }

  test('is answered', async () => {
    const { method, path, status, body } = callOf()
    const headers = {
      Authorization: `Bearer ${world.first.personal_api_key}`,
      Origin: 'https://shop.example',
    }
    const sent = method === 'GET' ? {} : { body: JSON.stringify(body ?? {}) }
    const answer = await world.send(path, { method, headers, ...sent })
    expect(answer.status).toBe(status)
    if (status === 404) expect(await answer.text()).toContain('not_found')
  })

  test('is readable for a page of another site, whatever the status', async () => {
    const { method, path, body, by_key } = callOf()
    if (by_key === true) return
    const Origin = 'https://shop.example'
    const sent = method === 'GET' ? {} : { body: JSON.stringify(body ?? {}) }
    const answer = await world.send(path, { method, headers: { Origin }, ...sent })
    expect(answer.headers.get('access-control-allow-origin')).toBe(Origin)
    const preflight = await world.send(path, {
      method: 'OPTIONS',
      headers: { Origin, 'Access-Control-Request-Headers': 'content-type' },
    })
    expect([preflight.ok, preflight.headers.get('access-control-allow-headers')]).toEqual([
      true,
      'content-type',
    ])
  })
})
