/** The servers of the tests themselves: rows survive a kill, shards answer together, the restricted user only reads. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { rejectionOf } from '../rejection.ts'
import { type ClickHouseCluster, startCluster } from './cluster.ts'
import { hasClickHouse } from './library.ts'

describe.skipIf(!hasClickHouse())('two ClickHouse shards', () => {
  let cluster: ClickHouseCluster

  beforeAll(async () => {
    cluster = await startCluster(2)
    for (const shard of [0, 1]) {
      await cluster.run('CREATE TABLE n_local (n UInt64) ENGINE = MergeTree ORDER BY n', { shard })
      await cluster.run(
        "CREATE TABLE n AS n_local ENGINE = Distributed('tidemark', 'tidemark', 'n_local', n)",
        { shard },
      )
    }
    await cluster.run('INSERT INTO n SELECT number FROM numbers(1000)', {
      settings: { distributed_foreground_insert: '1' },
    })
  }, 120_000)

  afterAll(() => cluster?.[Symbol.asyncDispose]())

  test('hold a part of the rows each and answer for all of them', async () => {
    const parts = await Promise.all(
      [0, 1].map((shard) => cluster.run('SELECT count() FROM n_local', { shard })),
    )
    expect(parts).toEqual(['500\n', '500\n'])
    expect(await cluster.run('SELECT count(), sum(n) FROM n', { shard: 1 })).toBe('1000\t499500\n')
  })

  test('give no partial answer while one is gone, and all rows once it is back', async () => {
    await cluster.server(1).kill()
    expect(await rejectionOf(cluster.run('SELECT count() FROM n'))).toMatchObject({
      message: expect.stringContaining('ALL_CONNECTION_TRIES_FAILED'),
    })
    await cluster.server(1).start()
    expect(await cluster.run('SELECT count() FROM n')).toBe('1000\n')
  }, 120_000)

  test.each([
    'INSERT INTO n_local VALUES (1)',
    'DROP TABLE n',
    "SELECT * FROM url('http://127.0.0.1:1/', CSV, 'x String')",
    "SELECT * FROM file('/etc/passwd', LineAsString)",
    "SELECT * FROM remote('127.0.0.1', system.one)",
    'SELECT 1 SETTINGS max_memory_usage = 0',
    'SELECT 1 SETTINGS readonly = 0',
  ])('refuse the restricted user: %s', async (sql) => {
    expect(await rejectionOf(cluster.run(sql, { user: 'queries' }))).toMatchObject({
      message: expect.stringMatching(/Code: \d+/),
    })
  })

  test('let the restricted user read', async () => {
    expect(await cluster.run('SELECT max(n) FROM n', { user: 'queries' })).toBe('999\n')
  })
})
