/** Events of ids that have a person today, and of persons that are being removed, on two shards. */
import { describe, expect, test } from 'bun:test'
import { clickhouseDialect } from '../../src/hogql/clickhouse/dialect.ts'
import { PLAIN_STATE, type TableState } from '../../src/hogql/clickhouse/table-state.ts'
import { compileHogQL } from '../../src/hogql/compile.ts'
import { CONTEXT } from '../hogql/engine.ts'
import { personId } from '../hogql/rows.ts'
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
      await insert('removed_people', { person_id: personId(3) })
      await insert('persons', { id: personId(2), properties: '{"plan":"pro"}' })
    }
    const ask = (text: string, state: Partial<TableState>) =>
      askClickHouse(
        clientOf(cluster, 0, 'questions'),
        compileHogQL(text, CONTEXT, clickhouseDialect({ ...PLAIN_STATE, ...state })),
      )
    const persons = 'select person_id, count() as n from events group by person_id order by n, 1'
    const [one, two, three, four] = [1, 2, 3, 4].map(personId)
    const all = await ask(persons, {})
    expect(all.map(([id]) => id)).toEqual([one, two, three, four])
    const today = await ask(persons, { has_id_overrides: true })
    expect(today.map(([id]) => id)).toEqual([three, four, two])
    const kept = await ask(persons, { has_id_overrides: true, has_removed_people: true })
    expect(kept.map(([id]) => id)).toEqual([four, two])
    const plans =
      "select person.properties.plan as plan, count() from events where event = 'seen' group by plan order by plan"
    expect(
      JSON.stringify(await ask(plans, { has_id_overrides: true, has_removed_people: true })),
    ).toBe('[["pro","2"],[null,"1"]]')
    // The same where events are not the first relation.
    const joined =
      'select p.id, count() from persons as p join events as e on e.person_id = p.id group by p.id'
    expect(JSON.stringify(await ask(joined, { has_id_overrides: true }))).toBe(`[["${two}","2"]]`)
  }, 120_000)
})
