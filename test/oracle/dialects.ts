/** Whole questions through both dialects: what one resolver found, as DuckDB and as ClickHouse understand it. `bun test/oracle/dialects.ts [shards] [vectors]` */

import type { Json } from '@duckdb/node-api'
import { Refusal } from '../../src/errors.ts'
import { clickhouseDialect } from '../../src/hogql/clickhouse/dialect.ts'
import { PLAIN_STATE } from '../../src/hogql/clickhouse/table-state.ts'
import { type CompiledQuery, compileHogQL } from '../../src/hogql/compile.ts'
import type { ClickHouseClient } from '../../src/storage/clickhouse/clickhouse-client.ts'
import { askClickHouse } from '../clickhouse/ask.ts'
import { startCluster } from '../clickhouse/cluster.ts'
import { clientOf, copyRows, makeTables } from '../clickhouse/rows.ts'
import { CONTEXT, openWorld, type World } from '../hogql/engine.ts'
import { normalForm } from '../hogql/functions/normal-form.ts'
import { DIALECT_DIFFERENCES } from './dialect-differences.ts'
import { DIFFERENCES } from './differences.ts'
import { fillWorld } from './events.ts'
import { readPairs, readVectors } from './vectors.ts'

/** What came of one question asked of both engines. */
export type DialectOutcome =
  | 'agree'
  | 'computed here'
  | 'differ'
  | 'listed'
  | 'refused by both'
  | 'refused there'
  | 'unprintable'

/** One question, in a zone, with what both engines said. */
export type DialectFinding = {
  /** The function of a vector, or `questions`. */
  readonly name: string
  readonly hogql: string
  readonly timezone: string
  readonly outcome: DialectOutcome
  readonly ours: string
  readonly theirs: string
  readonly sql: string
}

type DialectQuestion = Pick<DialectFinding, 'hogql' | 'name' | 'timezone'>

/** Whether both dialects are known to answer this function otherwise. */
function isListed(name: string, hogql: string): boolean {
  return [...DIFFERENCES, ...DIALECT_DIFFERENCES].some(
    ({ names, when }) => names.test(name) && (when === null || when.test(hogql)),
  )
}

const DIALECT = clickhouseDialect(PLAIN_STATE)

/** Asks both engines one question. */
export async function compareDialects(
  { name, hogql, timezone }: DialectQuestion,
  world: World,
  client: ClickHouseClient,
): Promise<DialectFinding> {
  const context = { ...CONTEXT, timezone }
  const ours = await shown(hogql, () => world.run(compileHogQL(hogql, context)))
  const none = { name, hogql, timezone, ours, theirs: '', sql: '' }
  let compiled: CompiledQuery
  try {
    compiled = compileHogQL(hogql, context, DIALECT)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const outcome = ours.startsWith('refused') ? 'refused by both' : 'unprintable'
    return { ...none, outcome, theirs: error.detail }
  }
  // A function that only this program has: ClickHouse gathers its arguments at most.
  if (compiled.gather_statements !== undefined)
    return { ...none, outcome: 'computed here', theirs: ours }
  const theirs = await shown(hogql, () => askClickHouse(client, compiled))
  const both = { ...none, theirs, sql: compiled.sql }
  if (theirs.startsWith('refused'))
    return { ...both, outcome: ours.startsWith('refused') ? 'refused by both' : 'refused there' }
  if (ours === theirs) return { ...both, outcome: 'agree' }
  return { ...both, outcome: isListed(name, hogql) ? 'listed' : 'differ' }
}

async function shown(
  hogql: string,
  ask: () => Promise<readonly (readonly Json[])[]>,
): Promise<string> {
  try {
    return shownOf(hogql, await ask())
  } catch (error) {
    return `refused: ${error instanceof Refusal ? error.detail : String(error).slice(0, 400)}`
  }
}

/** Totals are one more part of a union, which has no order there. */
function shownOf(question: string, rows: readonly (readonly Json[])[]): string {
  const texts = rows.map((row) => JSON.stringify(row.map((value) => normalForm(unmarked(value)))))
  const ordered = /with totals/i.test(question) ? texts.toSorted() : texts
  return `[${ordered.join(',')}]`.replaceAll('"-nan"', '"nan"').replaceAll('{}', '[]')
}

/** ClickHouse's ISO form marks instants in UTC, our engine shows them plain. */
function unmarked(value: Json): Json {
  if (Array.isArray(value)) return value.map(unmarked)
  if (typeof value !== 'string') return value
  return value.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d(?:\.\d+)?)Z$/, '$1 $2')
}

/** What is asked: whole questions, or the vectors of every function. */
export type DialectQuestions = 'questions' | 'vectors'

function questionsOf(kind: DialectQuestions, zones: readonly string[]): readonly DialectQuestion[] {
  if (kind === 'questions')
    return zones.flatMap((timezone) =>
      readPairs('questions').map(({ hogql }) => ({ name: 'questions', hogql, timezone })),
    )
  return [...readVectors('functions'), ...readVectors('aggregates')].map(
    ({ name, hogql, timezone }) => ({ name, hogql: `select ${hogql}`, timezone }),
  )
}

/** How much is asked of how many shards. */
export type DialectRun = {
  readonly kind: DialectQuestions
  readonly shard_count: number
  readonly zones: readonly string[]
  /** 1 asks all, 7 every seventh one. */
  readonly every: number
}

/** Starts servers with the tables and the rows of events.ts, and asks. */
export async function runDialects(run: DialectRun): Promise<readonly DialectFinding[]> {
  await using cluster = await startCluster(run.shard_count)
  await makeTables(cluster)
  const world = await openWorld()
  await fillWorld(world)
  await copyRows(world.connection, cluster)
  const findings: DialectFinding[] = []
  for (const [index, question] of questionsOf(run.kind, run.zones).entries())
    if (index % run.every === 0)
      findings.push(await compareDialects(question, world, clientOf(cluster)))
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
  const [shards = '1', part = 'questions'] = process.argv.slice(2)
  const kind = part === 'vectors' ? 'vectors' : 'questions'
  const every = Number(process.env['EVERY'] ?? '1')
  const run = { kind, shard_count: Number(shards), zones: ['UTC'], every } as const
  process.exit(printDialects(await runDialects(run)) ? 0 : 1)
}
