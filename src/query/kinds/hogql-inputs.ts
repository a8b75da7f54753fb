/** The inputs of a HogQL query's placeholders: values, variables and filters, merged with a dashboard's overrides. */
import { Refusal, refuseMember, type Span } from '../../errors.ts'
import type { PlaceholderValue } from '../../hogql/context.ts'
import type { Select } from '../../hogql/syntax/ast.ts'
import { visitNodes } from '../../hogql/syntax/walk.ts'
import type { Filters } from './filters.ts'
import { placeholderValue, requireFew } from './placeholder-values.ts'
import type { Overrides, QueriedProject, QueryContext, SavedVariable } from './prepared-query.ts'

/** The `filters` member of a query, after validation. */
export type QueryFilters = {
  readonly dateRange?: {
    readonly date_from?: string | null
    readonly date_to?: string | null
  } | null
  readonly properties?: readonly unknown[] | null
  readonly filterTestAccounts?: boolean | null
}

/** One of the `variables` of a query, after validation. */
export type QueryVariable = {
  readonly code_name?: string
  readonly value?: unknown
  readonly isNull?: boolean | null
}

/** Merges the query's filters with the dashboard's; null when both are empty. */
export function mergeFilters(
  input: QueryFilters | null | undefined,
  overrides: Overrides['filters'],
  project: QueriedProject,
): Filters | null {
  if (isEmpty(input) && isEmpty(overrides)) return null
  const range = input?.dateRange ?? {}
  const { date_from, date_to, properties } = overrides ?? {}
  // The dashboard's range replaces the query's as a whole; one end of each would be a range that neither chose.
  const is_replaced = isPresent(date_from) || isPresent(date_to)
  return {
    date_from: is_replaced ? textOrNull(date_from, 'date_from') : (range.date_from ?? null),
    date_to: is_replaced ? textOrNull(date_to, 'date_to') : (range.date_to ?? null),
    properties: [input?.properties ?? [], properties ?? []],
    test_account_filters:
      input?.filterTestAccounts === true ? (project.test_account_filters ?? []) : [],
    path_cleaning_filters: project.path_cleaning_filters,
  }
}

const isPresent = (value: unknown): boolean => value !== null && value !== undefined && value !== ''

const isEmpty = (members: object | null | undefined): boolean =>
  members === null || members === undefined || Object.keys(members).length === 0

function textOrNull(value: unknown, name: string): string | null {
  if (!isPresent(value)) return null
  if (typeof value === 'string') return value
  const detail = 'Not a valid string.'
  throw refuseMember(detail, `filters_override__${name}`)
}

type Variables = Readonly<Record<string, QueryVariable>>

/**
 * Maps `variables.code_name` to values: the dashboard's value, else the query's, else the default of the project's
 * variable with that id.
 */
export function variableValues(
  input: Variables | null | undefined,
  overrides: Overrides['variables'],
  context: Pick<QueryContext, 'findVariable'>,
): ReadonlyMap<string, PlaceholderValue> {
  const values = new Map<string, PlaceholderValue>()
  for (const [id, variable] of Object.entries(input ?? {})) {
    const override = overrides?.[id]
    const { value, isNull } = isVariable(override) ? override : variable
    const is_missing = isNull !== true && !isPresent(value)
    const saved =
      is_missing || variable.code_name === undefined ? findSaved(context, id) : undefined
    const name = variable.code_name ?? saved?.code_name ?? id
    const attr = isVariable(override) ? 'variables_override' : 'query__variables'
    const effective = isNull === true ? null : is_missing ? (saved?.default_value ?? value) : value
    values.set(`variables.${name}`, placeholderValue(effective ?? null, `variables.${name}`, attr))
  }
  requireFew(values, 'query__variables')
  return values
}

function findSaved(context: Pick<QueryContext, 'findVariable'>, id: string): SavedVariable | null {
  return context.findVariable?.(id) ?? null
}

function isVariable(value: unknown): value is QueryVariable {
  return typeof value === 'object' && value !== null
}

type NamedPlaceholder = { readonly name: string; readonly span: Span }

/** The variables that trees name. A text's tree is in the cache of texts, and is prepared for every request. */
const variables_by_tree = new WeakMap<Select, readonly NamedPlaceholder[]>()

/** Refuses `{variables.x}` where the query has no variable x. */
export function requireVariables(
  tree: Select,
  values: ReadonlyMap<string, PlaceholderValue>,
): void {
  const named = variables_by_tree.get(tree) ?? variablesIn(tree)
  variables_by_tree.set(tree, named)
  const missing = named.find(({ name }) => !values.has(name))
  if (missing === undefined) return
  const detail = `Variable ${missing.name.slice('variables.'.length)} is missing from query`
  throw new Refusal('invalid_input', detail, { attr: 'query', span: missing.span })
}

function variablesIn(tree: Select): readonly NamedPlaceholder[] {
  const named: NamedPlaceholder[] = []
  visitNodes(tree, (node) => {
    if (node.kind !== 'Placeholder' || node.expr.kind !== 'Field') return
    const { chain } = node.expr
    if (chain[0] !== 'variables') return
    named.push({ name: chain.join('.'), span: { start: node.start, end: node.end } })
  })
  return named
}
