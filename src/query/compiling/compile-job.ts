/** One compilation as plain data, so that it can run on any thread. */

import { type CompileBudget, FULL_BUDGET } from '../../hogql/budget.ts'
import type { TableState } from '../../hogql/clickhouse/table-state.ts'
import { type CompiledQuery, compileSelect } from '../../hogql/compile.ts'
import { compileBuiltTree, compileText } from '../../hogql/compile-cache.ts'
import type {
  CohortReference,
  CompileLimits,
  KnownPropertyType,
  PlaceholderValue,
} from '../../hogql/context.ts'
import { parseSelect } from '../../hogql/parser/parser.ts'
import type { Select } from '../../hogql/syntax/ast.ts'
import {
  ACTION_WORD,
  FILTERS_WORD,
  namesCohorts,
  wordsOfTree,
} from '../../hogql/syntax/named-words.ts'
import type { SavedAction } from '../../insights/members/actions.ts'
import { compileContext } from '../kinds/compile-context.ts'
import { type Filters, fillFilters } from '../kinds/filters.ts'
import { requireVariables } from '../kinds/hogql-inputs.ts'
import type { QueriedProject, QueryContext } from '../kinds/prepared-query.ts'
import { type LoadedResources, resourceReader } from './load-resources.ts'

/** The input of a compilation: a text with the values of its placeholders, or a tree. */
export type CompileSubject =
  | {
      readonly kind: 'text'
      readonly text: string
      readonly values: ReadonlyMap<string, PlaceholderValue>
      readonly filters: Filters | null
    }
  | { readonly kind: 'tree'; readonly tree: Select }

/** The part of QueryContext that the compiler reads, as plain data. */
export type SentContext = {
  readonly project: Pick<QueriedProject, 'hidden_tables' | 'id' | 'timezone' | 'week_start_day'>
  readonly property_types: ReadonlyMap<string, KnownPropertyType>
  readonly clickhouse: TableState | null
  readonly group_types: ReadonlyMap<string, number>
  readonly cohorts: readonly CohortReference[]
  readonly actions: readonly SavedAction[]
  readonly rows_max: number
}

export type CompileJob = {
  readonly subject: CompileSubject
  readonly context: SentContext
  readonly resources: LoadedResources
  readonly now: Date
  readonly limits: CompileLimits
}

/** Runs a job with the full budget. Refuses as the parser and the compiler do. */
export function runCompileJob({ subject, context, ...terms }: CompileJob): CompiledQuery {
  const { now, limits, resources } = terms
  const received = receiveContext(context)
  const options = { now, limits, resources, budget: FULL_BUDGET }
  if (subject.kind === 'tree') return compileTreeWithin(subject.tree, received, options)
  const tree = parseSelect(subject.text)
  requireVariables(tree, subject.values)
  return compileTextWithin({ ...subject, tree }, received, options)
}

export type CompileOptions = {
  /** The rows of the tables that the subject may name. */
  readonly resources: LoadedResources
  readonly now: Date
  readonly limits: CompileLimits
  readonly budget: CompileBudget
}

/** Compiles a tree within a budget. */
export function compileTreeWithin(
  tree: Select,
  context: QueryContext,
  { now, resources, ...more }: CompileOptions,
): CompiledQuery {
  const inputs = { ...more, resources: resourceReader(resources) }
  const compiling = compileContext(context, now, inputs)
  // The definition of an action can change while the tree stays the same.
  if (wordsOfTree(tree).has(ACTION_WORD)) return compileSelect(tree, compiling)
  return compileBuiltTree(tree, compiling)
}

/** A text with its parsed tree. */
type ParsedSubject = Extract<CompileSubject, { kind: 'text' }> & { readonly tree: Select }

/** Compiles a text within a budget. */
export function compileTextWithin(
  { text, tree, values, filters }: ParsedSubject,
  query_context: QueryContext,
  { now, limits, budget, resources: loaded }: CompileOptions,
): CompiledQuery {
  const { timezone } = query_context.project
  const words = wordsOfTree(tree)
  // The definition of an action can change while the text stays the same.
  const names_actions = words.has(ACTION_WORD)
  const resources = resourceReader(loaded)
  const inputs = { values, limits, budget, resources }
  const context = compileContext(query_context, now, inputs)
  // The compile cache is for texts whose result does not depend on filters.
  if (filters === null && !names_actions && !words.has(FILTERS_WORD)) {
    return compileText(text, context, tree)
  }
  const { property_types } = context
  return compileSelect(
    fillFilters(tree, { filters, timezone, now, property_types, budget }),
    context,
  )
}

/** Copies the definitions that a query of these words may read, to send them to the compile thread. */
export function sendContext(words: ReadonlySet<string>, context: QueryContext): SentContext {
  const { id, timezone, week_start_day, hidden_tables } = context.project
  return {
    project: { id, timezone, week_start_day, hidden_tables },
    property_types: context.property_types,
    clickhouse: context.clickhouse ?? null,
    group_types: context.group_types ?? new Map(),
    cohorts: namesCohorts(words) ? (context.cohorts?.() ?? []) : [],
    actions: words.has(ACTION_WORD) ? (context.actions?.() ?? []) : [],
    rows_max: context.rows_max,
  }
}

/** Rebuilds the context on the compile thread: the reverse of `sendContext`. */
export function receiveContext(input: SentContext): QueryContext {
  return {
    project: input.project,
    property_types: input.property_types,
    clickhouse: input.clickhouse,
    group_types: input.group_types,
    cohorts: () => input.cohorts,
    actions: () => input.actions,
    rows_max: input.rows_max,
  }
}
