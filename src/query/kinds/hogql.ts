/** HogQLQuery: a query in HogQL, its placeholders filled with values, variables and filters. */
import type { CompiledQuery } from '../../hogql/compile.ts'
import type { CompileLimits, PlaceholderValue } from '../../hogql/context.ts'
import type { BoundValue } from '../../hogql/parameters.ts'
import { compileQuestion, isShort } from '../compiling/compiler.ts'
import type { RowForm, WorkerAnswer, WorkerQuery, WorkerValue } from '../engine/protocol.ts'
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

/** The `query` member of a request, its shape already checked. */
export type HogQLQueryNode = {
  readonly kind: 'HogQLQuery'
  readonly query: string
  readonly name?: string | null
  /** What stands for `{name}` in the text; members of members have dotted names. */
  readonly values?: Readonly<Record<string, unknown>> | null
  /** What stands for `{filters}`. */
  readonly filters?: QueryFilters | null
  /** What stands for `{variables.code_name}`, by id. */
  readonly variables?: Readonly<Record<string, QueryVariable>> | null
  readonly modifiers?: Readonly<Record<string, unknown>> | null
}

/** Rows answered when the text has no LIMIT of its own. */
const ROWS_DEFAULT = 100

/** As much of a query's name as its status repeats. */
const LABEL_LENGTH_MAX = 400

type ParsedQuery = {
  readonly query: HogQLQueryNode
  readonly asking: QueryContext
  readonly values: ReadonlyMap<string, PlaceholderValue>
  readonly filters: Filters | null
}

/** Reads a query. Refuses (`invalid_input`, with the place) a text that is not HogQL, and values of wrong types. */
export function prepareHogQL(
  query: HogQLQueryNode,
  overrides: Overrides,
  context: QueryContext,
): PreparedQuery {
  const text = query.query
  // Long texts are read where they are compiled; two of them are the same query when they are the same text.
  const read = isShort(text) ? parseText(text) : null
  const values = new Map([
    ...placeholderValues(query.values ?? {}, 'query__values'),
    ...variableValues(query.variables, overrides.variables, context),
  ])
  if (read !== null) requireVariables(read.tree, values)
  const filters = mergeFilters(query.filters, overrides.filters, context.project)
  const parsed: ParsedQuery = { query, asking: context, values, filters }
  return {
    project_id: context.project.id,
    caller: context.project.caller ?? '',
    cache_key: cacheKey(context.project, query.kind, [
      read?.canonical ?? text,
      Object.fromEntries(values),
      filters,
      query.modifiers ?? {},
      context.rows_max,
    ]),
    // A text can ask about any time: its answers are treated as those of minutes.
    freshness: { interval: 'minute', ends_at_ms: null },
    labels: [query.kind, ...(query.name ? [query.name.slice(0, LABEL_LENGTH_MAX)] : [])],
    said: { query: query.query },
    compute: (ask, now) => compute(parsed, ask, now),
    sentInParts: (form, rows_max, now) => () => sentInParts(parsed, { form, rows_max, now }),
  }
}

async function compute(parsed: ParsedQuery, ask: RunQuery, now: Date): Promise<ComputedAnswer> {
  const started_ms = performance.now()
  const { rows_max } = parsed.asking
  const compiled = await compile(parsed, now, {
    rows_default: Math.min(ROWS_DEFAULT, rows_max),
    rows_max,
  })
  const compile_ms = performance.now() - started_ms
  const answer = await ask(workerQuery(compiled, parsed.asking))
  return {
    head: headText(parsed.query, compiled, answer, compile_ms),
    results: answer.rows_json,
    last_refresh_ms: now.getTime(),
  }
}

type HogQLRunParts = { readonly form: RowForm; readonly rows_max: number; readonly now: Date }

async function sentInParts(
  parsed: ParsedQuery,
  { form, rows_max, now }: HogQLRunParts,
): Promise<WorkerQuery> {
  const compiled = await compile(parsed, now, { rows_default: rows_max, rows_max })
  return {
    ...workerQuery(compiled, parsed.asking),
    rows_max,
    // Whoever reads a file does not see that it ends too early.
    more_is_too_many: true,
    parts: { form, columns: compiled.columns },
  }
}

function compile(
  { query, asking: context, values, filters }: ParsedQuery,
  now: Date,
  limits: CompileLimits,
): Promise<CompiledQuery> {
  const subject = { kind: 'text', text: query.query, values, filters } as const
  return compileQuestion(subject, context, { now, limits })
}

/** A compiled query as the engine takes it. */
export function workerQuery(compiled: CompiledQuery, context: QueryContext): WorkerQuery {
  return {
    project_id: context.project.id,
    sql: compiled.sql,
    values: compiled.values.map(sentValue),
    types: compiled.types,
    reads: compiled.reads,
    event_days: compiled.event_days,
    timezone: compiled.timezone,
    rows_max: compiled.limit ?? context.rows_max,
    more_is_too_many: compiled.limit === null,
  }
}

function sentValue({ type, value }: BoundValue): WorkerValue {
  // `String` forgets the sign of zero, which arithmetic keeps.
  return { type, text: Object.is(value, -0) ? '-0' : String(value) }
}

/** What the envelope says about the answer, whoever reads it and whenever. */
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

/** Seconds per stage, as an editor shows them. */
function timings({ timings: spent }: WorkerAnswer, compile_ms: number): { k: string; t: number }[] {
  return [
    { k: './compile', t: seconds(compile_ms) },
    { k: './follow_log', t: seconds(spent.follow_ms) },
    { k: './execute', t: seconds(spent.execute_ms) },
    { k: './read_rows', t: seconds(spent.read_ms) },
  ]
}

/** Whole microseconds: more digits are noise. */
const seconds = (ms: number): number => Math.round(ms * 1000) / 1_000_000
