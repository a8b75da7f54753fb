/** WITH TOTALS: after the groups one more row, over all rows, its keys the defaults of their types. */

import type * as ast from '../ast.ts'
import { findFunction } from '../functions/registry.ts'
import {
  alias,
  and,
  call,
  compare,
  constant,
  field,
  joinOf,
  selectOf,
  selectSetOf,
  tuple,
} from '../nodes.ts'
import { visitNodes } from '../walk.ts'
import { refuse } from './refuse.ts'

/** The select's groups followed by its totals. */
export function withTotals(node: ast.SelectQuery): ast.SelectSetQuery {
  if (node.qualify !== null) throw refuse('WITH TOTALS cannot stand beside QUALIFY', node)
  const groups: ast.SelectQuery = { ...node, with_totals: false }
  const totals: ast.SelectQuery = {
    ...groups,
    ctes: [],
    where: and([...(node.where === null ? [] : [node.where]), ...inKeptGroups(node)]),
    having: null,
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

/** With HAVING the totals are those of the groups it keeps. */
function inKeptGroups(node: ast.SelectQuery): readonly ast.Expr[] {
  const keys = node.group_by.flatMap((key) => (key.kind === 'GroupingSet' ? key.exprs : [key]))
  const parts = partsOf(keys.map((key) => keyIn(key, node)))
  const [first] = parts
  if (node.having === null || first === undefined) return []
  const groups: ast.SelectQuery = {
    ...node,
    ...NOTHING_ELSE,
    ctes: [],
    with_totals: false,
    // HAVING may name any alias of the select.
    select: [...node.select, ...parts.map((part, index) => alias(part, partName(index)))],
  }
  const kept: ast.SelectQuery = {
    ...selectOf(parts.map((_, index) => field([partName(index)]))),
    select_from: joinOf(groups),
  }
  return [compare(parts.length === 1 ? first : tuple(parts), 'in', kept)]
}

// No question can mean this name.
const partName = (index: number): string => `\u0000p${index}`

/** What tells groups apart: one key by itself; of several the texts, and which of them are NULL. */
function partsOf(keys: readonly ast.Expr[]): readonly ast.Expr[] {
  if (keys.length <= 1) return keys
  return keys.flatMap((key) => [
    call('isNull', [key]),
    call('ifNull', [call('toString', [key]), constant('')]),
  ])
}

const NOTHING_ELSE = {
  order_by: [],
  limit_by: null,
  limit: null,
  limit_percent: false,
  limit_with_ties: false,
  offset: null,
} as const

/** A key by itself: the column that a number or an alias means. */
function keyIn(key: ast.Expr, { select }: ast.SelectQuery): ast.Expr {
  const position =
    key.kind === 'PositionalRef'
      ? key.index
      : key.kind === 'Constant' && typeof key.value === 'bigint'
        ? Number(key.value)
        : null
  const name = key.kind === 'Field' && key.chain.length === 1 ? key.chain[0] : undefined
  const column =
    position === null
      ? select.find((shown) => shown.kind === 'Alias' && shown.alias === name)
      : select[position - 1]
  if (column === undefined) return key
  return column.kind === 'Alias' ? column.expr : column
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
