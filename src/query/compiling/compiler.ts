/** Compiles queries: small ones inline, larger ones on the compile thread with a deadline, so that no other request waits. */
import { Refusal } from '../../errors.ts'
import { BudgetExceeded, FULL_BUDGET, INLINE_BUDGET } from '../../hogql/budget.ts'
import type { CompiledQuery } from '../../hogql/compile.ts'
import type { CompileLimits } from '../../hogql/context.ts'
import type { Select } from '../../hogql/syntax/ast.ts'
import { wordsOfText, wordsOfTree } from '../../hogql/syntax/named-words.ts'
import { DeadlineWorker } from '../../threads/deadline-worker.ts'
import { requireVariables } from '../kinds/hogql-inputs.ts'
import { parseText } from '../kinds/parse-cache.ts'
import type { QueryContext } from '../kinds/prepared-query.ts'
import {
  type CompileOptions,
  type CompileSubject,
  compileTextWithin,
  compileTreeWithin,
  sendContext,
} from './compile-job.ts'
import { loadResources } from './load-resources.ts'
import type { ThreadJob, ThreadJobs } from './thread-jobs.ts'

/** Longer texts are also parsed on the compile thread; shorter ones are parsed inline and cached. */
const INLINE_LENGTH_MAX = 4_000

/** The full budget takes half a second; the rest is for a busy machine. */
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

/** The terms of a compilation besides its subject and context. */
type CompileTerms = { readonly now: Date; readonly limits: CompileLimits }

/** Parses and compiles a text. Refuses what the parser and the compiler refuse, and `throttled` when the queue is full. */
export function compileTextQuery(
  subject: Extract<CompileSubject, { kind: 'text' }>,
  context: QueryContext,
  terms: CompileTerms,
): Promise<CompiledQuery> {
  const is_short = isShort(subject.text) && isSmall(subject.filters)
  return compileInlineOrOnThread(subject, context, terms, (options) => {
    if (!is_short) throw new BudgetExceeded({})
    const { tree } = parseText(subject.text)
    requireVariables(tree, subject.values)
    return compileTextWithin({ ...subject, tree }, context, options)
  })
}

/** Compiles a tree. The LIMIT of a tree without one is `rows_max`. */
export function compileTree(
  tree: Select,
  context: QueryContext,
  now: Date,
): Promise<CompiledQuery> {
  const { rows_max } = context
  const terms = { now, limits: { rows_default: rows_max, rows_max } }
  return compileInlineOrOnThread({ kind: 'tree', tree }, context, terms, (options) =>
    compileTreeWithin(tree, context, options),
  )
}

/** True for a text that is parsed inline. */
export const isShort = (text: string): boolean => text.length <= INLINE_LENGTH_MAX

const isSmall = (filters: object | null): boolean =>
  filters === null || isShort(JSON.stringify(filters))

async function compileInlineOrOnThread(
  subject: CompileSubject,
  context: QueryContext,
  terms: CompileTerms,
  compileInline: (options: CompileOptions) => CompiledQuery,
): Promise<CompiledQuery> {
  const words = wordsOf(subject)
  const resources = await loadResources(words, context)
  try {
    return compileInline({ ...terms, resources, budget: INLINE_BUDGET })
  } catch (error) {
    if (!(error instanceof BudgetExceeded)) throw error
  }
  const input = { ...terms, subject, resources, context: sendContext(words, context) }
  return runOnCompileThread({ kind: 'compile', input }, context.project.id)
}

/** The words that may name something outside of the subject. Throws BudgetExceeded for a tree beyond the full budget. */
function wordsOf(subject: CompileSubject): ReadonlySet<string> {
  if (subject.kind === 'tree') return budgetedWords(subject.tree)
  const { text, filters } = subject
  const words = isShort(text) ? wordsOfTree(parseText(text).tree) : wordsOfText(text)
  return filters === null ? words : words.union(wordsOfText(JSON.stringify(filters)))
}

function budgetedWords(tree: Select): ReadonlySet<string> {
  let nodes = 0
  return wordsOfTree(tree, () => {
    nodes += 1
    if (nodes > FULL_BUDGET.nodes_max) throw new BudgetExceeded({})
  })
}

/** Runs a job on the compile thread, which takes jobs of different projects in turn. */
export function runOnCompileThread<Kind extends ThreadJob['kind']>(
  job: Extract<ThreadJob, { kind: Kind }>,
  project_id: number,
): Promise<ThreadJobs[Kind]['output']> {
  return worker.run(job, { owner: project_id, deadline_ms: DEADLINE_MS })
}
