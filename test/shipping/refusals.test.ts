/** A ClickHouse that does not fit is refused at start, with the reason. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ClickHouseClient } from '../../src/storage/clickhouse/clickhouse-client.ts'
import { ClickHouseNodes } from '../../src/storage/clickhouse/clickhouse-nodes.ts'
import { isNewEnough } from '../../src/storage/clickhouse/clickhouse-schema.ts'
import { type ClickHouseCluster, startCluster } from '../clickhouse/cluster.ts'
import { hasClickHouse } from '../clickhouse/library.ts'
import { clientOf } from '../clickhouse/rows.ts'
import { clickhouseEnvironment } from '../clickhouse/settings.ts'
import { startServer } from '../flows/processes/server.ts'
import { rejectionOf } from '../rejection.ts'

setDefaultTimeout(120_000)

describe.skipIf(!hasClickHouse())('a ClickHouse', () => {
  let cluster: ClickHouseCluster

  beforeAll(async () => {
    cluster = await startCluster(2)
  }, 120_000)

  afterAll(() => cluster?.[Symbol.asyncDispose]())

  type Access = Partial<ClickHouseClient['access']>
  const fit = (writer: Access, reader: Access = {}, cluster_name: string | null = null) =>
    rejectionOf(
      new ClickHouseNodes({
        writers: [new ClickHouseClient({ ...clientOf(cluster).access, ...writer })],
        reader: new ClickHouseClient({ ...clientOf(cluster, 0, 'queries').access, ...reader }),
        cluster: cluster_name,
      }).fit(),
    )

  test.each([
    [
      'whose password is wrong',
      { password: 'wrong' },
      {},
      null,
      'refuses the user or its password',
    ],
    ['whose user may only read', { user: 'queries' }, {}, null, 'a right is missing in ClickHouse'],
    [
      'whose user may not make tables',
      { user: 'no_tables' },
      {},
      null,
      'a right is missing in ClickHouse: Code: 497',
    ],
    [
      'whose user may not delete',
      { user: 'no_deletes' },
      {},
      null,
      'the user no_deletes of ClickHouse needs SELECT, INSERT, ALTER DELETE, ALTER UPDATE on tidemark.*',
    ],
    [
      'whose user may end no queries',
      { user: 'no_kills' },
      {},
      null,
      'the user no_kills of ClickHouse needs KILL QUERY on *.*',
    ],
    ['without the database', { database: 'nowhere' }, {}, null, 'the database is missing'],
    ['where queries could write', {}, { user: 'writer' }, null, 'queries are asked, may write'],
    [
      'whose queries may have no settings',
      {},
      { user: 'no_settings' },
      null,
      'readonly of a user in ClickHouse must be 2 for queries, and 0 for writing: Code: 164',
    ],
    ['without the cluster', {}, {}, 'nowhere', 'knows no cluster nowhere'],
    [
      'of which a shard has no address',
      {},
      {},
      'tidemark',
      'must name one address of each, and names 1',
    ],
  ] as const)('%s is refused', async (_, writer, reader, name, reason) => {
    expect(await fit(writer, reader, name)).toMatchObject({
      name: 'ClickHouseUnfit',
      message: expect.stringContaining(reason),
    })
  })

  test('that cannot be reached says so', async () => {
    expect(await fit({ url: 'http://127.0.0.1:1' })).not.toMatchObject({ name: 'ClickHouseUnfit' })
  })

  // One real version is all that there is here: the other one is only said.
  test('that is too old is refused when the server starts, with both versions', async () => {
    using older = Bun.serve({
      port: 0,
      fetch: async (request) => {
        const url = new URL(request.url)
        const body = await request.text()
        if (body.includes('SELECT version()'))
          return new Response('25.3.8.23\n', { headers: { 'X-ClickHouse-Query-Id': 'a' } })
        return fetch(`${cluster.url}${url.pathname}${url.search}`, {
          method: 'POST',
          headers: request.headers,
          body,
        })
      },
    })
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-refused-'))
    const env = {
      ...clickhouseEnvironment({ shards: cluster.shards.slice(0, 1) }),
      TIDEMARK_CLICKHOUSE_URL: `http://127.0.0.1:${older.port}`,
    }
    const refused = await rejectionOf(startServer({ data_dir: join(folder, 'data'), env }))
    rmSync(folder, { recursive: true, force: true })
    expect(refused).toMatchObject({
      message: expect.stringContaining('ClickHouse 25.3.8.23 is too old: 25.8 or newer is needed'),
    })
  })

  test('of a user without a right is refused when the server starts', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-refused-'))
    const env = {
      ...clickhouseEnvironment({ shards: cluster.shards.slice(0, 1) }),
      TIDEMARK_CLICKHOUSE_USER: 'no_deletes',
    }
    const refused = await rejectionOf(startServer({ data_dir: join(folder, 'data'), env }))
    rmSync(folder, { recursive: true, force: true })
    expect(refused).toMatchObject({
      message: expect.stringContaining('the user no_deletes of ClickHouse needs SELECT, INSERT'),
    })
  })
})

test.each([
  ['26.7.2.1', true],
  ['25.8.1.1', true],
  ['25.10.1.1-lts', true],
  ['25.8-head', true],
  ['25.7.9.9', false],
  ['24.12.1.1', false],
  ['', false],
  ['unknown', false],
])('version %p of ClickHouse is new enough: %p', (version, is_enough) => {
  expect(isNewEnough(version)).toBe(is_enough)
})
