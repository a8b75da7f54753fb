/** Selects and set operations: clause by clause, aliases first, FROM assembled last. */

import type * as ast from '../ast.ts'
import type * as parts from '../ast-parts.ts'
import type { Expr } from '../ir.ts'
import type { GroupBy, LimitBy, Output, Select } from '../ir-queries.ts'
import { NULL_VALUE } from '../spell.ts'
import { TRUTH } from '../types.ts'
import { aliasesIn } from './aliases.ts'
import { type NameOf, resolveColumns } from './columns.ts'
import { declareCtes } from './ctes.ts'
import { fillSelect } from './fills.ts'
import { resolveFrom } from './from.ts'
import { requireGrouped, requireUngathered, type Shown } from './grouping.ts'
import { throughKeys } from './key-items.ts'
import { withKeySets } from './key-sets.ts'
import { keyOf, type Place, resolveLimits } from './limits.ts'
import { queryOfTag } from './query-tags.ts'
import { refuse } from './refuse.ts'
import { innerScope, type NamedQuery, type Resolver, type Scope } from './scope.ts'
import { resolveSet, resolveValues } from './sets.ts'
import { havingOf, withSubtotals } from './subtotals.ts'
import { withTotals } from './totals.ts'

/** Resolves whatever can stand where rows are expected. */
export function resolveQuery(
  node: ast.Select | parts.ValuesQuery,
  outer: Scope,
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

type Tools = { readonly resolver: Resolver; readonly nameOf: NameOf }

function resolveSelect(
  node: ast.SelectQuery,
  scope: Scope,
  { resolver, nameOf }: Tools,
): NamedQuery {
  if (node.with_totals) return resolver.query(withTotals(node), scope)
  if (isFilled(node)) return resolver.query(fillSelect(node, scope, resolver), scope)
  declareCtes(node.ctes, scope)
  const from = resolveFrom(node, scope, resolver)
  for (const window of node.window_exprs) scope.windows.set(window.name, window.expr)
  for (const [alias, expr] of aliasesIn(node.select)) {
    if (!scope.aliases.has(alias))
      scope.aliases.set(alias, { node: expr, state: 'waiting', expr: null })
  }
  const columns = resolveColumns(node.select, scope, { resolver, nameOf })
  if (columns.length === 0) throw refuse('A select needs at least one column', node)
  const optional = (expr: ast.Expr | null): Expr | null =>
    expr === null ? null : resolver.expr(expr, scope)
  const where = [optional(node.prewhere), optional(node.where), ...from.conditions].filter(
    (part) => part !== null,
  )
  const rest = {
    where: conjunction(where),
    group_by: resolveGroupBy(node, { scope, resolver, columns }),
    having: optional(havingOf(node)),
    qualify: optional(node.qualify),
    limit_by: resolveLimitBy(node.limit_by, scope, resolver),
    ...resolveLimits(node, { scope, resolver, columns }),
  }
  const outputs = columns.map(({ expr }): Output => {
    resolver.next.column += 1
    return { id: resolver.next.column, expr }
  })
  const plain: Select = {
    kind: 'select',
    known: [],
    columns: outputs,
    distinct: node.distinct,
    from: from.relation(),
    ...rest,
  }
  const query = throughKeys(withSubtotals(plain, resolver.context))
  const shown = columns.map(
    (column, index): Shown => ({ ...column, expr: query.columns[index]?.expr ?? column.expr }),
  )
  const ordered = node.order_by.map(
    (order, index): Shown => ({
      expr: query.order_by[index]?.expr ?? NULL_VALUE,
      name: nameOf(order.expr),
      at: order.expr,
    }),
  )
  requireGrouped([...shown, ...ordered], query.group_by, query.from)
  requireUngathered(query.group_by?.sets.flat() ?? [], 'GROUP BY', node.group_by[0] ?? node)
  requireUngathered(where, 'WHERE', node.where ?? node)
  return { query: withKeySets(query), names: columns.map((column) => column.name) }
}

function isFilled(node: ast.SelectQuery): boolean {
  return node.interpolate !== null || node.order_by.some((order) => order.with_fill !== null)
}

function conjunction(parts: readonly Expr[]): Expr | null {
  const [only] = parts
  if (only === undefined) return null
  if (parts.length === 1) return only
  return { kind: 'apply', name: 'and', params: [], args: parts, aggregate: null, type: TRUTH }
}

function resolveGroupBy(node: ast.SelectQuery, at: Place): GroupBy | null {
  const mode = node.group_by_mode ?? 'plain'
  if (mode === 'all') return { mode, sets: [] }
  if (node.group_by.length === 0) return null
  if (mode === 'grouping_sets') {
    const sets = node.group_by.map((set) =>
      set.kind === 'GroupingSet' ? set.exprs.map((key) => keyOf(key, at)) : [keyOf(set, at)],
    )
    return { mode, sets }
  }
  const keys = node.group_by.flatMap((key) => (key.kind === 'GroupingSet' ? key.exprs : [key]))
  return { mode, sets: [keys.map((key) => keyOf(key, at))] }
}

function resolveLimitBy(
  node: parts.LimitByExpr | null,
  scope: Scope,
  resolver: Resolver,
): LimitBy | null {
  if (node === null) return null
  return {
    count: resolver.expr(node.n, scope),
    offset: node.offset_value === null ? null : resolver.expr(node.offset_value, scope),
    keys: node.exprs.map((key) => resolver.expr(key, scope)),
  }
}
