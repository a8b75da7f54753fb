/**
 * Compiles HogQL text to one DuckDB SELECT with bound values: parse, fill placeholders, resolve,
 * rewrite (PASSES), print. No I/O.
 */

import { clickhouseDialect } from './clickhouse/dialect.ts'
import type { CompileContext } from './context.ts'
import type { Dialect } from './dialect.ts'
import { parseSelect } from './parser/parser.ts'
import { fillPlaceholders } from './passes/fill-placeholders.ts'
import { foldConstants } from './passes/fold-constants.ts'
import { liftLambdaCaptures } from './passes/lift-lambda-captures.ts'
import { castOutput } from './passes/lower/cast-output.ts'
import { dropDateClamps } from './passes/lower/drop-date-clamps.ts'
import { lowerComparisons } from './passes/lower/lower-comparisons.ts'
import { lowerFunctions } from './passes/lower/lower-functions.ts'
import { limitOutput, lowerLimitBy, rowWindow } from './passes/lower/lower-limits.ts'
import { lowerNan } from './passes/lower/lower-nan.ts'
import { lowerNullSafety } from './passes/lower/lower-null-safety.ts'
import { lowerProperties } from './passes/lower/lower-properties.ts'
import { lowerTimeZones } from './passes/lower/lower-time-zones.ts'
import { orderInnerNulls } from './passes/order-inner-nulls.ts'
import { countFromManifest } from './passes/read-less/count-from-manifest.ts'
import { groupBeforeOverrides } from './passes/read-less/group-before-overrides.ts'
import { inferTimeRanges } from './passes/read-less/infer-time-ranges.ts'
import { materializeLate } from './passes/read-less/materialize-late.ts'
import { narrowJsonReads } from './passes/read-less/narrow-json-reads.ts'
import { prefilterUuids } from './passes/read-less/prefilter-uuids.ts'
import { propagateTimeRanges } from './passes/read-less/propagate-time-ranges.ts'
import { pruneProperties } from './passes/read-less/prune-properties.ts'
import { readWholeNumbers } from './passes/read-less/read-whole-numbers.ts'
import type { Pass } from './passes/walk.ts'
import { printHogQL } from './print-hogql/print-hogql.ts'
import { type QueryReads, queryReads } from './query-reads.ts'
import { columnName } from './resolve/names.ts'
import { type ResolvedStatement, resolveStatement } from './resolve/resolver.ts'
import { requireSmallForEngine, requireSmallLowered, type Sizes } from './resolve/size-limits.ts'
import { queryColumns, type Statement } from './sql/ir.ts'
import type { BoundValue } from './sql/parameters.ts'
import { type PrintedQuery, printStatement } from './sql/print.ts'
import type * as ast from './syntax/ast.ts'
import { RelativeTime, ValidityWindow } from './times/relative-time.ts'
import { clickhouseName } from './types/types.ts'

/**
 * The rewrites of a resolved query, in order. Adding a line adds a rewrite of every statement at
 * that point; everything above it sees HogQL's functions and types, everything below lowerFunctions
 * the engine's. README.md, 2 explains the order.
 */
const PASSES: readonly Pass[] = [
  foldConstants,
  lowerComparisons,
  inferTimeRanges,
  propagateTimeRanges,
  lowerNan,
  orderInnerNulls,
  prefilterUuids,
  lowerNullSafety,
  narrowJsonReads,
  readWholeNumbers,
  dropDateClamps,
  lowerFunctions,
  lowerProperties,
  lowerTimeZones,
  liftLambdaCaptures,
  pruneProperties,
  groupBeforeOverrides,
  countFromManifest,
  lowerLimitBy,
  castOutput,
  limitOutput,
  materializeLate,
]

/** The engine of one machine. */
const DUCKDB: Dialect = {
  passes: PASSES,
  print: (statement, reads) => printStatement(statement, reads.events),
}

/** The dialect of whatever has the project's events. */
function dialectOf({ clickhouse = null }: CompileContext): Dialect {
  return clickhouse === null ? DUCKDB : clickhouseDialect(clickhouse)
}

export type CompiledQuery = {
  /** One SELECT with parameters $1 to $n. */
  readonly sql: string
  readonly values: readonly BoundValue[]
  /** Names of the result's columns. */
  readonly columns: readonly string[]
  /** Their ClickHouse types. */
  readonly types: readonly string[]
  /** The query in canonical HogQL. */
  readonly hogql: string
  /**
   * The default page when the text has no LIMIT; the SQL then reads one row more, so that "has
   * more" is known.
   */
  readonly limit: number | null
  readonly offset: number | null
  readonly reads: QueryReads
  readonly timezone: string
  /** The statements of the other engine whose rows `sql` reads from files; missing where there are none. */
  readonly gather_statements?: readonly PrintedQuery[]
  /** For an engine that writes files: the statement of the engine of one machine that reads the answer from one. */
  readonly file_reader?: PrintedQuery
}

/**
 * Compiles a query's text for the context's project. Throws a Refusal (`invalid_input`, attr
 * `query`, with a span where known) for texts that are not HogQL, unknown names, and anything
 * beyond the limits.
 */
export function compileHogQL(
  text: string,
  context: CompileContext,
  dialect: Dialect = dialectOf(context),
): CompiledQuery {
  return compileSelect(parseSelect(text), context, dialect)
}

/** Compiles a syntax tree, such as insights build. */
export function compileSelect(
  select: ast.Select,
  context: CompileContext,
  dialect: Dialect = dialectOf(context),
): CompiledQuery {
  return lowerQuery(analyzeQuery(select, context), context, dialect).compiled
}

/** A query with its names resolved and its expressions typed, before anything is lowered to the engine. */
export type AnalyzedQuery = ResolvedStatement & { readonly hogql: string }

/** Fills placeholders and resolves every name. */
export function analyzeQuery(select: ast.Select, context: CompileContext): AnalyzedQuery {
  const bound = fillPlaceholders(select, context)
  return { ...resolveStatement(bound, context, columnName), hogql: printHogQL(bound) }
}

/** A compiled query and its validity at other times. */
export type LoweredQuery = {
  readonly compiled: CompiledQuery
  /** The times `now` at which the SQL would be the same, but for the values in `relative_values`. */
  readonly validity: ValidityWindow
  /** Indexes of the values that are relative to `now`. */
  readonly relative_values: readonly number[]
}

/** Runs the dialect's passes and prints. */
export function lowerQuery(
  analyzed: AnalyzedQuery,
  base_context: CompileContext,
  dialect: Dialect = dialectOf(base_context),
): LoweredQuery {
  const { statement, names, reads, hogql } = analyzed
  const validity = new ValidityWindow(base_context.now_us)
  const context = { ...base_context, relative_now: new RelativeTime(base_context.now_us, validity) }
  const page = rowWindow(statement.query, context)
  const { federation } = dialect
  const split = federation?.splitAtFolds(statement) ?? null
  const gather_statements = split?.gather_statements.map(
    (part) => lowerStatement(part, context, federation?.gather_dialect ?? dialect).printed,
  )
  const { printed, all_reads } =
    split === null
      ? lowerStatement(statement, context, dialect, reads)
      : lowerStatement(split.local_statement, context, DUCKDB)
  const answer = split === null ? (federation?.readAnswer(statement) ?? null) : null
  const file_reader = answer === null ? undefined : lowerStatement(answer, context, DUCKDB).printed
  const { sql, values, relative_values } = printed
  const compiled: CompiledQuery = {
    sql,
    values,
    columns: names,
    types: queryColumns(statement.query).map((column) => clickhouseName(column.type)),
    hogql,
    limit: page?.limit ?? null,
    offset: page?.offset ?? null,
    reads: all_reads,
    timezone: context.timezone,
    ...(gather_statements === undefined ? {} : { gather_statements }),
    ...(file_reader === undefined ? {} : { file_reader }),
  }
  return { compiled, validity, relative_values }
}

function lowerStatement(
  statement: Statement,
  context: CompileContext,
  { passes, print }: Pick<Dialect, 'passes' | 'print'>,
  relations: ResolvedStatement['reads'] = [],
): { readonly printed: PrintedQuery; readonly all_reads: QueryReads } {
  let lowered = statement
  const sizes: Sizes = new WeakMap()
  for (const pass of passes) {
    lowered = pass(lowered, context)
    requireSmallLowered(lowered, sizes, context.budget)
  }
  requireSmallForEngine(lowered)
  const all_reads = queryReads(lowered, relations)
  return { printed: print(lowered, all_reads), all_reads }
}

/**
 * The compiled query at another `now` within its validity: relative values are shifted, nothing is
 * compiled.
 */
export function compiledAt(
  { compiled, validity, relative_values }: LoweredQuery,
  now_us: bigint,
): CompiledQuery {
  const { gather_statements, values } = compiled
  const has_relative = relative_values.length > 0 || gather_statements !== undefined
  if (now_us === validity.now_us || !has_relative) return compiled
  const after_us = now_us - validity.now_us
  return {
    ...compiled,
    values: shiftValues({ values, relative_values }, after_us),
    ...(gather_statements === undefined
      ? {}
      : {
          gather_statements: gather_statements.map((part) => ({
            ...part,
            values: shiftValues(part, after_us),
          })),
        }),
  }
}

function shiftValues(
  { values, relative_values }: Pick<PrintedQuery, 'relative_values' | 'values'>,
  after_us: bigint,
): readonly BoundValue[] {
  const shifted = [...values]
  for (const index of relative_values) {
    const bound = shifted[index]
    if (typeof bound?.value !== 'bigint') throw new Error('only times are relative')
    shifted[index] = { type: bound.type, value: bound.value + after_us }
  }
  return shifted
}
