/** ClickHouse in trouble under a running server: events are taken, queries refused with 503, the log says why, nothing is lost or doubled. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ClickHouseCluster, startCluster } from '../clickhouse/cluster.ts'
import { hasClickHouse } from '../clickhouse/library.ts'
import { clickhouseEnvironment } from '../clickhouse/settings.ts'
import { askUntil } from '../flows/clients/patience.ts'
import {
  API_TOKEN,
  askHogQL,
  type Server,
  serverLog,
  startServer,
} from '../flows/processes/server.ts'
import { rejectionOf } from '../rejection.ts'
import { askFresh } from './ask-fresh.ts'

setDefaultTimeout(120_000)

/** Where ClickHouse refuses the password of a user. */
function wayWithWrongPassword(to: string) {
  const wrong_for = new Set<string>()
  const way = Bun.serve({
    port: 0,
    fetch: async (request): Promise<Response> => {
      const { url, headers } = request
      headers.set('accept-encoding', 'identity')
      if (wrong_for.has(headers.get('X-ClickHouse-User') ?? ''))
        headers.set('X-ClickHouse-Key', 'wrong')
      const body = await request.bytes()
      return fetch(`${to}${url.slice(url.indexOf('/?'))}`, { method: 'POST', headers, body })
    },
  })
  return { url: way.url.origin, wrong_for, [Symbol.dispose]: () => void way.stop(true) }
}

describe.skipIf(!hasClickHouse())('a server in front of a ClickHouse', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-outages-'))
  let cluster: ClickHouseCluster
  let captured = 0

  beforeAll(async () => {
    cluster = await startCluster()
  }, 120_000)

  afterAll(async () => {
    for (const server of servers) await server.kill()
    await cluster?.[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  const servers: Server[] = []
  const start = async (url: string): Promise<Server> => {
    const server = await startServer({
      data_dir: join(folder, 'data'),
      env: { ...clickhouseEnvironment(cluster), TIDEMARK_CLICKHOUSE_URL: url },
    })
    servers.push(server)
    return server
  }
  const capture = async (server: Server, count: number): Promise<void> => {
    const batch = Array.from({ length: count }, () => ({
      event: 'seen',
      distinct_id: `d${captured++ % 50}`,
      uuid: crypto.randomUUID(),
    }))
    const body = JSON.stringify({ api_key: API_TOKEN, batch })
    expect((await fetch(`${server.url}/batch/`, { method: 'POST', body })).status).toBe(200)
  }
  /** What `/_readyz` says once it has a status. */
  const readinessOf = async (server: Server, status: number): Promise<unknown> => {
    const answer = await askUntil(
      () => fetch(`${server.url}/_readyz`),
      (one) => one.status === status,
    )
    expect(answer.status).toBe(status)
    return answer.json()
  }
  const COUNTS = 'select count(), count(distinct uuid) from events'
  const errorsOfLog = (): readonly (readonly [msg: string, cause: string | undefined])[] =>
    serverLog(join(folder, 'data'))
      .split('\n')
      .filter((line) => line.includes('"level":"error"'))
      .map((line): { msg: string; err?: { message: string } } => JSON.parse(line))
      .map(({ msg, err }) => [msg, err?.message])

  test('that refuses its passwords takes events, and says why there are no answers', async () => {
    using way = wayWithWrongPassword(cluster.url)
    const server = await start(way.url)
    await capture(server, 20)
    expect(await askFresh(server.url, COUNTS)).toEqual([[captured, captured]])
    way.wrong_for.add('queries')
    const refused = await rejectionOf(askHogQL(server.url, 'select 1'))
    expect(refused).toMatchObject({
      message: expect.stringMatching(/^503: .*"ClickHouse refuses queries\. The log of the/),
    })
    expect(await readinessOf(server, 503)).toMatchObject({
      reasons: [{ check: 'queries', detail: 'ClickHouse does not answer queries.' }],
    })
    way.wrong_for.add('shipper')
    await capture(server, 20)
    const behind = await rejectionOf(askHogQL(server.url, COUNTS))
    expect(behind).toMatchObject({
      message: expect.stringMatching(/^503: .*"ClickHouse does not have the newest events yet/),
    })
    expect(errorsOfLog()).toEqual([
      ['ClickHouse does not answer queries', expect.stringMatching(/^Code: 516\..* queries: /)],
      ['events could not be sent to ClickHouse', expect.stringMatching(/^Code: 516\..* shipper: /)],
    ])
    way.wrong_for.clear()
    // Without a query: a load balancer sends none.
    expect(await readinessOf(server, 200)).toEqual({ status: 'ok' })
    expect(await askFresh(server.url, COUNTS)).toEqual([[captured, captured]])
    expect(await server.stop()).toBe(0)
  })

  test('that is killed again and again while events are sent and queries run', async () => {
    const server = await start(cluster.url)
    const over = new AbortController()
    const statuses = new Set<string>()
    const asking = async (): Promise<void> => {
      while (!over.signal.aborted) {
        const query = 'select count(), sum(length(base64Encode(repeat(event, 100)))) from events'
        const status = await askHogQL(server.url, query).then(
          () => '200',
          (error: Error) => error.message.slice(0, 3),
        )
        statuses.add(status)
        await Bun.sleep(20)
      }
    }
    const capturing = async (): Promise<void> => {
      while (!over.signal.aborted) {
        await capture(server, 100)
        await Bun.sleep(50)
      }
    }
    const loops = Promise.all([asking(), asking(), capturing()])
    for (const ms of [300, 700, 1100]) {
      await Bun.sleep(ms)
      await cluster.server(0).kill()
      await Bun.sleep(ms)
      await cluster.server(0).start()
    }
    over.abort()
    await loops
    expect(statuses).toContain('503')
    expect([...statuses].filter((status) => !['200', '503'].includes(status))).toEqual([])
    expect(await askFresh(server.url, COUNTS)).toEqual([[captured, captured]])
    expect(await server.stop()).toBe(0)
  })

  test('that accepts connections and does not answer lets the server stop, and start again', async () => {
    const first = await start(cluster.url)
    await capture(first, 20)
    expect(await askFresh(first.url, COUNTS)).toEqual([[captured, captured]])
    // After a second, a round first asks whether this folder is still the living one.
    await Bun.sleep(1100)
    const { pid } = cluster.server(0)
    process.kill(pid, 'SIGSTOP')
    let second: Server
    try {
      await capture(first, 20)
      expect(await rejectionOf(askHogQL(first.url, COUNTS))).toMatchObject({
        message: expect.stringMatching(/^503: /),
      })
      expect(await first.stop()).toBe(0)
      second = await start(cluster.url)
      await capture(second, 20)
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    expect(await askFresh(second.url, COUNTS)).toEqual([[captured, captured]])
    expect(await second.stop()).toBe(0)
  })
})
