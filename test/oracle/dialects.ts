/** Whole queries through both dialects: what one resolver found, as DuckDB and as ClickHouse understand it. `bun test/oracle/dialects.ts [shards] [vectors|columns]` */

import type { Json } from '@duckdb/node-api'
import { Refusal } from '../../src/errors.ts'
import { compileSelect } from '../../src/hogql/compile.ts'
import type { ClickHouseClient } from '../../src/storage/clickhouse/clickhouse-client.ts'
import { askClickHouse } from '../clickhouse/ask.ts'
import { startCluster } from '../clickhouse/cluster.ts'
import { clientOf, copyRows, makeTables } from '../clickhouse/rows.ts'
import { CONTEXT, openWorld, type World } from '../hogql/engine.ts'
import { normalForm } from '../hogql/functions/normal-form.ts'
import { askBatch, type Batch, type Rows } from './batches.ts'
import { DIALECT_DIFFERENCES } from './dialect-differences.ts'
import { batchesOf, DIALECT, type DialectQuery, type DialectRun } from './dialect-queries.ts'
import { DIFFERENCES } from './differences.ts'
import { fillWorld } from './events.ts'

/** What came of one query asked of both engines. */
export type DialectOutcome =
  | 'agree'
  | 'computed here'
  | 'differ'
  | 'listed'
  | 'refused by both'
  | 'refused there'
  | 'unprintable'

/** One query, in a zone, with what both engines said. */
export type DialectFinding = {
  /** The function of a vector, or `queries`. */
  readonly name: string
  readonly hogql: string
  readonly timezone: string
  readonly outcome: DialectOutcome
  readonly ours: string
  readonly theirs: string
  readonly sql: string
}

/** Whether both dialects are known to answer this function otherwise. */
function isListed(name: string, vector: string): boolean {
  return [...DIFFERENCES, ...DIALECT_DIFFERENCES].some(
    ({ names, when }) => names.test(name) && (when === null || when.test(vector)),
  )
}

/** Signals a function that only this program has: ClickHouse gathers its arguments at most. */
class ComputedHere extends Error {}

/** Asks both engines a batch in a zone. */
async function compareBatch(
  batch: Batch<DialectQuery>,
  world: World,
  client: ClickHouseClient,
): Promise<readonly DialectFinding[]> {
  const context = { ...CONTEXT, timezone: batch.items[0]?.timezone ?? 'UTC' }
  const ours = await askBatch(batch, async (query) => world.run(compileSelect(query, context)))
  const theirs = await askBatch(batch, async (query) => {
    const compiled = compileSelect(query, context, DIALECT)
    if (compiled.gather_statements !== undefined) throw new ComputedHere()
    return await askClickHouse(client, compiled)
  })
  return batch.items.map((item) => {
    const finding = findingOf(item, ours.get(item) ?? [], theirs.get(item) ?? [])
    const is_shown = finding.outcome === 'differ' || finding.outcome === 'refused there'
    const sql = is_shown ? compileSelect(batch.queryOf([item]), context, DIALECT).sql : ''
    return { ...finding, sql }
  })
}

function findingOf(
  { name, hogql, timezone, vector }: DialectQuery,
  our_answer: Error | Rows,
  their_answer: Error | Rows,
): DialectFinding {
  const [ours, theirs] = [shown(hogql, our_answer), shown(hogql, their_answer)]
  const finding = { name, hogql, timezone, ours, theirs, sql: '' }
  return { ...finding, outcome: outcomeOf({ ...finding, vector }, their_answer) }
}

function outcomeOf(
  {
    name,
    vector,
    ours,
    theirs,
  }: Pick<DialectFinding, 'name' | 'ours' | 'theirs'> & Pick<DialectQuery, 'vector'>,
  answer: Error | Rows,
): DialectOutcome {
  if (answer instanceof ComputedHere) return 'computed here'
  if (answer instanceof Error) {
    if (ours.startsWith('refused')) return 'refused by both'
    return answer instanceof Refusal ? 'unprintable' : 'refused there'
  }
  if (ours === theirs) return 'agree'
  return isListed(name, vector) ? 'listed' : 'differ'
}

function shown(hogql: string, answer: Error | Rows): string {
  if (!(answer instanceof Error)) return shownOf(hogql, answer)
  return `refused: ${answer instanceof Refusal ? answer.detail : String(answer).slice(0, 400)}`
}

/** Totals are one more part of a union, which has no order there. */
function shownOf(query: string, rows: readonly (readonly Json[])[]): string {
  const texts = rows.map((row) => JSON.stringify(row.map((value) => normalForm(unmarked(value)))))
  const ordered = /with totals/i.test(query) ? texts.toSorted() : texts
  return `[${ordered.join(',')}]`.replaceAll('"-nan"', '"nan"').replaceAll('{}', '[]')
}

/** ClickHouse's ISO form marks instants in UTC, our engine shows them plain. */
function unmarked(value: Json): Json {
  if (Array.isArray(value)) return value.map(unmarked)
  if (typeof value !== 'string') return value
  return value.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d(?:\.\d+)?)Z$/, '$1 $2')
}

/** Starts servers with the tables and the rows of events.ts, and asks. */
export async function runDialects(run: DialectRun): Promise<readonly DialectFinding[]> {
  await using cluster = await startCluster(run.shard_count)
  await makeTables(cluster)
  const world = await openWorld()
  await fillWorld(world)
  await copyRows(world.connection, cluster)
  const findings: DialectFinding[] = []
  for (const batch of batchesOf(run))
    findings.push(...(await compareBatch(batch, world, clientOf(cluster))))
  world.close()
  return findings
}

/** Prints what does not agree, and the sums; true when nothing differs. */
export function printDialects(findings: readonly DialectFinding[]): boolean {
  for (const { outcome, hogql, timezone, ours, theirs, sql } of findings)
    if (
      outcome !== 'agree' &&
      outcome !== 'listed' &&
      outcome !== 'refused by both' &&
      outcome !== 'computed here'
    )
      process.stdout.write(
        `${outcome}: ${hogql} in ${timezone}\n  ours   ${ours.slice(0, 300)}\n  theirs ${theirs.slice(0, 400)}\n  ${sql}\n`,
      )
  const sums = [...Map.groupBy(findings, ({ outcome }) => outcome)]
  process.stdout.write(`${sums.map(([name, all]) => `${name} ${all.length}`).join(', ')}\n`)
  return !findings.some(({ outcome }) => outcome === 'differ')
}

if (import.meta.main) {
  const [shards = '1', part = 'queries'] = process.argv.slice(2)
  const kind = part === 'columns' || part === 'vectors' ? part : 'queries'
  const every = Number(process.env['EVERY'] ?? '1')
  const run = { kind, shard_count: Number(shards), zones: ['UTC'], every } as const
  process.exit(printDialects(await runDialects(run)) ? 0 : 1)
}
