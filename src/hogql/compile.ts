/** HogQL text to one DuckDB SELECT with bound values: parse, put placeholders in, resolve, rewrite, print. No I/O. */

import type * as ast from './ast.ts'
import type { CompileContext } from './context.ts'
import { type EventDays, eventDays } from './event-days.ts'
import { queryColumns, type RelationName } from './ir-queries.ts'
import { Moving, Stay } from './moving.ts'
import type { BoundValue } from './parameters.ts'
import { parseSelect } from './parser.ts'
import { answer } from './passes/answer.ts'
import { captures } from './passes/captures.ts'
import { clocks } from './passes/clocks.ts'
import { comparisons } from './passes/comparisons.ts'
import { constants } from './passes/constants.ts'
import { counts } from './passes/counts.ts'
import { functions } from './passes/functions.ts'
import { late } from './passes/late.ts'
import { lean } from './passes/lean.ts'
import { answerLimit, limitBy, pageOf } from './passes/limits.ts'
import { members } from './passes/members.ts'
import { notNumbers } from './passes/not-numbers.ts'
import { nullSafe } from './passes/null-safe.ts'
import { bindPlaceholders } from './passes/placeholders.ts'
import { properties } from './passes/properties.ts'
import { ranges } from './passes/ranges.ts'
import { spans } from './passes/spans.ts'
import { uuids } from './passes/uuids.ts'
import type { Pass } from './passes/walk.ts'
import { printStatement } from './print.ts'
import { printHogQL } from './print-hogql.ts'
import { columnName } from './resolve/names.ts'
import { type Resolved, resolveStatement } from './resolve/resolver.ts'
import { requireSmallLowered, type Sizes } from './resolve/sizes.ts'
import { clickhouseName } from './types.ts'

/** What happens to a resolved question, in order. Adding a rewrite means adding a line. */
const PASSES: readonly Pass[] = [
  constants,
  comparisons,
  ranges,
  spans,
  notNumbers,
  uuids,
  nullSafe,
  members,
  functions,
  properties,
  clocks,
  captures,
  lean,
  counts,
  limitBy,
  answer,
  answerLimit,
  late,
]

export type CompiledQuery = {
  /** One SELECT with parameters $1 to $n. */
  readonly sql: string
  readonly values: readonly BoundValue[]
  /** Names of the answer's columns. */
  readonly columns: readonly string[]
  /** Their ClickHouse types. */
  readonly types: readonly string[]
  /** The question in canonical HogQL. */
  readonly hogql: string
  /** The page, when the text had no LIMIT of its own: the SQL asks for one row more. */
  readonly limit: number | null
  readonly offset: number | null
  /** The relations the SQL reads. */
  readonly reads: readonly RelationName[]
  /** The days of events it reads: no others can be in its answer. */
  readonly event_days: EventDays
  readonly timezone: string
}

/**
 * Compiles a question's text for the context's project. Throws a Refusal (`invalid_input`, attr `query`, span where
 * known) for whatever is not HogQL, names what is not there, or goes beyond the limits.
 */
export function compileHogQL(text: string, context: CompileContext): CompiledQuery {
  return compileSelect(parseSelect(text), context)
}

/** Compiles a tree, as insights build them. */
export function compileSelect(select: ast.Select, context: CompileContext): CompiledQuery {
  return lowerMeaning(findMeaning(select, context), context).compiled
}

/** What a question means, before anything is chosen for an engine. */
export type Meaning = Resolved & { readonly hogql: string }

/** Puts placeholders in and finds what every name means. */
export function findMeaning(select: ast.Select, context: CompileContext): Meaning {
  const bound = bindPlaceholders(select, context)
  return { ...resolveStatement(bound, context, columnName), hogql: printHogQL(bound) }
}

/** What was compiled, and how it would have been at other times. */
export type Lowered = {
  readonly compiled: CompiledQuery
  /** When it would be the same but for the values that move. */
  readonly stay: Stay
  /** Which of the values move along with now, by index. */
  readonly moving: readonly number[]
}

/** Rewrites and prints. */
export function lowerMeaning(meaning: Meaning, asked: CompileContext): Lowered {
  const { statement, names, reads, hogql } = meaning
  const stay = new Stay(asked.now_us)
  const context = { ...asked, moving: new Moving(asked.now_us, stay) }
  const page = pageOf(statement.query, context)
  let lowered = statement
  const sizes: Sizes = new WeakMap()
  for (const pass of PASSES) {
    lowered = pass(lowered, context)
    requireSmallLowered(lowered, sizes, context.budget)
  }
  const { sql, values, moving } = printStatement(lowered)
  const compiled: CompiledQuery = {
    sql,
    values,
    columns: names,
    types: queryColumns(statement.query).map((column) => clickhouseName(column.type)),
    hogql,
    limit: page?.limit ?? null,
    offset: page?.offset ?? null,
    reads,
    event_days: eventDays(lowered),
    timezone: context.timezone,
  }
  return { compiled, stay, moving }
}

/** The same asked at another time, for which it stays. */
export function compiledAt({ compiled, stay, moving }: Lowered, now_us: bigint): CompiledQuery {
  if (moving.length === 0 || now_us === stay.now_us) return compiled
  const values = [...compiled.values]
  for (const index of moving) {
    const known = values[index]
    if (typeof known?.value !== 'bigint') throw new Error('only times move')
    values[index] = { type: known.type, value: known.value + now_us - stay.now_us }
  }
  return { ...compiled, values }
}
