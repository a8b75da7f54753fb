/** A folder that outgrows its machine: filled into ClickHouse, cut off and begun again, verified, served from there. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ownCommand } from '../../src/storage/process/spawn-self.ts'
import { type ClickHouseCluster, startCluster } from '../clickhouse/cluster.ts'
import { hasClickHouse } from '../clickhouse/library.ts'
import { clickhouseEnvironment } from '../clickhouse/settings.ts'
import { untilSnapshotFile } from '../flows/clients/patience.ts'
import {
  API_TOKEN,
  askHogQL,
  type Server,
  serverLog,
  startServer,
} from '../flows/processes/server.ts'
import { askFresh } from './ask-fresh.ts'

setDefaultTimeout(240_000)

const QUERY =
  'select event, count(), count(distinct person_id), sum(properties.n), max(timestamp), sum(length(properties)) from events group by event order by event'

describe.skipIf(!hasClickHouse())('a folder with snapshot files', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-fill-'))
  const data_dir = join(folder, 'data')
  let cluster: ClickHouseCluster
  let server: Server

  const start = async (env: Readonly<Record<string, string>>): Promise<void> => {
    server = await startServer({ data_dir, env: { TIDEMARK_SNAPSHOT_ROWS: '100', ...env } })
  }
  const capture = async (count: number, month: number): Promise<void> => {
    const batch = Array.from({ length: count }, (_, index) => ({
      event: `event ${index % 3}`,
      distinct_id: `d${index % 40}`,
      timestamp: new Date(Date.UTC(2024, month, 1 + (index % 25))).toISOString(),
      properties: { n: index, text: `täxt ${index}`, list: [index] },
    }))
    const body = JSON.stringify({ api_key: API_TOKEN, historical_migration: true, batch })
    expect((await fetch(`${server.url}/batch/`, { method: 'POST', body })).status).toBe(200)
  }
  const run = async (...args: readonly string[]) => {
    const child = Bun.spawn([...ownCommand(['clickhouse', ...args, '--data-dir', data_dir])], {
      env: { ...process.env, ...clickhouseEnvironment(cluster) },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [out, error] = await Promise.all([child.stdout.text(), child.stderr.text()])
    return { code: await child.exited, out, error }
  }

  beforeAll(async () => {
    cluster = await startCluster(2)
  }, 120_000)

  afterAll(async () => {
    await server?.kill()
    await cluster?.[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  test('is served from ClickHouse after it was filled, with the same answers', async () => {
    await start({})
    for (const month of [0, 1, 2]) await capture(300, month)
    const listFiles = (): readonly string[] => {
      const path = join(data_dir, 'files', '1')
      return existsSync(path) ? readdirSync(path) : []
    }
    await untilSnapshotFile(server.url)
    await capture(60, 3)
    const { results } = await askHogQL(server.url, QUERY)
    expect(await server.stop()).toBe(0)
    expect(listFiles().length).toBeGreaterThan(0)

    expect(await refusedStart(clickhouseEnvironment(cluster))).toContain('clickhouse fill')
    // A shard that is away cuts it off.
    await cluster.server(1).kill()
    expect((await run('fill')).code).toBe(1)
    await cluster.server(1).start()
    expect(await run('fill')).toMatchObject({ code: 0 })
    expect(listFiles()).toEqual([])

    expect(await refusedStart({})).toContain('are in ClickHouse: set TIDEMARK_CLICKHOUSE_URL')
    await start(clickhouseEnvironment(cluster))
    expect(await askFresh(server.url, QUERY)).toEqual([...results])
    await capture(60, 4)
    expect(await askFresh(server.url, 'select count() from events')).toEqual([[1020]])
    const verified = await run('verify', '--json')
    expect(verified.error).toBe('')
    expect(JSON.parse(verified.out).comparisons).not.toEqual([])
    expect(verified).toMatchObject({ code: 0 })
    const status = JSON.parse((await run('status', '--json')).out)
    expect(status).toMatchObject({
      seq: 1020,
      shipped_seq: 1020,
      events_there: 1020,
      files_not_filled: 0,
    })

    await cluster.run(
      'ALTER TABLE persons DELETE WHERE id = (SELECT min(id) FROM persons) SETTINGS mutations_sync = 2',
    )
    expect((await run('verify')).code).toBe(1)
    expect(await server.stop()).toBe(0)
  })

  /** The reason for which a server does not start. */
  async function refusedStart(env: Readonly<Record<string, string>>): Promise<string> {
    const refused = startServer({ data_dir, env }).then(
      () => 'started',
      () => serverLog(data_dir),
    )
    return refused
  }
})
