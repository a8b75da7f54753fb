/**
 * WITH TOTALS, rewritten: `SELECT k, sum(x) … GROUP BY k WITH TOTALS` → `… GROUP BY k UNION ALL
 * SELECT '', sum(x) …`, keys as defaults of their types.
 */

import { findFunction } from '../functions/registry.ts'
import type * as ast from '../syntax/ast.ts'
import type { WindowExpr } from '../syntax/ast.ts'
import {
  alias,
  and,
  call,
  compare,
  constant,
  field,
  NO_LIMITS,
  NOWHERE,
  positionOf,
  selectSetOf,
  tuple,
} from '../syntax/nodes.ts'
import { mapExpr, visitNodes } from '../syntax/walk.ts'
import { select } from '../template.ts'

/** The groups, followed by the totals; null without WITH TOTALS. */
export function appendTotals(node: ast.SelectQuery): ast.SelectSetQuery | null {
  if (!node.with_totals) return null
  const aliases = aliasesOf(node)
  const groups: ast.SelectQuery = { ...node, with_totals: false }
  const totals: ast.SelectQuery = {
    ...groups,
    ctes: [],
    where: and([...(node.where === null ? [] : [node.where]), ...inKeptGroups(node)]),
    having: null,
    // Windows and QUALIFY apply to groups; the totals are of all groups.
    qualify: null,
    select: node.select.map((column) => inTotals(ofAllKeys(column), aliases)),
    group_by: [],
    group_by_mode: null,
    limit_by: null,
    ...NO_LIMITS,
  }
  const set = selectSetOf(
    groups,
    [{ kind: 'SelectSetNode', set_operator: 'UNION ALL', select_query: totals, ...placeOf(node) }],
    placeOf(node),
  )
  // The query's LIMIT counts groups only.
  const limit = node.limit === null ? null : call('plus', [node.limit, constant(1n)])
  return { ...set, limit }
}

/** With HAVING the totals are those of the remaining groups. */
function inKeptGroups(node: ast.SelectQuery): readonly ast.Expr[] {
  const keys = node.group_by.flatMap((key) => (key.kind === 'GroupingSet' ? key.exprs : [key]))
  const parts = partsOf(keys.map((key) => keyIn(key, node)))
  const [first] = parts
  if (node.having === null || first === undefined) return []
  const groups: ast.SelectQuery = {
    ...node,
    qualify: null,
    limit_by: null,
    ...NO_LIMITS,
    ctes: [],
    with_totals: false,
    // HAVING may use any alias of the select.
    select: [...node.select, ...parts.map((part, index) => alias(part, partName(index)))],
  }
  const names = parts.map((_, index) => field([partName(index)]))
  const remaining = select`select ${names} from ${groups}`
  return [compare(parts.length === 1 ? first : tuple(parts), 'in', remaining)]
}

// Names that no text can contain.
const partName = (index: number): string => `\u0000p${index}`

/** The identity of a group: a single key itself; of several their texts, and which of them are NULL. */
function partsOf(keys: readonly ast.Expr[]): readonly ast.Expr[] {
  if (keys.length <= 1) return keys
  return keys.flatMap((key) => [
    call('isNull', [key]),
    call('ifNull', [call('toString', [key]), constant('')]),
  ])
}

/** The key's expression, where it is a column number or an alias. */
function keyIn(key: ast.Expr, { select: columns }: ast.SelectQuery): ast.Expr {
  const position = positionOf(key)
  const name = key.kind === 'Field' && key.chain.length === 1 ? key.chain[0] : undefined
  const column =
    position === null
      ? columns.find((shown) => shown.kind === 'Alias' && shown.alias === name)
      : columns[position - 1]
  if (column === undefined) return key
  return column.kind === 'Alias' ? column.expr : column
}

/** `grouping()` in the totals: every key counts as present. */
function ofAllKeys(column: ast.Expr): ast.Expr {
  // A sub-select has its own keys.
  if (has(column, (node) => node.kind === 'SelectQuery')) return column
  return mapExpr(column, (node) =>
    node.kind === 'Call' && node.name.toLowerCase() === 'grouping'
      ? call('toUInt64', [constant(0n)], node)
      : node,
  )
}

function placeOf({ start, end }: ast.SourceSpan): ast.SourceSpan {
  return { start, end }
}

/**
 * A column in the totals: an aggregation is over all rows, a column that only refers to others
 * follows them; anything else depends on keys and becomes a default.
 */
function inTotals(column: ast.Expr, aliases: Names): ast.Expr {
  if (column.kind === 'Alias') {
    // Inside an alias, a column of the same name is the table's.
    const others: Names = { has: (name) => name !== column.alias && aliases.has(name) }
    return alias(inTotals(column.expr, others), column.alias, column)
  }
  if (column.kind === 'WindowFunction') return overTotals(column, aliases)
  if (has(column, (node) => node.kind === 'WindowFunction')) return aroundWindows(column, aliases)
  if (hasAggregate(column) || !dependsOnKeys(column, aliases)) return column
  return call('anyIf', [column, constant(false)], column)
}

type Names = Pick<ReadonlySet<string>, 'has'>

function aliasesOf({ select: columns }: ast.SelectQuery): Names {
  return new Set(columns.flatMap((column) => (column.kind === 'Alias' ? [column.alias] : [])))
}

function dependsOnKeys(column: ast.Expr, aliases: Names): boolean {
  return has(column, (node) => {
    return node.kind === 'Field' && !(node.chain.length === 1 && aliases.has(String(node.chain[0])))
  })
}

/**
 * An expression with windows: each window sees the totals; other parts that depend on keys become
 * defaults.
 */
function aroundWindows(column: ast.Expr, aliases: Names): ast.Expr {
  const aggregated = new Set<ast.Node>()
  visitNodes(column, (node) => {
    if (node.kind !== 'WindowFunction' && !isAggregateCall(node)) return
    visitNodes(node, (inner) => aggregated.add(inner))
  })
  return mapExpr(column, (node) => {
    if (node.kind === 'WindowFunction') return overTotals(node, aliases)
    if (node.kind !== 'Field' || aggregated.has(node) || !dependsOnKeys(node, aliases)) return node
    return call('anyIf', [node, constant(false)], node)
  })
}

/** The window of the totals row contains that row only. */
function overTotals(column: ast.WindowFunction, aliases: Names): ast.Expr {
  const inside = (expr: ast.Expr): ast.Expr => inTotals(expr, aliases)
  return {
    ...column,
    exprs: column.exprs.map(inside),
    args: column.args === null ? null : column.args.map(inside),
    over_expr: ALONE,
    over_identifier: null,
  }
}

const ALONE: WindowExpr = {
  kind: 'WindowExpr',
  partition_by: [],
  order_by: [],
  frame_method: null,
  frame_start: null,
  frame_end: null,
  ...NOWHERE,
}

function hasAggregate(column: ast.Expr): boolean {
  return has(column, isAggregateCall)
}

function isAggregateCall(node: ast.Node): boolean {
  return node.kind === 'Call' && findFunction(node.name)?.role === 'aggregate'
}

function has(column: ast.Expr, test: (node: ast.Node) => boolean): boolean {
  let is_found = false
  visitNodes(column, (node) => {
    is_found ||= test(node)
  })
  return is_found
}
