/** A query that takes too long ends alone: it is refused, events keep coming in, the next query is answered. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { limitTests, longTest } from '../long-tests.ts'
import { makeBatches, sendBatches } from './clients/ledger.ts'
import { askHogQL, PERSONAL_API_KEY, type Server, startServer } from './processes/server.ts'

const TIMEOUT_MS = 180_000
limitTests(TIMEOUT_MS)
/** Time enough for the short queries beside the long ones, also on a machine that does other things. */
const QUERY_TIMEOUT_S = '3'
/** 5000 events three times over: years of work for any engine. */
const RUNAWAY = `select count() from events a cross join events b cross join events c
  where a.properties.price != b.properties.price and b.properties.plan != c.properties.plan`

const folder = mkdtempSync(join(tmpdir(), 'tidemark-runaway-'))
let server: Server

beforeAll(async () => {
  server = await startServer({
    data_dir: join(folder, 'data'),
    env: {
      TIDEMARK_QUERY_TIMEOUT_S: QUERY_TIMEOUT_S,
      TIDEMARK_QUERIES_RUNNING_MAX: '2',
      // What runs away then takes one processor.
      TIDEMARK_QUERY_THREADS: '1',
    },
  })
  await sendBatches(server.url, makeBatches(5, 50), 4)
}, TIMEOUT_MS)

afterAll(async () => {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}, TIMEOUT_MS)

const ask = (query: string): Promise<Response> =>
  fetch(`${server.url}/api/environments/1/query/`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${PERSONAL_API_KEY}` },
    body: JSON.stringify({ query: { kind: 'HogQLQuery', query } }),
  })

test(
  'a query over its time limit is refused by name while events come in and others are answered',
  async () => {
    const runaway = ask(RUNAWAY)
    await sendBatches(server.url, makeBatches(6, 20), 2)
    expect((await askHogQL(server.url, 'select count() from events')).results).toEqual([[7000]])

    const refused = await runaway
    expect(refused.status).toBe(400)
    expect(await refused.json()).toEqual({
      type: 'validation_error',
      code: 'query_timeout',
      detail: `The query took longer than ${QUERY_TIMEOUT_S} seconds.`,
      attr: null,
    })
    expect((await askHogQL(server.url, 'select count() from events')).results).toEqual([[7000]])
  },
  TIMEOUT_MS,
)

longTest(
  'more runaway queries than may run leave nothing behind',
  async () => {
    const refused = await Promise.all([1, 2, 3].map((n) => ask(`${RUNAWAY} and ${n} = ${n}`)))
    expect(refused.map((answer) => answer.status).toSorted((a, b) => a - b)).toSatisfy((statuses) =>
      statuses.every((status) => status === 400 || status === 429),
    )
    expect((await askHogQL(server.url, 'select count() from events')).results).toEqual([[7000]])
  },
  TIMEOUT_MS,
)
