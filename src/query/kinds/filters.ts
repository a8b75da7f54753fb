/** `{filters}` and `{variables.x}` in a query's tree: put in as conditions and values before it is compiled. */
import { Refusal } from '../../errors.ts'
import type { Expr, JoinExpr, Placeholder, Select, SelectQuery } from '../../hogql/ast.ts'
import { BudgetExceeded, type CompileBudget } from '../../hogql/budget.ts'
import type { KnownPropertyType } from '../../hogql/context.ts'
import { and, compare, constant, field } from '../../hogql/nodes.ts'
import { mapExpr, mapSelect, visitNodes } from '../../hogql/walk.ts'
import { readDate } from '../../insights/dates.ts'
import { filterCondition, instant } from '../../insights/filters/property-filters.ts'

/** What a query's rows are narrowed to. */
export type Filters = {
  readonly date_from: string | null
  readonly date_to: string | null
  /** Property filters, a list each. */
  readonly properties: readonly unknown[]
  readonly test_account_filters: unknown
  /** The project's, for operators that compare cleaned paths. */
  readonly path_cleaning_filters: unknown
}

export type FiltersContext = {
  readonly filters: Filters | null
  readonly timezone: string
  readonly now: Date
  readonly property_types: ReadonlyMap<string, KnownPropertyType>
  readonly budget: CompileBudget
}

/** The column that says when, by table. Other tables cannot be filtered. */
const TIMES: Readonly<Record<string, string>> = {
  events: 'timestamp',
  groups: 'created_at',
  persons: 'created_at',
  sessions: '$start_timestamp',
}

/** The tree with every `{filters}`, `{filters.dateRange.from}` and `.to` replaced; without filters they hold for all. */
export function fillFilters(tree: Select, context: FiltersContext): Select {
  if (context.filters === null) return mapExpr(tree, (expr) => withoutBounds(expr))
  const account = { left: context.budget.work_max }
  // The innermost selects come first, so what is left in a select is its own.
  return mapSelect(tree, (select) => placeInSelect(select, context, account))
}

type Account = { left: number }

function placeInSelect(
  select: SelectQuery,
  context: FiltersContext,
  account: Account,
): SelectQuery {
  return mapExpr(select, (expr) => {
    const name = placeholderName(expr)
    if (name === 'filters' && expr.kind === 'Placeholder') {
      const placed = condition(select, expr, context)
      charge(placed, account)
      return placed
    }
    const bound = name === null ? null : boundOf(name, context)
    if (bound !== null) return instant(bound)
    return withoutBounds(expr)
  })
}

/** The same filters may be put in at thousands of places. */
function charge(placed: Expr, account: Account): void {
  visitNodes(placed, () => {
    account.left -= 1
  })
  if (account.left < 0) throw new BudgetExceeded({})
}

/** A comparison with a bound that nobody gave holds for all; anywhere else there is nothing to put in its place. */
function withoutBounds(expr: Expr): Expr {
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
  const filtered = filteredTable(select.select_from)
  if (filtered === null) throw nothingToFilter(placeholder)
  const { prefix, time } = filtered
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
  return and(exprs.filter((expr) => expr !== null)) ?? constant(true, placeholder)
}

type FilteredEvents = { readonly prefix: readonly string[]; readonly time: string }

/** The first table of FROM that has a time; its names need their table's where there are others. */
function filteredTable(from: JoinExpr | null): FilteredEvents | null {
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
