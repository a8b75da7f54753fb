/** An edge and its home as two processes: what the edge answers alone, what arrives at home, and once. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rolloutBucket } from '../../src/flags/bucket.ts'
import { askUntil } from './clients/patience.ts'
import {
  API_TOKEN,
  askHogQL,
  freePort,
  PERSONAL_API_KEY,
  type Server,
  serverLog,
  startServer,
} from './processes/server.ts'

setDefaultTimeout(180_000)

const folder = mkdtempSync(join(tmpdir(), 'tidemark-edge-'))
const home_port = freePort()
const home_url = `http://127.0.0.1:${home_port}`
let home: Server
let edge: Server

const startHome = (): Promise<Server> =>
  startServer({ data_dir: join(folder, 'home'), port: home_port })

const startEdge = (env: Readonly<Record<string, string>> = {}, name = 'edge'): Promise<Server> =>
  startServer({
    data_dir: join(folder, name),
    env: {
      TIDEMARK_FORWARD_TO: home_url,
      TIDEMARK_FORWARD_KEY: PERSONAL_API_KEY,
      TIDEMARK_EDGE_NAME: name,
      TIDEMARK_EDGE_REFRESH_S: '1',
      ...env,
    },
  })

beforeAll(async () => {
  home = await startHome()
  edge = await startEdge()
})
afterAll(async () => {
  await edge.kill()
  await home.kill()
  rmSync(folder, { recursive: true, force: true })
})

/** Waits until something holds; fails where it never does. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  expect(await askUntil(holds, (is_so) => is_so)).toBe(true)
}

const post = (url: string, body: object, headers: Readonly<Record<string, string>> = {}) =>
  fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })

const capture = (server: Server, event: string, more: object = {}): Promise<Response> =>
  post(`${server.url}/capture/`, { api_key: API_TOKEN, event, distinct_id: 'ann', ...more })

async function count(event: string): Promise<number> {
  const { results } = await askHogQL(
    home_url,
    `select count() from events where event = '${event}'`,
  )
  return Number(results[0]?.[0])
}

type FlagsAnswer = {
  readonly flags: Readonly<Record<string, { readonly enabled: boolean }>>
  readonly errorsWhileComputingFlags: boolean
}

async function flagsOf(
  distinct_id: string,
  more: object = {},
  url: string = edge.url,
): Promise<FlagsAnswer> {
  const answer = await post(`${url}/flags/?v=2`, { api_key: API_TOKEN, distinct_id, ...more })
  expect(answer.status).toBe(200)
  return answer.json() as Promise<FlagsAnswer>
}

async function manage(path: string, body: object): Promise<Readonly<Record<string, unknown>>> {
  const answer = await post(`${home_url}/api/projects/1/${path}`, body, {
    'Content-Type': 'application/json',
    Authorization: `Bearer ${PERSONAL_API_KEY}`,
  })
  if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`)
  return answer.json() as Promise<Record<string, unknown>>
}

describe('events', () => {
  test('arrive at home as the edge received them', async () => {
    const received_from = Date.now()
    const batch = [
      { event: 'first', distinct_id: 'bob', properties: { $ip: '8.8.8.8', a: 'ä "\\u0041"' } },
      { event: '$identify', distinct_id: 'bob', properties: { $set: { plan: 'pro' } } },
      { event: '', distinct_id: 'bob' },
    ]
    expect((await post(`${edge.url}/batch/`, { api_key: API_TOKEN, batch })).status).toBe(200)
    const received_until = Date.now()
    await until(async () => (await count('first')) === 1)
    const { results } = await askHogQL(
      home_url,
      "select properties.a, properties.$ip, properties.$geoip_country_code, toUnixTimestamp64Milli(created_at), person.properties.plan from events where event = 'first'",
    )
    const [a, ip, country, created_at, plan] = results[0] ?? []
    expect([a, ip, country, plan]).toEqual(['ä "\\u0041"', '8.8.8.8', 'US', 'pro'])
    expect(Number(created_at)).toBeGreaterThanOrEqual(received_from)
    expect(Number(created_at)).toBeLessThanOrEqual(received_until)
  })

  test('of long bodies arrive whole', async () => {
    const batch = Array.from({ length: 5000 }, (_, index) => ({
      event: 'many',
      distinct_id: `id-${index % 100}`,
      properties: { index, text: 'x'.repeat(200) },
    }))
    expect((await post(`${edge.url}/batch/`, { api_key: API_TOKEN, batch })).status).toBe(200)
    await until(async () => (await count('many')) === 5000)
  })

  test('wait while the home is away, and arrive in their order', async () => {
    await home.kill()
    for (let index = 0; index < 20; index += 1) {
      expect((await capture(edge, 'waiting', { properties: { index } })).status).toBe(200)
    }
    const health = await (await fetch(`${edge.url}/_health`)).json()
    expect(health).toMatchObject({ status: 'ok', edge: { backlog_events: 20 } })
    home = await startHome()
    await until(async () => (await count('waiting')) === 20)
    const { results } = await askHogQL(
      home_url,
      "select properties.index from events where event = 'waiting' order by created_at, timestamp",
    )
    expect(results.map(([index]) => Number(index))).toEqual(Array.from({ length: 20 }, (_, i) => i))
    await until(async () => {
      const { edge: figures } = (await (await fetch(`${edge.url}/_health`)).json()) as {
        edge: { backlog_events: number; home: string }
      }
      return figures.backlog_events === 0 && figures.home === 'ok'
    })
  })

  test('with a wrong key are refused as at home', async () => {
    for (const server of [edge, home]) {
      const answer = await capture(server, 'x', { api_key: 'phc_unknown' })
      expect(answer.status).toBe(401)
      expect(await answer.json()).toMatchObject({ code: 'invalid_api_key' })
    }
  })
})

describe('flags', () => {
  const condition = (key: string, value: string) => ({
    groups: [
      { properties: [{ key, value, type: 'person', operator: 'exact' }], rollout_percentage: 100 },
    ],
  })

  test('are answered from definitions that are seconds old', async () => {
    const all = { groups: [{ properties: [], rollout_percentage: 100 }] }
    await manage('feature_flags/', { key: 'for-all', filters: all, active: true })
    await until(async () => (await flagsOf('ann')).flags['for-all']?.enabled === true)
    expect((await flagsOf('ann')).errorsWhileComputingFlags).toBe(false)
  })

  test('that need a property of an unknown person say so; then the home tells it', async () => {
    await manage('feature_flags/', {
      key: 'for-pro',
      filters: condition('plan', 'pro'),
      active: true,
    })
    await until(async () => 'for-pro' in (await flagsOf('ann')).flags)
    // Sent with the request: nothing of the home is needed.
    expect(await flagsOf('sent', { person_properties: { plan: 'pro' } })).toMatchObject({
      flags: { 'for-pro': { enabled: true } },
      errorsWhileComputingFlags: false,
    })
    // Identified above, and never asked about here before.
    expect(await flagsOf('bob')).toMatchObject({
      flags: { 'for-all': { enabled: true }, 'for-pro': { enabled: false } },
      errorsWhileComputingFlags: true,
    })
    await until(async () => !(await flagsOf('bob')).errorsWhileComputingFlags)
    expect(await flagsOf('bob')).toMatchObject({ flags: { 'for-pro': { enabled: true } } })
    // The home knows nobody of this id, which is an answer too.
    await until(async () => !(await flagsOf('nobody')).errorsWhileComputingFlags)
    expect(await flagsOf('nobody')).toMatchObject({ flags: { 'for-pro': { enabled: false } } })
  })

  test('follow a person who changes', async () => {
    await capture(edge, '$set', { distinct_id: 'bob', properties: { $set: { plan: 'free' } } })
    await until(async () => (await flagsOf('bob')).flags['for-pro']?.enabled === false)
  })

  test('of a person who is deleted at home forget them', async () => {
    const properties = { $set: { plan: 'pro' } }
    await capture(home, '$identify', { distinct_id: 'leaving', properties })
    await until(async () => (await flagsOf('leaving')).flags['for-pro']?.enabled === true)
    const headers = { Authorization: `Bearer ${PERSONAL_API_KEY}` }
    const listed = await fetch(`${home_url}/api/projects/1/persons/?distinct_id=leaving`, {
      headers,
    })
    const { results } = (await listed.json()) as { results: { id: string }[] }
    const path = `${home_url}/api/projects/1/persons/${results[0]?.id}/`
    expect((await fetch(path, { method: 'DELETE', headers })).status).toBe(202)
    await until(async () => (await flagsOf('leaving')).flags['for-pro']?.enabled === false)
    using db = new Database(join(folder, 'edge', 'events.db'), { readonly: true })
    const rows = db
      .query<{ properties: string }, []>('select properties from persons')
      .all()
      .filter((row) => row.properties.includes('pro'))
    expect(rows).toEqual([])
  })

  test('of a static cohort are answered for persons that the home has told', async () => {
    const cohort = await manage('cohorts/', { name: 'staff', is_static: true })
    const filters = {
      groups: [
        {
          properties: [{ key: 'id', value: cohort['id'], type: 'cohort' }],
          rollout_percentage: 100,
        },
      ],
    }
    await manage('feature_flags/', { key: 'for-staff', filters, active: true })
    await until(async () => 'for-staff' in (await flagsOf('ann')).flags)
    await until(async () => !(await flagsOf('bob')).errorsWhileComputingFlags)
    expect((await flagsOf('bob')).flags['for-staff']?.enabled).toBe(false)
    const { results } = await askHogQL(
      home_url,
      "select toString(person_id) from events where distinct_id = 'bob' limit 1",
    )
    const body = { person_ids: [results[0]?.[0]] }
    await fetch(
      `${home_url}/api/projects/1/cohorts/${String(cohort['id'])}/add_persons_to_static_cohort/`,
      {
        method: 'PATCH',
        headers: {
          'Content-Type': 'application/json',
          Authorization: `Bearer ${PERSONAL_API_KEY}`,
        },
        body: JSON.stringify(body),
      },
    )
    await until(async () => (await flagsOf('bob')).flags['for-staff']?.enabled === true)
  })

  test('of a group are answered from what is sent, or once the home has told it', async () => {
    const properties = { $group_type: 'company', $group_key: 'acme', $group_set: { size: 9 } }
    await capture(home, '$groupidentify', { properties })
    const filters = {
      groups: [
        {
          properties: [
            { key: 'size', value: ['9'], type: 'group', group_type_index: 0, operator: 'exact' },
          ],
          rollout_percentage: 100,
        },
      ],
      aggregation_group_type_index: 0,
    }
    await manage('feature_flags/', { key: 'for-large', filters, active: true })
    await until(async () => 'for-large' in (await flagsOf('ann')).flags)
    const groups = { company: 'acme' }
    const group_properties = { company: { size: 9 } }
    await until(async () => {
      const { flags } = await flagsOf('ann', { groups, group_properties })
      return flags['for-large']?.enabled === true
    })
    // Asked about for the first time: unknown, unless the home has answered already.
    const first = await flagsOf('ann', { groups })
    expect(first.errorsWhileComputingFlags).toBe(first.flags['for-large']?.enabled === false)
    await until(async () => !(await flagsOf('ann', { groups })).errorsWhileComputingFlags)
    expect(await flagsOf('ann', { groups })).toMatchObject({
      flags: { 'for-large': { enabled: true } },
    })
    // The home has no such group, which is an answer too.
    const unknown = { groups: { company: 'nowhere' } }
    await until(async () => !(await flagsOf('ann', unknown)).errorsWhileComputingFlags)
    expect(await flagsOf('ann', unknown)).toMatchObject({
      flags: { 'for-large': { enabled: false } },
    })
  })

  test('of a group whose key has characters of two units each are answered as at home', async () => {
    const $group_key = '🏢'.repeat(300)
    const properties = { $group_type: 'company', $group_key, $group_set: { size: 9 } }
    await capture(home, '$groupidentify', { properties })
    const more = { groups: { company: $group_key } }
    const at_home = await flagsOf('ann', more, home_url)
    expect(at_home.flags['for-large']?.enabled).toBe(true)
    await until(async () => (await flagsOf('ann', more)).flags['for-large']?.enabled === true)
  })

  test('follow a group that changes', async () => {
    const properties = { $group_type: 'company', $group_key: 'acme', $group_set: { size: 1 } }
    await capture(edge, '$groupidentify', { properties })
    const groups = { company: 'acme' }
    await until(
      async () => (await flagsOf('ann', { groups })).flags['for-large']?.enabled === false,
    )
  })

  test('of a group that is deleted at home forget its properties', async () => {
    const properties = { $group_type: 'company', $group_key: 'leaving', $group_set: { size: 9 } }
    await capture(home, '$groupidentify', { properties })
    const groups = { company: 'leaving' }
    await until(async () => (await flagsOf('ann', { groups })).flags['for-large']?.enabled === true)
    const path = `${home_url}/api/projects/1/groups/find/?group_type_index=0&group_key=leaving`
    const headers = { Authorization: `Bearer ${PERSONAL_API_KEY}` }
    expect((await fetch(path, { method: 'DELETE', headers })).status).toBe(204)
    await until(
      async () => (await flagsOf('ann', { groups })).flags['for-large']?.enabled === false,
    )
    // The home said that there is no such group.
    expect((await flagsOf('ann', { groups })).errorsWhileComputingFlags).toBe(false)
  })

  describe('with experience continuity', () => {
    /** An id that half of a rollout includes, or not. */
    const idOf = (name: string, is_included: boolean): string => {
      for (let number = 0; ; number += 1) {
        const id = `${name}-${number}`
        if (rolloutBucket('keeps', id) < 0.5 === is_included) return id
      }
    }
    const hasKept = async (url: string, distinct_id: string, more: object = {}) =>
      (await flagsOf(distinct_id, more, url)).flags['keeps']?.enabled === true

    beforeAll(async () => {
      const filters = { groups: [{ properties: [], rollout_percentage: 50 }] }
      const keeping = { filters, active: true, ensure_experience_continuity: true }
      await manage('feature_flags/', { key: 'keeps', ...keeping })
      await until(async () => 'keeps' in (await flagsOf('ann')).flags)
    })

    test('keep at home, and at this edge, what a person saw here before logging in', async () => {
      const [user, anon] = [idOf('kim', false), idOf('kims-phone', true)]
      await capture(home, '$identify', { distinct_id: user, properties: { $set: { a: 1 } } })
      const more = { $anon_distinct_id: anon }
      // Either of the two could have an override at home.
      expect(await flagsOf(user, more)).toMatchObject({
        flags: { keeps: { enabled: false } },
        errorsWhileComputingFlags: true,
      })
      await until(() => hasKept(edge.url, user, more))
      expect(await hasKept(edge.url, user)).toBe(true)
      await until(() => hasKept(home_url, user))
      using db = new Database(join(folder, 'edge', 'events.db'), { readonly: true })
      const own = db.query<{ count: number }, []>('select count(*) as count from edge_overrides')
      // A later copy has it from the home.
      await until(async () => (await hasKept(edge.url, user)) && own.get()?.count === 0)
    })

    test('keep at this edge what the home has stored, whatever is sent later', async () => {
      const [user, anon, other] = [
        idOf('lou', false),
        idOf('lous-tv', true),
        idOf('lous-car', false),
      ]
      await capture(home, '$identify', { distinct_id: user, properties: { $set: { a: 1 } } })
      await until(() => hasKept(home_url, user, { $anon_distinct_id: anon }))
      await until(() => hasKept(edge.url, user, { $anon_distinct_id: other }))
      expect(await hasKept(edge.url, user)).toBe(true)
      expect(await hasKept(home_url, user)).toBe(true)
    })

    test('are not changed by the anonymous id of someone whom the home does not know', async () => {
      const [user, anon] = [idOf('max', false), idOf('maxs-phone', true)]
      const more = { $anon_distinct_id: anon }
      await until(async () => !(await flagsOf(user, more)).errorsWhileComputingFlags)
      const answers = [await flagsOf(user, more), await flagsOf(user, more, home_url)]
      expect(answers.map(({ flags }) => flags['keeps']?.enabled)).toEqual([false, false])
    })
  })
})

/** The names of the edges that have reported to the home. */
async function edgeNames(): Promise<readonly string[]> {
  const answer = await fetch(`${home_url}/_edge/v1/edges`, {
    headers: { Authorization: `Bearer ${PERSONAL_API_KEY}` },
  })
  const { results } = (await answer.json()) as { results: { name: string }[] }
  return results.map(({ name }) => name).toSorted()
}

describe('definitions', () => {
  test('are asked for whole by an edge that starts, also where it has their newest version, and a column more', async () => {
    const flag = (await flagsOf('ann', { groups: { company: 'acme' } })).flags['for-large']
    await edge.kill()
    // As an earlier version leaves columns that it does not know, and a crash group types.
    for (const [name, sql] of [
      ['control', "update feature_flags set active = 0 where key = 'for-all'"],
      ['control', 'alter table feature_flags add column later integer not null default 1'],
      ['events', 'delete from group_types'],
    ] as const) {
      using db = new Database(join(folder, 'edge', `${name}.db`))
      db.run(sql)
    }
    edge = await startEdge()
    await until(async () => (await flagsOf('ann')).flags['for-all']?.enabled === true)
    await until(async () => {
      const { flags } = await flagsOf('ann', { groups: { company: 'acme' } })
      return Bun.deepEquals(flags['for-large'], flag)
    })
  })
})

describe('other requests', () => {
  test('of SDKs are answered as at home', async () => {
    for (const path of [
      `/array/${API_TOKEN}/config`,
      `/api/surveys/?token=${API_TOKEN}`,
      `/api/early_access_features/?token=${API_TOKEN}`,
      `/api/web_experiments/?token=${API_TOKEN}`,
      `/array/${API_TOKEN}/array.js`,
    ]) {
      const [here, there] = await Promise.all([
        fetch(edge.url + path).then((answer) => answer.text()),
        fetch(home_url + path).then((answer) => answer.text()),
      ])
      expect(here).toBe(there)
    }
  })

  test('are refused with the address of the home', async () => {
    const answer = await fetch(`${edge.url}/api/projects/1/feature_flags/`)
    expect(answer.status).toBe(421)
    expect(await answer.json()).toMatchObject({
      code: 'ask_home',
      detail: expect.stringContaining(home_url),
    })
  })

  test('are passed on where the setting says so', async () => {
    const passing = await startEdge({ TIDEMARK_EDGE_OTHERS: 'pass' }, 'passing')
    try {
      const { results } = await askHogQL(passing.url, 'select 1 + 1')
      expect(results).toEqual([[2]])
      const answer = await fetch(`${passing.url}/api/projects/1/feature_flags/`)
      expect(answer.status).toBe(401)
      // The first report is on its way while the edge starts.
      await until(async () => (await edgeNames()).includes('passing'))
    } finally {
      expect(await passing.stop()).toBe(0)
    }
  })

  test('metrics and the list of edges have lag, backlog and the age of definitions', async () => {
    const metrics = await (await fetch(`${edge.url}/_metrics`)).text()
    expect(metrics).toContain('tidemark_edge_lag_seconds 0')
    expect(metrics).toMatch(/tidemark_edge_definitions_age_seconds [\d.]+/)
    expect(await edgeNames()).toEqual(['edge', 'passing'])
    const at_home = await (await fetch(`${home_url}/_metrics`)).text()
    expect(at_home).toMatch(/tidemark_edge_lag_seconds\{edge="[0-9a-f]{32}",name="edge"\}/)
  })
})

describe('an edge without its home', () => {
  test('starts again and answers from its copies', async () => {
    await home.kill()
    await edge.kill()
    edge = await startEdge()
    expect((await flagsOf('ann')).flags['for-all']?.enabled).toBe(true)
    expect((await capture(edge, 'alone')).status).toBe(200)
    home = await startHome()
    await until(async () => (await count('alone')) === 1)
  })

  test('that never had one answers 503, so that nothing is dropped', async () => {
    await home.kill()
    const port = freePort()
    const env = {
      TIDEMARK_FORWARD_TO: home_url,
      TIDEMARK_FORWARD_KEY: PERSONAL_API_KEY,
      TIDEMARK_EDGE_REFRESH_S: '1',
    }
    const starting = startServer({ data_dir: join(folder, 'fresh'), port, env })
    const url = `http://127.0.0.1:${port}`
    await until(async () => (await fetch(`${url}/_liveness`).catch(() => null))?.ok === true)
    expect(
      (await post(`${url}/capture/`, { api_key: API_TOKEN, event: 'e', distinct_id: 'd' })).status,
    ).toBe(503)
    expect((await post(`${url}/flags/`, { api_key: API_TOKEN, distinct_id: 'd' })).status).toBe(503)
    expect((await fetch(`${url}/_readiness`)).status).toBe(503)
    home = await startHome()
    const fresh = await starting
    expect((await capture(fresh, 'fresh')).status).toBe(200)
    await until(async () => (await count('fresh')) === 1)
    expect(await fresh.stop()).toBe(0)
  })

  test('answers 503 when its disk is full of what waits, drops nothing, and goes on', async () => {
    await edge.kill()
    edge = await startEdge({ TIDEMARK_EDGE_DISK_MB: '1' })
    await until(async () => {
      const health = await (await fetch(`${edge.url}/_health`)).json()
      return (health as { edge: { backlog_events: number } }).edge.backlog_events === 0
    })
    await home.kill()
    const properties = { text: 'x'.repeat(50_000) }
    let stored = 0
    let status = 200
    for (; status === 200 && stored < 100; stored += Number(status === 200)) {
      status = (await capture(edge, 'full', { properties })).status
    }
    expect(status).toBe(503)
    expect(stored).toBeGreaterThan(10)
    expect(serverLog(join(folder, 'edge'))).toContain('TIDEMARK_EDGE_DISK_MB is reached')
    home = await startHome()
    await until(async () => (await count('full')) === stored)
    await until(async () => (await capture(edge, 'after', { properties })).status === 200)
    await until(async () => (await count('after')) > 0)
  })
})
