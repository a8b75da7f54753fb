/**
 * Insights over random histories through both engines, on one server and on two shards: the zone and the first day of the week
 * change from history to history. `EVERY_CASE=1` makes twelve histories of each and asks all queries.
 */
import { describe, expect, test } from 'bun:test'
import { InsightWorld } from '../insights/world.ts'
import { World } from '../query/world.ts'
import { startCluster } from './cluster.ts'
import { askBoth, engineOf, fillBoth } from './insight-engines.ts'
import { INSIGHT_QUESTIONS, KNOWN, makeEvents } from './insight-queries.ts'
import { hasClickHouse } from './library.ts'
import { clientOf, makeTables } from './rows.ts'

const IS_LONG = process.env['EVERY_CASE'] === '1'
const HISTORIES = IS_LONG ? 12 : 1
const ZONES = ['UTC', 'Europe/Berlin', 'America/New_York'] as const
const TABLES = ['persons', 'person_overrides', 'groups']

/** All queries, or the first one of each kind. */
const QUERIES = Object.entries(INSIGHT_QUESTIONS).filter(
  ([, { kind }], index, all) =>
    IS_LONG || all.findIndex(([, other]) => other.kind === kind) === index,
)

describe.skipIf(!hasClickHouse())('insights over any history', () => {
  test.each(IS_LONG ? [1, 2] : [2])(
    'answer the same from %p servers as from one machine',
    async (shard_count) => {
      await using cluster = await startCluster(shard_count)
      await makeTables(cluster)
      const different: unknown[] = []
      for (let history = 0; history < HISTORIES; history += 1) {
        const seed = IS_LONG ? 1 + Math.floor(Math.random() * 1e6) : shard_count
        const timezone = ZONES[(history + shard_count) % ZONES.length] ?? 'UTC'
        const known = { ...KNOWN, timezone, week_start_day: history % 2 === 0 ? 1 : 0 } as const
        for (const shard of cluster.shards.keys())
          for (const table of [shard_count === 1 ? 'events' : 'events_local', ...TABLES])
            await clientOf(cluster, shard).run(`TRUNCATE TABLE ${table}`)
        await using world = new InsightWorld(new World())
        await fillBoth(world, cluster, makeEvents(seed))
        const engine = engineOf(world, cluster)
        for (const [name, query] of QUERIES) {
          const { ours, theirs } = await askBoth(query, known, { world, engine })
          if (!Bun.deepEquals(theirs, ours)) different.push({ seed, timezone, name, ours, theirs })
        }
        engine.close()
      }
      expect(different).toEqual([])
    },
    3_600_000,
  )
})
