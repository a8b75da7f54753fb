/**
 * ROLLUP, CUBE and GROUPING SETS: keys become nullable, since a key is NULL in groups made without
 * it; so do expressions over keys.
 */

import type * as ast from '../ast.ts'
import type { CompileContext } from '../context.ts'
import { findFunction } from '../functions/registry.ts'
import type { Apply, ResolvedExpr, ResolvedSelect } from '../ir.ts'
import { and, call, compare, constant } from '../nodes.ts'
import { mapChildren } from '../passes/walk.ts'
import { groupKeyIdentity } from '../resolve/grouping.ts'
import { withNull } from '../types.ts'

const MODES: ReadonlySet<string | null> = new Set(['cube', 'grouping_sets', 'rollup'])

/** Over no rows ROLLUP and CUBE return no group, not even the grand total. */
export function havingOf({ group_by_mode, having }: ast.SelectQuery): ast.Expr | null {
  if (group_by_mode !== 'rollup' && group_by_mode !== 'cube') return having
  return and([...(having === null ? [] : [having]), compare(call('count', []), '>', constant(0n))])
}

/** The select with nullable keys in its columns, orders, HAVING and QUALIFY. */
export function rewriteSubtotals(select: ResolvedSelect, context: CompileContext): ResolvedSelect {
  const { group_by } = select
  if (group_by === null || !MODES.has(group_by.mode)) return select
  const keys = new Set(group_by.sets.flat().map(groupKeyIdentity))
  const read = (expr: ResolvedExpr): ResolvedExpr => loosened(expr, keys, context)
  const optional = (expr: ResolvedExpr | null): ResolvedExpr | null =>
    expr === null ? null : read(expr)
  return {
    ...select,
    columns: select.columns.map((column) => ({ ...column, expr: read(column.expr) })),
    group_by: { ...group_by, sets: group_by.sets.map((set) => set.map(read)) },
    having: optional(select.having),
    qualify: optional(select.qualify),
    order_by: select.order_by.map((order) => ({ ...order, expr: read(order.expr) })),
    limit_by:
      select.limit_by === null
        ? null
        : { ...select.limit_by, keys: select.limit_by.keys.map(read) },
  }
}

/** Top-down: aggregations see each key's value as it is. */
function loosened(
  expr: ResolvedExpr,
  keys: ReadonlySet<string>,
  context: CompileContext,
): ResolvedExpr {
  if (expr.kind === 'value' || (expr.kind === 'apply' && expr.aggregate !== null)) return expr
  if (keys.has(groupKeyIdentity(expr))) return { ...expr, type: withNull(expr.type) }
  const inner = mapChildren(
    expr,
    (child) => loosened(child, keys, context),
    (query) => query,
  )
  return inner.kind === 'apply' && inner !== expr ? retyped(inner, context) : inner
}

function retyped(apply: Apply, context: CompileContext): Apply {
  const def = findFunction(apply.name)
  if (def === null) return apply
  return { ...apply, type: def.returns({ ...apply, context }) }
}
