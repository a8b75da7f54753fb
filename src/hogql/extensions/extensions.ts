/**
 * EXTENSIONS: rare clauses of a select, each rewritten to a query without that clause before the
 * select is resolved. ANY JOIN and PIVOT, beside, are rewritten table by table (resolve/from.ts).
 */

import type * as ast from '../ast.ts'
import type { NameScope, Resolver } from '../resolve/scope.ts'
import { rewriteTotals } from './totals.ts'
import { rewriteWithFill } from './with-fill.ts'

export type SelectExtension = {
  /** The clause, as in texts. */
  readonly clause: string
  readonly isUsed: (select: ast.SelectQuery) => boolean
  /** The same query without the clause; may declare CTEs in the scope. */
  readonly rewrite: (select: ast.SelectQuery, scope: NameScope, resolver: Resolver) => ast.Select
}

/** The first one that a select uses is applied; its result may use others. Adding a line adds a clause. */
export const EXTENSIONS: readonly SelectExtension[] = [
  { clause: 'WITH TOTALS', isUsed: (select) => select.with_totals, rewrite: rewriteTotals },
  { clause: 'WITH FILL', isUsed: isFilled, rewrite: rewriteWithFill },
]

function isFilled({ interpolate, order_by }: ast.SelectQuery): boolean {
  return interpolate !== null || order_by.some((order) => order.with_fill !== null)
}
