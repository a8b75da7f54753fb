/** A ClickHouse that does not fit is refused at start, with the reason. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { ClickHouseClient } from '../../src/storage/clickhouse/clickhouse-client.ts'
import { ClickHouseNodes } from '../../src/storage/clickhouse/clickhouse-nodes.ts'
import { type ClickHouseCluster, startCluster } from '../clickhouse/cluster.ts'
import { hasClickHouse } from '../clickhouse/library.ts'
import { clientOf } from '../clickhouse/rows.ts'
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
        reader: new ClickHouseClient({ ...clientOf(cluster, 0, 'questions').access, ...reader }),
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
    [
      'whose user may only read',
      { user: 'questions' },
      {},
      null,
      'a right is missing in ClickHouse',
    ],
    ['without the database', { database: 'nowhere' }, {}, null, 'the database is missing'],
    ['where questions could write', {}, { user: 'writer' }, null, 'questions are asked, may write'],
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
})
