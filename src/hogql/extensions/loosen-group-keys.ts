/**
 * ROLLUP, CUBE and GROUPING SETS: keys become nullable, since a key is NULL in groups made without
 * it; so do expressions over keys. ROLLUP and CUBE make no group of no rows: `GROUP BY ROLLUP(k)`
 * → `GROUP BY ROLLUP(k) HAVING count() > 0`.
 */

import type { CompileContext } from '../context.ts'
import { findFunction } from '../functions/registry.ts'
import { mapChildren } from '../passes/walk.ts'
import { groupKeyIdentity } from '../resolve/grouping.ts'
import type { Apply, ResolvedExpr, ResolvedSelect } from '../sql/ir.ts'
import { applyFragment, bindInt, conjunction } from '../sql/sql-fragments.ts'
import { TRUTH, UINT64, withNull } from '../types/types.ts'

const MODES: ReadonlySet<string | null> = new Set(['cube', 'grouping_sets', 'rollup'])

const COUNT: Apply = {
  ...applyFragment('count', [], UINT64),
  aggregate: { distinct: false, filter: null, order_by: [] },
}

/** Over no rows ROLLUP and CUBE return no group, not even the grand total. */
const HAS_ROWS = applyFragment('greater', [COUNT, bindInt(0)], TRUTH)

/** The select with nullable keys in its columns, orders, HAVING and QUALIFY. */
export function loosenGroupKeys(select: ResolvedSelect, context: CompileContext): ResolvedSelect {
  const { group_by } = select
  if (group_by === null || !MODES.has(group_by.mode)) return select
  const keys = new Set(group_by.sets.flat().map(groupKeyIdentity))
  const read = (expr: ResolvedExpr): ResolvedExpr => loosenKeysIn(expr, keys, context)
  const optional = (expr: ResolvedExpr | null): ResolvedExpr | null =>
    expr === null ? null : read(expr)
  const having = optional(select.having)
  return {
    ...select,
    columns: select.columns.map((column) => ({ ...column, expr: read(column.expr) })),
    group_by: { ...group_by, sets: group_by.sets.map((set) => set.map(read)) },
    having:
      group_by.mode === 'grouping_sets'
        ? having
        : conjunction([...(having ? [having] : []), HAS_ROWS]),
    qualify: optional(select.qualify),
    order_by: select.order_by.map((order) => ({ ...order, expr: read(order.expr) })),
    limit_by:
      select.limit_by === null
        ? null
        : { ...select.limit_by, keys: select.limit_by.keys.map(read) },
  }
}

/** Top-down: aggregations see each key's value as it is. */
function loosenKeysIn(
  expr: ResolvedExpr,
  keys: ReadonlySet<string>,
  context: CompileContext,
): ResolvedExpr {
  if (expr.kind === 'value' || (expr.kind === 'apply' && expr.aggregate !== null)) return expr
  if (keys.has(groupKeyIdentity(expr))) return { ...expr, type: withNull(expr.type) }
  const inner = mapChildren(
    expr,
    (child) => loosenKeysIn(child, keys, context),
    (query) => query,
  )
  return inner.kind === 'apply' && inner !== expr ? inferType(inner, context) : inner
}

function inferType(apply: Apply, context: CompileContext): Apply {
  const def = findFunction(apply.name)
  if (def === null) return apply
  return { ...apply, type: def.returns({ ...apply, context }) }
}
