/** The oracle: every function's vectors and whole queries through our compiler on DuckDB and through ClickHouse. `bun run oracle [--write] [--seed=n] [name…]` */

import { openWorld } from '../hogql/engine.ts'
import { compareEngines, type Finding } from './agreement.ts'
import { openClickHouse } from './clickhouse.ts'
import { printDialects, runDialects } from './dialects.ts'
import { fillClickHouse, fillWorld } from './events.ts'
import { randomQuery } from './random/random.ts'
import { edgeQuery } from './random/random-edges.ts'
import { storeAgreement } from './store.ts'
import { printFindings, printTable } from './table.ts'
import { readPairs, readVectors } from './vectors.ts'

/** Random queries of one run: the same ones each time, others with `--seed=<number>`. */
const RANDOM_COUNT = 300

/** Zones in which whole queries are asked. */
const QUERY_ZONES = ['UTC', 'Europe/Berlin', 'America/New_York']

const names = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const wanted = (name: string): boolean => names.length === 0 || names.includes(name)
const world = await openWorld()
await fillWorld(world)
const clickhouse = await openClickHouse()
const findings: Finding[] = []
for (const vector of [...readVectors('functions'), ...readVectors('aggregates')]) {
  if (!wanted(vector.name)) continue
  const { hogql, clickhouse: theirs } = vector
  const asked = { ...vector, hogql: `select ${hogql}`, clickhouse: `select ${theirs}` }
  findings.push(await compareEngines(asked, world, clickhouse))
}
for (const timezone of wanted('queries') ? QUERY_ZONES : []) {
  fillClickHouse(clickhouse, timezone)
  for (const { hogql, clickhouse: theirs } of readPairs('queries'))
    findings.push(
      await compareEngines(
        { name: 'queries', hogql, clickhouse: theirs, timezone },
        world,
        clickhouse,
      ),
    )
}
const [, seed = '1'] = /--seed=(\d+)/.exec(process.argv.join(' ')) ?? []
const MAKERS = [
  ['random', randomQuery],
  ['edges', edgeQuery],
] as const
for (const [name, make] of MAKERS)
  for (let index = 0; wanted(name) && index < RANDOM_COUNT; index += 1) {
    const query = make(Number(seed) + index)
    const timezone = QUERY_ZONES[index % QUERY_ZONES.length] ?? 'UTC'
    findings.push(await compareEngines({ ...query, name, timezone }, world, clickhouse))
  }
printFindings(findings)
printTable(findings)
if (process.argv.includes('--write')) storeAgreement(findings)
world.close()
const run = { kind: 'queries', shard_count: 2, zones: QUERY_ZONES, every: 1 } as const
const are_dialects_equal = !wanted('dialects') || printDialects(await runDialects(run))
const is_equal = !findings.some((finding) => finding.outcome === 'differ')
process.exit(is_equal && are_dialects_equal ? 0 : 1)
