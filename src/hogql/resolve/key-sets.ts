/** `grouping(a, b)` of a select that groups: found where groups are shown, ordered and kept, its arguments being keys. */

import { OF_KEYS } from '../functions/key-sets.ts'
import type { Expr } from '../ir.ts'
import type { Select } from '../ir-queries.ts'
import { mapChildren } from '../passes/walk.ts'
import { identity } from './grouping.ts'

/** The select with its calls of grouping made the engine's; others are left for a refusal. */
export function withKeySets(select: Select): Select {
  const { group_by } = select
  if (group_by === null || group_by.mode === 'all') return select
  const keys = new Set(group_by.sets.flat().map(identity))
  const read = (expr: Expr): Expr => readSets(expr, keys)
  const optional = (expr: Expr | null): Expr | null => (expr === null ? null : read(expr))
  return {
    ...select,
    columns: select.columns.map((column) => ({ ...column, expr: read(column.expr) })),
    having: optional(select.having),
    qualify: optional(select.qualify),
    order_by: select.order_by.map((order) => ({ ...order, expr: read(order.expr) })),
  }
}

/** Aggregations gather rows, which were not yet grouped: they are not looked into. */
function readSets(expr: Expr, keys: ReadonlySet<string>): Expr {
  if (expr.kind === 'apply' && expr.aggregate !== null) return expr
  if (expr.kind === 'apply' && expr.name.toLowerCase() === 'grouping') {
    return expr.args.every((arg) => keys.has(identity(arg))) ? { ...expr, name: OF_KEYS } : expr
  }
  return mapChildren(
    expr,
    (child) => readSets(child, keys),
    (query) => query,
  )
}
