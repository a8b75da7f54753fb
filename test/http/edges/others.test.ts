/** An edge passes requests of its clients on to its home, but none to what only servers ask for. */
import { afterAll, expect, test } from 'bun:test'
import { limitBodies } from '../../../src/http/bodies/body.ts'
import { passOthersOn } from '../../../src/http/edges/others.ts'
import { openLog } from '../../../src/logs.ts'

const received: string[] = []
const home = Bun.serve({
  port: 0,
  fetch(request) {
    received.push(new URL(request.url).pathname)
    return new Response('home')
  },
})
afterAll(() => home.stop(true))

const pass = passOthersOn({
  home_url: home.url.href.replace(/\/$/, ''),
  bodies: limitBodies({ body_bytes_max: 1000, receiving_bytes_max: 1000 }),
  log: openLog('silent', []),
  trusted_proxies: [],
})

test.each([
  '/_edge/v1/edges',
  '/%5fedge/v1/edges',
  '/x/../_edge/v1/edges',
  '//_standby/v1/log/events',
  '/x/..%2f_metrics',
  '/x/%2e%2e/_metrics',
  '/_metrics',
])('%s is not passed on', async (path) => {
  const answer = await pass(new Request(`http://edge${path}`), {}, null)
  expect(answer.status).toBe(404)
  expect(received).toEqual([])
})

test('a query is', async () => {
  const path = '/api/projects/1/feature_flags/_key/remote_config'
  const answer = await pass(new Request(`http://edge${path}?limit=1`), {}, null)
  expect(await answer.text()).toBe('home')
  expect(received).toEqual([path])
})
