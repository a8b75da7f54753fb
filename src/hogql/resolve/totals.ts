/** WITH TOTALS: after the groups one more row, over all rows, its keys the defaults of their types. */

import type * as ast from '../ast.ts'
import { findFunction } from '../functions/registry.ts'
import { alias, call, constant, selectSetOf } from '../nodes.ts'
import { visitNodes } from '../walk.ts'
import { refuse } from './refuse.ts'

/** The select's groups followed by its totals. */
export function withTotals(node: ast.SelectQuery): ast.SelectSetQuery {
  if (node.having !== null || node.qualify !== null) {
    throw refuse('WITH TOTALS cannot stand beside HAVING or QUALIFY', node)
  }
  const groups: ast.SelectQuery = { ...node, with_totals: false }
  const totals: ast.SelectQuery = {
    ...groups,
    ctes: [],
    select: node.select.map(inTotals),
    group_by: [],
    group_by_mode: null,
    order_by: [],
    limit_by: null,
    limit: null,
    limit_percent: false,
    limit_with_ties: false,
    offset: null,
  }
  const set = selectSetOf(
    groups,
    [{ kind: 'SelectSetNode', set_operator: 'UNION ALL', select_query: totals, ...placeOf(node) }],
    placeOf(node),
  )
  // The question's own LIMIT counts groups alone.
  const limit = node.limit === null ? null : call('plus', [node.limit, constant(1n)])
  return { ...set, limit }
}

function placeOf({ start, end }: ast.Place): ast.Place {
  return { start, end }
}

/** A column that gathers rows gathers them all; any other depends on the keys and becomes a default. */
function inTotals(column: ast.Expr): ast.Expr {
  if (column.kind === 'Alias') return alias(inTotals(column.expr), column.alias, column)
  if (gathers(column) || !hasField(column)) return column
  return call('anyIf', [column, constant(false)], column)
}

function gathers(column: ast.Expr): boolean {
  return has(column, (node) => {
    return node.kind === 'Call' && findFunction(node.name)?.role === 'aggregate'
  })
}

function hasField(column: ast.Expr): boolean {
  return has(column, (node) => node.kind === 'Field')
}

function has(column: ast.Expr, test: (node: ast.Node) => boolean): boolean {
  let found = false
  visitNodes(column, (node) => {
    found ||= test(node)
  })
  return found
}
