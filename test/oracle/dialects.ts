/** Whole questions through both printers: what one resolver found, as DuckDB and as ClickHouse understand it. `bun test/oracle/dialects.ts` */

import type { Json } from '@duckdb/node-api'
import { compileHogQL, findMeaning } from '../../src/hogql/compile.ts'
import { parseSelect } from '../../src/hogql/parser.ts'
import { lowerNullSafety } from '../../src/hogql/passes/lower-null-safety.ts'
import { CONTEXT, openWorld, type World } from '../hogql/engine.ts'
import { normalForm } from '../hogql/normal-form.ts'
import { type ClickHouse, openClickHouse } from './clickhouse.ts'
import { printClickHouse, Unprintable } from './dialect.ts'
import { fillWorld } from './events.ts'
import { readPairs } from './vectors.ts'

/** The engine's relations, as tables there. */
const RELATIONS: Readonly<Record<string, string>> = {
  events:
    "uuid UUID, event String, distinct_id String, person_id UUID, timestamp DateTime64(6, 'UTC'), created_at DateTime64(6, 'UTC'), properties String, elements_chain String, group_0 Nullable(String), group_1 Nullable(String), group_2 Nullable(String), group_3 Nullable(String), group_4 Nullable(String)",
  groups:
    "`index` Int64, key String, created_at DateTime64(6, 'UTC'), updated_at DateTime64(6, 'UTC'), properties String",
  person_distinct_ids: 'distinct_id String, person_id UUID, version Int64',
  person_overrides: 'old_person_id UUID, person_id UUID',
  persons:
    "id UUID, created_at DateTime64(6, 'UTC'), properties String, is_identified Bool, version Int64",
}

async function copyRelations(world: World, clickhouse: ClickHouse): Promise<void> {
  for (const [name, columns] of Object.entries(RELATIONS)) {
    clickhouse.run(`drop table if exists ${name}`)
    clickhouse.run(`create table ${name} (${columns}) engine = Memory`)
    const names = [...columns.matchAll(/(?:^|, )`?([a-z_0-9]+)`? [A-Z]/g)].map(
      ([, column]) => column,
    )
    const selected = names.map((column) => `"${column}"`).join(', ')
    const reader = await world.connection.runAndReadAll(`select ${selected} from ${name}_of(1)`)
    const rows = reader.getRowsJson().map((row) => `(${row.map(literal).join(', ')})`)
    if (rows.length > 0) clickhouse.run(`insert into ${name} values ${rows.join(', ')}`)
  }
}

function literal(value: Json): string {
  if (value === null) return 'null'
  if (typeof value !== 'string') return JSON.stringify(value)
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}

type Outcome = 'agree' | 'differ' | 'left out' | 'refused there'

async function compare(question: string, world: World, clickhouse: ClickHouse): Promise<Outcome> {
  const ours = shownOf(question, await world.run(compileHogQL(question, CONTEXT)))
  const { statement } = findMeaning(parseSelect(question), CONTEXT)
  const sql = printClickHouse(lowerNullSafety(statement, CONTEXT), CONTEXT.now_us)
  const theirs = clickhouse.ask(sql, CONTEXT.timezone)
  if (theirs.kind === 'refused') {
    process.stdout.write(`refused: ${question}\n  ${sql}\n  ${theirs.why}\n`)
    return 'refused there'
  }
  const rows = shownOf(question, theirs.rows)
  if (rows === ours) return 'agree'
  process.stdout.write(
    `differ: ${question}\n  ours   ${ours.slice(0, 300)}\n  theirs ${rows.slice(0, 300)}\n`,
  )
  return 'differ'
}

/** Totals are one more part of a union, which has no order there. */
function shownOf(question: string, rows: readonly (readonly Json[])[]): string {
  const texts = rows.map((row) => JSON.stringify(row.map((value) => normalForm(unmarked(value)))))
  const ordered = /with totals/i.test(question) ? texts.toSorted() : texts
  return `[${ordered.join(',')}]`.replaceAll('"-nan"', '"nan"')
}

/** ClickHouse's ISO form marks instants in UTC, our engine shows them plain. */
function unmarked(value: Json): Json {
  if (Array.isArray(value)) return value.map(unmarked)
  if (typeof value !== 'string') return value
  return value.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d(?:\.\d+)?)Z$/, '$1 $2')
}

/** Asks every question both ways and says how many agree; false when one does not. A process has one ClickHouse. */
export async function compareDialects(clickhouse: ClickHouse): Promise<boolean> {
  const world = await openWorld()
  await fillWorld(world)
  await copyRelations(world, clickhouse)
  const counts = new Map<Outcome, number>()
  for (const { hogql } of readPairs('questions')) {
    const outcome = await compare(hogql, world, clickhouse).catch((error: unknown): Outcome => {
      if (error instanceof Unprintable) return 'left out'
      throw error
    })
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
  }
  const told = [...counts].map(([name, count]) => `${name} ${count}`)
  process.stdout.write(`questions through the second printer: ${told.join(', ')}\n`)
  world.close()
  return !counts.has('differ')
}

if (import.meta.main) process.exit((await compareDialects(await openClickHouse())) ? 0 : 1)
