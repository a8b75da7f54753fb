/** INTERPOLATE: what rows that were put in show, carried on from the row before or computed from it. */

import type * as ast from '../ast.ts'
import type { WindowExpr } from '../ast-parts.ts'
import { alias, call, compare, constant, field } from '../nodes.ts'
import { mapExpr, visitNodes } from '../walk.ts'
import { BEFORE, cell, type Filled, from, keyName, OWN, prefixOf, RUN } from './fill-parts.ts'
import { refuse } from './refuse.ts'

/** Every row with the number of own rows up to it: what follows an own row carries on from it. */
export function numbered(filled: Filled, rows: ast.SelectSetQuery): ast.SelectQuery {
  const { names, keys } = filled
  const columns = [
    ...names.map((_, index) => cell(index)),
    ...keys.map((_, index) => keyName(index)),
    OWN,
  ]
  const run = windowOf('sum', [field([OWN])], inOrder(filled, []))
  return {
    ...from(rows),
    select: [...columns.map((name) => field([name])), alias(run, RUN)],
  }
}

function inOrder(filled: Filled, more: readonly ast.Expr[]): WindowExpr {
  const { keys, at } = filled
  const order = keys[at]?.order
  return {
    kind: 'WindowExpr',
    partition_by: [...prefixOf(filled), ...more],
    order_by:
      order === undefined ? [] : [{ ...order, with_fill: null, expr: field([keyName(at)]) }],
    frame_method: null,
    frame_start: null,
    frame_end: null,
    start: 0,
    end: 0,
  }
}

function windowOf(
  name: string,
  exprs: readonly ast.Expr[],
  over_expr: WindowExpr,
): ast.WindowFunction {
  return {
    kind: 'WindowFunction',
    name,
    exprs,
    args: null,
    ignore_nulls: false,
    filter_expr: null,
    over_expr,
    over_identifier: null,
    start: 0,
    end: 0,
  }
}

/** A column as it is shown: missing rows carry the last own value on, or have the value that is written. */
export function interpolated(filled: Filled, index: number): ast.Expr {
  const own = field([cell(index)])
  const name = filled.names[index]
  const rules = filled.node.interpolate ?? []
  const rule = rules.find(({ expr }) => expr.kind === 'Field' && expr.chain.at(-1) === name)
  // Without a list all columns but the keys carry on.
  const is_all = filled.node.interpolate?.length === 0 && typeof filled.shown[index] !== 'number'
  if (rule === undefined && !is_all) return own
  const value = rule?.value ?? null
  const is_own = compare(field([OWN]), '==', constant(1n))
  const last = windowOf('first_value', [own], inOrder(filled, [field([RUN])]))
  if (value === null || isNamed(value, name)) return call('if', [is_own, own, last])
  let is_constant = true
  visitNodes(value, (node) => {
    if (node.kind !== 'Field') return
    is_constant = false
    if (!isNamed(node, name)) throw refuse('INTERPOLATE computes a column from itself only', value)
  })
  return call('if', [is_own, own, is_constant ? value : repeated(value, last, filled)])
}

function isNamed(node: ast.Expr, name: string | undefined): boolean {
  return node.kind === 'Field' && node.chain.at(-1) === name
}

/** A formula over the row before, as often as there are missing rows since the last own one. */
function repeated(formula: ast.Expr, last: ast.Expr, filled: Filled): ast.Expr {
  const place = windowOf('row_number', [], inOrder(filled, [field([RUN])]))
  const own_rows = call('least', [field([RUN]), constant(1n)])
  const step: ast.Lambda = {
    kind: 'Lambda',
    args: [BEFORE, 'i'],
    expr: mapExpr(formula, (node) => (node.kind === 'Field' ? field([BEFORE]) : node)),
    start: formula.start,
    end: formula.end,
  }
  const times = call('range', [call('toInt64', [call('minus', [place, own_rows])])])
  return call('arrayFold', [step, times, last])
}
