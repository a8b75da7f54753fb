/** Events of ids that have a person today, and of persons that are being removed, on two shards. */
import { describe, expect, test } from 'bun:test'
import { DuckDBInstance } from '@duckdb/node-api'
import { clickhouseDialect } from '../../src/hogql/clickhouse/dialect.ts'
import { PLAIN_STATE, type TableState } from '../../src/hogql/clickhouse/table-state.ts'
import { compileHogQL } from '../../src/hogql/compile.ts'
import { markRemoval } from '../../src/shipping/deletions.ts'
import {
  CREATE_REMOVED,
  copyRemovals,
  withoutRemoved,
} from '../../src/storage/log/pending-removals.ts'
import { CONTEXT } from '../hogql/engine.ts'
import { personId } from '../hogql/rows.ts'
import { nodesAt } from '../shipping/shipping-world.ts'
import { askClickHouse } from './ask.ts'
import { startCluster } from './cluster.ts'
import { hasClickHouse } from './library.ts'
import { clientOf, insertRows, makeTables } from './rows.ts'

describe.skipIf(!hasClickHouse())('what is true of a project’s tables', () => {
  test('decides whose events they are, and whether they are read', async () => {
    await using cluster = await startCluster(2)
    await makeTables(cluster)
    const events = [1, 2, 3, 4].map((person) => ({
      project_id: 1,
      seq: person,
      uuid: crypto.randomUUID(),
      event: 'seen',
      distinct_id: `d${person}`,
      person_id: personId(person),
      timestamp: '2024-03-10 00:00:00',
      properties: '{}',
    }))
    await insertRows(clientOf(cluster), 'events', events)
    for (const shard of [0, 1]) {
      const insert = (table: string, row: Parameters<typeof insertRows>[2][number]) =>
        insertRows(clientOf(cluster, shard), table, [{ project_id: 1, ...row }])
      await insert('distinct_id_overrides', { distinct_id: 'd1', person_id: personId(5) })
      await insert('person_overrides', { old_person_id: personId(5), person_id: personId(2) })
      await insert('removals', {
        is_person: 1,
        id: personId(3),
        up_to_seq: 3,
      })
      await insert('persons', { id: personId(2), properties: '{"plan":"pro"}' })
    }
    const ask = (text: string, state: Partial<TableState>) =>
      askClickHouse(
        clientOf(cluster, 0, 'queries'),
        compileHogQL(text, CONTEXT, clickhouseDialect({ ...PLAIN_STATE, ...state })),
      )
    const persons = 'select person_id, count() as n from events group by person_id order by n, 1'
    const [one, two, three, four] = [1, 2, 3, 4].map(personId)
    const all = await ask(persons, {})
    expect(all.map(([id]) => id)).toEqual([one, two, three, four])
    const today = await ask(persons, { has_id_overrides: true })
    expect(today.map(([id]) => id)).toEqual([three, four, two])
    const kept = await ask(persons, { has_id_overrides: true, has_removed_persons: true })
    expect(kept.map(([id]) => id)).toEqual([four, two])
    const plans =
      "select person.properties.plan as plan, count() from events where event = 'seen' group by plan order by plan"
    expect(
      JSON.stringify(await ask(plans, { has_id_overrides: true, has_removed_persons: true })),
    ).toBe('[["pro","2"],[null,"1"]]')
    // The same where events are not the first relation.
    const joined =
      'select p.id, count() from persons as p join events as e on e.person_id = p.id group by p.id'
    expect(JSON.stringify(await ask(joined, { has_id_overrides: true }))).toBe(`[["${two}","2"]]`)
  }, 120_000)

  test('hides the events that a removal is about, and not those stored since, as the engine of this machine does', async () => {
    await using cluster = await startCluster()
    const nodes = nodesAt([cluster.url])
    await nodes.fit()
    const rows = [
      ['bob', 4, 1],
      ['old id', 8, 2],
      ['other', 4, 3],
      ['moved', 4, 4],
      ['ann', 1, 5],
      // Stored after the removal was ordered.
      ['bob', 4, 6],
      ['old id', 8, 7],
    ] as const
    const events = rows.map(([distinct_id, person, seq]) => ({
      project_id: 1,
      log_id: 'log',
      seq,
      uuid: crypto.randomUUID(),
      event: 'seen',
      distinct_id,
      person_id: personId(person),
      timestamp: '2024-03-10 00:00:00',
      properties: JSON.stringify({ seq }),
      rest: { seq: String(seq) },
    }))
    // What a log of before a restore had is older than any removal.
    const older = { ...events[0], log_id: 'older', seq: 99, rest: { seq: '99' } }
    const override = { project_id: 1, distinct_id: 'moved', person_id: personId(9) }
    await insertRows(clientOf(cluster), 'events', [...events, older])
    await insertRows(clientOf(cluster), 'distinct_id_overrides', [override])
    const removal = {
      id: 7,
      project_id: 1,
      up_to_seq: 5,
      person_ids: [Uint8Array.fromHex(personId(4).replaceAll('-', ''))],
      distinct_ids: ['old id'],
    }
    await markRemoval(nodes, 'log', removal, 'begun')

    const instance = await DuckDBInstance.create(':memory:')
    const connection = await instance.connect()
    await connection.run(CREATE_REMOVED.replaceAll('create table', 'create temp table'))
    await connection.run(
      'create table events (seq bigint, distinct_id varchar, person_id uuid); create table distinct_id_overrides (distinct_id varchar)',
    )
    await connection.run("insert into distinct_id_overrides values ('moved')")
    for (const { seq, distinct_id, person_id } of events)
      await connection.run('insert into events values ($1, $2, $3)', [seq, distinct_id, person_id])
    await copyRemovals(connection, [removal])
    const here = await connection.runAndReadAll(
      `select seq::varchar from (${withoutRemoved('events')}) order by seq`,
    )

    const ask = async (): Promise<unknown> =>
      askClickHouse(
        clientOf(cluster, 0, 'queries'),
        compileHogQL(
          'select properties.seq as seq from events order by seq',
          CONTEXT,
          clickhouseDialect({ has_id_overrides: true, has_removed_persons: true }),
        ),
      )
    expect(await ask()).toEqual(here.getRows())
    expect(here.getRows()).toEqual([['4'], ['5'], ['6'], ['7']])
    await markRemoval(nodes, 'log', removal, 'done')
    expect(await ask()).toHaveLength(8)
  }, 120_000)
})
