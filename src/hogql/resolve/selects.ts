/** Selects and set operations: clause by clause, aliases first, FROM assembled last. */

import { rewriteResolved, rewriteSelect } from '../extensions/rewrites.ts'
import type { GroupBy, LimitBy, Output, ResolvedExpr, ResolvedSelect } from '../sql/ir.ts'
import { conjunction, NULL_VALUE } from '../sql/sql-fragments.ts'
import type * as ast from '../syntax/ast.ts'
import { aliasesIn, type NameOf, resolveColumns } from './columns.ts'
import { declareCtes } from './from/ctes.ts'
import { resolveFrom } from './from/from.ts'
import {
  type OutputExpr,
  refuseAggregates,
  requireGrouped,
  resolveGroupingCalls,
  resolveGroupKeys,
} from './grouping.ts'
import { type LimitContext, limitKey, resolveLimits } from './limits.ts'
import { queryOfTag } from './query-tags.ts'
import { refuse } from './refusals.ts'
import { innerScope, type NamedQuery, type NameScope, type Resolver } from './scope.ts'
import { resolveSet, resolveValues } from './sets.ts'

/** Resolves any node that produces rows. */
export function resolveQuery(
  node: ast.Select | ast.ValuesQuery,
  outer: NameScope,
  { resolver, nameOf }: { readonly resolver: Resolver; readonly nameOf: NameOf },
): NamedQuery {
  switch (node.kind) {
    case 'SelectQuery':
      return resolveSelect(node, innerScope(outer), { resolver, nameOf })
    case 'SelectSetQuery':
      return resolveSet(node, outer, resolver)
    case 'ValuesQuery':
      return resolveValues(node, outer, resolver)
    case 'Placeholder':
      throw refuse('Unresolved placeholder', node)
    case 'HogQLXTag':
      return resolver.query(queryOfTag(node), outer)
  }
}

type SelectTools = { readonly resolver: Resolver; readonly nameOf: NameOf }

function resolveSelect(
  node: ast.SelectQuery,
  scope: NameScope,
  { resolver, nameOf }: SelectTools,
): NamedQuery {
  const plain_node = rewriteSelect(node, scope, resolver)
  if (plain_node !== null) return resolver.query(plain_node, scope)
  declareCtes(node.ctes, scope)
  const from = resolveFrom(node, scope, resolver)
  for (const window of node.window_exprs) scope.windows.set(window.name, window.expr)
  for (const [alias, expr] of aliasesIn(node.select)) {
    if (!scope.aliases.has(alias))
      scope.aliases.set(alias, { node: expr, state: 'waiting', expr: null })
  }
  const columns = resolveColumns(node.select, scope, { resolver, nameOf })
  if (columns.length === 0) throw refuse('A select needs at least one column', node)
  const optional = (expr: ast.Expr | null): ResolvedExpr | null =>
    expr === null ? null : resolver.expr(expr, scope)
  const where = [optional(node.prewhere), optional(node.where), ...from.conditions].filter(
    (part) => part !== null,
  )
  const rest = {
    where: conjunction(where),
    group_by: resolveGroupBy(node, { scope, resolver, columns }),
    having: optional(node.having),
    qualify: optional(node.qualify),
    limit_by: resolveLimitBy(node.limit_by, { scope, resolver, columns }),
    ...resolveLimits(node, { scope, resolver, columns }),
  }
  const outputs = columns.map(({ expr }): Output => {
    resolver.next.column += 1
    return { id: resolver.next.column, expr }
  })
  const plain: ResolvedSelect = {
    kind: 'select',
    time_bounds: [],
    columns: outputs,
    distinct: node.distinct,
    from: from.relation(),
    ...rest,
  }
  const query = resolveGroupKeys(rewriteResolved(plain, resolver.context))
  const output_exprs = columns.map(
    (column, index): OutputExpr => ({ ...column, expr: query.columns[index]?.expr ?? column.expr }),
  )
  const order_exprs = node.order_by.map(
    (order, index): OutputExpr => ({
      expr: query.order_by[index]?.expr ?? NULL_VALUE,
      name: nameOf(order.expr),
      at: order.expr,
    }),
  )
  requireGrouped([...output_exprs, ...order_exprs], query.group_by, query.from)
  refuseAggregates(query.group_by?.sets.flat() ?? [], 'GROUP BY', node.group_by[0] ?? node)
  refuseAggregates(where, 'WHERE', node.where ?? node)
  return { query: resolveGroupingCalls(query), names: columns.map((column) => column.name) }
}

function resolveGroupBy(node: ast.SelectQuery, at: LimitContext): GroupBy | null {
  const mode = node.group_by_mode ?? 'plain'
  if (mode === 'all') return { mode, sets: [] }
  if (node.group_by.length === 0) return null
  if (mode === 'grouping_sets') {
    const sets = node.group_by.map((set) =>
      set.kind === 'GroupingSet' ? set.exprs.map((key) => limitKey(key, at)) : [limitKey(set, at)],
    )
    return { mode, sets }
  }
  const keys = node.group_by.flatMap((key) => (key.kind === 'GroupingSet' ? key.exprs : [key]))
  return { mode, sets: [keys.map((key) => limitKey(key, at))] }
}

function resolveLimitBy(node: ast.LimitByExpr | null, at: LimitContext): LimitBy | null {
  if (node === null) return null
  const { scope, resolver } = at
  return {
    count: resolver.expr(node.n, scope),
    offset: node.offset_value === null ? null : resolver.expr(node.offset_value, scope),
    keys: node.exprs.map((key) => limitKey(key, at)),
  }
}
