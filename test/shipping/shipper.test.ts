/** Shipping with real processes: a crash of either side at any step loses nothing and doubles nothing. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { SHIPPING_FAULTS } from '../../src/shipping/fault-injection.ts'
import { type ClickHouseCluster, startCluster } from '../clickhouse/cluster.ts'
import { hasClickHouse } from '../clickhouse/library.ts'
import { eventRow, idOf } from '../query/world.ts'
import { expireNothing, openShipper, ShippingWorld } from './shipping-world.ts'

setDefaultTimeout(180_000)

const sorted = (texts: readonly string[]): readonly string[] => texts.toSorted()

describe.skipIf(!hasClickHouse())('shipping to two shards', () => {
  let cluster: ClickHouseCluster
  /** Each test has all events of those before it too. */
  let world: ShippingWorld
  const uuids: string[] = []

  beforeAll(async () => {
    cluster = await startCluster(2)
    world = new ShippingWorld(cluster)
  }, 120_000)

  afterAll(async () => {
    world?.[Symbol.dispose]()
    await cluster?.[Symbol.asyncDispose]()
  })

  test('carries every event once, in batches, and leaves neither log nor files', async () => {
    uuids.push(...world.send(1000))
    expect(await world.ship({ rows_max: 300 })).toBe(0)
    expect(await world.stored()).toEqual(sorted(uuids))
    expect(readdirSync(join(world.data_dir, 'shipments'))).toEqual([])
    world.write(({ db }) => {
      expect(db.query('select count(*) as n from events').get()).toEqual({ n: 0 })
      expect(db.query('select count(*) as n from shipments').get()).toEqual({ n: 0 })
    })
  })

  test('goes on after a crash at any step', async () => {
    for (const fault of SHIPPING_FAULTS) {
      uuids.push(...world.send(500))
      world.changePersons()
      // The shipping process dies alone, and its server says so; faults of the server end it.
      const is_of_child = fault === 'copied' || fault === 'synced'
      expect(await world.ship({ fault, rows_max: 200 })).toBe(is_of_child ? 1 : 'SIGKILL')
      // It tries again under another name, so that no part of a batch may stay.
      if (is_of_child) expect(readdirSync(join(world.data_dir, 'shipments'))).toEqual([])
    }
    expect(await world.ship({ rows_max: 200 })).toBe(0)
    expect(await world.stored()).toEqual(sorted(uuids))
    expect(readdirSync(join(world.data_dir, 'shipments'))).toEqual([])
  })

  test('sends the rest of a batch of which one shard has its part', async () => {
    uuids.push(...world.send(500))
    await cluster.server(1).kill()
    expect(await world.ship({ rows_max: 200 })).toBe(1)
    await cluster.server(1).start()
    expect((await world.stored()).length).toBeLessThan(uuids.length)
    expect(await world.ship({ rows_max: 200 })).toBe(0)
    expect(await world.stored()).toEqual(sorted(uuids))
  })

  test('compares an old batch, of which the tokens are forgotten, with what is there', async () => {
    uuids.push(...world.send(500))
    await cluster.server(1).kill()
    expect(await world.ship()).toBe(1)
    await cluster.server(1).start()
    for (const shard of [0, 1]) {
      const setWindow = (blocks: number): Promise<string> =>
        cluster.run(
          `ALTER TABLE events_local MODIFY SETTING non_replicated_deduplication_window = ${blocks}`,
          { shard },
        )
      // With no window, the tokens are forgotten.
      await setWindow(0)
      await setWindow(10_000)
    }
    expect(await world.ship({ check_after_ms: 0 })).toBe(0)
    expect(await world.stored()).toEqual(sorted(uuids))
  })

  test('makes a query wait for what was committed before it, unless it may be behind', async () => {
    const { data_dir, urls } = world
    const { shipper, log, close } = openShipper({ ...expireNothing, data_dir, urls })
    await using stack = new AsyncDisposableStack()
    stack.defer(close)
    await shipper.prepare()
    shipper.start()
    const commit = (...projects: readonly number[]): void => {
      const rows = projects.flatMap((project_id) =>
        Array.from({ length: 20 }, (_, index) =>
          eventRow({ project_id, person_id: idOf(index), distinct_id: `user ${index}` }),
        ),
      )
      log.transact(() => rows.forEach((row) => log.append(row)))
      uuids.push(...rows.map(({ uuid }) => uuid.toHex()))
    }
    const long = { wait_ms: 120_000, stale_ms: 0 }
    commit(1, 2)
    expect(await shipper.waitForProject(1, long)).toBe(true)
    expect(await shipper.waitForProject(2, long)).toBe(true)
    expect(await world.stored()).toEqual(sorted(uuids))

    await cluster.server(0).kill()
    commit(1)
    expect(await shipper.waitForProject(1, { wait_ms: 50, stale_ms: 0 })).toBe(false)
    // A project without new events lacks nothing, and an answer that may be behind is given.
    expect(await shipper.waitForProject(2, { wait_ms: 50, stale_ms: 0 })).toBe(true)
    expect(await shipper.waitForProject(1, { wait_ms: 50, stale_ms: 3_600_000 })).toBe(true)

    await cluster.server(0).start()
    expect(await shipper.waitForProject(1, long)).toBe(true)
    expect(await world.stored()).toEqual(sorted(uuids))
  })
})
