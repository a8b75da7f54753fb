/** The oracle's queries, compiled for both engines: the same rows on one server and on two shards, in three zones. */
import { describe, expect, test } from 'bun:test'
import { clickhouseDialect } from '../../src/hogql/clickhouse/dialect.ts'
import { PLAIN_STATE } from '../../src/hogql/clickhouse/table-state.ts'
import { compileHogQL } from '../../src/hogql/compile.ts'
import { CONTEXT } from '../hogql/engine.ts'
import { DIALECT_REFUSALS } from '../oracle/dialect-differences.ts'
import { runDialects } from '../oracle/dialects.ts'
import { startCluster } from './cluster.ts'
import { hasClickHouse } from './library.ts'
import { clientOf, makeTables } from './rows.ts'

/** `EVERY_CASE=1` asks all of them; without it every eleventh is asked. */
const EVERY = process.env['EVERY_CASE'] === '1' ? 1 : 11

const ZONES = ['UTC', 'Europe/Berlin', 'America/New_York']

/** What ClickHouse has no way to answer, as texts that the query contains. */
const REFUSED_THERE = [
  // LIMIT BY with WITH TIES loses the columns of the order.
  'limit 1 by d, event limit 3 with ties',
  // A union of an unsigned and a signed integer of 64 bits has no type to sort by.
  'order by c1 desc, c2 with fill from -1',
  // Frames over times with fractions of seconds are not implemented.
  'range between 2 preceding and 1 following',
  // On shards: a sub-select that reads a row of the select around it.
  'has(arrayFilter(x -> x != a.top',
]

describe.skipIf(!hasClickHouse())('queries through the second dialect', () => {
  test.each([1, 2])(
    'have the same rows on %p shards',
    async (shard_count) => {
      const run = { kind: 'queries', shard_count, zones: ZONES, every: EVERY } as const
      const findings = await runDialects(run)
      const others = findings.filter(({ outcome }) => outcome !== 'agree')
      const unexplained = others.filter(
        ({ outcome, hogql }) =>
          outcome === 'differ' || !REFUSED_THERE.some((text) => hogql.includes(text)),
      )
      expect(unexplained).toEqual([])
      expect(findings.length).toBeGreaterThan(90)
    },
    // All of them on two shards: 2 minutes alone, more than ten on a machine with much else to do.
    1_800_000,
  )

  // Every function, its arguments one by one, as they are and from columns: some minutes each.
  test.skipIf(EVERY > 1).each([
    ['vectors', 29_000],
    ['columns', 26_000],
  ] as const)(
    'and %s of every function have the same values, or a listed reason',
    async (kind, count_min) => {
      const findings = await runDialects({ kind, shard_count: 1, zones: [], every: 1 })
      const unexplained = findings.filter(
        ({ outcome, name }) =>
          outcome === 'differ' ||
          outcome === 'unprintable' ||
          (outcome === 'refused there' && !DIALECT_REFUSALS.some(({ names }) => names.test(name))),
      )
      expect(unexplained).toEqual([])
      expect(findings.length).toBeGreaterThan(count_min)
    },
    1_800_000,
  )

  test('are aggregated by each shard, with persons joined there', async () => {
    await using cluster = await startCluster(2)
    await makeTables(cluster)
    const text =
      "select person.properties.plan as plan, count() from events where event = 'a' group by plan"
    const { sql, values } = compileHogQL(text, CONTEXT, clickhouseDialect(PLAIN_STATE))
    const plan = await clientOf(cluster).run(`EXPLAIN ${sql}`, {
      texts: values.map(({ value }) => String(value)),
      settings: { join_use_nulls: 1 },
    })
    expect(plan).toContain('MergingAggregated')
    expect(plan).toContain('ReadFromRemote')
  }, 120_000)
})
