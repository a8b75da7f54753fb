/** The oracle: every function's vectors and whole questions through our compiler on DuckDB and through ClickHouse. `bun run oracle [--write] [--seed=n] [name…]` */

import { openWorld } from '../hogql/engine.ts'
import { compareEngines, type Finding } from './agreement.ts'
import { openClickHouse } from './clickhouse.ts'
import { printDialects, runDialects } from './dialects.ts'
import { fillClickHouse, fillWorld } from './events.ts'
import { randomQuestion } from './random/random.ts'
import { edgeQuestion } from './random/random-edges.ts'
import { storeAgreement } from './store.ts'
import { printFindings, printTable } from './table.ts'
import { readPairs, readVectors } from './vectors.ts'

/** Random questions of one run: the same ones each time, others with `--seed=<number>`. */
const RANDOM_COUNT = 300

/** Zones in which whole questions are asked. */
const QUESTION_ZONES = ['UTC', 'Europe/Berlin', 'America/New_York']

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
for (const timezone of wanted('questions') ? QUESTION_ZONES : []) {
  fillClickHouse(clickhouse, timezone)
  for (const { hogql, clickhouse: theirs } of readPairs('questions'))
    findings.push(
      await compareEngines(
        { name: 'questions', hogql, clickhouse: theirs, timezone },
        world,
        clickhouse,
      ),
    )
}
const [, seed = '1'] = /--seed=(\d+)/.exec(process.argv.join(' ')) ?? []
const MAKERS = [
  ['random', randomQuestion],
  ['edges', edgeQuestion],
] as const
for (const [name, make] of MAKERS)
  for (let index = 0; wanted(name) && index < RANDOM_COUNT; index += 1) {
    const question = make(Number(seed) + index)
    const timezone = QUESTION_ZONES[index % QUESTION_ZONES.length] ?? 'UTC'
    findings.push(await compareEngines({ ...question, name, timezone }, world, clickhouse))
  }
printFindings(findings)
printTable(findings)
if (process.argv.includes('--write')) storeAgreement(findings)
world.close()
const run = { kind: 'questions', shard_count: 2, zones: QUESTION_ZONES, every: 1 } as const
const are_dialects_equal = !wanted('dialects') || printDialects(await runDialects(run))
const is_equal = !findings.some((finding) => finding.outcome === 'differ')
process.exit(is_equal && are_dialects_equal ? 0 : 1)
