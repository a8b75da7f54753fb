/** One compilation as plain data, so that any thread can do it. */
import type { Select } from '../../hogql/ast.ts'
import { type CompileBudget, FULL_BUDGET } from '../../hogql/budget.ts'
import { type CompiledQuery, compileSelect } from '../../hogql/compile.ts'
import { compileText } from '../../hogql/compile-cache.ts'
import type {
  CohortReference,
  CompileContext,
  CompileLimits,
  KnownPropertyType,
  PlaceholderValue,
} from '../../hogql/context.ts'
import { parseSelect } from '../../hogql/parser.ts'
import type { ResourceName, ResourceRow } from '../../hogql/tables/resources.ts'
import type { SavedAction } from '../../insights/actions.ts'
import { PROPERTY_COLUMNS } from '../../storage/files/definition-reader.ts'
import { refusalFromData, type SentRefusal } from '../../threads/messages.ts'
import { compileContext } from '../kinds/compile-context.ts'
import { type Filters, fillFilters } from '../kinds/filters.ts'
import { requireVariables } from '../kinds/hogql-inputs.ts'
import type { QueriedProject, QueryContext } from '../kinds/prepared-query.ts'

/** What is compiled: a text with what fills its placeholders, or a tree. */
export type CompileSubject =
  | {
      readonly kind: 'text'
      readonly text: string
      readonly values: ReadonlyMap<string, PlaceholderValue>
      readonly filters: Filters | null
    }
  | { readonly kind: 'tree'; readonly tree: Select }

/** The parts of `Asking` that the compiler reads, as data. */
export type SentAsking = {
  readonly project: Pick<QueriedProject, 'id' | 'timezone' | 'week_start_day'>
  readonly property_types: ReadonlyMap<string, KnownPropertyType>
  readonly has_property_columns: boolean
  readonly cohorts: readonly CohortReference[]
  readonly actions: readonly SavedAction[]
  /** Rows of the tables that the subject may name, or why they are not shown. */
  readonly resources: ReadonlyMap<ResourceName, readonly ResourceRow[] | SentRefusal>
  readonly rows_max: number
}

export type CompileJob = {
  readonly subject: CompileSubject
  readonly asking: SentAsking
  readonly now: Date
  readonly limits: CompileLimits
}

/** Does a job with the full budget. Refuses what the parser and the compiler refuse. */
export function runCompileJob({
  subject,
  asking: context,
  now,
  limits,
}: CompileJob): CompiledQuery {
  const received = receiveAsking(context)
  const options = { now, limits, budget: FULL_BUDGET }
  if (subject.kind === 'tree') return compileTreeWithin(subject.tree, received, options)
  const tree = parseSelect(subject.text)
  requireVariables(tree, subject.values)
  return compileTextWithin({ ...subject, tree }, received, options)
}

export type CompileOptions = {
  readonly now: Date
  readonly limits: CompileLimits
  readonly budget: CompileBudget
}

/** Compiles a tree within a budget. */
export function compileTreeWithin(
  tree: Select,
  context: QueryContext,
  { now, ...more }: CompileOptions,
): CompiledQuery {
  return compileSelect(tree, compileContext(context, now, more))
}

/** A text that has been read. */
export type ReadText = Extract<CompileSubject, { kind: 'text' }> & { readonly tree: Select }

/** What an action is may change while the text stays the same. */
export const NAMES_ACTIONS = /matchesaction/i

/** Compiles a text within a budget. */
export function compileTextWithin(
  { text, tree, values, filters }: ReadText,
  query_context: QueryContext,
  { now, limits, budget }: CompileOptions,
): CompiledQuery {
  const { project, property_types } = query_context
  const { timezone } = project
  const names_actions = NAMES_ACTIONS.test(text)
  const actions = names_actions ? {} : { actions: [] }
  const context = compileContext(query_context, now, { values, limits, budget, ...actions })
  // Whatever the word means there, only texts without it are the same each time.
  if (filters === null && !names_actions && !text.includes('filters')) {
    return compileText(text, context, tree)
  }
  return compileSelect(
    fillFilters(tree, { filters, timezone, now, property_types, budget }),
    context,
  )
}

/** What was sent, as the compiler takes it. */
export function receiveAsking(input: SentAsking): QueryContext {
  return {
    project: input.project,
    property_types: input.property_types,
    ...(input.has_property_columns ? { property_columns: PROPERTY_COLUMNS } : {}),
    cohorts: input.cohorts,
    actions: input.actions,
    resources: receiveResources(input.resources),
    rows_max: input.rows_max,
  }
}

function receiveResources(
  input: SentAsking['resources'],
): NonNullable<CompileContext['resources']> {
  return (name) => {
    const rows = input.get(name)
    if (rows === undefined) throw new Error(`the rows of ${name} were not sent`)
    if ('code' in rows) throw refusalFromData(rows)
    return rows
  }
}
