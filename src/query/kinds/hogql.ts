/** HogQLQuery: a question in HogQL, its placeholders filled with values, variables and filters. Interface §4.3. */
import type { CompiledQuery } from '../../hogql/compile.ts'
import type { CompileLimits, PlaceholderValue } from '../../hogql/context.ts'
import type { BoundValue } from '../../hogql/parameters.ts'
import type { Computed } from '../cache.ts'
import { compileQuestion, isShort } from '../compiling/compiler.ts'
import type { Filters } from '../filters.ts'
import type { Answer, RowForm, SentQuestion, SentValue } from '../frames.ts'
import {
  mergeFilters,
  requireVariables,
  type SentFilters,
  type SentVariable,
  variableValues,
} from '../hogql-inputs.ts'
import { cacheKey } from '../keys.ts'
import { parseText } from '../parsed-texts.ts'
import { placeholderValues } from '../placeholder-values.ts'
import type { Ask, Asking, Overrides, Prepared } from '../prepared.ts'

/** The `query` member of a request, its shape already checked. */
export type HogQLQuestion = {
  readonly kind: 'HogQLQuery'
  readonly query: string
  readonly name?: string | null
  /** What stands for `{name}` in the text; members of members have dotted names. */
  readonly values?: Readonly<Record<string, unknown>> | null
  /** What stands for `{filters}`. */
  readonly filters?: SentFilters | null
  /** What stands for `{variables.code_name}`, by id. */
  readonly variables?: Readonly<Record<string, SentVariable>> | null
  readonly modifiers?: Readonly<Record<string, unknown>> | null
}

/** Rows answered when the text has no LIMIT of its own. */
const ROWS_DEFAULT = 100

/** As much of a question's name as its status repeats. */
const LABEL_LENGTH_MAX = 400

type Parsed = {
  readonly question: HogQLQuestion
  readonly asking: Asking
  readonly values: ReadonlyMap<string, PlaceholderValue>
  readonly filters: Filters | null
}

/** Reads a question. Refuses (`invalid_input`, with the place) a text that is not HogQL, and values of wrong types. */
export function prepareHogQL(
  question: HogQLQuestion,
  overrides: Overrides,
  asking: Asking,
): Prepared {
  const text = question.query
  // Long texts are read where they are compiled; two of them are the same question when they are the same text.
  const read = isShort(text) ? parseText(text) : null
  const values = new Map([
    ...placeholderValues(question.values ?? {}, 'query__values'),
    ...variableValues(question.variables, overrides.variables, asking),
  ])
  if (read !== null) requireVariables(read.tree, values)
  const filters = mergeFilters(question.filters, overrides.filters, asking.project)
  const parsed: Parsed = { question, asking, values, filters }
  return {
    project_id: asking.project.id,
    caller: asking.project.caller ?? '',
    cache_key: cacheKey(asking.project, question.kind, [
      read?.canonical ?? text,
      Object.fromEntries(values),
      filters,
      question.modifiers ?? {},
      asking.rows_max,
    ]),
    // A text can ask about any time: its answers are treated as those of minutes.
    freshness: { interval: 'minute', ends_at_ms: null },
    labels: [question.kind, ...(question.name ? [question.name.slice(0, LABEL_LENGTH_MAX)] : [])],
    said: { query: question.query },
    compute: (ask, now) => compute(parsed, ask, now),
    sentInParts: (form, rows_max, now) => () => sentInParts(parsed, { form, rows_max, now }),
  }
}

async function compute(parsed: Parsed, ask: Ask, now: Date): Promise<Computed> {
  const started_ms = performance.now()
  const { rows_max } = parsed.asking
  const compiled = await compile(parsed, now, {
    rows_default: Math.min(ROWS_DEFAULT, rows_max),
    rows_max,
  })
  const compile_ms = performance.now() - started_ms
  const answer = await ask(sentQuestion(compiled, parsed.asking))
  return {
    head: headText(parsed.question, compiled, answer, compile_ms),
    results: answer.rows_json,
    last_refresh_ms: now.getTime(),
  }
}

type Parts = { readonly form: RowForm; readonly rows_max: number; readonly now: Date }

async function sentInParts(parsed: Parsed, { form, rows_max, now }: Parts): Promise<SentQuestion> {
  const compiled = await compile(parsed, now, { rows_default: rows_max, rows_max })
  return {
    ...sentQuestion(compiled, parsed.asking),
    rows_max,
    // Whoever reads a file does not see that it ends too early.
    more_is_too_many: true,
    parts: { form, columns: compiled.columns },
  }
}

function compile(
  { question, asking, values, filters }: Parsed,
  now: Date,
  limits: CompileLimits,
): Promise<CompiledQuery> {
  const subject = { kind: 'text', text: question.query, values, filters } as const
  return compileQuestion(subject, asking, { now, limits })
}

/** A compiled question as the engine takes it. */
export function sentQuestion(compiled: CompiledQuery, asking: Asking): SentQuestion {
  return {
    project_id: asking.project.id,
    sql: compiled.sql,
    values: compiled.values.map(sentValue),
    types: compiled.types,
    reads: compiled.reads,
    event_days: compiled.event_days,
    timezone: compiled.timezone,
    rows_max: compiled.limit ?? asking.rows_max,
    more_is_too_many: compiled.limit === null,
  }
}

function sentValue({ type, value }: BoundValue): SentValue {
  // `String` forgets the sign of zero, which arithmetic keeps.
  return { type, text: Object.is(value, -0) ? '-0' : String(value) }
}

/** What the envelope says about the answer, whoever reads it and whenever. */
function headText(
  { modifiers }: HogQLQuestion,
  compiled: CompiledQuery,
  answer: Answer,
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
function timings({ timings: spent }: Answer, compile_ms: number): { k: string; t: number }[] {
  return [
    { k: './compile', t: seconds(compile_ms) },
    { k: './follow_log', t: seconds(spent.follow_ms) },
    { k: './execute', t: seconds(spent.execute_ms) },
    { k: './read_rows', t: seconds(spent.read_ms) },
  ]
}

/** Whole microseconds: more digits are noise. */
const seconds = (ms: number): number => Math.round(ms * 1000) / 1_000_000
