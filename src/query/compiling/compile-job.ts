/** One compilation as plain data, so that any thread can do it. */
import type { Select } from '../../hogql/ast.ts'
import { type CompileBudget, FULL_BUDGET } from '../../hogql/budget.ts'
import { type CompiledQuery, compileSelect } from '../../hogql/compile.ts'
import { compileText } from '../../hogql/compiled-texts.ts'
import type {
  CompileContext,
  CompileLimits,
  KnownCohort,
  PlaceholderValue,
  PropertyType,
} from '../../hogql/context.ts'
import { parseSelect } from '../../hogql/parser.ts'
import type { ResourceName, ResourceRow } from '../../hogql/tables/resources.ts'
import type { SavedAction } from '../../insights/actions.ts'
import { PROPERTY_COLUMNS } from '../../storage/definition-reader.ts'
import { refusalFromData, type SentRefusal } from '../../threads/messages.ts'
import { compileContext } from '../compile-context.ts'
import { type Filters, placeFilters } from '../filters.ts'
import { requireVariables } from '../hogql-inputs.ts'
import type { AskedProject, Asking } from '../prepared.ts'

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
  readonly project: Pick<AskedProject, 'id' | 'timezone' | 'week_start_day'>
  readonly property_types: ReadonlyMap<string, PropertyType>
  readonly has_property_columns: boolean
  readonly cohorts: readonly KnownCohort[]
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
export function runCompileJob({ subject, asking, now, limits }: CompileJob): CompiledQuery {
  const received = receiveAsking(asking)
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
  asking: Asking,
  { now, ...more }: CompileOptions,
): CompiledQuery {
  return compileSelect(tree, compileContext(asking, now, more))
}

/** A text that has been read. */
export type ReadText = Extract<CompileSubject, { kind: 'text' }> & { readonly tree: Select }

/** What an action is may change while the text stays the same. */
export const NAMES_ACTIONS = /matchesaction/i

/** Compiles a text within a budget. */
export function compileTextWithin(
  { text, tree, values, filters }: ReadText,
  asking: Asking,
  { now, limits, budget }: CompileOptions,
): CompiledQuery {
  const { project, property_types } = asking
  const { timezone } = project
  const names_actions = NAMES_ACTIONS.test(text)
  const actions = names_actions ? {} : { actions: [] }
  const context = compileContext(asking, now, { values, limits, budget, ...actions })
  // Whatever the word means there, only texts without it are the same each time.
  if (filters === null && !names_actions && !text.includes('filters')) {
    return compileText(text, context, tree)
  }
  return compileSelect(
    placeFilters(tree, { filters, timezone, now, property_types, budget }),
    context,
  )
}

/** What was sent, as the compiler takes it. */
export function receiveAsking(sent: SentAsking): Asking {
  return {
    project: sent.project,
    property_types: sent.property_types,
    ...(sent.has_property_columns ? { property_columns: PROPERTY_COLUMNS } : {}),
    cohorts: sent.cohorts,
    actions: sent.actions,
    resources: receiveResources(sent.resources),
    rows_max: sent.rows_max,
  }
}

function receiveResources(sent: SentAsking['resources']): NonNullable<CompileContext['resources']> {
  return (name) => {
    const rows = sent.get(name)
    if (rows === undefined) throw new Error(`the rows of ${name} were not sent`)
    if ('code' in rows) throw refusalFromData(rows)
    return rows
  }
}
