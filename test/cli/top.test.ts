/** `tidemark top`: what a running server does, and cancelling a query, by whoever may read its data folder. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseMetrics, quantileBetween, sumOf } from '../../src/cli/monitoring/metric-samples.ts'
import { drawScreen, type ServerReading } from '../../src/cli/monitoring/top-screen.ts'
import { askUntil } from '../flows/clients/patience.ts'
import { PERSONAL_API_KEY, type Server, startServer } from '../flows/processes/server.ts'
import { commandLine, ENVIRONMENT, run } from './command.ts'

/** These start processes, which a busy machine takes its time for. */
setDefaultTimeout(120_000)

/** Far longer than any test. */
const LONG = `SELECT count() FROM numbers(10000000) a CROSS JOIN numbers(10000000) b
  WHERE (a.number * b.number) % 7 = 8`

describe('figures of a page', () => {
  const before = parseMetrics(`# TYPE a histogram
a_seconds_bucket{x="1",le="0.1"} 5
a_seconds_bucket{x="1",le="1"} 5
a_seconds_bucket{x="1",le="+Inf"} 5
b_total{x="1"} 2
b_total{x="2"} 3
b_total_more 9`)
  const after = parseMetrics(`a_seconds_bucket{x="1",le="0.1"} 6
a_seconds_bucket{x="1",le="1"} 15
a_seconds_bucket{x="1",le="+Inf"} 15`)

  test('are summed over labels, and over those that are meant', () => {
    expect(sumOf(before, 'b_total')).toBe(5)
    expect(sumOf(before, 'b_total', 'x="2"')).toBe(3)
    expect(sumOf(before, 'none')).toBe(0)
  })

  test('have quantiles of what came between two pages', () => {
    const median = { name: 'a_seconds', share: 0.5 }
    expect(quantileBetween(before, after, median)).toBe(1)
    expect(quantileBetween(before, after, { ...median, share: 0.1 })).toBe(0.1)
    expect(quantileBetween(before, before, median)).toBeNull()
    expect(quantileBetween(before, after, { ...median, labels: 'x="2"' })).toBeNull()
  })
})

test('a name from outside cannot write elsewhere on the terminal, and lines end where it ends', () => {
  const reading: ServerReading = {
    at_ms: 0,
    metrics: new Map(),
    queries: [
      {
        id: 'a',
        project_id: 1,
        lane: 'interactive',
        labels: ['HogQLQuery', '\u001b[2Jgone\r\n'],
        state: 'running',
        elapsed_ms: 1234,
      },
    ],
    reasons: ['no room.'],
  }
  const options = { url: 'http://x', width: 70, selected: 0 }
  const lines = drawScreen(reading, { ...reading, at_ms: 1000 }, options)
  expect(lines[0]).toBe('tidemark top  http://x  not ready: no room.')
  expect(lines.at(-1)).toMatch(/^> 1 +interactive +running +1\.2 {2}HogQLQuery {2}\[2Jgone/)
  expect(lines.every((line) => line.length <= 70 && !/\p{Cc}/u.test(line))).toBe(true)
})

describe('beside a running server', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-top-'))
  const data_dir = join(folder, 'data')
  let server: Server
  beforeAll(async () => {
    // The long queries then take one processor.
    server = await startServer({ data_dir, env: { TIDEMARK_QUERY_THREADS: '1' } })
  })
  afterAll(async () => {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const ask = (query: string): Promise<Response> =>
    fetch(`${server.url}/api/environments/1/query/`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${PERSONAL_API_KEY}` },
      body: JSON.stringify({ query: { kind: 'HogQLQuery', query, name: 'a long one' } }),
    })
  const top = (...args: readonly string[]) => run(['top', ...args, '--data-dir', data_dir])
  const queries = async (): Promise<readonly { readonly id: string }[]> =>
    JSON.parse((await top('--once', '--json')).out).questions

  test('prints rates and queries once, and cancels one by its id', async () => {
    const answer = ask(LONG)
    const [query] = await askUntil(queries, (running) => running.length === 1)
    const { out, exit_code } = await top('--once')
    expect([exit_code, out]).toEqual([0, expect.stringContaining(`${server.url}  ready`)])
    expect(out).toMatch(/^requests +\d.*\/s/m)
    expect(out).toMatch(/1 +interactive +\w+ +[\d.]+ {2}HogQLQuery a long one/)
    expect(await top('--cancel', query?.id ?? '')).toMatchObject({ exit_code: 0, err: '' })
    expect((await answer).status).toBe(400)
    expect(await top('--cancel', 'nothing')).toMatchObject({
      exit_code: 1,
      err: 'error: No query nothing runs.\n',
    })
  })

  test('draws on a terminal until q is pressed; c cancels the chosen query', async () => {
    const answer = ask(LONG)
    await askUntil(queries, (running) => running.length === 1)
    const command = commandLine(['top', '--data-dir', data_dir]).join(' ')
    // `script` gives the command a terminal of its own.
    const terminal = Bun.spawn(['script', '-qec', command, '/dev/null'], {
      env: { ...ENVIRONMENT, TERM: 'xterm', COLUMNS: '100', LINES: '30' },
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'ignore',
    })
    const press = async (key: string): Promise<void> => {
      await terminal.stdin.write(key)
      await terminal.stdin.flush()
    }
    let shown = ''
    const appears = (text: string) => askUntil(async () => shown.includes(text), Boolean)
    const reading = (async () => {
      for await (const part of terminal.stdout) shown += Buffer.from(part).toString()
    })()
    await appears('a long one')
    await press('c')
    expect((await answer).status).toBe(400)
    await appears('cancelled HogQLQuery')
    await press('q')
    expect(await terminal.exited).toBe(0)
    await reading
    expect(shown).toEndWith('\u001b[?1049l')
  })

  test('the queries are not there without the key of the folder', async () => {
    const paths = ['/_questions', '/_questions/some-id'] as const
    for (const key of [null, PERSONAL_API_KEY, 'x'.repeat(43)]) {
      for (const path of paths) {
        const headers = new Headers(key === null ? {} : { Authorization: `Bearer ${key}` })
        const method = path === '/_questions' ? 'GET' : 'DELETE'
        expect((await fetch(server.url + path, { method, headers })).status).toBe(404)
      }
    }
  })
})

test('says so when no server runs', async () => {
  const data_dir = mkdtempSync(join(tmpdir(), 'tidemark-top-'))
  expect(await run(['top', '--once', '--data-dir', data_dir])).toMatchObject({
    exit_code: 1,
    err: `error: No server runs on ${data_dir}.\n`,
  })
  rmSync(data_dir, { recursive: true })
})
