/** A project moves from one server to another through their APIs: the same answers afterwards, and nothing twice. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { moveIn } from '../../../src/backup/server/move-in.ts'
import { startTidemark, type TestServer } from '../../../src/testing/start.ts'
import { limitTests, longTest } from '../../long-tests.ts'
import {
  at,
  COUNTS,
  call,
  capture,
  fillEnds,
  flagsOf,
  type Json,
  LISTS,
  listOf,
  makeProject,
  moveOptions,
  resultOf,
  rowsOf,
  type ServerEnd,
  uuid,
} from './two-servers.ts'

/** Two servers start, which a busy machine takes its time for. */
limitTests(300_000)

let folder = ''
let source: TestServer
let target: TestServer

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-move-'))
  ;[source, target] = await Promise.all([startTidemark(), startTidemark()])
  await fillEnds(source, target)
})
afterAll(async () => {
  await source.stop()
  await target.stop()
  rmSync(folder, { recursive: true, force: true })
})

const PERSONS = ['visitor 3', 'user 204', 'user 205', 'visitor 25', 'unknown']

async function requireEqual(from: ServerEnd, to: ServerEnd): Promise<void> {
  for (const query of COUNTS) expect(await rowsOf(to, query)).toEqual(await rowsOf(from, query))
  for (const person of PERSONS) {
    const flags = await flagsOf(from, person)
    expect({ person, flags: await flagsOf(to, person) }).toEqual({ person, flags })
  }
  for (const name of ['Paid by day', 'By cohort', 'SQL']) {
    expect(await resultOf(to, name)).toEqual(await resultOf(from, name))
  }
}

/** Everything that a second run could change. */
async function stateOf(end: ServerEnd): Promise<unknown> {
  const lists: Json[] = []
  for (const path of Object.keys(LISTS)) {
    // Each run writes the tiles of dashboards again, which counts as a modification.
    const items = (await listOf(end, path)).map(({ last_modified_at: _at, ...item }) => item)
    lists.push({ path, items })
  }
  const rows: unknown[] = []
  for (const query of [...COUNTS, 'select count() from events']) rows.push(await rowsOf(end, query))
  return { lists, rows }
}

test('everything that the source has is here, with the same answers; a second run changes nothing', async () => {
  const options = moveOptions(source, target, join(folder, 'move'))
  const { report } = await moveIn(options)
  await requireEqual(source, target)
  expect(await flagsOf(target, 'user 204')).toMatchObject({
    'after-pro': true,
    'for-pro': true,
    'of-list': true,
    companies: true,
  })
  const taken = {
    kind: 'feature_flags',
    id: '1',
    name: 'taken',
    reason: 'there was one with this key here, which is left as it is',
  }
  expect(report).toMatchObject({ is_whole: true, left_out: [taken], notes: [] })
  const text = readFileSync(join(folder, 'move', 'report.json'), 'utf8')
  expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(report)))

  const [survey] = await listOf(target, 'surveys/')
  expect(survey).toMatchObject({ name: 'Ask', linked_flag: { key: 'for-pro' } })
  const [feature] = await listOf(target, 'early_access_feature/')
  expect(feature).toMatchObject({ name: 'Early', feature_flag: { key: 'early' } })
  const [annotation] = await listOf(target, 'annotations/')
  expect(annotation).toMatchObject({ content: 'Launch', insight_name: 'Paid by day' })
  const [experiment] = await listOf(target, 'experiments/')
  expect(experiment).toMatchObject({ name: 'Trial', holdout: { name: 'Held' } })
  const board = (await listOf(target, 'dashboards/')).find(({ name }) => name === 'Board')
  const { tiles } = await call(target, 'GET', `dashboards/${String(board?.['id'])}/`)
  expect((tiles as Json[]).map(({ text: words }) => (words as Json | null)?.['body'])).toEqual(
    expect.arrayContaining(['Hello', undefined, undefined]),
  )

  const before = await stateOf(target)
  await moveIn(options)
  expect(await stateOf(target)).toEqual(before)
})

test('what came or changed at the source since is brought over by the next run', async () => {
  const ends = [source, await makeProject(target)] as const
  const options = moveOptions(...ends, join(folder, 'later'))
  await moveIn(options)
  // One event of long ago and one of another month.
  const late = {
    uuid: uuid(9001),
    event: 'late',
    distinct_id: 'long ago',
    timestamp: '2024-01-01T00:00:00Z',
  }
  const next = { uuid: uuid(9002), event: 'next', distinct_id: 'user 201', timestamp: at(2000) }
  await capture(source, [late, next])
  const flags = await listOf(source, 'feature_flags/')
  const flag = flags.find(({ key }) => key === 'for-pro')
  const groups = [{ properties: [], rollout_percentage: 100 }]
  await call(source, 'PATCH', `feature_flags/${String(flag?.['id'])}/`, { filters: { groups } })
  const { report } = await moveIn(options)
  expect(report).toMatchObject({ events: { brought: 2 }, left_out: [] })
  await requireEqual(...ends)
  expect(await flagsOf(ends[1], 'unknown')).toMatchObject({ 'for-pro': true })
})

longTest('persons alone are the same persons, and later events find them', async () => {
  const end = await makeProject(target)
  const options = moveOptions(source, end, join(folder, 'persons'))
  await moveIn({ ...options, kinds: ['persons'], page_rows: 7 })
  const persons =
    'select arraySort(groupArray(distinct_id)), any(person.is_identified), any(person.properties.email), toString(any(person.created_at)) from person_distinct_ids group by person_id order by 1'
  expect(await rowsOf(end, persons)).toEqual(await rowsOf(source, persons))
  await capture(end, [
    { event: 'e', distinct_id: 'visitor 20' },
    { event: 'e', distinct_id: 'user 200' },
  ])
  expect(
    await rowsOf(end, "select count(distinct person_id) from events where event = 'e'"),
  ).toEqual([[1]])
  // A person who has sent something here since keeps it; another gets back what the source has.
  const $set = { plan: 'changed', mine: 1 }
  await capture(end, [
    { event: '$set', distinct_id: 'user 204', properties: { $set } },
    { event: '$set', distinct_id: 'user 206', timestamp: at(1), properties: { $set } },
  ])
  await moveIn({ ...options, kinds: ['persons'] })
  const plans =
    'select distinct person.properties.plan, person.properties.mine from person_distinct_ids where distinct_id ='
  expect(await rowsOf(end, `${plans} 'user 204'`)).toEqual([['changed', 1]])
  expect(await rowsOf(end, `${plans} 'user 206'`)).toEqual([['pro', null]])
  const count = await rowsOf(end, 'select count() from events')
  await moveIn({ ...options, kinds: ['persons'] })
  expect(await rowsOf(end, 'select count() from events')).toEqual(count)
})

longTest(
  'a busy source that also cuts connections is waited for, page by page, whatever its time zone',
  async () => {
    const end = await makeProject(target)
    for (const one of [source, end]) await call(one, 'PATCH', '', { timezone: 'America/New_York' })
    const waits: string[] = []
    await using line = await openBusyLine(source)
    const { url } = line
    const options = { ...moveOptions(source, end, join(folder, 'busy')), url }
    const onWait = (wait_ms: number, reason: string): void => {
      waits.push(`${wait_ms} ${reason}`)
    }
    await moveIn({ ...options, onWait, page_rows: 60 })
    expect(waits).toEqual(expect.arrayContaining(['0 status 429', '0 status 503']))
    expect(waits.filter((words) => words.startsWith('500 ')).length).toBeGreaterThan(0)
    await requireEqual(source, end)
    for (const one of [source, end]) await call(one, 'PATCH', '', { timezone: 'UTC' })
  },
)

test('groups that no event has made come with what they lack, and keep what is newer here', async () => {
  const end = await makeProject(target)
  const group = { $group_type: 'company', $group_key: 'c1', $group_set: { name: 'Mine' } }
  await capture(end, [{ event: '$groupidentify', distinct_id: 'me', properties: group }])
  const options = { ...moveOptions(source, end, join(folder, 'groups')), kinds: ['groups'] }
  const { report } = await moveIn(options)
  expect(report).toMatchObject({
    groups: { read: 1, brought: 1 },
    left_out_counts: { groups: { 'other values here, which stay': 1 } },
  })
  const groups = 'select key, properties.name, properties.size from groups'
  expect(await rowsOf(end, groups)).toEqual([['c1', 'Mine', '7']])
  expect((await moveIn(options)).report).toMatchObject({ groups: { read: 1, brought: 0 } })
})

/** A line to a server that is busy now and then, and cuts some of its answers in the middle. */
async function openBusyLine(
  server: ServerEnd,
): Promise<AsyncDisposable & { readonly url: string }> {
  let calls = 0
  const line = createServer((request, response) => {
    calls += 1
    const busy = calls % 9 === 1 ? 429 : calls % 9 === 2 ? 503 : null
    if (busy !== null) {
      response.writeHead(busy, { 'Retry-After': '0' }).end('{}')
      return
    }
    const is_cut = calls % 25 === 6
    const respond = async (): Promise<void> => {
      const answer = await passOn(request, server)
      const bytes = new Uint8Array(await answer.arrayBuffer())
      const head = { 'Content-Type': 'application/json', 'Content-Length': bytes.byteLength }
      response.writeHead(answer.status, head)
      if (!is_cut) response.end(bytes)
      else response.write(bytes.slice(0, bytes.byteLength / 2), () => request.socket.destroy())
    }
    void respond()
  })
  line.listen(0, '127.0.0.1')
  await once(line, 'listening')
  const address = line.address()
  const port = typeof address === 'object' ? address?.port : undefined
  return {
    url: `http://127.0.0.1:${String(port)}`,
    [Symbol.asyncDispose]: async () => {
      line.closeAllConnections()
      line.close()
    },
  }
}

/** Passes a request on to a server. */
async function passOn(request: IncomingMessage, server: ServerEnd): Promise<Response> {
  const { url = '/', method = 'GET' } = request
  const headers = {
    Authorization: request.headers.authorization ?? '',
    'Content-Type': 'application/json',
  }
  const body = method === 'GET' ? null : await new Response(Readable.toWeb(request)).text()
  return fetch(`${server.url}${url}`, { method, headers, body })
}

/** The message with which a move ends. */
async function failureOf(
  url: string,
  key = 'phx_key',
  kinds: readonly string[] = [],
): Promise<string> {
  const name = Buffer.from(url + key)
    .toString('hex')
    .slice(-40)
  const options = { ...moveOptions(source, target, join(folder, name)), url, key, kinds }
  return moveIn({ ...options }).then(
    ({ report }) => JSON.stringify(report),
    (error: unknown) => `${error instanceof Error ? error.name : ''}: ${String(error)}`,
  )
}

test('a key without the rights is named with them before anything is written', async () => {
  const response = await fetch(`${source.url}/api/personal_api_keys/`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${source.personal_api_key}` },
    body: JSON.stringify({ label: 'small', scopes: ['query:read', 'cohort:read'] }),
  })
  const { value } = (await response.json()) as { value: string }
  const before = await stateOf(target)
  const message = await failureOf(source.url, value)
  expect(message).toContain("feature_flags: API key missing required scope 'feature_flag:read'")
  expect(message).not.toContain('cohorts:')
  expect(await failureOf(source.url, 'phx_wrong')).toContain('The key is refused')
  expect(await stateOf(target)).toEqual(before)
})

const ROW = ['7e3b8f0a-52c6-4b29-9c31-000000000001', 'e', '2025-01-01T00:00:00Z', 'a', '{}', '']

/** The answers of sources that are none, with what is said about them. */
const RUBBISH: readonly (readonly [
  name: string,
  answer: (query: string) => Response,
  words: RegExp,
])[] = [
  ['a page', () => new Response('<html>'), /something that is not JSON/],
  ['no table', () => Response.json({ results: { a: 1 } }), /not a table/],
  ['no rows', () => Response.json({ results: [1, 2] }), /not a table/],
  [
    'deep',
    () => new Response(`${'['.repeat(200_000)}${']'.repeat(200_000)}`),
    /not JSON|not a table/,
  ],
  [
    'a redirect',
    () => Response.redirect('https://example.org/steal', 302),
    /redirects to https:\/\/example.org/,
  ],
  ['no time', () => Response.json({ results: [['soon']] }), /something else than its time/],
  [
    'the same page again and again',
    (query) =>
      Response.json({
        results: query.includes('now()')
          ? [['2026-01-01T00:00:00Z']]
          : query.includes('count()')
            ? [[1]]
            : query.includes('uuid')
              ? [ROW, ROW]
              : [['2025-01-01T00:00:00Z']],
      }),
    /something else than events in their order/,
  ],
]

test.each(RUBBISH.map((one) => [...one] as const))(
  'a source that answers %s ends the move in plain words',
  async (_name, answer, words) => {
    using line = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch(request) {
        const { query } =
          request.method === 'POST'
            ? ((await request.json()) as { query: { query: string } })
            : { query: { query: '' } }
        return answer(query.query)
      },
    })
    const message = await failureOf(line.url.href.slice(0, -1), 'phx_key', ['events'])
    expect(message).toMatch(words)
    expect(message).toStartWith('BackupFault')
  },
)

test('broken rows and definitions are left out by name; the others come', async () => {
  const end = await makeProject(target)
  const rows = [
    ROW,
    ['7e3b8f0a-52c6-4b29-9c31-000000000002', '', '2025-01-01T00:00:01Z', 'a', '{}', ''],
    ['7e3b8f0a-52c6-4b29-9c31-000000000003', 'e', '2025-01-01T00:00:02Z', { a: 1 }, '{}', ''],
    ['7e3b8f0a-52c6-4b29-9c31-000000000004', 'e', '2025-01-01T00:00:03Z', 'a', 'no', ''],
    ['no uuid', 'e', '2025-01-01T00:00:04Z', 'a', '{}', ''],
  ]
  const cohort = { type: 'cohort', key: 'id', value: 99 }
  const filters = { properties: { type: 'OR', values: [{ type: 'AND', values: [cohort] }] } }
  const lists: Record<string, readonly unknown[]> = {
    cohorts: [
      { id: 1, name: 'fine', filters: { properties: { type: 'OR', values: [] } } },
      { id: 2, name: 'names one that is not there', filters },
      {
        id: 3,
        name: 'names the second',
        filters: JSON.parse(JSON.stringify(filters).replace('99', '2')),
      },
      { id: '__proto__', name: 'odd' },
      { id: 5, name: 'x'.repeat(5000) },
      null,
    ],
    feature_flags: [
      { id: 7, key: 'a key with blanks', filters: {} },
      { id: 8, key: 'secret', has_encrypted_payloads: true },
    ],
  }
  using line = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const kind = new URL(request.url).pathname.split('/').at(-2) ?? ''
      if (request.method === 'GET')
        return Response.json(
          kind === 'groups_types'
            ? []
            : { results: lists[kind] ?? [], next: '../../../etc/passwd' },
        )
      const { query } = ((await request.json()) as { query: { query: string; values: Json } }).query
      const values = JSON.stringify(query)
      if (values.includes('now()')) return Response.json({ results: [['2026-01-01T00:00:00Z']] })
      if (values.includes('count()')) return Response.json({ results: [['many']] })
      if (!values.includes('properties'))
        return Response.json({
          results: values.includes('where true') ? [['2025-01-01T00:00:00Z']] : [],
        })
      return Response.json({
        results: values.includes('from events') && rows.length > 0 ? rows.splice(0) : [],
      })
    },
  })
  const options = {
    ...moveOptions(source, end, join(folder, 'broken')),
    url: line.url.href.slice(0, -1),
  }
  const { report } = await moveIn({ ...options, kinds: ['events', 'cohorts', 'feature_flags'] })
  expect(report).toMatchObject({
    events: { read: 5, brought: 1 },
    left_out_counts: {
      events: {
        'no name': 1,
        'no distinct id': 1,
        'its properties are no JSON object': 1,
        'no uuid': 1,
      },
    },
  })
  const { left_out } = report as { left_out: readonly Json[] }
  const reasons = left_out.map(({ id, reason }) => [id, reason])
  expect(reasons).toEqual(
    expect.arrayContaining([
      ['2', 'it names what is not here: cohorts 99'],
      ['3', 'it names what is not here: cohorts 2'],
      ['__proto__', 'its id is none'],
      ['5', expect.stringContaining('name')],
      ['7', expect.stringContaining('key')],
      ['8', 'its payloads are encrypted, and are not given out'],
    ]),
  )
  expect((await listOf(end, 'cohorts/')).map(({ name }) => name)).toEqual(['fine'])
  expect(await listOf(end, 'feature_flags/')).toEqual([])
})

const KILLS = Number(process.env['MOVE_KILLS'] ?? 4)

test(`a move that is killed ${KILLS} times, each time in the middle of a change, brings everything once`, async () => {
  const end = await makeProject(target)
  const seen = new Set<string>()
  let child: Bun.Subprocess | null = null
  let kills = 0
  let changes = 0
  // Every change is carried out here, and its answer lost, once for each kind of call.
  using line = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname, search } = new URL(request.url)
      const { method, headers } = request
      const body = method === 'GET' ? null : await request.text()
      const answer = await fetch(`${target.url}${pathname}${search}`, { method, headers, body })
      const bytes = await answer.arrayBuffer()
      const change = `${method} ${pathname} ${pathname.endsWith('/batch/') ? (body ?? '').slice(0, 400) : ''}`
      if (method !== 'GET' && !pathname.endsWith('/query/') && !seen.has(change)) {
        changes += 1
        seen.add(change)
        if (kills < KILLS && changes % Math.max(1, Math.floor(48 / KILLS)) === 0) {
          kills += 1
          child?.kill('SIGKILL')
        }
      }
      return new Response(bytes, { status: answer.status })
    },
  })
  const options = { ...moveOptions(source, end, join(folder, 'killed')), page_rows: 40 }
  const here = { ...options.here, url: line.url.href.slice(0, -1) }
  for (let exit_code = -1; exit_code !== 0; ) {
    child = Bun.spawn(
      [
        process.execPath,
        join(import.meta.dir, 'move-process.ts'),
        JSON.stringify({ ...options, here }),
      ],
      { stdout: 'inherit', stderr: 'inherit' },
    )
    exit_code = await child.exited
    expect([0, 137]).toContain(exit_code)
  }
  expect(kills).toBe(KILLS)
  await requireEqual(source, end)
  for (const [path, count] of Object.entries(LISTS)) {
    const more = path === 'dashboards/' ? 1 : 0
    expect({ path, count: (await listOf(end, path)).length }).toEqual({ path, count: count + more })
  }
  const counts = 'select count(), count(distinct uuid) from events'
  expect(await rowsOf(end, counts)).toEqual(await rowsOf(source, counts))
})
