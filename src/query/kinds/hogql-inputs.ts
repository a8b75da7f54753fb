/** What fills a HogQL query's placeholders: its own values, variables and filters, and what a dashboard puts over them. */
import { Refusal } from '../../errors.ts'
import type { Select } from '../../hogql/ast.ts'
import type { PlaceholderValue } from '../../hogql/context.ts'
import { visitNodes } from '../../hogql/walk.ts'
import type { Filters } from './filters.ts'
import { placeholderValue, requireFew } from './placeholder-values.ts'
import type { Overrides, QueriedProject, QueryContext, SavedVariable } from './prepared-query.ts'

/** The `filters` member of a query, its shape checked. */
export type QueryFilters = {
  readonly dateRange?: {
    readonly date_from?: string | null
    readonly date_to?: string | null
  } | null
  readonly properties?: readonly unknown[] | null
  readonly filterTestAccounts?: boolean | null
}

/** One of the `variables` members of a query, its shape checked. */
export type QueryVariable = {
  readonly code_name?: string
  readonly value?: unknown
  readonly isNull?: boolean | null
}

/** The query's filters with the dashboard's over them; null when neither has any. */
export function mergeFilters(
  input: QueryFilters | null | undefined,
  overrides: Overrides['filters'],
  project: QueriedProject,
): Filters | null {
  if (isEmpty(input) && isEmpty(overrides)) return null
  const range = input?.dateRange ?? {}
  const { date_from, date_to, properties } = overrides ?? {}
  // The dashboard's range replaces the query's as a whole: one end of each would be nobody's.
  const is_replaced = isGiven(date_from) || isGiven(date_to)
  return {
    date_from: is_replaced ? textOrNull(date_from, 'date_from') : (range.date_from ?? null),
    date_to: is_replaced ? textOrNull(date_to, 'date_to') : (range.date_to ?? null),
    properties: [input?.properties ?? [], properties ?? []],
    test_account_filters:
      input?.filterTestAccounts === true ? (project.test_account_filters ?? []) : [],
    path_cleaning_filters: project.path_cleaning_filters,
  }
}

const isGiven = (value: unknown): boolean => value !== null && value !== undefined && value !== ''

const isEmpty = (members: object | null | undefined): boolean =>
  members === null || members === undefined || Object.keys(members).length === 0

function textOrNull(value: unknown, name: string): string | null {
  if (!isGiven(value)) return null
  if (typeof value === 'string') return value
  const detail = 'Not a valid string.'
  throw new Refusal('invalid_input', detail, { attr: `filters_override__${name}` })
}

type Variables = Readonly<Record<string, QueryVariable>>

/**
 * The query's variables, by `variables.code_name`; the dashboard replaces values of those it knows. For one without a
 * value stands the default of the project's variable of that id.
 */
export function variableValues(
  input: Variables | null | undefined,
  overrides: Overrides['variables'],
  context: Pick<QueryContext, 'variables'>,
): ReadonlyMap<string, PlaceholderValue> {
  const values = new Map<string, PlaceholderValue>()
  for (const [id, variable] of Object.entries(input ?? {})) {
    const override = overrides?.[id]
    const { value, isNull } = isVariable(override) ? override : variable
    const is_missing = isNull !== true && !isGiven(value)
    const saved =
      is_missing || variable.code_name === undefined ? findSaved(context, id) : undefined
    const name = variable.code_name ?? saved?.code_name ?? id
    const attr = isVariable(override) ? 'variables_override' : 'query__variables'
    const given = isNull === true ? null : is_missing ? (saved?.default_value ?? value) : value
    values.set(`variables.${name}`, placeholderValue(given ?? null, `variables.${name}`, attr))
  }
  requireFew(values, 'query__variables')
  return values
}

function findSaved(
  context: Pick<QueryContext, 'variables'>,
  id: string,
): SavedVariable | undefined {
  return context.variables?.find((saved) => saved.id === id)
}

function isVariable(value: unknown): value is QueryVariable {
  return typeof value === 'object' && value !== null
}

/** Refuses `{variables.x}` where the query has no variable x. */
export function requireVariables(
  tree: Select,
  values: ReadonlyMap<string, PlaceholderValue>,
): void {
  visitNodes(tree, (node) => {
    if (node.kind !== 'Placeholder' || node.expr.kind !== 'Field') return
    const { chain } = node.expr
    if (chain[0] !== 'variables' || values.has(chain.join('.'))) return
    const span = { start: node.start, end: node.end }
    const detail = `Variable ${chain.slice(1).join('.')} is missing from query`
    throw new Refusal('invalid_input', detail, { attr: 'query', span })
  })
}
