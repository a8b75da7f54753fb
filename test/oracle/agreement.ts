/** One vector through both engines, and what came of it. */

import type { Json } from '@duckdb/node-api'
import { Refusal } from '../../src/errors.ts'
import { compileHogQL } from '../../src/hogql/compile.ts'
import { CONTEXT, type World } from '../hogql/engine.ts'
import { normalForm } from '../hogql/functions/normal-form.ts'
import type { ClickHouse, Reply } from './clickhouse.ts'
import { DIFFERENCES } from './differences.ts'

/**
 * `type`: the same value under another type name; `alone`: ClickHouse refuses what HogQL answers; `missing`: HogQL does
 * not know the function; `listed`: a difference with a known reason.
 */
export type Outcome = 'agree' | 'alone' | 'differ' | 'listed' | 'missing' | 'type'

export type Finding = {
  readonly name: string
  readonly hogql: string
  readonly clickhouse: string
  readonly timezone: string
  readonly outcome: Outcome
  readonly ours: string
  readonly theirs: string
  readonly types: string
  readonly rows: string
  readonly reason: string
}

type Asked = Pick<Finding, 'clickhouse' | 'hogql' | 'name' | 'timezone'>

/** Asks both engines the two texts of one query, whole queries as they are. */
export async function compareEngines(
  asked: Asked,
  world: World,
  clickhouse: ClickHouse,
): Promise<Finding> {
  const theirs = clickhouse.ask(asked.clickhouse, asked.timezone)
  const ours = await askOurs(asked, world)
  const { timezone } = asked
  const [our_types, their_types] = [typesOf(ours, timezone), typesOf(theirs, timezone)]
  const [our_rows, their_rows] = [rowsOf(ours), rowsOf(theirs)]
  const types = ours.kind === 'rows' ? ours.types.join(' ') : ''
  const plain = outcomeOf(ours, theirs, our_rows === their_rows)
  const outcome =
    plain === 'agree' && our_types !== their_types && ours.kind === 'rows' ? 'type' : plain
  const listed = DIFFERENCES.find(
    (difference) =>
      difference.names.test(asked.name) &&
      (difference.when === null || difference.when.test(asked.hogql)),
  )
  const reason = outcome === 'differ' ? (listed?.reason ?? '') : ''
  return {
    ...asked,
    outcome: reason === '' ? outcome : 'listed',
    ours: `${our_types} ${our_rows}`,
    theirs: `${their_types} ${their_rows}`,
    rows: our_rows,
    types,
    reason,
  }
}

function outcomeOf(ours: Reply, theirs: Reply, same: boolean): Outcome {
  if (ours.kind === 'refused' && /Unsupported function call|not supported/.test(ours.why))
    return 'missing'
  if (ours.kind === 'refused' && theirs.kind === 'refused') return 'agree'
  if (theirs.kind === 'refused') return 'alone'
  return same ? 'agree' : 'differ'
}

async function askOurs(asked: Asked, world: World): Promise<Reply> {
  try {
    const compiled = compileHogQL(asked.hogql, { ...CONTEXT, timezone: asked.timezone })
    const rows = await world.run(compiled)
    return { kind: 'rows', types: compiled.types, rows: rows.map((row) => [...row]) }
  } catch (error) {
    const why = error instanceof Refusal ? error.detail : String(error)
    return { kind: 'refused', why: why.slice(0, 300) }
  }
}

function rowsOf(reply: Reply): string {
  if (reply.kind === 'refused') return `refused: ${reply.why}`
  const rows = inUtc(reply).rows.map((row) => row.map(normalForm))
  const shown = reply.types.some((type) => type.includes('Float32'))
    ? rows.map((row) => row.map(coarse))
    : rows
  return JSON.stringify(shown).replaceAll('{}', '[]').replaceAll('"-nan"', '"nan"')
}

/** Type names in one spelling: instants always with their zone, text kinds that HogQL does not tell apart as String. */
function typesOf(reply: Reply, timezone: string): string {
  if (reply.kind === 'refused') return ''
  return reply.types
    .join(' ')
    .replace(/DateTime64\((\d)\)/g, `DateTime64($1, '${timezone}')`)
    .replace(/DateTime(?![6(])/g, `DateTime('${timezone}')`)
    .replace(/Enum8\([^)]*\)|FixedString\(\d+\)/g, 'String')
}

/** Our engine shows instants in UTC without a mark, ClickHouse's ISO form marks them. */
function inUtc(reply: Extract<Reply, { kind: 'rows' }>): Extract<Reply, { kind: 'rows' }> {
  if (!reply.types.some((type) => type.includes('DateTime'))) return reply
  return { ...reply, rows: reply.rows.map((row) => row.map(unmarked)) }
}

function unmarked(value: Json): Json {
  if (Array.isArray(value)) return value.map(unmarked)
  if (typeof value !== 'string') return value
  return value.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d(?:\.\d+)?)Z$/, '$1 $2')
}

/** Floats of 32 bits agree in their first six digits. */
function coarse(value: Json): Json {
  return typeof value === 'number' ? Number(value.toPrecision(6)) : value
}
