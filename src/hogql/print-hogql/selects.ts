/** Canonical HogQL of selects: one line, clauses in order, only those the text has. */

import type {
  CTE,
  Expr,
  GroupingSet,
  InterpolateExpr,
  JoinExpr,
  LimitByExpr,
  PivotExpr,
  Placeholder,
  RatioExpr,
  SampleExpr,
  Select,
  SelectQuery,
  SelectSetQuery,
  TableExpr,
  UnpivotExpr,
  ValuesQuery,
} from '../syntax/ast.ts'
import { type HogQLPrinter, printClosed, printItems } from './items.ts'
import { printChain, printName } from './names.ts'
import { printOrders, printWindow } from './orders.ts'

/** A select of any kind, without brackets around it. */
export function printSelectPlain(select: Select, printer: HogQLPrinter): string {
  switch (select.kind) {
    case 'SelectQuery':
      return printSelectQuery(select, printer)
    case 'SelectSetQuery':
      return printSelectSet(select, printer)
    case 'Placeholder':
    case 'HogQLXTag':
      return printer.expr(select)
  }
}

/** The clauses in order; a printer returns null when the select lacks its clause. */
const CLAUSES: readonly ((select: SelectQuery, printer: HogQLPrinter) => string | null)[] = [
  ({ ctes }, printer) => (ctes.length === 0 ? null : printCtes(ctes, printer)),
  (select, printer) => {
    const items = printSelectItems(select.select, printer)
    return `SELECT ${select.distinct ? 'DISTINCT ' : ''}${items}`
  },
  ({ select_from }, printer) => select_from && `FROM ${printJoins(select_from, printer)}`,
  ({ array_join_op, array_join_list }, printer) =>
    array_join_op && `${array_join_op} ${printSelectItems(array_join_list, printer)}`,
  ({ prewhere }, printer) => prewhere && `PREWHERE ${printer.expr(prewhere)}`,
  ({ where }, printer) => where && `WHERE ${printer.expr(where)}`,
  printGroupBy,
  ({ with_totals }) => (with_totals ? 'WITH TOTALS' : null),
  ({ having }, printer) => having && `HAVING ${printer.expr(having)}`,
  ({ qualify }, printer) => qualify && `QUALIFY ${printer.expr(qualify)}`,
  ({ window_exprs }, printer) => {
    const windows = window_exprs.map(
      ({ name, expr }) => `${printName(name)} AS (${printWindow(expr, printer)})`,
    )
    return windows.length === 0 ? null : `WINDOW ${windows.join(', ')}`
  },
  ({ order_by }, printer) =>
    order_by.length === 0 ? null : `ORDER BY ${printOrders(order_by, printer)}`,
  ({ interpolate }, printer) => interpolate && printInterpolate(interpolate, printer),
  ({ limit_by }, printer) => limit_by && printLimitBy(limit_by, printer),
  printLimit,
]

function printSelectQuery(select: SelectQuery, printer: HogQLPrinter): string {
  const clauses = CLAUSES.map((clause) => clause(select, printer))
  return clauses.filter((clause) => clause !== null).join(' ')
}

/** The select list: only here does an alias need no brackets. */
function printSelectItems(exprs: readonly Expr[], printer: HogQLPrinter): string {
  const items = exprs.map((expr, index) => {
    if (expr.kind === 'Alias') return printer.expr(expr)
    return expr.kind === 'Lambda' && index > 0 ? `(${printer.expr(expr)})` : printer.expr(expr)
  })
  return items.join(', ')
}

function printCtes(ctes: readonly CTE[], printer: HogQLPrinter): string {
  const recursive = ctes.some((cte) => cte.recursive) ? 'RECURSIVE ' : ''
  return `WITH ${recursive}${ctes.map((cte) => printCte(cte, printer)).join(', ')}`
}

function printCte(cte: CTE, printer: HogQLPrinter): string {
  const { name, columns, using_key, materialized, expr } = cte
  if (cte.cte_type === 'column' && expr.kind !== 'ValuesQuery') {
    return `${printClosed(expr, printer)} AS ${printName(name)}`
  }
  const parts = [`${printName(name)}${columns === null ? '' : printNames(columns)}`]
  if (using_key !== null) parts.push(`USING KEY ${printNames(using_key)}`)
  parts.push('AS')
  if (materialized !== null) parts.push(materialized ? 'MATERIALIZED' : 'NOT MATERIALIZED')
  parts.push(`(${printRows(expr, printer)})`)
  return parts.join(' ')
}

function printNames(names: readonly string[]): string {
  return `(${names.map(printName).join(', ')})`
}

/** A select or values, without brackets around them. */
function printRows(rows: Expr | ValuesQuery, printer: HogQLPrinter): string {
  if (rows.kind === 'ValuesQuery') {
    return `VALUES ${rows.rows.map((row) => `(${printItems(row, printer)})`).join(', ')}`
  }
  const select = rows.kind === 'SelectQuery' || rows.kind === 'SelectSetQuery'
  return select ? printer.select(rows) : printer.expr(rows)
}

function printJoins(first: JoinExpr, printer: HogQLPrinter): string {
  let text = printJoined(first, printer)
  for (let join = first.next_join; join !== null; join = join.next_join) {
    text += ` ${join.natural ? 'NATURAL ' : ''}${join.join_type} ${printJoined(join, printer)}`
    if (join.constraint === null) continue
    const { constraint_type, expr } = join.constraint
    const columns = expr.kind === 'Tuple' ? expr.exprs : [expr]
    text +=
      constraint_type === 'USING'
        ? ` USING (${printItems(columns, printer)})`
        : ` ON ${printClosed(expr, printer)}`
  }
  return text
}

function printJoined(join: JoinExpr, printer: HogQLPrinter): string {
  const { alias, column_aliases, sample } = join
  const parts = [printTable(join.table, printer)]
  if (join.table_args !== null) parts[0] += `(${printItems(join.table_args, printer)})`
  if (alias !== null) {
    parts.push(`AS ${printName(alias)}${column_aliases === null ? '' : printNames(column_aliases)}`)
  }
  if (join.table_final) parts.push('FINAL')
  if (sample !== null) parts.push(printSample(sample, printer))
  return parts.join(' ')
}

function printTable(table: TableExpr, printer: HogQLPrinter): string {
  switch (table.kind) {
    case 'Field':
      return printChain(table.chain)
    case 'PivotExpr':
      return printPivot(table, printer)
    case 'UnpivotExpr':
      return printUnpivot(table, printer)
    case 'SelectQuery':
    case 'SelectSetQuery':
    case 'ValuesQuery':
      return `(${printRows(table, printer)})`
    case 'Placeholder':
    case 'HogQLXTag':
      return printer.expr(table)
  }
}

function printSample({ sample_value, offset_value }: SampleExpr, printer: HogQLPrinter): string {
  const offset = offset_value === null ? '' : ` OFFSET ${printRatio(offset_value, printer)}`
  return `SAMPLE ${printRatio(sample_value, printer)}${offset}`
}

function printRatio(ratio: RatioExpr | Placeholder, printer: HogQLPrinter): string {
  if (ratio.kind === 'Placeholder') return printer.expr(ratio)
  const right = ratio.right === null ? '' : `/${printer.expr(ratio.right)}`
  return `${printer.expr(ratio.left)}${right}`
}

function printPivot(
  { table, aggregates, columns, group_by }: PivotExpr,
  printer: HogQLPrinter,
): string {
  const parts = columns.map(
    ({ column, values }) =>
      `${printColumns(column, printer)} IN (${printSelectItems(values, printer)})`,
  )
  if (group_by.length > 0) parts.push(`GROUP BY ${printItems(group_by, printer)}`)
  const sums = printSelectItems(aggregates, printer)
  return `${printJoined(table, printer)} PIVOT (${sums} FOR ${parts.join(' ')})`
}

function printUnpivot(
  { table, columns, include_nulls }: UnpivotExpr,
  printer: HogQLPrinter,
): string {
  const parts = columns.map(
    ({ value_columns, name_columns, unpivot_values }) =>
      `${printColumns(value_columns, printer)} FOR ${printColumns(name_columns, printer)} IN (${printSelectItems(unpivot_values, printer)})`,
  )
  const nulls = include_nulls ? ' INCLUDE NULLS' : ''
  return `${printJoined(table, printer)} UNPIVOT${nulls} (${parts.join(', ')})`
}

/** Several columns are printed in brackets. */
function printColumns(columns: Expr, printer: HogQLPrinter): string {
  return columns.kind === 'Tuple'
    ? `(${printItems(columns.exprs, printer)})`
    : printClosed(columns, printer)
}

function printGroupBy(
  { group_by, group_by_mode }: SelectQuery,
  printer: HogQLPrinter,
): string | null {
  if (group_by_mode === 'all') return 'GROUP BY ALL'
  if (group_by.length === 0) return null
  if (group_by_mode === 'grouping_sets') {
    const sets = group_by.map((set) => `(${printItems(membersOf(set), printer)})`)
    return `GROUP BY GROUPING SETS (${sets.join(', ')})`
  }
  const items = printItems(group_by.flatMap(membersOf), printer)
  return `GROUP BY ${group_by_mode === null ? items : `${group_by_mode.toUpperCase()}(${items})`}`
}

function membersOf(item: Expr | GroupingSet): readonly Expr[] {
  return item.kind === 'GroupingSet' ? item.exprs : [item]
}

function printInterpolate(exprs: readonly InterpolateExpr[], printer: HogQLPrinter): string {
  if (exprs.length === 0) return 'INTERPOLATE'
  const items = exprs.map(({ expr, value }) => {
    const text = printClosed(expr, printer)
    return value === null ? text : `${text} AS ${printClosed(value, printer)}`
  })
  return `INTERPOLATE (${items.join(', ')})`
}

function printLimitBy({ n, offset_value, exprs }: LimitByExpr, printer: HogQLPrinter): string {
  const offset = offset_value === null ? '' : ` OFFSET ${printClosed(offset_value, printer)}`
  return `LIMIT ${printClosed(n, printer)}${offset} BY ${printItems(exprs, printer)}`
}

type PrintedLimits = Pick<SelectQuery, 'limit' | 'limit_percent' | 'limit_with_ties' | 'offset'>

function printLimit(limited: PrintedLimits, printer: HogQLPrinter): string | null {
  const parts: string[] = []
  if (limited.limit !== null) parts.push(`LIMIT ${printClosed(limited.limit, printer)}`)
  if (limited.limit_percent) parts.push('%')
  if (limited.limit_with_ties) parts.push('WITH TIES')
  if (limited.offset !== null) parts.push(`OFFSET ${printClosed(limited.offset, printer)}`)
  return parts.length === 0 ? null : parts.join(' ')
}

function printSelectSet(set: SelectSetQuery, printer: HogQLPrinter): string {
  const has_tail = set.order_by.length > 0 || set.limit !== null || set.offset !== null
  let text = printSetOperand(set.initial_select_query, printer, has_tail)
  for (const { set_operator, select_query } of set.subsequent_select_queries) {
    text += ` ${set_operator} ${printSetOperand(select_query, printer, has_tail)}`
  }
  if (set.order_by.length > 0) text += ` ORDER BY ${printOrders(set.order_by, printer)}`
  const limit = printLimit(set, printer)
  return limit === null ? text : `${text} ${limit}`
}

/** In brackets, unless it is a plain select that would not absorb a clause of the whole. */
function printSetOperand(
  select: Select | ValuesQuery,
  printer: HogQLPrinter,
  has_tail: boolean,
): string {
  const text = printRows(select, printer)
  if (select.kind === 'Placeholder') return text
  const plain = select.kind === 'SelectQuery' && !has_tail && !isLimited(select)
  return plain ? text : `(${text})`
}

function isLimited(select: SelectQuery): boolean {
  const limited = [select.limit, select.offset, select.limit_by, select.interpolate]
  return select.order_by.length > 0 || limited.some((part) => part !== null)
}
