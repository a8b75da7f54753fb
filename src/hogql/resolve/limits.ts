/** ORDER BY, LIMIT and OFFSET; keys may be column numbers. */

import type { ResolvedExpr, SelectLimits } from '../sql/ir.ts'
import { constantInt } from '../sql/sql-fragments.ts'
import type * as ast from '../syntax/ast.ts'
import { positionOf } from '../syntax/nodes.ts'
import { refuse } from './refusals.ts'
import { innerScope, type NamedExpr, type NameScope, type Resolver } from './scope.ts'
import { resolveOrder } from './windows.ts'

/** A scope and the columns that numbers refer to. */
export type LimitContext = {
  readonly scope: NameScope
  readonly resolver: Resolver
  readonly columns: readonly NamedExpr[]
}

type LimitedSelect = Pick<
  ast.SelectQuery,
  'limit' | 'limit_percent' | 'limit_with_ties' | 'offset' | 'order_by'
>

/** Resolves the clauses that order and limit rows. */
export function resolveLimits(node: LimitedSelect, at: LimitContext): SelectLimits {
  const count = (expr: ast.Expr | null): ResolvedExpr | null => {
    if (expr === null) return null
    const limit = at.resolver.expr(expr, innerScope(null))
    const constant = constantInt(limit)
    if (constant !== null && constant < 0n)
      throw refuse('LIMIT and OFFSET cannot be negative', expr)
    return limit
  }
  return {
    order_by: node.order_by.map((order) => ({
      ...resolveOrder(
        { ...order, expr: { kind: 'Constant', value: null, start: 0, end: 0 } },
        at.scope,
        at.resolver,
      ),
      expr: limitKey(order.expr, at),
    })),
    limit: count(node.limit),
    offset: count(node.offset),
    limit_percent: node.limit_percent,
    with_ties: node.limit_with_ties,
  }
}

/** A key that is a number refers to the column at that position. */
export function limitKey(node: ast.Expr, { scope, resolver, columns }: LimitContext): ResolvedExpr {
  const position = positionOf(node)
  if (position === null) return resolver.expr(node, scope)
  const column = columns[position - 1]
  if (column === undefined) throw refuse(`There is no column ${position} to go by`, node)
  return column.expr
}
