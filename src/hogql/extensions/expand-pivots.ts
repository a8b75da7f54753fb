/**
 * PIVOT and UNPIVOT, rewritten as selects: `PIVOT (sum(x) FOR k IN (1, 2))` → `SELECT sumIf(x, k =
 * 1), sumIf(x, k = 2) … GROUP BY` the other columns.
 */

import { printHogQL } from '../print-hogql/print-hogql.ts'
import { refuse } from '../resolve/refusals.ts'
import type * as ast from '../syntax/ast.ts'
import type { JoinExpr, PivotColumn, PivotExpr, UnpivotExpr } from '../syntax/ast.ts'
import {
  alias,
  and,
  call,
  compare,
  constant,
  field,
  joinOf,
  selectOf,
  tuple,
} from '../syntax/nodes.ts'
import { visitNodes } from '../syntax/walk.ts'

/** The names of a table's columns. */
export type NamesOf = (table: ast.SelectQuery) => readonly string[]

/** Maximum columns a PIVOT may make. */
const PIVOTED_MAX = 1000

/** One column per value and aggregate. Without GROUP BY the columns not used are the keys. */
export function expandPivot(node: PivotExpr, namesOf: NamesOf): ast.SelectQuery {
  const cells = node.columns.reduce<readonly PivotCell[]>(
    (made, column) => made.flatMap((cell) => addCondition(cell, column)),
    [{ name: '', conditions: [] }],
  )
  if (cells.length * node.aggregates.length > PIVOTED_MAX) {
    throw refuse(`PIVOT makes at most ${PIVOTED_MAX} columns`, node)
  }
  const made = cells.flatMap((cell) =>
    node.aggregates.map((aggregate) => pivotAggregate(aggregate, cell, node.aggregates.length)),
  )
  const used = fieldsIn([...node.aggregates, ...node.columns.map(({ column }) => column)])
  const keys =
    node.group_by.length > 0 ? node.group_by : unusedColumns(node.table, used, namesOf).map(fieldOf)
  return { ...selectOf([...keys, ...made], node), select_from: node.table, group_by: keys }
}

/** One combination of values: the column's name and the conditions on its rows. */
type PivotCell = { readonly name: string; readonly conditions: readonly ast.Expr[] }

function addCondition(cell: PivotCell, { column, values }: PivotColumn): readonly PivotCell[] {
  return values.map((item) => {
    const value = item.kind === 'Alias' ? item.expr : item
    const name = item.kind === 'Alias' ? item.alias : textOf(value)
    return {
      name: cell.name === '' ? name : `${cell.name}_${name}`,
      conditions: [...cell.conditions, compare(column, '==', value)],
    }
  })
}

function textOf(value: ast.Expr): string {
  if (value.kind === 'Tuple') return value.exprs.map(textOf).join('_')
  if (value.kind !== 'Constant') return printHogQL(value)
  return value.value === null ? 'NULL' : String(value.value)
}

function pivotAggregate(item: ast.Expr, cell: PivotCell, count: number): ast.Expr {
  const aggregate = item.kind === 'Alias' ? item.expr : item
  if (aggregate.kind !== 'Call') throw refuse('PIVOT needs calls of aggregate functions', item)
  const filters = aggregate.filter_expr === null ? [] : [aggregate.filter_expr]
  const filter_expr = and([...filters, ...cell.conditions])
  const suffix = item.kind === 'Alias' ? item.alias : printHogQL(aggregate)
  const name = count === 1 && item.kind !== 'Alias' ? cell.name : `${cell.name}_${suffix}`
  return alias({ ...aggregate, filter_expr }, name, item)
}

/** One row per unpivoted column, with its name and its value. */
export function expandUnpivot(node: UnpivotExpr, namesOf: NamesOf): ast.SelectQuery {
  const last_column = node.columns.at(-1)
  if (last_column === undefined) throw refuse('UNPIVOT needs a FOR', node)
  // Each FOR unnests the rows of the FORs before it.
  const earlier = node.columns.slice(0, -1)
  const table =
    earlier.length === 0
      ? node.table
      : joinOf(expandUnpivot({ ...node, columns: earlier }, namesOf), node)
  const values = columnsIn(last_column.value_columns)
  const [name, ...more] = columnsIn(last_column.name_columns)
  if (name === undefined || more.length > 0) throw refuse('UNPIVOT takes one name column', node)
  const rows = last_column.unpivot_values.map((item) => {
    const source = item.kind === 'Alias' ? item.expr : item
    const columns = source.kind === 'Tuple' ? source.exprs : [source]
    if (columns.length !== values.length) {
      throw refuse(`UNPIVOT needs ${values.length} columns for each row`, item)
    }
    const called = item.kind === 'Alias' ? item.alias : columns.map(lastName).join('_')
    return tuple([constant(called), ...columns], item)
  })
  const used = fieldsIn(last_column.unpivot_values)
  const part = (index: number): ast.Expr => ({
    kind: 'TupleAccess',
    tuple: field([UNPIVOTED]),
    index,
    nullish: false,
    start: node.start,
    end: node.end,
  })
  const present = values.map((_, index) => call('isNotNull', [part(index + 2)]))
  return {
    ...selectOf(
      [
        ...unusedColumns(table, used, namesOf).map(fieldOf),
        alias(part(1), name, last_column),
        ...values.map((value, index) => alias(part(index + 2), value, last_column)),
      ],
      node,
    ),
    select_from: table,
    array_join_op: 'ARRAY JOIN',
    array_join_list: [
      alias(
        { kind: 'Array', exprs: rows, start: node.start, end: node.end },
        UNPIVOTED,
        last_column,
      ),
    ],
    where: node.include_nulls ? null : anyOf(present),
  }
}

/** A name that no text can contain. */
const UNPIVOTED = '\u0000unpivoted'

function anyOf(exprs: readonly ast.Expr[]): ast.Expr | null {
  const [only] = exprs
  if (only === undefined || exprs.length === 1) return only ?? null
  return { kind: 'Or', exprs, start: only.start, end: only.end }
}

function columnsIn(node: ast.Expr): readonly string[] {
  return (node.kind === 'Tuple' ? node.exprs : [node]).map(lastName)
}

function lastName(node: ast.Expr): string {
  return node.kind === 'Field' ? (node.chain.at(-1) ?? '') : printHogQL(node)
}

function fieldsIn(nodes: readonly ast.Expr[]): ReadonlySet<string> {
  const names = new Set<string>()
  for (const node of nodes) {
    visitNodes(node, (inner) => {
      if (inner.kind === 'Field') for (const part of inner.chain) names.add(part)
    })
  }
  return names
}

function unusedColumns(
  table: JoinExpr,
  used: ReadonlySet<string>,
  namesOf: NamesOf,
): readonly string[] {
  const names = namesOf({ ...selectOf([field(['*'], table)], table), select_from: table })
  return names.filter((name) => !used.has(name))
}

function fieldOf(name: string): ast.Field {
  return field([name])
}
