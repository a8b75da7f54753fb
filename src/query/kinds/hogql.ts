/** Prepares, compiles and exports a HogQLQuery. */
import type { CompiledQuery } from '../../hogql/compile.ts'
import type { CompileLimits, PlaceholderValue } from '../../hogql/context.ts'
import type { BoundValue } from '../../hogql/sql/parameters.ts'
import { compileTextQuery, isShort } from '../compiling/compiler.ts'
import type {
  GatherStatement,
  RowForm,
  WorkerAnswer,
  WorkerQuery,
  WorkerValue,
} from '../engine/protocol.ts'
import type { ComputedAnswer } from '../service/cache.ts'
import { cacheKey } from '../service/cache-key.ts'
import type { Filters } from './filters.ts'
import {
  mergeFilters,
  type QueryFilters,
  type QueryVariable,
  requireVariables,
  variableValues,
} from './hogql-inputs.ts'
import { parseText } from './parse-cache.ts'
import { placeholderValues } from './placeholder-values.ts'
import type { Overrides, PreparedQuery, QueryContext, RunQuery } from './prepared-query.ts'

/** The `query` member of a request, after validation. */
export type HogQLQueryNode = {
  readonly kind: 'HogQLQuery'
  readonly query: string
  readonly name?: string | null
  /** Values of `{name}` in the text; nested members have dotted names. */
  readonly values?: Readonly<Record<string, unknown>> | null
  /** The value of `{filters}`. */
  readonly filters?: QueryFilters | null
  /** Values of `{variables.code_name}`, by id. */
  readonly variables?: Readonly<Record<string, QueryVariable>> | null
  readonly modifiers?: Readonly<Record<string, unknown>> | null
}

/** The LIMIT of a text without one. */
const ROWS_DEFAULT = 100

/** A status repeats the query's name up to this length. */
const LABEL_LENGTH_MAX = 400

type ParsedQuery = {
  readonly query: HogQLQueryNode
  readonly context: QueryContext
  readonly values: ReadonlyMap<string, PlaceholderValue>
  readonly filters: Filters | null
}

/** Prepares a query. Refuses (`invalid_input`, with the position) a text that is not HogQL, and values of wrong types. */
export function prepareHogQL(
  query: HogQLQueryNode,
  overrides: Overrides,
  context: QueryContext,
): PreparedQuery {
  const text = query.query
  // Long texts are parsed on the compile thread; their cache key contains the text instead of its canonical form.
  const parsed_text = isShort(text) ? parseText(text) : null
  const values = new Map([
    ...placeholderValues(query.values ?? {}, 'query__values'),
    ...variableValues(query.variables, overrides.variables, context),
  ])
  if (parsed_text !== null) requireVariables(parsed_text.tree, values)
  const filters = mergeFilters(query.filters, overrides.filters, context.project)
  const parsed: ParsedQuery = { query, context, values, filters }
  return {
    project_id: context.project.id,
    caller: context.project.caller ?? '',
    cache_key: cacheKey(context.project, query.kind, [
      parsed_text?.canonical ?? text,
      Object.fromEntries(values),
      filters,
      query.modifiers ?? {},
      context.rows_max,
    ]),
    // The time range of a text is unknown: its answers stay fresh as those of interval `minute` do.
    freshness: { interval: 'minute', ends_at_ms: null },
    labels: [query.kind, ...(query.name ? [query.name.slice(0, LABEL_LENGTH_MAX)] : [])],
    echo: { query: query.query },
    compute: (run, now) => compute(parsed, run, now),
    buildExport: (form, rows_max, now) => () => buildExport(parsed, { form, rows_max, now }),
  }
}

async function compute(parsed: ParsedQuery, run: RunQuery, now: Date): Promise<ComputedAnswer> {
  const started_ms = performance.now()
  const { rows_max } = parsed.context
  const compiled = await compile(parsed, now, {
    rows_default: Math.min(ROWS_DEFAULT, rows_max),
    rows_max,
  })
  const compile_ms = performance.now() - started_ms
  const answer = await run(workerQuery(compiled, parsed.context))
  return {
    head: headText(parsed.query, compiled, answer, compile_ms),
    results: answer.rows_json,
    last_refresh_ms: now.getTime(),
    ends_at_ms: null,
  }
}

type HogQLExportOptions = { readonly form: RowForm; readonly rows_max: number; readonly now: Date }

async function buildExport(
  parsed: ParsedQuery,
  { form, rows_max, now }: HogQLExportOptions,
): Promise<WorkerQuery> {
  const compiled = await compile(parsed, now, { rows_default: rows_max, rows_max })
  return {
    ...workerQuery(compiled, parsed.context),
    rows_max,
    // A reader of the file could not see that rows are missing.
    more_is_too_many: true,
    parts: { form, columns: compiled.columns },
  }
}

function compile(
  { query, context, values, filters }: ParsedQuery,
  now: Date,
  limits: CompileLimits,
): Promise<CompiledQuery> {
  const subject = { kind: 'text', text: query.query, values, filters } as const
  return compileTextQuery(subject, context, { now, limits })
}

/** Converts a compiled query to the worker's form. */
export function workerQuery(
  compiled: CompiledQuery,
  context: {
    readonly project: Pick<QueryContext['project'], 'id'>
    readonly rows_max: number
  },
): WorkerQuery {
  const { file_reader } = compiled
  const gathers = compiled.gather_statements?.map(statementOf)
  return {
    project_id: context.project.id,
    sql: compiled.sql,
    values: compiled.values.map(workerValue),
    types: compiled.types,
    reads: compiled.reads,
    timezone: compiled.timezone,
    rows_max: compiled.limit ?? context.rows_max,
    more_is_too_many: compiled.limit === null,
    ...(gathers === undefined ? {} : { gathers }),
    ...(file_reader === undefined ? {} : { file_statement: statementOf(file_reader) }),
  }
}

const statementOf = ({ sql, values }: Pick<CompiledQuery, 'sql' | 'values'>): GatherStatement => ({
  sql,
  values: values.map(workerValue),
})

function workerValue({ type, value }: BoundValue): WorkerValue {
  // String(-0) is '0', but the sign matters in arithmetic.
  return { type, text: Object.is(value, -0) ? '-0' : String(value) }
}

/** The members of the envelope that are cached with the answer, as a JSON object. */
function headText(
  { modifiers }: HogQLQueryNode,
  compiled: CompiledQuery,
  answer: WorkerAnswer,
  compile_ms: number,
): string {
  const { limit, offset } = compiled
  return JSON.stringify({
    columns: compiled.columns,
    types: compiled.columns.map((column, index) => [column, compiled.types[index]]),
    hogql: compiled.hogql,
    clickhouse: null,
    error: null,
    explain: null,
    timings: timings(answer, compile_ms),
    modifiers: modifiers ?? {},
    metadata: null,
    ...(limit === null ? {} : { hasMore: answer.has_more, limit, offset: offset ?? 0 }),
    timezone: compiled.timezone,
  })
}

/** Seconds per stage, in the shape that editors show. */
function timings(
  { timings: stages }: WorkerAnswer,
  compile_ms: number,
): { k: string; t: number }[] {
  return [
    { k: './compile', t: seconds(compile_ms) },
    { k: './follow_log', t: seconds(stages.follow_ms) },
    { k: './execute', t: seconds(stages.execute_ms) },
    { k: './read_rows', t: seconds(stages.read_ms) },
  ]
}

/** Rounds to whole microseconds. */
const seconds = (ms: number): number => Math.round(ms * 1000) / 1_000_000
