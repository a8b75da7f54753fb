/** Compiles queries: small ones at once, larger ones on a Worker with a deadline, so that no other request waits. */
import { Refusal } from '../../errors.ts'
import type { Select } from '../../hogql/ast.ts'
import { BudgetExceeded, INLINE_BUDGET } from '../../hogql/budget.ts'
import type { CompiledQuery } from '../../hogql/compile.ts'
import type { CompileLimits } from '../../hogql/context.ts'
import { DeadlineWorker } from '../../threads/deadline-worker.ts'
import { requireVariables } from '../kinds/hogql-inputs.ts'
import { parseText } from '../kinds/parse-cache.ts'
import type { QueryContext } from '../kinds/prepared-query.ts'
import {
  type CompileOptions,
  type CompileSubject,
  compileTextWithin,
  compileTreeWithin,
} from './compile-job.ts'
import { sendAsking } from './send-asking.ts'
import type { ThreadJob, ThreadJobs } from './thread-jobs.ts'

/** Longer texts are read by the Worker as well; shorter ones are remembered once they were read. */
const INLINE_LENGTH_MAX = 4_000

/** The full budget takes half a second: this is for a busy machine. */
const DEADLINE_MS = 10_000
const WAITING_MAX = 100
const IDLE_MS = 60_000

const worker = new DeadlineWorker<ThreadJob, ThreadJobs[ThreadJob['kind']]['output']>({
  url: new URL('./compile-thread.ts', import.meta.url).href,
  waiting_max: WAITING_MAX,
  idle_ms: IDLE_MS,
  refuseLate: (deadline_ms) =>
    new Refusal('query_timeout', `The query takes more than ${deadline_ms / 1000} s to compile.`),
})

/** What a compilation needs besides its subject and the project. */
export type HowCompiled = { readonly now: Date; readonly limits: CompileLimits }

/** Compiles a text, reading it first. Refuses what the parser and the compiler refuse, and `throttled` when many wait. */
export function compileQuestion(
  subject: Extract<CompileSubject, { kind: 'text' }>,
  context: QueryContext,
  how: HowCompiled,
): Promise<CompiledQuery> {
  const is_short = isShort(subject.text) && isFew(subject.filters)
  return inlineOrApart(subject, context, how, (options) => {
    if (!is_short) throw new BudgetExceeded({})
    const { tree } = parseText(subject.text)
    requireVariables(tree, subject.values)
    return compileTextWithin({ ...subject, tree }, context, options)
  })
}

/** Compiles a tree. Without a LIMIT of its own it answers as many rows as any answer may have. */
export function compileTree(
  tree: Select,
  context: QueryContext,
  now: Date,
): Promise<CompiledQuery> {
  const { rows_max } = context
  const how = { now, limits: { rows_default: rows_max, rows_max } }
  return inlineOrApart({ kind: 'tree', tree }, context, how, (options) =>
    compileTreeWithin(tree, context, options),
  )
}

/** Whether a text is read on this thread. */
export const isShort = (text: string): boolean => text.length <= INLINE_LENGTH_MAX

const isFew = (filters: object | null): boolean =>
  filters === null || isShort(JSON.stringify(filters))

async function inlineOrApart(
  subject: CompileSubject,
  context: QueryContext,
  how: HowCompiled,
  compileInline: (options: CompileOptions) => CompiledQuery,
): Promise<CompiledQuery> {
  try {
    return compileInline({ ...how, budget: INLINE_BUDGET })
  } catch (error) {
    if (!(error instanceof BudgetExceeded)) throw error
  }
  const input = sendAsking(subject, context)
  return runApart(
    { kind: 'compile', input: { ...how, subject, asking: input } },
    context.project.id,
  )
}

/** Does a job on the Worker; the jobs of projects take turns. */
export function runApart<Kind extends ThreadJob['kind']>(
  job: Extract<ThreadJob, { kind: Kind }>,
  project_id: number,
): Promise<ThreadJobs[Kind]['output']> {
  return worker.run(job, { owner: project_id, deadline_ms: DEADLINE_MS })
}
