/** A server whose events are in ClickHouse: what was captured is read at once, in ClickHouse, by one and by two shards. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ClickHouseCluster, startCluster } from '../clickhouse/cluster.ts'
import { hasClickHouse } from '../clickhouse/library.ts'
import { clickhouseEnvironment } from '../clickhouse/settings.ts'
import { API_TOKEN, type Server, startServer } from '../flows/processes/server.ts'
import { askFresh } from './ask-fresh.ts'

describe.skipIf(!hasClickHouse()).each([1, 2])('events in ClickHouse on %d shards', (shards) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-shipping-'))
  const data_dir = join(folder, 'data')
  let cluster: ClickHouseCluster
  let server: Server

  const capture = async (events: readonly object[]): Promise<void> => {
    const body = JSON.stringify({ api_key: API_TOKEN, batch: events })
    const answer = await fetch(`${server.url}/batch/`, { method: 'POST', body })
    expect(answer.status).toBe(200)
  }
  const ask = (query: string): Promise<unknown> => askFresh(server.url, query)

  beforeAll(async () => {
    cluster = await startCluster(shards)
    server = await startServer({ data_dir, env: clickhouseEnvironment(cluster) })
  }, 120_000)

  afterAll(async () => {
    await server?.stop()
    await cluster?.[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  test('are read by the query after the capture', async () => {
    for (let round = 1; round <= 3; round += 1) {
      await capture(
        Array.from({ length: 20 }, (_, index) => ({
          event: 'seen',
          distinct_id: `d${index}`,
          properties: { round, $browser: 'Chrome', 'a.b': [round], $set: { plan: `p${round}` } },
        })),
      )
      expect(
        await ask('select count(), max(properties.round), count(distinct person_id) from events'),
      ).toEqual([[20 * round, round, 20]])
      expect(
        await ask(
          "select distinct person.properties.plan, properties.$browser, properties['a.b'] from events where properties.round = " +
            round,
        ),
      ).toEqual([[`p${round}`, 'Chrome', `[${round}]`]])
    }
  }, 60_000)
})
