/** Faults of both sides, again and again: nothing that was committed is lost on the way to ClickHouse, nothing is doubled. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { SHIPPING_FAULTS } from '../../src/shipping/fault-injection.ts'
import { seeded } from '../bench/events.ts'
import { type ClickHouseCluster, startCluster } from '../clickhouse/cluster.ts'
import { hasClickHouse } from '../clickhouse/library.ts'
import { ShippingWorld } from './shipping-world.ts'

/** Many: SHIPPING_ROUNDS=200 bun test test/shipping/faults.test.ts */
const ROUNDS = Number(process.env['SHIPPING_ROUNDS'] ?? 7)
const SEED = Number(process.env['SEED'] ?? 20_261_126)

setDefaultTimeout(240_000 + ROUNDS * 30_000)

describe.skipIf(!hasClickHouse())('shipping', () => {
  let cluster: ClickHouseCluster
  let world: ShippingWorld
  const random = seeded(SEED)
  /** Everything that was committed and not lost with a folder. */
  let uuids: string[] = []
  let backup: { readonly folder: string; readonly uuids: readonly string[] } | null = null

  const some = (max: number): number => Math.floor(random() * max)
  const rows_max = 150

  /** The ways in which a round goes wrong. */
  const FAULTS: readonly (() => Promise<unknown>)[] = [
    () => world.ship({ rows_max, fault: SHIPPING_FAULTS[some(SHIPPING_FAULTS.length)] ?? 'sent' }),
    () => world.ship({ rows_max, kill_after_ms: 300 + some(1500) }),
    async () => {
      const shard = some(2)
      const shipping = world.ship({ rows_max: 1000 })
      await Bun.sleep(300 + some(1200))
      await cluster.server(shard).kill()
      await shipping
      await cluster.server(shard).start()
    },
    async () => {
      await cluster.server(some(2)).kill()
      await world.ship({ rows_max })
      await Promise.all(
        cluster.shards.map(async (server) => {
          await server.kill()
          await server.start()
        }),
      )
    },
    // Both sides at once, and the tokens are not believed any more.
    async () => {
      const shipping = world.ship({ rows_max, check_after_ms: 0, kill_after_ms: 400 + some(1200) })
      await Bun.sleep(300 + some(1200))
      await cluster.server(1).kill()
      await shipping
      await cluster.server(1).start()
      await world.ship({ rows_max, check_after_ms: 0 })
    },
    async () => {
      backup = { folder: world.backUp(), uuids: [...uuids] }
      await world.ship({ rows_max, kill_after_ms: 500 + some(1500) })
    },
    // The folder is lost: ClickHouse has what had been sent, the backup what it had.
    async () => {
      if (backup === null) return
      const stored = await world.stored()
      world.restore(backup.folder)
      uuids = [...new Set([...backup.uuids, ...stored])]
    },
  ]

  /** A server that crashed by itself is one more fault: its operator starts it again. */
  const startEnded = async (round: number): Promise<void> => {
    for (const [shard, server] of cluster.shards.entries()) {
      const ended = await server.startAgain()
      if (ended !== null) console.warn(`round ${round}: shard ${shard} had ended with ${ended}`)
    }
  }

  beforeAll(async () => {
    cluster = await startCluster(2)
    world = new ShippingWorld(cluster)
  }, 120_000)

  afterAll(async () => {
    world?.[Symbol.dispose]()
    await cluster?.[Symbol.asyncDispose]()
  })

  test(`survives ${ROUNDS} rounds of faults (SEED=${SEED})`, async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      uuids.push(...world.send(1 + some(600)))
      world.changePersons()
      // Every fault once, then any of them.
      await FAULTS[round < FAULTS.length ? round : some(FAULTS.length)]?.()
      await startEnded(round)
      if (round % 10 < 9 && round < ROUNDS - 1) continue
      expect(await world.ship({ rows_max, check_after_ms: 0 })).toBe(0)
      expect(await world.stored()).toEqual(uuids.toSorted())
    }
  })
})
