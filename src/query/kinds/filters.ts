/** Replaces `{filters}` and its bounds in a query's tree by conditions, before the tree is compiled. */
import { Refusal } from '../../errors.ts'
import { BudgetExceeded, type CompileBudget } from '../../hogql/budget.ts'
import type { KnownPropertyType } from '../../hogql/context.ts'
import type { Expr, JoinExpr, Placeholder, Select, SelectQuery } from '../../hogql/syntax/ast.ts'
import { and, compare, constant, field } from '../../hogql/syntax/nodes.ts'
import { mapExpr, mapSelect, visitNodes } from '../../hogql/syntax/walk.ts'
import { readDate } from '../../insights/dates/dates.ts'
import { instant } from '../../insights/filters/filter-operators.ts'
import { filterCondition } from '../../insights/filters/property-filters.ts'

/** The filters of a query and its dashboard, merged. */
export type Filters = {
  readonly date_from: string | null
  readonly date_to: string | null
  /** Lists of property filters. */
  readonly properties: readonly unknown[]
  readonly test_account_filters: unknown
  /** The project's rules, for operators that compare cleaned paths. */
  readonly path_cleaning_filters: unknown
}

type FiltersContext = {
  readonly filters: Filters | null
  readonly timezone: string
  readonly now: Date
  readonly property_types: ReadonlyMap<string, KnownPropertyType>
  readonly budget: CompileBudget
}

/** The time column of each table. Other tables cannot be filtered. */
const TIMES: Readonly<Record<string, string>> = {
  events: 'timestamp',
  groups: 'created_at',
  persons: 'created_at',
  sessions: '$start_timestamp',
}

/** Replaces every `{filters}`, `{filters.dateRange.from}` and `.to`; without filters by conditions that are always true. */
export function fillFilters(tree: Select, context: FiltersContext): Select {
  if (context.filters === null) return mapExpr(tree, (expr) => dropMissingBound(expr))
  const filter_budget = { left: context.budget.work_max }
  // mapSelect visits the innermost selects first, so a placeholder that is left belongs to this select.
  return mapSelect(tree, (select) => fillSelect(select, context, filter_budget))
}

type FilterBudget = { left: number }

function fillSelect(
  select: SelectQuery,
  context: FiltersContext,
  filter_budget: FilterBudget,
): SelectQuery {
  return mapExpr(select, (expr) => {
    const name = placeholderName(expr)
    if (name === 'filters' && expr.kind === 'Placeholder') {
      const filter_condition = condition(select, expr, context)
      charge(filter_condition, filter_budget)
      return filter_condition
    }
    const bound = name === null ? null : boundOf(name, context)
    if (bound !== null) return instant(bound)
    return dropMissingBound(expr)
  })
}

/** Charges the nodes of inserted filters: a query may contain thousands of `{filters}`. */
function charge(inserted: Expr, filter_budget: FilterBudget): void {
  visitNodes(inserted, () => {
    filter_budget.left -= 1
  })
  if (filter_budget.left < 0) throw new BudgetExceeded({})
}

/** Makes a comparison with a missing bound true; elsewhere the placeholder stays, and the compiler refuses it. */
function dropMissingBound(expr: Expr): Expr {
  if (expr.kind !== 'CompareOperation') return expr
  const missing = [expr.left, expr.right].some((side) => BOUNDS.has(placeholderName(side) ?? ''))
  return missing ? constant(true, expr) : expr
}

const BOUNDS: ReadonlySet<string> = new Set(['filters.dateRange.from', 'filters.dateRange.to'])

function boundOf(name: string, { filters, timezone, now }: FiltersContext): bigint | null {
  if (filters === null || !BOUNDS.has(name)) return null
  const member = name.endsWith('from') ? 'date_from' : 'date_to'
  const text = filters[member]
  const attr = `query__filters__dateRange__${member}`
  return text === null || text === 'all' ? null : readDate(text, { timezone, now }, attr)
}

function condition(select: SelectQuery, placeholder: Placeholder, context: FiltersContext): Expr {
  const { filters, timezone, now, property_types } = context
  if (filters === null) return constant(true, placeholder)
  const table = findFilteredTable(select.select_from)
  if (table === null) throw nothingToFilter(placeholder)
  const { prefix, time } = table
  const at = field([...prefix, time])
  const [from_us, to_us] = [
    boundOf('filters.dateRange.from', context),
    boundOf('filters.dateRange.to', context),
  ]
  const { path_cleaning_filters } = filters
  const attr = 'query__filters__properties'
  const properties = { prefix, timezone, now, property_types, path_cleaning_filters, attr }
  const exprs = [
    ...filters.properties.map((list) => filterCondition(list, properties)),
    to_us === null ? null : compare(at, '<', instant(to_us)),
    from_us === null ? null : compare(at, '>=', instant(from_us)),
    filterCondition(filters.test_account_filters, properties),
  ]
  return and(exprs) ?? constant(true, placeholder)
}

type FilteredEvents = { readonly prefix: readonly string[]; readonly time: string }

/** Finds the first table of FROM with a time column; `prefix` qualifies its columns when other tables are joined. */
function findFilteredTable(from: JoinExpr | null): FilteredEvents | null {
  for (let join = from; join !== null; join = join.next_join) {
    const name = join.table.kind === 'Field' ? (join.table.chain.at(-1) ?? '') : ''
    const time = Object.hasOwn(TIMES, name) ? TIMES[name] : undefined
    if (time === undefined) continue
    const is_alone = from === join && join.next_join === null
    const prefix = join.alias === null ? (is_alone ? [] : [name]) : [join.alias]
    return { prefix, time }
  }
  return null
}

function placeholderName(expr: Expr): string | null {
  if (expr.kind !== 'Placeholder' || expr.expr.kind !== 'Field') return null
  return expr.expr.chain.join('.')
}

function nothingToFilter({ start, end }: Placeholder): Refusal {
  const tables = Object.keys(TIMES).join(', ')
  const detail = `{filters} can only stand in a SELECT from one of these tables: ${tables}.`
  return new Refusal('invalid_input', detail, { attr: 'query', span: { start, end } })
}
