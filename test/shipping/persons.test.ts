/** Persons, overrides, groups and cohorts in ClickHouse, removals on every shard, retention, and a restored folder's persons. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { EventLog } from '../../src/storage/log/event-log.ts'
import { GroupStore } from '../../src/storage/persons/group-store.ts'
import { type ClickHouseCluster, startCluster } from '../clickhouse/cluster.ts'
import { hasClickHouse } from '../clickhouse/library.ts'
import { limitTests, longTest } from '../long-tests.ts'
import { idOf, MARCH_US } from '../query/world.ts'
import { rejectionOf } from '../rejection.ts'
import { expireNothing, openShipper, ShippingWorld } from './shipping-world.ts'

limitTests(180_000)

const PERSON = `insert or replace into persons (project_id, id, created_at, properties, is_identified, version, is_deleted, change)
values (1, ?, ?, ?, 1, 3, ?, ?)`

function writeRows(log: EventLog, plan: string): void {
  const { db } = log
  log.transact(() => {
    db.query(PERSON).run(
      idOf(1),
      MARCH_US,
      JSON.stringify({ plan, quote: '"\\\n' }),
      0,
      log.nextChange(),
    )
    db.query(PERSON).run(idOf(2), MARCH_US, '{}', 1, log.nextChange())
    db.query(
      'insert or replace into distinct_ids (project_id, distinct_id, person_id, version, change) values (1, ?, ?, 0, ?)',
    ).run('ann\t"x"', idOf(1), log.nextChange())
    db.query(
      'insert or replace into distinct_ids (project_id, distinct_id, person_id, version, change) values (1, ?, ?, 0, ?)',
    ).run('gone', new Uint8Array(0), log.nextChange())
    db.query('insert or replace into groups values (1, 0, ?, ?, ?, ?, ?, 0)').run(
      'acme',
      MARCH_US,
      MARCH_US + 1,
      '{"seats":5}',
      log.nextChange(),
    )
    db.query('insert or replace into distinct_id_overrides values (1, ?, ?, ?)').run(
      'moved',
      idOf(3),
      log.nextChange(),
    )
    db.query('insert or ignore into cohort_people values (1, ?, 7)').run(idOf(1))
    log.nextChange()
  })
}

describe.skipIf(!hasClickHouse())('on two shards', () => {
  let cluster: ClickHouseCluster
  let world: ShippingWorld

  beforeAll(async () => {
    cluster = await startCluster(2)
    world = new ShippingWorld(cluster)
  }, 120_000)

  afterAll(async () => {
    world?.[Symbol.dispose]()
    await cluster?.[Symbol.asyncDispose]()
  })

  /** The rows that each shard has, for they are the same. */
  const onEach = async (sql: string): Promise<unknown> => {
    const [one = '', other] = await Promise.all(
      [0, 1].map((shard) => cluster.run(`${sql} FORMAT JSONCompactEachRow`, { shard })),
    )
    expect(other).toBe(one)
    return JSON.parse(`[${one.trim().replaceAll('\n', ',')}]`)
  }
  const withShipper = async (
    work: (parts: ReturnType<typeof openShipper>) => Promise<unknown>,
    monthsKept: (project_id: number) => number | null = expireNothing.monthsKept,
  ): Promise<void> => {
    const parts = openShipper({ data_dir: world.data_dir, urls: world.urls, monthsKept })
    try {
      await parts.shipper.prepare()
      await work(parts)
    } finally {
      await parts.close()
    }
  }
  const ship = (monthsKept?: (project_id: number) => number | null): Promise<void> =>
    withShipper(({ shipper }) => shipper.run(), monthsKept)

  test('rows of persons are whole on each server, and the newest is the truth', async () => {
    world.write((log) => writeRows(log, 'free'))
    await ship()
    world.write((log) => writeRows(log, 'pro'))
    await ship()
    const ann = '00000000-0000-0000-0000-000000000001'
    const properties = JSON.stringify({ plan: 'pro', quote: '"\\\n' })
    expect(
      await onEach(
        'SELECT id, properties, is_identified, version, toUnixTimestamp64Micro(created_at) FROM persons FINAL',
      ),
    ).toEqual([[ann, properties, true, 3, MARCH_US]])
    expect(await onEach('SELECT distinct_id, person_id FROM person_distinct_ids FINAL')).toEqual([
      ['ann\t"x"', ann],
    ])
    expect(
      await onEach('SELECT index, key, properties, updated_at > created_at FROM groups FINAL'),
    ).toEqual([[0, 'acme', '{"seats":5}', 1]])
    expect(await onEach('SELECT count() FROM distinct_id_overrides FINAL')).toEqual([[1]])
    expect(await onEach('SELECT cohort_id, person_id FROM cohort_people FINAL')).toEqual([[7, ann]])
    const acme = { project_id: 1, group_type_index: 0, group_key: 'acme' }
    world.write((log) =>
      log.transact(() => {
        log.nextChange()
        log.db.run('delete from cohort_people')
        new GroupStore(log).remove(acme)
      }),
    )
    await ship()
    expect(await onEach('SELECT count() FROM cohort_people FINAL')).toEqual([[0]])
    expect(await onEach('SELECT count() FROM groups FINAL')).toEqual([[0]])
    world.write((log) =>
      log.transact(() => {
        const groups = new GroupStore(log)
        const size = { bytes: 11, count: 1 }
        groups.save(groups.open(acme), { set: { seats: 7 }, unset: new Set(), size }, MARCH_US + 2)
        groups.flush()
      }),
    )
    await ship()
    expect(
      await onEach('SELECT properties, toUnixTimestamp64Micro(created_at) FROM groups FINAL'),
    ).toEqual([['{"seats":7}', MARCH_US + 2]])
  })

  test('events of a removed person leave every shard, those of ids with another person stay', async () => {
    const send = (person: number, distinct_id: string): readonly string[] =>
      world.send(5, { project_id: 1, person_id: idOf(person), distinct_id, timestamp: MARCH_US })
    const kept = [
      ...send(1, 'ann'),
      ...send(4, 'moved'),
      ...world.send(5, {
        project_id: 2,
        person_id: idOf(4),
        distinct_id: 'bob',
        timestamp: MARCH_US,
      }),
    ]
    send(4, 'bob')
    send(5, 'old id of bob')
    await ship()
    world.write((log) =>
      log.transact(() => {
        log.db
          .query(
            'insert into event_removals (project_id, up_to_seq, person_ids, distinct_ids, created_at) values (1, ?, ?, ?, 0)',
          )
          .run(
            log.seq,
            JSON.stringify([idOf(4).toHex()]),
            JSON.stringify([
              'old id of bob',
              ...Array.from({ length: 5000 }, (_, index) => `an id with a "quote" ${index}`),
            ]),
          )
      }),
    )
    // Stored after the removal was ordered.
    const later = send(4, 'bob')
    await cluster.server(1).kill()
    await withShipper(async ({ shipper, log }) => {
      expect(await rejectionOf(shipper.run())).toBeDefined()
      expect(log.db.query('select count(*) as n from event_removals').get()).toEqual({ n: 1 })
    })
    await cluster.server(1).start()
    await withShipper(async ({ shipper, log }) => {
      await shipper.run()
      expect(log.db.query('select count(*) as n from event_removals').get()).toEqual({ n: 0 })
    })
    expect(await world.stored()).toEqual([...kept, ...later].toSorted())
    expect(await onEach('SELECT count() FROM removals FINAL')).toEqual([[0]])
    // Nothing is only hidden: a shard alone has none of them.
    for (const shard of [0, 1])
      expect(
        await cluster.run("SELECT count() FROM events_local WHERE distinct_id = 'old id of bob'", {
          shard,
        }),
      ).toBe('0\n')
  })

  test('months beyond the retention of a project leave, those of another stay', async () => {
    const now_us = Date.now() * 1000
    const before = await world.stored()
    const kept = [
      ...world.send(4, { project_id: 1, timestamp: now_us }),
      ...world.send(4, { project_id: 2, timestamp: MARCH_US }),
    ]
    world.send(4, { project_id: 1, timestamp: MARCH_US })
    const of_project_1 = (
      await cluster.run(
        "SELECT lower(replaceAll(toString(uuid), '-', '')) FROM events WHERE project_id = 1",
      )
    ).split('\n')
    await ship((project_id) => (project_id === 1 ? 2 : null))
    expect(await world.stored()).toEqual(
      [...before.filter((uuid) => !of_project_1.includes(uuid)), ...kept].toSorted(),
    )
  })

  longTest(
    'a restored folder sends its persons again, and those it does not know are gone',
    async () => {
      const backup = world.backUp()
      world.write((log) =>
        log.transact(() => {
          log.db.query(PERSON).run(idOf(9), MARCH_US, '{}', 0, log.nextChange())
          log.db.query(PERSON).run(idOf(1), MARCH_US, '{"plan":"lost"}', 0, log.nextChange())
        }),
      )
      await ship()
      expect(await onEach('SELECT count() FROM persons FINAL')).toEqual([[2]])
      world.restore(backup)
      await ship()
      expect(
        await onEach("SELECT JSONExtractString(properties, 'plan') FROM persons FINAL"),
      ).toEqual([['pro']])
    },
  )

  test('everything of a deleted project leaves', async () => {
    world.send(3, { project_id: 1 })
    await withShipper(({ shipper }) => shipper.forgetProject(1))
    expect(await cluster.run('SELECT count() FROM events WHERE project_id = 1')).toBe('0\n')
    expect(await onEach('SELECT count() FROM persons FINAL WHERE project_id = 1')).toEqual([[0]])
  })
})
