/** The query endpoint as a service: refresh, cache, background queries, cancelling, limits. */
import { Database } from 'bun:sqlite'
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  setDefaultTimeout,
  test,
} from 'bun:test'
import { join } from 'node:path'
import { createApp } from '../../../../src/app.ts'
import { createApiKey } from '../../../../src/projects/keys/api-key.ts'
import { createOrganization, getOrganizationOwner } from '../../../../src/projects/organization.ts'
import { createProject } from '../../../../src/projects/settings/project.ts'
import type { QueryEngine } from '../../../../src/query/engine/engine.ts'
import { EngineFault } from '../../../../src/query/engine/engine-refusals.ts'
import { KeyLimits } from '../../../../src/query/service/key-limits.ts'
import { QueryService } from '../../../../src/query/service/service.ts'
import { createTimings } from '../../../../src/threads/timings.ts'
import { openWorld, SERVICE_SETTINGS, type World } from '../../world.ts'

/** These start processes, which a busy machine takes its time for. */
setDefaultTimeout(60_000)

/** Far longer than any test. */
const LONG = `SELECT count() FROM numbers(10000000) a CROSS JOIN numbers(10000000) b
  WHERE (a.number * b.number) % 7 = 8`
const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

let world: World
/** The world's clock: it stands still until a test moves it. */
let now_ms: number
beforeEach(() => {
  now_ms = Date.UTC(2024, 5, 15, 12)
})

const openClockedWorld = () => openWorld({ now: () => new Date(now_ms) })

/** Opens a world for each test around here, or one for all of them. */
function openWorldFor(who: 'all tests' | 'each test'): void {
  const [before, after] = who === 'all tests' ? [beforeAll, afterAll] : [beforeEach, afterEach]
  before(async () => {
    world = await openClockedWorld()
  })
  after(() => world.close())
}

/** Without events. */
let shared: World
let started_before = 0
beforeAll(async () => {
  shared = await openClockedWorld()
})
afterAll(() => shared.close())

/** Tests around here share one world: when each begins, nothing is cached, known by its id or running. */
function shareWorld(): void {
  beforeEach(async () => {
    world = shared
    world.service.dropProject(1)
    await until(() => world.service.state.requests === 0 && world.engine.state.running === 0)
    started_before = world.service.state.started
  })
}

/** Queries that were started in this test. */
const started = (): number => world.service.state.started - started_before

type Body = {
  readonly results?: readonly (readonly unknown[])[]
  readonly is_cached?: boolean
  readonly last_refresh?: string
  readonly cache_key?: string
  readonly query_status?: Readonly<Record<string, unknown>> | null
  readonly [name: string]: unknown
}

type Asked = { readonly refresh?: unknown; readonly [member: string]: unknown }

const PATH = '/api/environments/1/query/'

function send(
  method: string,
  path: string,
  body?: object,
  init: RequestInit = {},
): Promise<Response> {
  const key = world.first.personal_api_key
  return world.send(path, {
    method,
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...init,
  })
}

const post = (query: string, more: Asked = {}, init: RequestInit = {}) =>
  send('POST', PATH, { query: { kind: 'HogQLQuery', query }, ...more }, init)

async function ask(query: string, more: Asked = {}): Promise<Body> {
  const answer = await post(query, more)
  const body = JSON.parse(await answer.text())
  return answer.status === 200 ? body : { refused: answer.status, ...body }
}

async function statusOf(id: string, search = ''): Promise<Readonly<Record<string, unknown>>> {
  const answer = await send('GET', `${PATH}${id}/${search}`)
  const body = JSON.parse(await answer.text())
  return answer.status === 200 ? body.query_status : { refused: answer.status, ...body }
}

const capture = (distinct_id: string) =>
  world.send('/capture/', {
    method: 'POST',
    body: JSON.stringify({ api_key: world.first.api_token, event: 'e', distinct_id }),
  })

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await Bun.sleep(5)
}

const complete = (id: string) => until(async () => (await statusOf(id))['complete'] === true)
const idOf = (body: Body): string => String(body.query_status?.['id'])
const COUNT = 'SELECT count() FROM events'

/** Every cell: what the cache has when the query comes, the refresh value, and what is answered. */
describe('a query, by what the cache has', () => {
  openWorldFor('all tests')
  const FRESH = { is_cached: true, results: [[0]] }
  const COMPUTED = { is_cached: false, results: [[1]] }
  const RUNNING = { complete: false, error: false, results: null, query_async: true }

  const CELLS = [
    // nothing is cached
    ['none', 'blocking', { ...COMPUTED, query_status: null }],
    ['none', 'force_blocking', { ...COMPUTED, query_status: null }],
    ['none', true, { ...COMPUTED, query_status: null }],
    ['none', false, { ...COMPUTED, query_status: null }],
    ['none', 'async', { query_status: RUNNING }],
    ['none', 'lazy_async', { query_status: RUNNING }],
    ['none', 'force_async', { query_status: RUNNING }],
    ['none', 'force_cache', { query_status: null }],
    ['none', 'async_except_on_cache_miss', { ...COMPUTED, query_status: null }],
    // an answer of 14 seconds ago
    ['fresh', 'blocking', { ...FRESH, query_status: null }],
    ['fresh', 'force_blocking', { ...COMPUTED, query_status: null }],
    ['fresh', true, { ...COMPUTED, query_status: null }],
    ['fresh', false, { ...FRESH, query_status: null }],
    ['fresh', 'async', { ...FRESH, query_status: null }],
    ['fresh', 'lazy_async', { ...FRESH, query_status: null }],
    ['fresh', 'force_async', { query_status: RUNNING }],
    ['fresh', 'force_cache', { ...FRESH, query_status: null }],
    // an answer of 15 seconds ago
    ['stale', 'blocking', { ...COMPUTED, query_status: null }],
    ['stale', 'force_blocking', { ...COMPUTED, query_status: null }],
    ['stale', true, { ...COMPUTED, query_status: null }],
    ['stale', 'async', { ...FRESH, query_status: RUNNING }],
    ['stale', 'lazy_async', { ...FRESH, query_status: null }],
    ['stale', 'force_async', { query_status: RUNNING }],
    ['stale', 'force_cache', { ...FRESH, query_status: null }],
    ['stale', 'async_except_on_cache_miss', { ...FRESH, query_status: RUNNING }],
    // an answer of an hour ago
    ['old', 'blocking', { ...COMPUTED, query_status: null }],
    ['old', 'async', { ...FRESH, query_status: RUNNING }],
    ['old', 'lazy_async', { ...FRESH, query_status: RUNNING }],
    ['old', 'force_cache', { ...FRESH, query_status: null }],
  ] as const
  const AGES = { none: null, fresh: 15 * SECOND - 1, stale: 15 * SECOND, old: HOUR } as const

  test.each(CELLS)(
    'with a cache that is %s and refresh %p is answered %j',
    async (cache, refresh, told) => {
      const user = crypto.randomUUID()
      const COUNT_OF_USER = `SELECT count() FROM events WHERE distinct_id = '${user}'`
      const age_ms = AGES[cache]
      if (age_ms !== null) {
        expect(await ask(COUNT_OF_USER)).toMatchObject({ is_cached: false, results: [[0]] })
        now_ms += age_ms
      }
      await capture(user)
      const body = await ask(COUNT_OF_USER, { refresh })
      expect(body).toMatchObject(told)
      expect(body.cache_key).toMatch(/^cache_[0-9a-f]{32}$/)
      expect('results' in body).toBe('results' in told)
      if (!('is_cached' in told))
        expect(Object.keys(body).toSorted()).toEqual(['cache_key', 'query_status'])
      if (told.query_status === null) return
      await complete(idOf(body))
      const { results } = await statusOf(idOf(body))
      expect(results).toMatchObject(COMPUTED)
      // What was computed in the background is what the cache has now.
      expect(await ask(COUNT_OF_USER)).toMatchObject({ is_cached: true, results: [[1]] })
    },
  )
})

describe('a query', () => {
  shareWorld()

  test.each([
    ['blocking', 'HogQLQuery'],
    ['async', 'HogQLQuery'],
    ['blocking', 'DataTableNode'],
    ['async', 'DataTableNode'],
  ])('that is being computed is joined by %s, sent as %s', async (refresh, kind) => {
    const first = await ask(LONG, { refresh: 'async', client_query_id: 'first' })
    expect(first.query_status).toMatchObject({ id: 'first', complete: false })
    const source = { kind: 'HogQLQuery', query: LONG }
    const query = kind === 'HogQLQuery' ? source : { kind, source }
    const second = send('POST', PATH, { query, refresh, client_query_id: 'second' })
    await until(async () => typeof (await statusOf('second'))['pickup_time'] === 'string')
    await until(() => world.service.state.running === 1 && world.engine.state.running === 1)
    expect(started()).toBe(1)
    await send('DELETE', `${PATH}first/`)
    // One who stays keeps it running.
    expect(world.engine.state.running).toBe(1)
    await send('DELETE', `${PATH}second/`)
    await until(() => world.engine.state.running === 0)
    const answer = await second
    expect(answer.status).toBe(refresh === 'blocking' ? 400 : 200)
  })

  test('that is forced while it is computed is computed once more after that', async () => {
    const forced = { refresh: 'force_async' }
    await ask(LONG, { ...forced, client_query_id: 'first' })
    await until(() => world.engine.state.running === 1)
    now_ms += 1
    const later = await Promise.all([ask(LONG, forced), ask(LONG, forced)])
    expect([world.engine.state.running, started()]).toEqual([1, 1])
    await send('DELETE', `${PATH}first/`)
    await until(() => started() === 2 && world.engine.state.running === 1)
    for (const body of later) await send('DELETE', `${PATH}${idOf(body)}/`)
    await until(() => world.engine.state.running === 0)
    expect(started()).toBe(2)
    expect(world.service.state).toMatchObject({ running: 0, requests: 0 })
  })

  test('asked by two hundred at once is computed once', async () => {
    const bodies = await Promise.all(Array.from({ length: 200 }, () => ask(COUNT)))
    expect(bodies.every((body) => body.results?.[0]?.[0] === 0)).toBe(true)
    expect(new Set(bodies.map(({ cache_key }) => cache_key)).size).toBe(1)
    expect(started()).toBe(1)
  })

  test('asked with the old async is asked in the background', async () => {
    expect((await ask(COUNT, { async: true })).query_status).toMatchObject({ complete: false })
    expect(await ask(COUNT, { async: false })).toMatchObject({ results: [[0]] })
  })
})

describe('a cached answer', () => {
  shareWorld()

  test('says so, when it was computed and when it is stale', async () => {
    const first = await ask(COUNT)
    now_ms += 5 * SECOND
    const { timings, ...again } = await ask(COUNT)
    expect(timings).toEqual(first['timings'])
    expect(again).toEqual({
      results: [[0]],
      columns: ['count()'],
      types: [['count()', 'UInt64']],
      hogql: expect.stringContaining('SELECT count() FROM events'),
      clickhouse: null,
      error: null,
      explain: null,
      modifiers: {},
      metadata: null,
      hasMore: false,
      limit: 100,
      offset: 0,
      timezone: 'UTC',
      query: COUNT,
      is_cached: true,
      cache_key: String(first.cache_key),
      last_refresh: '2024-06-15T12:00:00.000Z',
      next_allowed_client_refresh: '2024-06-15T12:01:00.000Z',
      cache_target_age: '2024-06-15T12:00:15.000Z',
      calculation_trigger: null,
      query_status: null,
    })
  })

  test('is that of the same query in other words, which come back as they were asked', async () => {
    const first = await ask('select  count( ) from events')
    const second = await ask('SELECT count() FROM events -- all of them')
    expect(second).toMatchObject({
      is_cached: true,
      cache_key: first.cache_key,
      query: 'SELECT count() FROM events -- all of them',
    })
  })

  test('is not that of another query: values, filters, variables, modifiers', async () => {
    const query = 'SELECT {a}, {variables.x} FROM events WHERE {filters}'
    const base = { values: { a: 1 }, variables: { i: { code_name: 'x', value: 'v' } } }
    const members = [
      base,
      { ...base, values: { a: 2 } },
      { ...base, values: { a: '1' } },
      { ...base, variables: { i: { code_name: 'x', value: 'w' } } },
      { ...base, filters: { dateRange: { date_from: '-7d' } } },
      { ...base, filters: { dateRange: { date_from: '-8d' } } },
      { ...base, modifiers: { debug: true } },
    ]
    const keys: unknown[] = []
    for (const more of members) {
      const answer = await send('POST', PATH, { query: { kind: 'HogQLQuery', query, ...more } })
      keys.push(JSON.parse(await answer.text()).cache_key)
    }
    expect(new Set(keys).size).toBe(members.length)
    // Relative dates are part of the query as they are written, not as what they mean now.
    now_ms += 5 * SECOND
    const again = await send('POST', PATH, { query: { kind: 'HogQLQuery', query, ...members[4] } })
    expect(await again.json()).toMatchObject({ is_cached: true, cache_key: keys[4] })
  })

  test('is not shared with another project', async () => {
    const organization_id = createOrganization(world.needs.control, { name: 'O' }, new Date()).id
    const other = createProject(world.needs.control, { organization_id, name: 'o' }, new Date())
    const mine = await ask('SELECT 1')
    const path = `/api/environments/${other.id}/query/`
    const query = { kind: 'HogQLQuery', query: 'SELECT 1' }
    const theirs = JSON.parse(
      await (await send('POST', path, { query, refresh: 'force_cache' })).text(),
    )
    expect(theirs).toEqual({ cache_key: expect.any(String), query_status: null })
    expect(theirs.cache_key).not.toBe(mine.cache_key)
  })

  test('goes with its project', async () => {
    await ask(COUNT)
    await ask(COUNT, { refresh: 'force_async', client_query_id: 'done' })
    await complete('done')
    await ask(LONG, { refresh: 'async', client_query_id: 'running' })
    world.service.dropProject(1)
    await until(() => world.engine.state.running === 0)
    expect(await ask(COUNT, { refresh: 'force_cache' })).toMatchObject({ query_status: null })
    for (const id of ['done', 'running']) expect(await statusOf(id)).toMatchObject({ refused: 404 })
  })

  test('is not one that failed', async () => {
    const failing = "SELECT throwIf(number = 0, 'no') FROM numbers(1)"
    expect(await ask(failing)).toMatchObject({ refused: 400 })
    expect(Object.keys(await ask(failing, { refresh: 'force_cache' }))).toEqual([
      'cache_key',
      'query_status',
    ])
  })
})

describe('a background query', () => {
  shareWorld()

  test('has a status with every field, and the whole answer inside it', async () => {
    const asked = await ask('SELECT 7 AS seven', { refresh: 'async', client_query_id: 'mine' })
    expect(asked.query_status).toEqual({
      id: 'mine',
      team_id: 1,
      complete: false,
      error: false,
      error_message: null,
      query_async: true,
      query_progress: null,
      results: null,
      start_time: '2024-06-15T12:00:00.000Z',
      end_time: null,
      pickup_time: null,
      expiration_time: '2024-06-15T12:20:00.000Z',
      dashboard_id: null,
      insight_id: null,
      labels: ['HogQLQuery'],
      task_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    })
    await complete('mine')
    expect(await statusOf('mine')).toEqual({
      ...asked.query_status,
      complete: true,
      pickup_time: '2024-06-15T12:00:00.000Z',
      end_time: '2024-06-15T12:00:00.000Z',
      results: expect.objectContaining({
        results: [[7]],
        columns: ['seven'],
        is_cached: false,
        query_status: null,
      }),
    })
  })

  test('has an id of its own when none is given, and the name it was given as a label', async () => {
    const query = { kind: 'HogQLQuery', query: 'SELECT 1', name: 'One' }
    const answer = await send('POST', PATH, { query, refresh: 'force_async' })
    const { query_status } = JSON.parse(await answer.text())
    expect(query_status).toMatchObject({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      labels: ['HogQLQuery', 'One'],
    })
  })

  test('asked again under the same id answers its status and runs once', async () => {
    const again = { refresh: 'force_async', client_query_id: 'same' }
    await ask('SELECT 1', again)
    await complete('same')
    expect((await ask('SELECT 2', again)).query_status).toMatchObject({
      id: 'same',
      complete: true,
      results: { results: [[1]] },
    })
    expect(started()).toBe(1)
    now_ms += 20 * MINUTE
    expect((await ask('SELECT 2', again)).query_status).toMatchObject({ complete: false })
    await complete('same')
    expect((await statusOf('same'))['results']).toMatchObject({ results: [[2]] })
  })

  test('is known for twenty minutes after its end, in its own project', async () => {
    await ask('SELECT 1', { refresh: 'async', client_query_id: 'kept' })
    await complete('kept')
    const organization_id = createOrganization(world.needs.control, { name: 'O' }, new Date()).id
    const other = createProject(world.needs.control, { organization_id, name: 'o' }, new Date())
    const theirs = await send('GET', `/api/projects/${other.id}/query/kept/`)
    expect([theirs.status, await theirs.json()]).toEqual([
      404,
      {
        type: 'invalid_request',
        code: 'not_found',
        detail: `Query kept not found for team ${other.id}`,
        attr: null,
      },
    ])
    expect((await send('GET', '/api/projects/1/query/kept')).status).toBe(200)
    // The beginning of an unknown id is enough to know it by.
    const long = await send('GET', `/api/projects/1/query/${'x'.repeat(5000)}/`)
    const { detail } = (await long.json()) as { readonly detail: string }
    expect([long.status, detail]).toEqual([404, `Query ${'x'.repeat(100)} not found for team 1`])
    now_ms += 20 * MINUTE - 1
    expect(await statusOf('kept')).toMatchObject({ complete: true })
    now_ms += 1
    expect(await statusOf('kept')).toMatchObject({ refused: 404 })
  })

  test('that fails says why in its status', async () => {
    await ask('SELECT nothing FROM events', { refresh: 'async', client_query_id: 'bad' })
    await complete('bad')
    expect(await statusOf('bad')).toMatchObject({
      error: true,
      error_message: expect.stringContaining('nothing'),
      results: null,
    })
  })

  test('tells how far it is, to those who want to know', async () => {
    await ask(LONG, { refresh: 'async', client_query_id: 'far' })
    await until(async () => typeof (await statusOf('far'))['pickup_time'] === 'string')
    now_ms += 1500
    for (const search of ['?show_progress=true', '?showProgress=1']) {
      await until(async () => {
        const { query_progress } = await statusOf('far', search)
        const text = JSON.stringify(query_progress)
        return /"estimated_rows_total":[1-9]/.test(text) && /"active_cpu_time":[1-9]/.test(text)
      })
      expect((await statusOf('far', search))['query_progress']).toEqual({
        bytes_read: expect.any(Number),
        rows_read: expect.any(Number),
        estimated_rows_total: expect.any(Number),
        time_elapsed: 1,
        active_cpu_time: expect.any(Number),
      })
    }
    expect((await statusOf('far'))['query_progress']).toBeNull()
    await send('DELETE', `${PATH}far/`)
  })

  test('takes its turn, and leaves places for those who wait', async () => {
    const long = (n: number) =>
      ask(`${LONG} AND a.number > ${n}`, { refresh: 'async', client_query_id: `q${n}` })
    for (let n = 1; n <= 5; n++) await long(n)
    await until(() => world.engine.state.running === 2)
    expect(world.service.state.background).toEqual({ running: 2, waiting: 3 })
    expect(await ask(COUNT)).toMatchObject({ results: [[0]] })
    for (let n = 1; n <= 5; n++) await send('DELETE', `${PATH}q${n}/`)
    await until(() => world.engine.state.running === 0)
    expect(world.service.state).toMatchObject({
      requests: 0,
      background: { running: 0, waiting: 0 },
    })
  })
})

describe('a background query of a server', () => {
  openWorldFor('each test')

  test('names no request in the log lines of the query process', async () => {
    await ask('SELECT 1')
    const lines = world.log_lines.map((line) => JSON.parse(line))
    const ready = lines.filter(({ msg }) => msg === 'query process ready')
    expect(ready.map(({ request_id }) => request_id)).toEqual([undefined])
  })

  test('is refused as the server stops, like every other that is not answered yet', async () => {
    await ask('SELECT 1')
    const asked = [
      ask(LONG),
      ask(LONG),
      ask(`${LONG} and a.number > 0`, { refresh: 'force_blocking' }),
    ]
    for (const id of ['a', 'b', 'c']) {
      await ask(`${LONG} and '${id}' != ''`, { refresh: 'async', client_query_id: id })
    }
    await until(() => world.engine.state.running === 4)
    // Joins one that waits for its turn in the background.
    asked.push(ask(`${LONG} and 'c' != ''`))
    await until(() => world.service.state.requests === 7)
    world.service.close()
    await world.engine.close()
    const refused = { refused: 503, code: 'storage_unavailable', detail: 'The server is stopping.' }
    expect(await Promise.all(asked)).toEqual(asked.map(() => expect.objectContaining(refused)))
  })

  test('survives a restart when it was done, and says so when it was not', async () => {
    await ask('SELECT 1', { refresh: 'async', client_query_id: 'done' })
    await complete('done')
    await ask(LONG, { refresh: 'async', client_query_id: 'cut' })
    world.service.close()
    const again = new QueryService({
      data_dir: world.data_dir,
      engine: world.engine,
      settings: SERVICE_SETTINGS,
      timings: createTimings(),
      log: world.needs.log,
      now: () => new Date(now_ms),
    })
    const read = async (id: string) =>
      JSON.parse(
        Buffer.from(await again.readStatus({ project_id: 1, caller: '1', id }, false)).toString(),
      )
    expect(await read('done')).toMatchObject({
      query_status: { complete: true, error: false, results: { results: [[1]] } },
    })
    expect(await read('cut')).toMatchObject({
      query_status: {
        complete: true,
        error: true,
        error_message: 'The server was restarted while the query ran. Ask it again.',
      },
    })
    again.close()
  })
})

describe('a query whose caller waits', () => {
  shareWorld()

  test('has a status after its end too, for those who show its progress', async () => {
    await ask('SELECT 1', { client_query_id: 'short' })
    expect(await statusOf('short', '?show_progress=true')).toMatchObject({
      complete: true,
      error: false,
      query_async: false,
      query_progress: null,
      results: null,
    })
    await ask('SELECT nothing FROM events', { client_query_id: 'bad' })
    expect(await statusOf('bad')).toMatchObject({
      complete: true,
      error: true,
      error_message: expect.stringContaining('nothing'),
    })
    // The id may be used again, and is forgotten in the end.
    const again = ask(LONG, { client_query_id: 'short' })
    await until(() => world.engine.state.running === 1)
    expect(await statusOf('short')).toMatchObject({ complete: false })
    await send('DELETE', `${PATH}short/`)
    await again
    now_ms += 20 * MINUTE
    expect(await statusOf('bad')).toMatchObject({ refused: 404 })
  })
})

describe('DELETE', () => {
  shareWorld()

  const stop = (id: string) => send('DELETE', `${PATH}${id}/`)

  test('answers 204 and frees the engine, once and again, and for ids nobody knows', async () => {
    await ask(LONG, { refresh: 'async', client_query_id: 'a' })
    await until(() => world.engine.state.running === 1)
    const { pid } = world.engine.state
    const first = await stop('a')
    expect([first.status, await first.text()]).toEqual([204, ''])
    await until(() => world.engine.state.running === 0)
    // Interrupted, not killed.
    expect(world.engine.state.pid).toBe(pid)
    expect((await stop('a')).status).toBe(204)
    expect((await stop('never')).status).toBe(204)
    expect(await statusOf('a')).toMatchObject({
      refused: 404,
      detail: 'Query a not found for team 1',
    })
    expect((await ask(LONG, { refresh: 'force_cache' })).query_status).toBeNull()
  })

  test('stops a query that never began', async () => {
    const long = (n: number) =>
      ask(`${LONG} AND a.number > ${n}`, { refresh: 'async', client_query_id: `q${n}` })
    for (const n of [1, 2, 3]) await long(n)
    expect(await statusOf('q3')).toMatchObject({ complete: false, pickup_time: null })
    for (const n of [3, 2, 1]) expect((await stop(`q${n}`)).status).toBe(204)
    await until(() => world.engine.state.running === 0)
    expect(started()).toBe(2)
  })

  test('stops a query its asker waits for, who is told', async () => {
    const asked = post(LONG, { client_query_id: 'waiting' })
    await until(() => world.engine.state.running === 1)
    expect(await statusOf('waiting')).toMatchObject({ complete: false, query_async: false })
    expect((await stop('waiting')).status).toBe(204)
    const answer = await asked
    expect([answer.status, await answer.json()]).toEqual([
      400,
      expect.objectContaining({ code: 'query_cancelled', detail: 'The query was cancelled.' }),
    ])
    await until(() => world.engine.state.running === 0)
    expect(await statusOf('waiting')).toMatchObject({ refused: 404 })
  })

  test("does not stop another project's query", async () => {
    const organization_id = createOrganization(world.needs.control, { name: 'O' }, new Date()).id
    const other = createProject(world.needs.control, { organization_id, name: 'o' }, new Date())
    await ask(LONG, { refresh: 'async', client_query_id: 'mine' })
    await until(() => world.engine.state.running === 1)
    expect((await send('DELETE', `/api/projects/${other.id}/query/mine/`)).status).toBe(204)
    expect(await statusOf('mine')).toMatchObject({ complete: false })
    await stop('mine')
  })

  test.each(['GET', 'DELETE'])('like GET needs query:read (%s)', async (method) => {
    const { control } = world.needs
    const user_id = getOrganizationOwner(control, world.first.organization_id)
    const wanted = { user_id, label: 'k', organization_id: null, project_id: null }
    const keyOf = (scope: string) =>
      createApiKey(control, { ...wanted, scopes: [scope] }, new Date()).value
    const statuses: number[] = []
    for (const scope of ['query:read', 'person:read']) {
      const headers = { Authorization: `Bearer ${keyOf(scope)}` }
      statuses.push((await world.send(`${PATH}x/`, { method, headers })).status)
    }
    expect(statuses).toEqual([method === 'GET' ? 404 : 204, 403])
  })
})

describe('a caller who waits', () => {
  shareWorld()

  test('and hangs up stops the work, unless another waits for the same', async () => {
    const [first, second] = [new AbortController(), new AbortController()]
    const asked = [first, second].map(({ signal }) => post(LONG, {}, { signal }).catch(() => null))
    await until(() => world.engine.state.running === 1 && world.service.state.requests === 2)
    first.abort()
    await until(() => world.service.state.requests === 1)
    await Bun.sleep(20)
    expect(world.engine.state.running).toBe(1)
    second.abort()
    await until(() => world.engine.state.running === 0)
    await Promise.all(asked)
    expect(world.service.state).toMatchObject({ running: 0, requests: 0 })
  })

  /** A server of the world's whose callers wait no longer than that. */
  async function impatient(timeout_ms: number, engine: Pick<QueryEngine, 'run'> = world.engine) {
    const service = new QueryService({
      data_dir: world.data_dir,
      engine,
      settings: { ...SERVICE_SETTINGS, timeout_ms },
      timings: createTimings(),
      log: world.needs.log,
      now: () => new Date(now_ms),
    })
    const app = createApp({ ...world.needs, query_service: service })
    app.listen({ port: 0, hostname: '127.0.0.1', idleTimeout: 2 })
    return {
      ask: (query: string) =>
        fetch(`http://127.0.0.1:${app.server?.port}${PATH}`, {
          method: 'POST',
          headers: {
            Authorization: `Bearer ${world.first.personal_api_key}`,
            'Content-Type': 'application/json',
          },
          body: JSON.stringify({ query: { kind: 'HogQLQuery', query } }),
        }),
      async [Symbol.asyncDispose]() {
        await app.server?.stop(true)
        service.close()
      },
    }
  }

  test('is told when it takes too long, and the work stops', async () => {
    await ask('SELECT 1')
    await using server = await impatient(300)
    const answer = await server.ask(LONG)
    expect([answer.status, await answer.json()]).toEqual([
      400,
      expect.objectContaining({
        code: 'query_timeout',
        detail: 'The query took longer than 0.3 seconds.',
      }),
    ])
    await until(() => world.engine.state.running === 0)
  })

  test('may wait longer than a silent connection is kept', async () => {
    await ask('SELECT 1')
    // Sleeps as long as LONG counts.
    const sql = `select count(case when n % 2048 = 0 then sleep_ms(50) end) from range(1000000000) t(n)`
    await using server = await impatient(9000, {
      run: (query, options) => world.engine.run({ ...query, sql, values: [] }, options),
    })
    const answer = await server.ask(COUNT)
    expect(await answer.json()).toMatchObject({ code: 'query_timeout' })
  })
})

describe('a key with limits', () => {
  afterEach(() => world.close())

  const limited = async (settings: { running_max: number; per_minute: number }) => {
    const now = () => new Date(now_ms)
    world = await openWorld({ now, key_limits: new KeyLimits({ per_hour: 0, ...settings }, now) })
  }

  test('is answered 429 beyond its number at a time', async () => {
    await limited({ running_max: 1, per_minute: 0 })
    const asked = post(LONG, { client_query_id: 'one' })
    await until(() => world.engine.state.running === 1)
    const refused = await post('SELECT 1')
    expect([refused.status, refused.headers.get('retry-after'), await refused.json()]).toEqual([
      429,
      '1',
      {
        type: 'throttled_error',
        code: 'throttled',
        detail: 'This API key may run 1 queries at a time.',
        attr: null,
      },
    ])
    // Statuses and cancelling are not counted.
    expect((await send('DELETE', `${PATH}one/`)).status).toBe(204)
    await asked
    expect((await post('SELECT 1')).status).toBe(200)
  })

  test('is answered 429 beyond its number in a minute, and told when to come again', async () => {
    await limited({ running_max: 0, per_minute: 2 })
    const answers: Response[] = []
    for (let count = 0; count < 3; count++) answers.push(await post('SELECT 1'))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429])
    expect(answers[2]?.headers.get('retry-after')).toBe('30')
    now_ms += 30 * SECOND
    expect((await post('SELECT 1')).status).toBe(200)
  })
})

describe('rows sent as they come', () => {
  shareWorld()

  const rows = `SELECT number, 'some text to fill the parts with' FROM numbers(400000)`
  const path = `${PATH}?format=ndjson`
  const exportRows = (query: string) => send('POST', path, { query: { kind: 'HogQLQuery', query } })

  test('count for their key until the last of them is read', async () => {
    const now = () => new Date(now_ms)
    const limits = new KeyLimits({ running_max: 1, per_minute: 0, per_hour: 0 }, now)
    await using limited = await openWorld({ now, key_limits: limits })
    world = limited
    const first = await exportRows(rows)
    expect(first.status).toBe(200)
    expect((await exportRows(rows)).status).toBe(429)
    expect((await post('SELECT 1')).status).toBe(429)
    expect((await first.text()).trimEnd().split('\n')).toHaveLength(400_000)
    await until(async () => (await post('SELECT 1')).status === 200)
  })

  test('leave places to others, however slowly they are read', async () => {
    const readers = await Promise.all(Array.from({ length: 2 }, () => exportRows(rows)))
    const waiting = exportRows('SELECT 7')
    await until(() => world.service.state.background.waiting === 1)
    expect(world.engine.state.running).toBe(2)
    expect(await ask('SELECT 1')).toMatchObject({ results: [[1]] })
    for (const { body } of readers) await body?.cancel()
    expect(await (await waiting).text()).toBe('{"7":7}\n')
    await until(() => world.engine.state.running === 0)
    expect(world.service.state.background).toEqual({ running: 0, waiting: 0 })
  })

  test('are given up while they wait by callers who hang up', async () => {
    const readers = await Promise.all(Array.from({ length: 2 }, () => exportRows(rows)))
    const leave = new AbortController()
    const waiting = send(
      'POST',
      path,
      { query: { kind: 'HogQLQuery', query: 'SELECT 7' } },
      {
        signal: leave.signal,
      },
    )
    await until(() => world.service.state.background.waiting === 1)
    leave.abort()
    expect((await waiting).status).toBe(400)
    expect(world.service.state.background.waiting).toBe(0)
    for (const { body } of readers) await body?.cancel()
  })
})

describe('any query', () => {
  shareWorld()

  test('an empty id is none', async () => {
    const { query_status } = await ask('SELECT 1', { refresh: 'async', client_query_id: '' })
    expect(query_status).toMatchObject({ id: expect.stringMatching(/^[0-9a-f]{32}$/) })
  })

  test('a background query whose end cannot be kept has failed, and can be asked again', async () => {
    const gate = Promise.withResolvers<void>()
    await using gated = await openWorld(
      { now: () => new Date(now_ms) },
      { run: (query, options) => gate.promise.then(() => world.engine.run(query, options)) },
    )
    world = gated
    await ask('SELECT 1', { refresh: 'async', client_query_id: 'a' })
    const db = new Database(join(world.data_dir, 'cache.db'))
    db.run("create trigger full before insert on statuses begin select raise(abort, 'full'); end")
    gate.resolve()
    await complete('a')
    expect(await statusOf('a')).toMatchObject({
      error: true,
      error_message: 'The end of the query could not be kept. Ask it again.',
    })
    // Nor can anything else be asked in the background, and nothing is left behind.
    expect((await post('SELECT 2', { refresh: 'async' })).status).toBe(503)
    await until(() => world.service.state.requests === 0 && world.engine.state.running === 0)
    db.run('drop trigger full')
    db.close()
    const again = await ask('SELECT 3', { refresh: 'force_async', client_query_id: 'a' })
    expect(again.query_status).toMatchObject({ complete: true, error: true })
    await send('DELETE', `${PATH}a/`)
    await ask('SELECT 3', { refresh: 'force_async', client_query_id: 'a' })
    await complete('a')
    expect(await statusOf('a')).toMatchObject({ error: false, results: { results: [[3]] } })
  })

  test('what was worked out in the background of data that is deleted is told to nobody', async () => {
    const gate = Promise.withResolvers<void>()
    let is_held = false
    await using held = await openWorld(
      {},
      {
        run: async (query, options) => {
          const answer = await world.engine.run(query, options)
          if (is_held) await gate.promise
          return answer
        },
      },
    )
    world = held
    await ask('SELECT 1', { refresh: 'async', client_query_id: 'before' })
    await complete('before')
    is_held = true
    await ask('SELECT 2', { refresh: 'async', client_query_id: 'meanwhile' })
    await until(async () => typeof (await statusOf('meanwhile'))['pickup_time'] === 'string')
    world.service.forgetAnswers(1)
    expect((await send('GET', `${PATH}before/`)).status).toBe(404)
    gate.resolve()
    await complete('meanwhile')
    expect(await statusOf('meanwhile')).toMatchObject({ error: true, results: null })
    expect(await ask('SELECT 2')).toMatchObject({ is_cached: false, results: [[2]] })
  })

  test('a query can be cancelled while nothing can be written', async () => {
    await ask('SELECT 1', { refresh: 'async', client_query_id: 'a' })
    await complete('a')
    const db = new Database(join(world.data_dir, 'cache.db'))
    db.run("create trigger full before delete on statuses begin select raise(abort, 'full'); end")
    expect((await send('DELETE', `${PATH}a/`)).status).toBe(204)
    db.run('drop trigger full')
    db.close()
  })

  test('a cache that breaks while the server runs fails no query', async () => {
    await using broken = await openClockedWorld()
    world = broken
    await ask(COUNT)
    const db = new Database(join(world.data_dir, 'cache.db'))
    db.run('drop table answers')
    db.close()
    for (let round = 0; round < 2; round++) {
      // Until the end of a turn of the event loop, its answers are in memory.
      await new Promise((resolve) => setImmediate(resolve))
      expect(await ask(COUNT)).toMatchObject({ is_cached: false, results: [[0]] })
    }
    expect(world.log_lines.join()).toContain('cache.db cannot be used')
  })

  test('a fault of the engine is answered 500 with nothing but an id, under which the log has it', async () => {
    const ask_faulty = () =>
      Promise.reject(new EngineFault('INTERNAL Error: vector 3 of events_of'))
    await using faulty = await openWorld({}, { run: ask_faulty })
    world = faulty
    const answer = await post('SELECT 1')
    const body = JSON.parse(await answer.text())
    expect([answer.status, body]).toEqual([
      500,
      {
        type: 'server_error',
        code: 'error',
        detail: 'A server error occurred.',
        attr: null,
        extra: { error_id: expect.stringMatching(/^[0-9a-f-]{36}$/) },
      },
    ])
    const line = world.log_lines.find((text) => text.includes(body.extra.error_id))
    expect(line).toContain('vector 3 of events_of')

    await ask('SELECT 1', { refresh: 'async', client_query_id: 'faulty' })
    await complete('faulty')
    const { error_message } = await statusOf('faulty')
    expect(error_message).toMatch(/^A server error occurred\. \(error id [0-9a-f-]{36}\)$/)
    const id = String(error_message).slice(-37, -1)
    expect(world.log_lines.find((text) => text.includes(id))).toContain('vector 3 of events_of')
  })
})
