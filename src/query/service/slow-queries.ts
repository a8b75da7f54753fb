/** Logs executions of queries that take long: with their HogQL, and with the engine's plan when that is asked for. */
import { errorMessage } from '../../error-message.ts'
import type { WorkerQuery } from '../engine/protocol.ts'
import type { PreparedQuery, RunQuery } from '../kinds/prepared-query.ts'
import type { ComputedAnswer } from './cache.ts'

export type SlowQuerySettings = {
  /** Executions that take longer are logged; 0 logs none. */
  readonly slow_ms: number
  /** Whether the plans of their statements are logged too. */
  readonly has_plan: boolean
}

type SlowQueryLog = { warn(fields: object, message: string): void }

/** Statements of one query whose plans are logged; most queries have one. */
const PLANS_MAX = 5
/** Longer texts are cut off in the log. */
const LOGGED_LENGTH_MAX = 20_000

export class SlowQueries {
  readonly #settings: SlowQuerySettings
  readonly #log: SlowQueryLog
  readonly #runPlan: RunQuery

  /** `runPlan` runs a statement after all others that wait for the engine. */
  constructor(settings: SlowQuerySettings, log: SlowQueryLog, runPlan: RunQuery) {
    this.#settings = settings
    this.#log = log
    this.#runPlan = runPlan
  }

  /** Computes a query, and logs it if that was slow. */
  async watch(query: PreparedQuery, run: RunQuery, now: Date): Promise<ComputedAnswer> {
    if (this.#settings.slow_ms === 0) return query.compute(run, now)
    const started_ms = performance.now()
    const statements: WorkerQuery[] = []
    const note = (outcome: object): void => {
      const ms = Math.round(performance.now() - started_ms)
      if (ms >= this.#settings.slow_ms) void this.#report(query, { ms, ...outcome }, statements)
    }
    try {
      const answer = await query.compute((statement) => {
        statements.push(statement)
        return run(statement)
      }, now)
      note({ hogql: hogqlOf(answer) })
      return answer
    } catch (error) {
      // An insight without an answer has no HogQL, but its statements.
      const { query: text } = query.echo
      const hogql = typeof text === 'string' ? text.slice(0, LOGGED_LENGTH_MAX) : null
      note({ hogql, error: errorMessage(error) })
      throw error
    }
  }

  async #report(
    { project_id, labels }: PreparedQuery,
    facts: object,
    statements: readonly WorkerQuery[],
  ): Promise<void> {
    // Values are bound, so the statements contain none.
    const sql = statements.map((statement) => statement.sql.slice(0, LOGGED_LENGTH_MAX))
    this.#log.warn({ project_id, labels, ...facts, sql }, 'a slow query')
    if (!this.#settings.has_plan) return
    for (const [index, statement] of statements.slice(0, PLANS_MAX).entries()) {
      const plan = await this.#planOf(statement).catch((error: unknown) => String(error))
      this.#log.warn({ project_id, labels, sql: sql[index], plan }, 'the plan of a slow query')
    }
  }

  async #planOf(statement: WorkerQuery): Promise<string> {
    const types = ['String', 'String']
    const { rows_json } = await this.#runPlan({ ...statement, types, is_plan: true })
    const rows: readonly (readonly [name: string, plan: string])[] = JSON.parse(
      Buffer.from(rows_json).toString(),
    )
    const text = rows.map(([, plan]) => plan).join('\n')
    return text.slice(0, LOGGED_LENGTH_MAX)
  }
}

/** The HogQL in an answer's head; null when it has none. */
function hogqlOf({ head }: ComputedAnswer): string | null {
  const members: { readonly hogql?: unknown } = JSON.parse(head)
  return typeof members.hogql === 'string' ? members.hogql.slice(0, LOGGED_LENGTH_MAX) : null
}
