/**
 * REWRITES: rare clauses, each rewritten to a query without that clause, before PASSES. The resolver knows no other place of theirs;
 * the suffixes -State and -Merge (`states.ts`) have their hook in COMBINATORS.
 *
 * They run while names are resolved, the outermost select first: most need names or types, and WITH TOTALS doubles a select,
 * which the budget must pay before the selects inside it are doubled in turn.
 */

import type { CompileContext } from '../context.ts'
import type { NameScope, Resolver } from '../resolve/scope.ts'
import type { ResolvedSelect } from '../sql/ir.ts'
import type * as ast from '../syntax/ast.ts'
import { appendTotals } from './append-totals.ts'
import { expandPivot, expandUnpivot, type NamesOf } from './expand-pivots.ts'
import { fillGaps } from './fill-gaps.ts'
import { loosenGroupKeys } from './loosen-group-keys.ts'
import { removeAnyJoins } from './remove-any-joins.ts'
import { wrapTies } from './wrap-ties.ts'

/**
 * A rare clause, with the functions that rewrite a query so that it does without the clause. Where the clause is not
 * used, each function returns null or its argument.
 */
type ClauseRewrite = {
  /** The clause, as in texts. */
  readonly clause: string
  /** Before a select is resolved; may declare CTEs in the scope. The result may use other extensions. */
  readonly rewriteSelect?: (
    select: ast.SelectQuery,
    scope: NameScope,
    resolver: Resolver,
  ) => ast.Select | null
  /** Before a set of selects is resolved. */
  readonly rewriteSet?: (set: ast.SelectSetQuery) => ast.SelectQuery | null
  /** Before a table of FROM is resolved. */
  readonly rewriteTable?: (table: ast.TableExpr, namesOf: NamesOf) => ast.SelectQuery | null
  /** After the expressions of a select are resolved. */
  readonly rewriteResolved?: (select: ResolvedSelect, context: CompileContext) => ResolvedSelect
}

/** Adding a line adds a clause, with a case file of the function's file name. Of those on a select, the first one that it uses is rewritten first. */
const REWRITES: readonly ClauseRewrite[] = [
  { clause: 'WITH TOTALS', rewriteSelect: appendTotals },
  { clause: 'WITH FILL', rewriteSelect: fillGaps },
  { clause: 'ANY JOIN', rewriteSelect: removeAnyJoins },
  { clause: 'WITH TIES of a set', rewriteSet: wrapTies },
  {
    clause: 'PIVOT',
    rewriteTable: (table, namesOf) =>
      table.kind === 'PivotExpr' ? expandPivot(table, namesOf) : null,
  },
  {
    clause: 'UNPIVOT',
    rewriteTable: (table, namesOf) =>
      table.kind === 'UnpivotExpr' ? expandUnpivot(table, namesOf) : null,
  },
  { clause: 'GROUPING SETS, ROLLUP, CUBE', rewriteResolved: loosenGroupKeys },
]

/** Rewrites the first rare clause that a select uses; null when it uses none. */
export function rewriteSelect(
  select: ast.SelectQuery,
  scope: NameScope,
  resolver: Resolver,
): ast.Select | null {
  for (const rewrite of REWRITES) {
    const rewritten = rewrite.rewriteSelect?.(select, scope, resolver) ?? null
    if (rewritten !== null) return rewritten
  }
  return null
}

/** Rewrites the first rare clause that a set uses; null when it uses none. */
export function rewriteSet(set: ast.SelectSetQuery): ast.SelectQuery | null {
  for (const rewrite of REWRITES) {
    const rewritten = rewrite.rewriteSet?.(set) ?? null
    if (rewritten !== null) return rewritten
  }
  return null
}

/** Rewrites a table that is a rare clause as a select; null for other tables. */
export function rewriteTable(table: ast.TableExpr, namesOf: NamesOf): ast.SelectQuery | null {
  for (const rewrite of REWRITES) {
    const rewritten = rewrite.rewriteTable?.(table, namesOf) ?? null
    if (rewritten !== null) return rewritten
  }
  return null
}

/** The resolved select, changed by the rare clauses that it uses. */
export function rewriteResolved(select: ResolvedSelect, context: CompileContext): ResolvedSelect {
  return REWRITES.reduce(
    (changed, rewrite) => rewrite.rewriteResolved?.(changed, context) ?? changed,
    select,
  )
}
