/** GET /_metrics: what it counts and times, and who may read it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { metricsEndpoints } from '../../src/http/metrics/endpoint.ts'
import { LoopRecorder } from '../../src/threads/loop-memory.ts'
import { askUntil } from '../flows/clients/patience.ts'
import { openWorld, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

async function capture(batch: readonly object[]): Promise<void> {
  const body = JSON.stringify({ api_key: world.first.api_token, batch })
  expect((await world.send('/batch/', { method: 'POST', body })).status).toBe(200)
}

async function askHogQL(query: string): Promise<void> {
  await world.send('/api/environments/1/query/', {
    method: 'POST',
    headers: { Authorization: `Bearer ${world.first.personal_api_key}` },
    body: JSON.stringify({ query: { kind: 'HogQLQuery', query } }),
  })
}

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
    await capture([event, event, { event: 'nobody did it' }])
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
        /^(# (HELP|TYPE) \w+ .+|\w+(\{\w+="[\w.+ /:]+"(,\w+="[\w.+ /:]+")*\})? \d+(\.\d+)?(e-\d+)?)$/,
      )
    }
  })

  test('has a histogram of how late the timers of each thread are', async () => {
    const recorder = new LoopRecorder(world.needs.event_loops.main)
    recorder.beat(4, 1)
    recorder.beat(80, 60)
    recorder.beat(40_000, 9)
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

  test('times requests by route and status, commits, queries by lane and outcome, and flags', async () => {
    await capture([{ event: 'timed', distinct_id: 'c' }])
    const flags = { api_key: world.first.api_token, distinct_id: 'c' }
    await world.send('/flags/?v=2', { method: 'POST', body: JSON.stringify(flags) })
    await askHogQL('select count() from events')
    await askHogQL('select no_such_function()')
    await world.send('/api/projects/@current/')
    const { text } = await read('127.0.0.1')
    const counts = new Map(
      [...text.matchAll(/^(tidemark_\w+_seconds)_count(?:\{(.*)\})? (\d+)$/gm)].map((match) => [
        `${match[1]} ${match[2] ?? ''}`,
        Number(match[3]),
      ]),
    )
    const count = (name: string, labels = ''): number =>
      counts.get(`tidemark_${name}_seconds ${labels}`) ?? 0
    expect(count('http_request', 'route="POST /batch",status="200"')).toBeGreaterThan(0)
    expect(count('http_request', 'route="POST /flags",status="200"')).toBe(1)
    const asked = 'route="POST /api/environments/:project_id/query/"'
    expect(count('http_request', `${asked},status="200"`)).toBe(1)
    expect(count('http_request', `${asked},status="400"`)).toBe(1)
    expect(count('http_request', 'route="GET /api/projects/:project_id/",status="401"')).toBe(1)
    expect(count('question', 'lane="interactive",outcome="done"')).toBe(1)
    expect(count('question_wait', 'lane="interactive"')).toBeGreaterThan(0)
    expect(count('commit_queue')).toBeGreaterThan(0)
    expect(count('commit')).toBeGreaterThan(0)
    expect(count('log_sync')).toBeGreaterThan(0)
  })

  test('tells the room on the disk, and whether the server is ready', async () => {
    const { text } = await read('127.0.0.1')
    expect(text).toMatch(/^tidemark_disk_bytes [1-9]\d+$/m)
    expect(text).toMatch(/^tidemark_disk_free_bytes \d+$/m)
    expect(text).toMatch(/^tidemark_ready 1$/m)
  })
})
