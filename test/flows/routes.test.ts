/** Two servers behind one front, as `tidemark clickhouse routes` prints it for Caddy and nginx: each project is served by its home. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PostHog } from 'posthog-node'
import { PROXIES as CONFIGURATIONS } from '../../src/cli/clickhouse/proxy-configs.ts'
import { checkRouteTable } from '../../src/cli/clickhouse/route-table.ts'
import { askUntil } from './clients/patience.ts'
import { PROXIES, startProxy } from './processes/proxies.ts'
import { freePort, PERSONAL_API_KEY, type Server, startServer } from './processes/server.ts'

setDefaultTimeout(180_000)

const folder = mkdtempSync(join(tmpdir(), 'tidemark-routes-'))

/** The second token is as long as the ones that servers make. */
const PROJECTS = [
  { home: 'rome', id: 1, token: 'phc_rome' },
  { home: 'oslo', id: 1_000_001, token: `phc_${'oslo'.repeat(12)}` },
] as const

const HOMELESS = 'No home of this front has the project that the request names.'

const homes = new Map<string, Server>()

const homeOf = (name: string): string => homes.get(name)?.url ?? ''

function printSites(name: keyof typeof CONFIGURATIONS, port: number, fallback: string | null) {
  const table = checkRouteTable(
    {
      homes: Object.fromEntries([...homes].map(([home, { url }]) => [home, url])),
      projects: PROJECTS,
      ...(fallback === null ? {} : { default: fallback }),
    },
    'the table',
  )
  // As printed, but without a certificate.
  return CONFIGURATIONS[name](table, 'front.example.com')
    .replace('\nfront.example.com {', `\nhttp://127.0.0.1:${port} {`)
    .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
    .replaceAll(/ +ssl_certificate.*\n/g, '')
}

async function ask(url: string, id: number, query: string): Promise<unknown> {
  const answer = await fetch(`${url}/api/projects/${id}/query`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${PERSONAL_API_KEY}` },
    body: JSON.stringify({ query: { kind: 'HogQLQuery', query }, refresh: 'force_blocking' }),
  })
  if (answer.status !== 200) throw new Error(`${answer.status}: ${await answer.text()}`)
  return ((await answer.json()) as { results: unknown }).results
}

/** A token that a project's answer contains names the second at which it ends. */
const SIGNED_TOKEN = /\beyJ[\w-]+\.[\w-]+\.[\w-]+/g

/** The status and the body, for comparing the answer through a front with that of the home, a moment before. */
async function read(url: string, options: RequestInit = {}): Promise<readonly [number, string]> {
  const answer = await fetch(url, { redirect: 'manual', ...options })
  return [answer.status, (await answer.text()).replaceAll(SIGNED_TOKEN, 'a signed token')]
}

beforeAll(async () => {
  const started = PROJECTS.map(async ({ home, id, token }) => {
    const server = await startServer({
      data_dir: join(folder, home),
      api_token: token,
      env: { TIDEMARK_PROJECT_ID_MIN: String(id), TIDEMARK_TRUSTED_PROXIES: '127.0.0.1' },
    })
    homes.set(home, server)
  })
  await Promise.all(started)
})
afterAll(async () => {
  await Promise.all([...homes.values()].map((server) => server.stop()))
  rmSync(folder, { recursive: true, force: true })
})

describe.each(PROXIES)('behind $name', (kind) => {
  const { name, program } = kind
  // Skipped where the program is not installed (Debian: caddy, nginx-light).
  const tests = describe.skipIf(program === null)

  tests('with the printed configuration', () => {
    const port = freePort()
    const front = `http://127.0.0.1:${port}`
    let proxy: { stop(): Promise<void> }
    const start = (fallback: string | null) => {
      const place = join(folder, `${name}-${fallback}`)
      mkdirSync(place, { recursive: true })
      return startProxy(kind, {
        folder: place,
        sites: printSites(name, port, fallback),
        urls: [front],
      })
    }

    beforeAll(async () => {
      proxy = await start(null)
    })
    afterAll(() => proxy.stop())

    test.each(PROJECTS)('SDKs reach $home by the token in their address', async (project) => {
      const client = new PostHog(project.token, { host: `${front}/${project.token}` })
      const event = `through ${name}`
      for (let index = 0; index < 25; index += 1)
        client.capture({ distinctId: `user-${index}`, event, properties: { index } })
      expect(await client.getAllFlags('user-1')).toEqual({})
      await client.shutdown()
      const query = `select count(), sum(properties.index) from events where event = '${event}'`
      const results = await askUntil(
        () => ask(front, project.id, query),
        (answer) => Array.isArray(answer) && answer[0]?.[0] === 25,
      )
      expect(results).toEqual([[25, 300]])
      expect(await ask(homeOf(project.home), project.id, query)).toEqual([[25, 300]])
    })

    test.each(PROJECTS)('$home answers what names its project', async ({ home, id, token }) => {
      const key = { headers: { Authorization: `Bearer ${PERSONAL_API_KEY}` } }
      const bearer = { method: 'POST', body: '{', headers: { Authorization: `Bearer ${token}` } }
      const requests: readonly (readonly [string, RequestInit])[] = [
        [`/api/projects/${id}`, key],
        [`/api/projects/${id}/?format=json`, key],
        [`/api/environments/${id}/persons/?search=a%2Fb%20c`, key],
        [`/array/${token}/config`, {}],
        [`/api/surveys/?token=${token}`, {}],
        [`/e/?ver=1&api_key=${token}`, { method: 'POST', body: '{' }],
        ['/i/v1/analytics/events', bearer],
      ]
      for (const [path, options] of requests) {
        const direct = await read(`${homeOf(home)}${path}`, options)
        expect([path, ...(await read(`${front}${path}`, options))]).toEqual([path, ...direct])
      }
    })

    test('the path after a token arrives as it was sent', async () => {
      const { home, token } = PROJECTS[1]
      for (const path of ['/static/array.js', '/static/a%2Fb.js?v=%20', '/nothing/%E4?x=1%2F2']) {
        const direct = await read(`${homeOf(home)}${path}`)
        expect(await read(`${front}/${token}${path}`)).toEqual(direct)
      }
    })

    test('what names no project of the table is refused', async () => {
      const paths = [
        '/_health',
        '/batch/',
        '/phc_unknown/batch/',
        `/x/${PROJECTS[0].token}/batch/`,
        '/api/projects/2/',
        '/api/projects/10/',
        '/array/phc_unknown/config',
        '/api/users/@me/',
      ]
      for (const path of paths) {
        const [status, text] = await read(`${front}${path}`)
        expect([path, status, text.trim()]).toEqual([path, 404, HOMELESS])
      }
    })

    test('with a default, its home gets what names no project', async () => {
      await proxy.stop()
      proxy = await start('oslo')
      const [status] = await read(`${front}/_health`)
      expect(status).toBe(200)
      const direct = await read(`${homeOf('oslo')}/api/projects/2/`)
      expect(await read(`${front}/api/projects/2/`)).toEqual(direct)
      const { id, token } = PROJECTS[0]
      expect(await ask(front, id, 'select 1')).toEqual([[1]])
      expect(await read(`${front}/${token}/array/${token}/config`)).toEqual(
        await read(`${homeOf('rome')}/array/${token}/config`),
      )
    })
  })
})
