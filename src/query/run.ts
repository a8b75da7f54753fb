/** A HogQL question comes in: compiled for its project, answered by the engine, told with everything around the rows. */
import { createHash } from 'node:crypto'
import { type CompiledQuery, compileHogQL } from '../hogql/compile.ts'
import type { PlaceholderValue, PropertyType } from '../hogql/context.ts'
import { COMPILE_LIMITS } from '../hogql/context.ts'
import type { AskOptions, QueryEngine } from './engine.ts'
import type { Answer, SentQuestion, SentValue } from './frames.ts'

export type HogQLQuestion = {
  readonly text: string
  /** What stands for `{name}`, dotted names flat. */
  readonly values: ReadonlyMap<string, PlaceholderValue>
  readonly project: {
    readonly id: number
    readonly timezone: string
    /** 0: Sunday, 1: Monday; null when nobody has chosen. */
    readonly week_start_day: number | null
  }
  readonly property_types: ReadonlyMap<string, PropertyType>
  /** The largest answer in rows. */
  readonly rows_max: number
  readonly now: Date
}

/** A finished answer: `rows_json` is the text of its `results`, the rest are the members beside it. */
export type HogQLAnswer = {
  readonly rows_json: Uint8Array
  readonly members: {
    readonly columns: readonly string[]
    readonly types: readonly (readonly [column: string, type: string])[]
    readonly hogql: string
    readonly timings: readonly { readonly k: string; readonly t: number }[]
    /** Only when the text had no LIMIT of its own. */
    readonly hasMore?: boolean
    readonly limit?: number
    readonly offset?: number
    readonly timezone: string
    readonly is_cached: false
    readonly last_refresh: string
    readonly cache_key: string
  }
}

/** Answers a question with what is committed now. Refuses what cannot be compiled, and whatever the engine refuses. */
export async function runHogQL(
  engine: Pick<QueryEngine, 'ask'>,
  question: HogQLQuestion,
  options: AskOptions,
): Promise<HogQLAnswer> {
  const started_at = performance.now()
  const compiled = compileHogQL(question.text, {
    project_id: question.project.id,
    timezone: question.project.timezone,
    week_start_day: question.project.week_start_day === 1 ? 1 : 0,
    now_us: BigInt(question.now.getTime()) * 1000n,
    property_types: question.property_types,
    values: question.values,
    limits: {
      rows_default: Math.min(COMPILE_LIMITS.rows_default, question.rows_max),
      rows_max: question.rows_max,
    },
  })
  const compile_ms = performance.now() - started_at
  const answer = await engine.ask(sentQuestion(compiled, question), options)
  return { rows_json: answer.rows_json, members: membersOf(compiled, question, answer, compile_ms) }
}

function sentQuestion(compiled: CompiledQuery, question: HogQLQuestion): SentQuestion {
  return {
    project_id: question.project.id,
    sql: compiled.sql,
    values: compiled.values.map(sentValue),
    types: compiled.types,
    reads: compiled.reads,
    timezone: compiled.timezone,
    rows_max: compiled.limit ?? question.rows_max,
    more_is_too_many: compiled.limit === null,
  }
}

function sentValue({ type, value }: CompiledQuery['values'][number]): SentValue {
  // `String` forgets the sign of zero, which arithmetic keeps.
  return { type, text: Object.is(value, -0) ? '-0' : String(value) }
}

function membersOf(
  compiled: CompiledQuery,
  question: HogQLQuestion,
  answer: Answer,
  compile_ms: number,
): HogQLAnswer['members'] {
  const { follow_ms, execute_ms, read_ms } = answer.timings
  const steps = { compile: compile_ms, follow: follow_ms, execute: execute_ms, read: read_ms }
  const page =
    compiled.limit === null
      ? {}
      : { hasMore: answer.has_more, limit: compiled.limit, offset: compiled.offset ?? 0 }
  return {
    columns: compiled.columns,
    types: compiled.columns.map((column, index) => [column, compiled.types[index] ?? 'String']),
    hogql: compiled.hogql,
    timings: Object.entries(steps).map(([step, ms]) => ({ k: `./${step}`, t: ms / 1000 })),
    ...page,
    timezone: compiled.timezone,
    is_cached: false,
    last_refresh: question.now.toISOString(),
    cache_key: cacheKey(question),
  }
}

/** The same for questions that are the same to this project. */
function cacheKey({ text, values, project }: HogQLQuestion): string {
  const parts = [
    project.id,
    project.timezone,
    project.week_start_day,
    text,
    [...values].map(String),
  ]
  return `cache_${createHash('md5').update(JSON.stringify(parts)).digest('hex')}`
}
