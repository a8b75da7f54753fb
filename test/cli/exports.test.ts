/** What is exported can be imported: the same events and persons, once, whatever the format and wherever it was cut off. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { startTidemark } from '../../src/testing/start.ts'
import { limitTests, longTest } from '../long-tests.ts'
import { commandLine, ENVIRONMENT, run } from './command.ts'

/** These start servers, which a busy machine takes its time for. */
limitTests(300_000)

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-export-'))
})
afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

type Json = Record<string, unknown>

async function made(data_dir: string, ...args: readonly string[]): Promise<Json> {
  const ran = await run([...args, '--json', '--data-dir', data_dir])
  expect({ err: ran.err, exit_code: ran.exit_code }).toEqual({ err: '', exit_code: 0 })
  return JSON.parse(ran.out)
}

/** A data folder with project 1, which each test copies. */
const template = mkdtempSync(join(tmpdir(), 'tidemark-export-'))
beforeAll(async () => {
  const { id } = await made(template, 'organization', 'create', 'Acme')
  await made(template, 'project', 'create', '--organization', String(id), 'Web shop')
})
afterAll(() => rmSync(template, { recursive: true, force: true }))

function makeFolder(name: string): string {
  const data_dir = join(folder, name)
  cpSync(template, data_dir, { recursive: true })
  return data_dir
}

const linesOf = (path: string): Json[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

/** What an export says, without when it was stored and without how persons were told. */
function exported(to: string): { readonly events: unknown; readonly persons: unknown } {
  const names = readdirSync(to).toSorted()
  const events = names
    .filter((name) => name.startsWith('events'))
    .flatMap((name) => linesOf(join(to, name)))
    .filter(({ event }) => event !== '$set' && event !== '$merge_dangerously')
    .map(({ created_at, ...event }) => ({ ...event, has_come: typeof created_at }))
  const persons = linesOf(join(to, 'persons.jsonl')).map(({ distinct_ids, properties }) => ({
    distinct_ids: (distinct_ids as string[]).toSorted(),
    properties,
  }))
  return {
    events,
    persons: persons.toSorted((a, b) => (String(a.distinct_ids) < String(b.distinct_ids) ? -1 : 1)),
  }
}

const at = (second: number): string =>
  new Date(Date.UTC(2025, 2, 30, 12) + second * 86_400_000).toISOString()

/** As an SDK would have sent it: without uuids, over two months, with people who log in, groups and clicks. */
const SENT: readonly Json[] = Array.from({ length: 40 }, (_, index): Json => {
  const base = { distinct_id: `visitor ${index % 5}`, timestamp: at(index / 8) }
  const properties = {
    $ip: '203.0.113.7',
    index,
    'odd "key" ü': [index, { a: null }],
    price: index / 4,
  }
  if (index === 22) {
    return {
      ...base,
      event: '$identify',
      distinct_id: 'ann',
      properties: {
        ...properties,
        $anon_distinct_id: 'visitor 2',
        $set: { email: 'ann@example.org' },
      },
    }
  }
  if (index % 7 === 3) {
    return {
      ...base,
      event: '$autocapture',
      properties: {
        ...properties,
        $elements: [{ tag_name: 'a', $el_text: 'Buy;now', attr__class: 'b c' }],
      },
    }
  }
  return {
    ...base,
    event: 'bought',
    properties: { ...properties, $groups: { company: `c${index % 2}` } },
  }
})

test('an export imports as the same events and persons, in either format, and again as nothing new', async () => {
  const first = makeFolder('first')
  const input = join(folder, 'input')
  mkdirSync(input)
  writeFileSync(
    join(input, '1.jsonl.gz'),
    gzipSync(
      SENT.slice(0, 20)
        .map((event) => JSON.stringify(event))
        .join('\n'),
    ),
  )
  writeFileSync(
    join(input, '2.json'),
    JSON.stringify({ api_key: 'another', batch: SENT.slice(20) }),
  )
  const args = ['import', '--project', '1', input]
  expect(await made(first, ...args)).toEqual({ events: 40, records_skipped: 0, left_out: {} })

  const jsonl = join(folder, 'jsonl')
  const told = await made(first, 'export', '--project', '1', jsonl)
  expect(told).toEqual({
    events: 40,
    persons: 5,
    files: ['events-2025-03.jsonl', 'events-2025-04.jsonl', 'persons.jsonl'],
    folder: jsonl,
  })
  const before = exported(jsonl)
  expect(before.events).toHaveLength(40)
  expect(before.persons).toContainEqual({
    distinct_ids: ['ann', 'visitor 2'],
    properties: expect.objectContaining({ email: 'ann@example.org' }),
  })

  const parquet = join(folder, 'parquet')
  await made(first, 'export', '--project', '1', '--format', 'parquet', parquet)
  for (const [name, from] of [
    ['from lines', jsonl],
    ['from parquet', parquet],
  ] as const) {
    const other = makeFolder(name)
    await made(other, 'import', '--project', '1', from)
    const again = join(folder, `${name} again`)
    await made(other, 'export', '--project', '1', again)
    expect(exported(again)).toEqual(before)
  }

  await made(first, ...args)
  const unchanged = join(folder, 'unchanged')
  await made(first, 'export', '--project', '1', unchanged)
  expect(exported(unchanged)).toEqual(before)
})

test('an import that is killed goes on where it was, and stores every event once', async () => {
  const data_dir = makeFolder('data')
  const input = join(folder, 'many.ndjson')
  const count = 12_000
  const lines = Array.from({ length: count }, (_, index) =>
    JSON.stringify({
      event: 'e',
      distinct_id: `u${index % 50}`,
      timestamp: at(0),
      properties: { index },
    }),
  )
  writeFileSync(input, lines.join('\n'))
  const args = ['import', '--project', '1', input, '--data-dir', data_dir]
  const isBegun = (): boolean =>
    readdirSync(data_dir).some((name) => /^import-.*\.json$/.test(name))
  for (let kills = 0; kills < 2; kills++) {
    const child = Bun.spawn(commandLine(args), {
      env: ENVIRONMENT,
      stdout: 'ignore',
      stderr: 'ignore',
    })
    while (!isBegun() && child.exitCode === null) await Bun.sleep(5)
    child.kill('SIGKILL')
    await child.exited
  }
  const rest = await made(data_dir, 'import', '--project', '1', input)
  expect(Number(rest['events']) + Number(rest['records_skipped'])).toBe(count)
  expect(rest['records_skipped']).toBeGreaterThan(0)
  expect(isBegun()).toBe(false)
  const to = join(folder, 'out')
  expect(await made(data_dir, 'export', '--project', '1', to)).toMatchObject({ events: count })
})

test('an import into a stopped server goes to this machine, whatever address and certificate clients use', async () => {
  const data_dir = makeFolder('data')
  const input = join(folder, 'one.jsonl')
  writeFileSync(input, '{"event":"e","distinct_id":"a"}')
  const ran = await run(['import', '--project', '1', input, '--data-dir', data_dir], {
    TIDEMARK_PUBLIC_URL: 'http://127.0.0.1:1/elsewhere',
    TIDEMARK_BASE_PATH: '/elsewhere',
    TIDEMARK_ACME_DOMAINS: 'analytics.example.invalid',
    TIDEMARK_ACME_TERMS: 'accepted',
    TIDEMARK_ACME_HTTP_PORT: '1',
  })
  expect(ran).toEqual({ exit_code: 0, out: '1 events stored\n', err: '' })
})

test("another tool's file comes in with --from, and what was left out is counted", async () => {
  const data_dir = makeFolder('data')
  const input = join(folder, 'website_event.csv')
  const uuid = '7e3b8f0a-52c6-4b29-9c31-6a1f0a4b7c11'
  const rows = [
    'event_id,session_id,url_path,event_type,created_at',
    `${uuid},s1,/a,1,2026-03-01 10:00:00`,
    `${uuid.replace(/1$/, '2')},s1,/a,5,2026-03-01 10:00:01`,
  ]
  writeFileSync(input, rows.join('\n'))
  const left_out = { 'event_type 5: neither a page view nor a custom event': 1 }
  expect(await made(data_dir, 'import', '--project', '1', '--from', 'umami', input)).toEqual({
    events: 1,
    records_skipped: 0,
    left_out,
  })
  const to = join(folder, 'out')
  await made(data_dir, 'export', '--project', '1', to)
  expect(linesOf(join(to, 'events-2026-03.jsonl'))).toEqual([
    expect.objectContaining({
      uuid,
      event: '$pageview',
      distinct_id: 's1',
      timestamp: '2026-03-01T10:00:00.000000Z',
      properties: expect.objectContaining({ $pathname: '/a' }),
    }),
  ])
})

longTest(
  "another server's project comes in with --url, with the key from a file or a variable; a new run adds nothing",
  async () => {
    await using source = await startTidemark()
    const data_dir = makeFolder('data')
    const batch = SENT.map((event, index) => ({
      ...event,
      uuid: `7e3b8f0a-52c6-4b29-9c31-${String(index).padStart(12, '0')}`,
    }))
    const body = { api_key: source.project_token, historical_migration: true, batch }
    await fetch(`${source.url}/batch/`, { method: 'POST', body: JSON.stringify(body) })
    const key_file = join(folder, 'key.txt')
    writeFileSync(key_file, `${source.personal_api_key}\n`)
    const args = ['import', '--project', '1', '--from', 'posthog', '--url', source.url]
    const of_project = ['--source-project', String(source.project_id)]
    const report = await made(data_dir, ...args, ...of_project, '--key-file', key_file)
    expect(report).toMatchObject({ is_whole: true, events: { brought: 40 }, left_out: [] })
    expect((await made(data_dir, 'key', 'list'))['results']).toEqual([])
    const all = [...args, ...of_project, '--data-dir', data_dir]
    const again = await run(all, { TIDEMARK_SOURCE_KEY: source.personal_api_key })
    expect([again.exit_code, again.err]).toEqual([0, ''])
    expect(again.out).toContain('events: 40 read, 0 brought over')
    const to = join(folder, 'out')
    expect(await made(data_dir, 'export', '--project', '1', to)).toMatchObject({ events: 40 })
    for (const [more, words] of [
      [[...of_project], /key of the other server is missing/],
      [[...of_project, '--key', 'phx_wrong'], /The key is refused/],
      [[...of_project, '--key', 'a', '--kinds', 'recordings'], /There is no kind recordings/],
      [['--key', 'a'], /needs --source-project/],
      [[...of_project, '--key', 'a', '--url', 'ftp://example.org'], /not the address of a server/],
      [[...of_project, '--key', 'a', '--url', 'http://u:p@example.org'], /must not have a user/],
      [[...of_project, '--key', 'a', '--from', 'umami'], /--url needs --from posthog/],
      [[...of_project, '--key', 'a', 'input.jsonl'], /either files or a server/],
    ] as const) {
      const ran = await run([...args, ...more, '--data-dir', data_dir])
      expect([ran.exit_code, ran.err]).toEqual([1, expect.stringMatching(words)])
    }
  },
)

test('what cannot be imported or exported is said by name', async () => {
  const data_dir = makeFolder('data')
  const input = join(folder, 'bad.jsonl')
  writeFileSync(
    input,
    ['{"event":"fine","distinct_id":"a"}', '{"event":"e","distinct_id":"a","uuid":"no"}'].join(
      '\n',
    ),
  )
  for (const [args, words] of [
    [['import', '--project', '1', input], /bad\.jsonl, record 2: .*not a valid UUID/],
    [['import', '--project', '1', join(folder, 'gone.jsonl')], /gone\.jsonl does not exist/],
    [['import', '--project', '1', join(data_dir, 'control.db')], /named neither/],
    [['import', '--project', '9', input], /There is no project 9/],
    [['export', '--project', '9', join(folder, 'x')], /There is no project 9/],
    [['export', '--project', '1', data_dir], /is not empty/],
  ] as const) {
    const ran = await run([...args, '--data-dir', data_dir])
    expect([ran.exit_code, ran.err]).toEqual([1, expect.stringMatching(words)])
  }
  for (const [from, words] of [
    ['plausible', /there are no events in them/],
    ['constructor', /one of amplitude, ga4/],
  ] as const) {
    const ran = await run(['import', '--project', '1', '--from', from, input])
    expect([ran.exit_code, ran.err]).toEqual([2, expect.stringMatching(words)])
  }
})
