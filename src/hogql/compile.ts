/** HogQL text to one DuckDB SELECT with bound values: parse, put placeholders in, resolve, rewrite, print. No I/O. */

import type * as ast from './ast.ts'
import type { CompileContext } from './context.ts'
import { type EventDays, eventDays } from './event-days.ts'
import { queryColumns, type RelationName } from './ir.ts'
import type { BoundValue } from './parameters.ts'
import { parseSelect } from './parser.ts'
import { castOutput } from './passes/cast-output.ts'
import { countFromManifest } from './passes/count-from-manifest.ts'
import { fillPlaceholders } from './passes/fill-placeholders.ts'
import { foldConstants } from './passes/fold-constants.ts'
import { inferTimeRanges } from './passes/infer-time-ranges.ts'
import { liftLambdaCaptures } from './passes/lift-lambda-captures.ts'
import { lowerComparisons } from './passes/lower-comparisons.ts'
import { lowerFunctions } from './passes/lower-functions.ts'
import { limitOutput, lowerLimitBy, rowWindow } from './passes/lower-limits.ts'
import { lowerNan } from './passes/lower-nan.ts'
import { lowerNullSafety } from './passes/lower-null-safety.ts'
import { lowerProperties } from './passes/lower-properties.ts'
import { lowerTimeZones } from './passes/lower-time-zones.ts'
import { materializeLate } from './passes/materialize-late.ts'
import { narrowJsonReads } from './passes/narrow-json-reads.ts'
import { prefilterUuids } from './passes/prefilter-uuids.ts'
import { propagateTimeRanges } from './passes/propagate-time-ranges.ts'
import { pruneProperties } from './passes/prune-properties.ts'
import type { Pass } from './passes/walk.ts'
import { printStatement } from './print.ts'
import { printHogQL } from './print-hogql.ts'
import { RelativeTime, ValidityWindow } from './relative-time.ts'
import { columnName } from './resolve/names.ts'
import { type Resolved, resolveStatement } from './resolve/resolver.ts'
import { requireSmallLowered, type Sizes } from './resolve/size-limits.ts'
import { clickhouseName } from './types.ts'

/** What happens to a resolved query, in order. Adding a rewrite means adding a line. */
const PASSES: readonly Pass[] = [
  foldConstants,
  lowerComparisons,
  inferTimeRanges,
  propagateTimeRanges,
  lowerNan,
  prefilterUuids,
  lowerNullSafety,
  narrowJsonReads,
  lowerFunctions,
  lowerProperties,
  lowerTimeZones,
  liftLambdaCaptures,
  pruneProperties,
  countFromManifest,
  lowerLimitBy,
  castOutput,
  limitOutput,
  materializeLate,
]

export type CompiledQuery = {
  /** One SELECT with parameters $1 to $n. */
  readonly sql: string
  readonly values: readonly BoundValue[]
  /** Names of the answer's columns. */
  readonly columns: readonly string[]
  /** Their ClickHouse types. */
  readonly types: readonly string[]
  /** The query in canonical HogQL. */
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
 * Compiles a query's text for the context's project. Throws a Refusal (`invalid_input`, attr `query`, span where
 * known) for whatever is not HogQL, names what is not there, or goes beyond the limits.
 */
export function compileHogQL(text: string, context: CompileContext): CompiledQuery {
  return compileSelect(parseSelect(text), context)
}

/** Compiles a tree, as insights build them. */
export function compileSelect(select: ast.Select, context: CompileContext): CompiledQuery {
  return lowerMeaning(findMeaning(select, context), context).compiled
}

/** What a query means, before anything is chosen for an engine. */
export type Meaning = Resolved & { readonly hogql: string }

/** Puts placeholders in and finds what every name means. */
export function findMeaning(select: ast.Select, context: CompileContext): Meaning {
  const bound = fillPlaceholders(select, context)
  return { ...resolveStatement(bound, context, columnName), hogql: printHogQL(bound) }
}

/** What was compiled, and how it would have been at other times. */
export type Lowered = {
  readonly compiled: CompiledQuery
  /** When it would be the same but for the values that move. */
  readonly validity: ValidityWindow
  /** Which of the values move along with now, by index. */
  readonly moving: readonly number[]
}

/** Rewrites and prints. */
export function lowerMeaning(meaning: Meaning, base_context: CompileContext): Lowered {
  const { statement, names, reads, hogql } = meaning
  const validity = new ValidityWindow(base_context.now_us)
  const context = { ...base_context, moving: new RelativeTime(base_context.now_us, validity) }
  const page = rowWindow(statement.query, context)
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
  return { compiled, validity, moving }
}

/** The same asked at another time, for which it stays. */
export function compiledAt({ compiled, validity, moving }: Lowered, now_us: bigint): CompiledQuery {
  if (moving.length === 0 || now_us === validity.now_us) return compiled
  const values = [...compiled.values]
  for (const index of moving) {
    const known = values[index]
    if (typeof known?.value !== 'bigint') throw new Error('only times move')
    values[index] = { type: known.type, value: known.value + now_us - validity.now_us }
  }
  return { ...compiled, values }
}
