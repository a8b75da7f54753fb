/** The tables in ClickHouse: made once on a server and on shards, refused for a newer schema. */
import { describe, expect, test } from 'bun:test'
import { HOT_PROPERTIES, hotColumnName, restPath } from '../../src/column-names.ts'
import {
  type ClickHouseTopology,
  migrateClickHouse,
  schemaStatements,
} from '../../src/storage/clickhouse/clickhouse-schema.ts'
import { rejectionOf } from '../rejection.ts'
import { startCluster } from './cluster.ts'
import { hasClickHouse } from './library.ts'
import { clientOf, makeTables } from './rows.ts'

describe('the schema', () => {
  test('has a column per hot property, each named once', () => {
    const columns = HOT_PROPERTIES.map(hotColumnName)
    expect(new Set(columns).size).toBe(HOT_PROPERTIES.length)
    expect(columns.filter((column) => !/^h_\w+$/.test(column ?? ''))).toEqual([])
    expect(hotColumnName('plan')).toBeNull()
  })

  test.each([
    ['plan', 'plan'],
    ['$price', '%24price'],
    ['a.b%c', 'a%2Eb%25c'],
    ['`) or 1 --', '%60%29%20or%201%20--'],
    ['größe', 'gr%C3%B6%C3%9Fe'],
    ['__proto__', '__proto__'],
  ])('names the path of %p %p', (property, path) => {
    expect(restPath(property)).toBe(path)
  })

  test('fills every hole for every topology', () => {
    const topologies: readonly ClickHouseTopology[] = [
      { kind: 'server' },
      { kind: 'cluster', cluster: 'c', is_replicated: false },
      { kind: 'cluster', cluster: 'c', is_replicated: true },
    ]
    for (const topology of topologies)
      expect(schemaStatements(topology).flat().join('\n')).not.toContain('${')
    const replicated = schemaStatements({ kind: 'cluster', cluster: 'c', is_replicated: true })
    expect(replicated.flat().filter((sql) => !sql.includes("ON CLUSTER 'c'"))).toEqual([])
  })
})

describe.skipIf(!hasClickHouse())('a real server', () => {
  test('gets the tables once, and refuses those of a newer executable', async () => {
    await using cluster = await startCluster()
    const client = clientOf(cluster)
    expect(await migrateClickHouse(client, { kind: 'server' })).toBe(6)
    expect(await migrateClickHouse(client, { kind: 'server' })).toBe(0)
    expect((await client.run('SHOW TABLES')).trim().split('\n')).toEqual([
      'cohort_people',
      'distinct_id_overrides',
      'events',
      'groups',
      'home_logs',
      'home_numbers',
      'ingestion_warnings',
      'person_distinct_ids',
      'person_overrides',
      'persons',
      'project_homes',
      'removals',
      'removed_people',
      'schema_steps',
    ])
    await client.run("INSERT INTO schema_steps VALUES (7, '0007_of_tomorrow')")
    expect(await rejectionOf(migrateClickHouse(client, { kind: 'server' }))).toMatchObject({
      message: expect.stringContaining(
        'have version 7, this executable knows 6: run a newer tidemark',
      ),
    })
  }, 120_000)

  test('of a cluster gets them on each shard, and its events go to the shard of their person', async () => {
    await using cluster = await startCluster(2)
    await makeTables(cluster)
    const rows = Array.from({ length: 40 }, (_, index) =>
      JSON.stringify({
        project_id: 1,
        seq: index,
        event: 'e',
        distinct_id: `d${index}`,
        person_id: `00000000-0000-4000-8000-0000000000${String(index % 20).padStart(2, '0')}`,
        timestamp: '2024-03-10 00:00:00',
        rest: { plan: 'pro', 'a%2Eb': '1' },
        h__browser: 'Chrome',
      }),
    )
    const settings = {
      distributed_foreground_insert: 1,
      async_insert: 0,
      insert_deduplication_token: 'log/1',
    }
    for (let sent = 0; sent < 2; sent += 1)
      await clientOf(cluster).run('INSERT INTO events FORMAT JSONEachRow', {
        rows: Buffer.from(rows.join('\n')),
        settings,
      })
    const read =
      'SELECT count(), uniqExact(person_id), min(rest.plan.:String), min(rest.`a%2Eb`.:String) FROM events'
    expect(await clientOf(cluster).run(read)).toBe('40\t20\tpro\t1\n')
    const persons = await Promise.all(
      [0, 1].map(async (shard) =>
        Number(await clientOf(cluster, shard).run('SELECT uniqExact(person_id) FROM events_local')),
      ),
    )
    expect(persons.reduce((sum, count) => sum + count, 0)).toBe(20)
  }, 120_000)

  test('keeps texts as they are in parameters', async () => {
    await using cluster = await startCluster()
    const client = clientOf(cluster)
    const texts = [
      '',
      "a'b\\c\\n",
      'tab\tline\nreturn\rnull\0',
      'ünïcödé 🙂',
      '{p1:String}',
      'x'.repeat(60_000),
    ]
    const sql = `SELECT ${texts.map((_, index) => `{p${index + 1}:String}`).join(', ')} FORMAT JSONCompact`
    expect(JSON.parse(await client.run(sql, { texts })).data).toEqual([texts])
  }, 120_000)
})
