/** Answers a HogQL question: text → SQL → rows → the response body that clients of the interface know. Interface §4.3. */
import { createHash } from 'node:crypto'
import { Refusal } from '../errors.ts'
import { type CompiledQuery, compileHogQL } from '../hogql/compile.ts'
import type { CompileContext, PlaceholderValue, PropertyType } from '../hogql/context.ts'
import type { BoundValue } from '../hogql/print.ts'
import type { AskOptions, QueryEngine } from './engine.ts'
import type { Answer, SentQuestion, SentValue } from './frames.ts'

/** The `query` member of a request, its shape already checked. */
export type HogQLQuestion = {
  readonly kind: 'HogQLQuery'
  readonly query: string
  /** What stands for `{name}` in the text; members of members have dotted names. */
  readonly values?: Readonly<Record<string, unknown>> | null
}

/** Whose question it is, and what is known about their data. */
export type Asking = {
  readonly project: {
    readonly id: number
    /** IANA name. */
    readonly timezone: string
    /** 0 Sunday, 1 Monday; null for Sunday. */
    readonly week_start_day: number | null
  }
  readonly property_types: ReadonlyMap<string, PropertyType>
  readonly rows_max: number
  readonly now: Date
}

/** Rows answered when the text has no LIMIT of its own. */
const ROWS_DEFAULT = 100
/** How long a client should wait before it asks again for something newer. */
const CLIENT_REFRESH_MS = 60_000
/** Deeper values are refused before anything recurses over them. */
const VALUE_DEPTH_MAX = 20

/**
 * Compiles, asks and wraps. Answers the response body, JSON as UTF-8. Refuses what does not compile (`invalid_input`
 * with its place in the text) and whatever the engine refuses.
 */
export async function runHogQL(
  question: HogQLQuestion,
  asking: Asking,
  engine: Pick<QueryEngine, 'ask'>,
  options: AskOptions,
): Promise<Uint8Array<ArrayBuffer>> {
  const started_ms = performance.now()
  const compiled = compileHogQL(question.query, compileContext(question, asking))
  const compile_ms = performance.now() - started_ms
  const answer = await engine.ask(sentQuestion(compiled, asking), options)
  return envelope({ question, asking, compiled, answer, compile_ms })
}

function compileContext(question: HogQLQuestion, asking: Asking): CompileContext {
  const { project, property_types, rows_max, now } = asking
  const values = new Map<string, PlaceholderValue>()
  collectValues(values, '', question.values ?? {}, 0)
  return {
    project_id: project.id,
    timezone: project.timezone,
    week_start_day: project.week_start_day === 1 ? 1 : 0,
    now_us: BigInt(now.getTime()) * 1000n,
    property_types,
    values,
    limits: { rows_default: Math.min(ROWS_DEFAULT, rows_max), rows_max },
  }
}

/** Flattens `{variables: {x: 1}}` to `variables.x`. */
function collectValues(
  values: Map<string, PlaceholderValue>,
  prefix: string,
  members: object,
  depth: number,
): void {
  for (const [name, value] of Object.entries(members)) {
    const path = `${prefix}${name}`
    if (depth > VALUE_DEPTH_MAX) throw badValue(path)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      collectValues(values, `${path}.`, value, depth + 1)
    } else values.set(path, placeholderValue(value, path, depth))
  }
}

function placeholderValue(value: unknown, path: string, depth: number): PlaceholderValue {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value
  if (!Array.isArray(value) || depth > VALUE_DEPTH_MAX) throw badValue(path)
  return value.map((item: unknown) => placeholderValue(item, path, depth + 1))
}

function badValue(path: string): Refusal {
  const detail = `The value of {${path}} must be a string, number, boolean, null or a list of these.`
  return new Refusal('invalid_input', detail, { attr: `query__values__${path}` })
}

function sentQuestion(compiled: CompiledQuery, asking: Asking): SentQuestion {
  return {
    project_id: asking.project.id,
    sql: compiled.sql,
    values: compiled.values.map(sentValue),
    types: compiled.types,
    reads: compiled.reads,
    timezone: compiled.timezone,
    rows_max: compiled.limit ?? asking.rows_max,
    more_is_too_many: compiled.limit === null,
  }
}

function sentValue({ type, value }: BoundValue): SentValue {
  // `String` forgets the sign of zero, which arithmetic keeps.
  return { type, text: Object.is(value, -0) ? '-0' : String(value) }
}

type Answered = {
  readonly question: HogQLQuestion
  readonly asking: Asking
  readonly compiled: CompiledQuery
  readonly answer: Answer
  readonly compile_ms: number
}

/** The rows are JSON already: they are spliced in as they came, never parsed on this thread. */
function envelope({
  question,
  asking,
  compiled,
  answer,
  compile_ms,
}: Answered): Uint8Array<ArrayBuffer> {
  const { limit, offset } = compiled
  const last_refresh = asking.now
  const members = {
    columns: compiled.columns,
    types: compiled.columns.map((column, index) => [column, compiled.types[index]]),
    hogql: compiled.hogql,
    clickhouse: null,
    query: question.query,
    error: null,
    explain: null,
    timings: timings(answer, compile_ms),
    modifiers: {},
    metadata: null,
    ...(limit === null ? {} : { hasMore: answer.has_more, limit, offset: offset ?? 0 }),
    is_cached: false,
    last_refresh: last_refresh.toISOString(),
    next_allowed_client_refresh: new Date(last_refresh.getTime() + CLIENT_REFRESH_MS).toISOString(),
    cache_key: cacheKey(compiled, asking.project.id),
    cache_target_age: null,
    timezone: compiled.timezone,
    query_status: null,
  }
  const rest = `,${JSON.stringify(members).slice(1)}`
  return Buffer.concat([Buffer.from('{"results":'), answer.rows_json, Buffer.from(rest)])
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

/** Names the question: the same project asking the same thing in other words has the same key. */
function cacheKey({ hogql, timezone }: CompiledQuery, project_id: number): string {
  const digest = createHash('md5').update(JSON.stringify([project_id, hogql, timezone]))
  return `cache_${digest.digest('hex')}`
}
