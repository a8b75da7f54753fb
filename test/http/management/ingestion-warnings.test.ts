/** Ingestion warnings and metrics over the wire: told to who may know, asked by HogQL, counted for machines. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { metricsEndpoints } from '../../../src/http/metrics.ts'
import { createProject } from '../../../src/projects/project.ts'
import { LoopRecorder } from '../../../src/threads/loop-memory.ts'
import { askUntil } from '../../flows/patience.ts'
import { openWorld, type World } from '../world.ts'

const ROOT = '/api/projects/1/ingestion_warnings/'

let world: World

type Json = Readonly<Record<string, unknown>>

async function ask(path: string, body?: unknown) {
  const answer = await world.send(path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { Authorization: `Bearer ${world.first.personal_api_key}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: answer.status, json: JSON.parse(await answer.text()) as Json }
}

const askHogQL = async (project_id: number, query: string): Promise<unknown> => {
  const body = { query: { kind: 'HogQLQuery', query } }
  return (await ask(`/api/projects/${project_id}/query/`, body)).json['results']
}

async function list(parameters: string): Promise<readonly Json[]> {
  const { status, json } = await ask(`${ROOT}?${parameters}`)
  expect([status, json['detail']]).toEqual([200, undefined])
  return json['results'] as readonly Json[]
}

async function capture(batch: readonly Json[], api_key: string): Promise<void> {
  const body = JSON.stringify({ api_key, batch })
  expect((await world.send('/batch/', { method: 'POST', body })).status).toBe(200)
}

let other_id = 0

beforeAll(async () => {
  world = await openWorld()
  const other = createProject(
    world.needs.control,
    { organization_id: world.first.organization_id, name: 'other' },
    new Date(),
  )
  other_id = other.id
  const merge = (alias: string) => ({
    event: '$create_alias',
    distinct_id: 'anna',
    properties: { alias },
  })
  await capture([merge('guest')], world.first.api_token)
  await capture(
    [
      { event: 'visit', distinct_id: 'Ötzi', properties: { $process_person_profile: 'no' } },
      { event: 'visit', distinct_id: 'Ötzi', properties: { $process_person_profile: 'no' } },
      { event: 'nobody did it' },
    ],
    world.first.api_token,
  )
  await capture([merge('null')], other.api_token)
})
afterAll(() => world.close())

describe('GET ingestion_warnings', () => {
  test('lists them newest first, the repeated one once, and those of the project alone', async () => {
    const { json } = await ask(ROOT)
    expect(json['count']).toBe(3)
    const results = json['results'] as readonly Json[]
    expect(results.at(-1)).toEqual({
      id: 1,
      team_id: 1,
      type: 'cannot_merge_with_illegal_distinct_id',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      details: expect.objectContaining({ distinct_id: 'anna', other_distinct_id: 'guest' }),
    })
    expect(new Set(results.map((warning) => warning['type']))).toEqual(
      new Set([
        'cannot_merge_with_illegal_distinct_id',
        'invalid_process_person_profile',
        'missing_distinct_id',
      ]),
    )
    const times = results.map((warning) => String(warning['timestamp']))
    expect(times).toEqual(times.toSorted().toReversed())
    expect(await ask(ROOT.replace('projects', 'environments'))).toMatchObject({
      json: { results },
    })
  })

  test.each([
    ['type=missing_distinct_id', ['missing_distinct_id']],
    ['type=nothing', []],
    ['search=%C3%96tzi', ['invalid_process_person_profile']],
    ['search=ILLEGAL', ['cannot_merge_with_illegal_distinct_id']],
    ['search=%25', []],
    ['after=2100-01-01', []],
    ['before=2000-01-01T00:00:00Z', []],
    ['type=missing_distinct_id&after=2000-01-01&before=2100-01-01', ['missing_distinct_id']],
  ])('filters by %s', async (parameters, types) => {
    expect((await list(parameters)).map((warning) => warning['type'])).toEqual(types)
  })

  test('comes a page at a time', async () => {
    const all = await list('')
    const { json } = await ask(`${ROOT}?limit=1&offset=1`)
    expect(json).toEqual({
      count: 3,
      next: `https://tidemark.example${ROOT}?limit=1&offset=2`,
      previous: `https://tidemark.example${ROOT}?limit=1`,
      results: all.slice(1, 2),
    })
  })

  test('refuses what is no time', async () => {
    const { status, json } = await ask(`${ROOT}?after=yesterday`)
    expect([status, json['attr']]).toEqual([400, 'after'])
  })
})

describe('the table ingestion_warnings', () => {
  const QUERY =
    "select type, JSONExtractString(details, 'distinct_id') as who from ingestion_warnings order by type, who"

  test("has the project's warnings, and the ones that come later", async () => {
    expect(await askHogQL(1, QUERY)).toEqual([
      ['cannot_merge_with_illegal_distinct_id', 'anna'],
      ['invalid_process_person_profile', 'Ötzi'],
      ['missing_distinct_id', ''],
    ])
    const late = { event: '$create_alias', distinct_id: 'bert', properties: { alias: '0' } }
    await capture([late], world.first.api_token)
    expect(
      await askHogQL(
        1,
        "select count() from ingestion_warnings where details like '%bert%' and timestamp > now() - interval 1 day",
      ),
    ).toEqual([[1]])
  })

  test('of another project has only those', async () => {
    expect(await askHogQL(other_id, QUERY)).toEqual([
      ['cannot_merge_with_illegal_distinct_id', 'anna'],
    ])
    expect(await askHogQL(other_id, 'select count() from ingestion_warnings')).toEqual([[1]])
  })
})

describe('GET /_metrics', () => {
  async function read(address: string, headers: Readonly<Record<string, string>> = {}) {
    const [endpoint] = metricsEndpoints(world.needs)
    const socket = { requestIP: () => ({ address }), timeout: () => undefined }
    const request = new Request('http://localhost/_metrics', { headers })
    const answer = await endpoint?.answer(request, {}, socket)
    return { status: answer?.status, text: (await answer?.text()) ?? '' }
  }

  test('tells counts by project, and how far the log is, without keys or names', async () => {
    const event = { event: 'counted', distinct_id: 'c', uuid: crypto.randomUUID() }
    await capture([event, event], world.first.api_token)
    const { status, text } = await read('127.0.0.1')
    expect(status).toBe(200)
    const rows = world.countEvents('select count(*) as count from events where project_id = 1')
    expect(text).toContain(`tidemark_events_accepted_total{project_id="1"} ${rows}\n`)
    expect(text).toContain('tidemark_events_duplicate_total{project_id="1"} 1\n')
    expect(text).toContain(
      'tidemark_events_dropped_total{project_id="1",reason="missing_distinct_id"} 1\n',
    )
    const seq = world.countEvents('select seq as count from clock')
    expect(text).toContain(`tidemark_log_seq ${seq}\n`)
    expect(text).toContain(`tidemark_log_events ${seq}\n`)
    expect(text).toContain('tidemark_removals_pending 0\n')
    expect(text).toContain('tidemark_snapshot_work_total{work="snapshot",outcome="failed"} 1\n')
    expect(text).toContain('tidemark_questions_running 0\n')
    expect(text).toMatch(/tidemark_query_processes_started_total [1-9]/)
    expect(text).not.toContain(world.first.api_token)
    for (const line of text.trimEnd().split('\n')) {
      expect(line).toMatch(
        /^(# (HELP|TYPE) \w+ .+|\w+(\{\w+="[\w.+]+"(,\w+="[\w.+]+")*\})? \d+(\.\d+)?(e-\d+)?)$/,
      )
    }
  })

  test('has a histogram of how late the timers of each thread are', async () => {
    const recorder = new LoopRecorder(world.needs.event_loops.main)
    recorder.beat(4)
    recorder.beat(80)
    recorder.beat(40_000)
    const { text } = await read('127.0.0.1')
    const lines = text.split('\n').filter((line) => line.includes('{thread="main"'))
    expect(lines.map((line) => line.replace('tidemark_event_loop_lag_', ''))).toEqual([
      'seconds_bucket{thread="main",le="0.005"} 1',
      'seconds_bucket{thread="main",le="0.01"} 1',
      'seconds_bucket{thread="main",le="0.025"} 1',
      'seconds_bucket{thread="main",le="0.05"} 1',
      'seconds_bucket{thread="main",le="0.1"} 2',
      'seconds_bucket{thread="main",le="0.25"} 2',
      'seconds_bucket{thread="main",le="0.5"} 2',
      'seconds_bucket{thread="main",le="1"} 2',
      'seconds_bucket{thread="main",le="2.5"} 2',
      'seconds_bucket{thread="main",le="5"} 2',
      'seconds_bucket{thread="main",le="10"} 2',
      'seconds_bucket{thread="main",le="30"} 2',
      'seconds_bucket{thread="main",le="+Inf"} 3',
      'seconds_sum{thread="main"} 40.084',
      'seconds_count{thread="main"} 3',
      'max_seconds{thread="main"} 40',
    ])
  })

  test('counts the heartbeats of the data thread', async () => {
    const count = async () => {
      const { text } = await read('127.0.0.1')
      return Number(/lag_seconds_count\{thread="data"\} (\d+)/.exec(text)?.[1])
    }
    expect(await askUntil(count, (beats) => beats > 0)).toBeGreaterThan(0)
  })

  test.each([
    ['10.0.0.1', {}],
    ['', {}],
    ['127.0.0.1', { 'X-Forwarded-For': '127.0.0.1' }],
    ['127.0.0.1', { Forwarded: 'for=127.0.0.1' }],
    ['127.0.0.1', { 'X-Forwarded-Proto': 'https' }],
    ['127.0.0.1', { 'X-Real-IP': '1.2.3.4' }],
    ['127.0.0.1', { Via: '1.1 proxy' }],
    ['127.0.0.1', { 'CF-Connecting-IP': '1.2.3.4' }],
    ['127.0.0.1', { 'True-Client-IP': '1.2.3.4' }],
    ['127.0.0.1', { Host: 'evil.example:8000' }],
    ['::ffff:127.0.0.1', { Host: 'evil.example' }],
    ['::1', { Host: '127.0.0.1.evil.example' }],
    ['127.0.0.1', { Host: 'a b' }],
    ['127.0.0.1', { Host: '1.1.1.1' }],
  ])('is not there for %s %o', async (address, headers) => {
    expect((await read(address, headers)).status).toBe(404)
  })

  test.each([
    ['127.0.0.1', { Host: '127.0.0.1:8000' }],
    ['127.0.0.1', { Host: 'LOCALHOST:8000' }],
    ['127.0.0.1', { Host: '[::1]:8000' }],
    ['127.0.0.1', { Host: 'tidemark.example' }],
  ])('is there for %s %o', async (address, headers) => {
    expect((await read(address, headers)).status).toBe(200)
  })

  test('knows its callers also when IPv4 comes over a socket for both', async () => {
    expect((await read('::ffff:127.0.0.1')).status).toBe(200)
  })
})
