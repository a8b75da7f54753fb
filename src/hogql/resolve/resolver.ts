/** The resolver of one statement: binds every name and types every expression. */

import { FULL_BUDGET } from '../budget.ts'
import type { CompileContext } from '../context.ts'
import { guardProject, type RelationName, type Statement } from '../sql/ir.ts'
import type * as ast from '../syntax/ast.ts'
import type { NameOf } from './columns.ts'
import { resolveExpr } from './expressions.ts'
import { innerScope, type Resolver } from './scope.ts'
import { resolveQuery } from './selects.ts'
import { openAccount, requireSmallQuery, requireSmallType } from './size-limits.ts'

export type ResolvedStatement = {
  readonly statement: Statement
  /** Names of the result's columns. */
  readonly names: readonly string[]
  /** The engine's relations that the statement reads. */
  readonly reads: readonly RelationName[]
}

/** Resolves a whole select for the context's project. Refuses unknown names with their source spans. */
export function resolveStatement(
  node: ast.Select,
  context: CompileContext,
  nameOf: NameOf,
): ResolvedStatement {
  const spend = openAccount(context.budget ?? FULL_BUDGET)
  const resolver: Resolver = {
    context,
    guard: guardProject(context.project_id),
    root: innerScope(null),
    ctes: [],
    reads: new Set(),
    next: { relation: 0, column: 0, local: 0, cte: 0, expansion: 0 },
    sizes: new WeakMap(),
    spend,
    expr: (expr, scope) => {
      spend(1, expr)
      const resolved = resolveExpr(expr, scope, resolver)
      requireSmallType(resolved.type, expr)
      return resolved
    },
    query: (query, scope) => resolveQuery(query, scope, { resolver, nameOf }),
  }
  const { query, names } = resolver.query(node, innerScope(null))
  for (const { query: rows } of resolver.ctes) requireSmallQuery(rows, resolver, node)
  requireSmallQuery(query, resolver, node)
  return { statement: { ctes: resolver.ctes, query }, names, reads: [...resolver.reads].toSorted() }
}
