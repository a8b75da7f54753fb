/** Insights through both engines: the same answers on one server and on two shards, in three zones. */
import { describe, expect, test } from 'bun:test'
import type { InsightQueryNode } from '../../src/query/kinds/insight.ts'
import { InsightWorld } from '../insights/world.ts'
import { EVERY_CASE } from '../long-tests.ts'
import { World } from '../query/world.ts'
import { startCluster } from './cluster.ts'
import { askBoth, engineOf, fillBoth } from './insight-engines.ts'
import { INSIGHT_QUESTIONS, KNOWN, makeEvents } from './insight-queries.ts'
import { hasClickHouse } from './library.ts'
import { makeTables } from './rows.ts'

/** `EVERY_CASE=1` asks all in all zones; without it every other query is asked once, of one server or of two. */
const ZONES = ['UTC', 'Europe/Berlin', 'America/New_York'] as const

type InsightCase = {
  readonly name: string
  readonly query: InsightQueryNode
  readonly timezone: string
  readonly is_for: (shard_count: number) => boolean
}

const CASES: readonly InsightCase[] = Object.entries(INSIGHT_QUESTIONS).flatMap(
  ([name, query], index) =>
    ZONES.filter((_, zone) => EVERY_CASE || zone === index % ZONES.length).map((timezone) => ({
      name,
      query,
      timezone,
      is_for: (shard_count) => EVERY_CASE || index % 4 === shard_count,
    })),
)

describe.skipIf(!hasClickHouse())('insights', () => {
  for (const shard_count of [1, 2])
    test(`answer the same from ${shard_count} servers as from one machine`, async () => {
      await using cluster = await startCluster(shard_count)
      await makeTables(cluster)
      await using world = new InsightWorld(new World())
      await fillBoth(world, cluster, makeEvents())
      const engine = engineOf(world, cluster)
      const different: unknown[] = []
      for (const { name, query, timezone } of CASES.filter(({ is_for }) => is_for(shard_count))) {
        const { ours, theirs } = await askBoth(query, { ...KNOWN, timezone }, { world, engine })
        // An answer of nothing would prove nothing.
        if (!/[:[,]"?[1-9]/.test(JSON.stringify(ours))) different.push({ name, timezone, ours })
        if (!Bun.deepEquals(theirs, ours)) different.push({ name, timezone, ours, theirs })
      }
      expect(different).toEqual([])
      engine.close()
      // All of them take 3 minutes alone, and seven beside other work.
    }, 1_800_000)
})
