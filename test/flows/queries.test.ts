/** Queries over the wire: the server killed under a background query, callers who hang up, exports that break off. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { limitTests, longTest } from '../long-tests.ts'
import { API_TOKEN, PERSONAL_API_KEY, type Server, startServer } from './processes/server.ts'

const LONG = `SELECT count() FROM numbers(10000000) a CROSS JOIN numbers(10000000) b
  WHERE (a.number * b.number) % 7 = 8`
const HEADERS = { Authorization: `Bearer ${PERSONAL_API_KEY}`, 'Content-Type': 'application/json' }
const ENV = { TIDEMARK_QUERY_THREADS: '1', TIDEMARK_EXPORT_ROWS_MAX: '1000000' }
const TEST_MS = 180_000
limitTests(TEST_MS)

const folder = mkdtempSync(join(tmpdir(), 'tidemark-queries-'))
let server: Server

beforeAll(async () => {
  server = await startServer({
    data_dir: join(folder, 'data'),
    env: ENV,
  })
}, TEST_MS)
afterAll(async () => {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

function post(query: string, more: object = {}, init: RequestInit & { search?: string } = {}) {
  const { search = '', ...rest } = init
  return fetch(`${server.url}/api/environments/1/query/${search}`, {
    method: 'POST',
    headers: HEADERS,
    body: JSON.stringify({ query: { kind: 'HogQLQuery', query }, ...more }),
    ...rest,
  })
}

async function statusOf(id: string): Promise<Readonly<Record<string, unknown>>> {
  const answer = await fetch(`${server.url}/api/environments/1/query/${id}/`, { headers: HEADERS })
  const body = JSON.parse(await answer.text())
  return answer.status === 200 ? body.query_status : { refused: answer.status }
}

const cancel = (id: string) =>
  fetch(`${server.url}/api/environments/1/query/${id}/`, { method: 'DELETE', headers: HEADERS })

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await Bun.sleep(10)
}

const restart = async () => {
  server = await startServer({
    data_dir: join(folder, 'data'),
    env: ENV,
  })
}

describe('the server', () => {
  const COUNT = 'SELECT count() FROM events'

  test(
    'killed under a background query says so after its restart, and knows what was done before',
    async () => {
      await fetch(`${server.url}/capture/`, {
        method: 'POST',
        body: JSON.stringify({ api_key: API_TOKEN, event: 'e', distinct_id: 'u' }),
      })
      await post(COUNT, { refresh: 'async', client_query_id: 'done' })
      await until(async () => (await statusOf('done'))['complete'] === true)
      await post(LONG, { refresh: 'async', client_query_id: 'cut' })
      await until(async () => typeof (await statusOf('cut'))['pickup_time'] === 'string')
      await server.kill()
      await restart()
      expect(await statusOf('cut')).toMatchObject({
        complete: true,
        error: true,
        error_message: 'The server was restarted while the query ran. Ask it again.',
        results: null,
      })
      expect(await statusOf('done')).toMatchObject({
        complete: true,
        error: false,
        results: { results: [[1]] },
      })
      const cached = await post(COUNT, { refresh: 'force_cache' })
      expect(await cached.json()).toMatchObject({ is_cached: true, results: [[1]] })
    },
    TEST_MS,
  )

  longTest(
    'stopped under a background query says so too, and stops at once',
    async () => {
      await post(LONG, { refresh: 'force_async', client_query_id: 'stopped' })
      await until(async () => typeof (await statusOf('stopped'))['pickup_time'] === 'string')
      expect(await server.stop()).toBe(0)
      await restart()
      expect(await statusOf('stopped')).toMatchObject({ complete: true, error: true })
    },
    TEST_MS,
  )

  longTest(
    'begins anew when its cache is damaged',
    async () => {
      await server.stop()
      for (const suffix of ['', '-wal', '-shm']) {
        rmSync(join(folder, `data/cache.db${suffix}`), { force: true })
      }
      writeFileSync(
        join(folder, 'data/cache.db'),
        'not a database at all, and longer than a header '.repeat(200),
      )
      await restart()
      expect(await (await post(COUNT, { refresh: 'force_cache' })).json()).toMatchObject({
        query_status: null,
      })
      expect(await (await post(COUNT)).json()).toMatchObject({ is_cached: false, results: [[1]] })
    },
    TEST_MS,
  )
})

describe('a caller', () => {
  test(
    'who hangs up has the query stopped: it is not known any more',
    async () => {
      const leave = new AbortController()
      const asked = post(LONG, { client_query_id: 'left' }, { signal: leave.signal }).catch(
        () => null,
      )
      await until(async () => (await statusOf('left'))['complete'] === false)
      leave.abort()
      await asked
      await until(async () => (await statusOf('left'))['refused'] === 404)
    },
    TEST_MS,
  )

  test(
    'who waits is told when somebody cancels the query',
    async () => {
      const asked = post(LONG, { client_query_id: 'mine' })
      await until(async () => (await statusOf('mine'))['complete'] === false)
      expect((await cancel('mine')).status).toBe(204)
      const answer = await asked
      expect([answer.status, await answer.json()]).toEqual([
        400,
        expect.objectContaining({ code: 'query_cancelled' }),
      ])
    },
    TEST_MS,
  )
})

const isWhole = (answer: Response): Promise<boolean> =>
  answer.text().then(
    () => true,
    () => false,
  )

describe('an export', () => {
  const rows = 1_000_000

  test(
    'of a million rows arrives whole, in pieces',
    async () => {
      const query = "SELECT number, concat('row ', toString(number)) AS name FROM numbers(1000000)"
      const answer = await post(query, {}, { search: '?format=csv' })
      let bytes = 0
      let lines = 0
      for await (const piece of answer.body ?? []) {
        bytes += piece.length
        lines += Buffer.from(piece).toString('latin1').split('\n').length - 1
      }
      expect(lines).toBe(rows + 1)
      expect(bytes).toBeGreaterThan(15_000_000)
    },
    TEST_MS,
  )

  test(
    'that goes wrong on its way breaks off, so that nobody takes it for whole',
    async () => {
      // The fault lies far behind the first part.
      const query = "SELECT number, throwIf(number = 900000, 'no') FROM numbers(1000000)"
      const answer = await post(query, {}, { search: '?format=ndjson' })
      expect(answer.status).toBe(200)
      expect(await isWhole(answer)).toBe(false)
    },
    TEST_MS,
  )

  test(
    'that is longer than it may be breaks off too',
    async () => {
      const query = 'SELECT a.number FROM numbers(1000) a CROSS JOIN numbers(1001) b'
      const answer = await post(query, {}, { search: '?format=csv' })
      expect(answer.status).toBe(200)
      expect(await isWhole(answer)).toBe(false)
    },
    TEST_MS,
  )

  test(
    'whose reader leaves frees the engine',
    async () => {
      const query = 'SELECT a.number FROM numbers(1000) a CROSS JOIN numbers(900) b'
      for (let round = 0; round < 6; round++) {
        const leave = new AbortController()
        const answer = await post(query, {}, { search: '?format=csv', signal: leave.signal })
        await answer.body?.getReader().read()
        leave.abort()
      }
      // More readers left than the engine answers at a time.
      expect(await (await post('SELECT 1', { refresh: 'force_blocking' })).json()).toMatchObject({
        results: [[1]],
      })
    },
    TEST_MS,
  )
})
