/** EXTENSIONS: rare clauses, each rewritten to a query without that clause. The resolver knows no other place of theirs. */

import type * as ast from '../ast.ts'
import type { CompileContext } from '../context.ts'
import type { ResolvedSelect } from '../ir.ts'
import type { NameScope, Resolver } from '../resolve/scope.ts'
import { rewriteAnyJoins } from './any-joins.ts'
import { rewriteSubtotals } from './grouping-sets.ts'
import { type NamesOf, rewritePivot, rewriteUnpivot } from './pivots.ts'
import { rewriteTotals } from './totals.ts'
import { rewriteWithFill } from './with-fill.ts'

/** A clause, and what removes it; each hook returns null, or what it was given, where the clause is not used. */
export type Extension = {
  /** The clause, as in texts. */
  readonly clause: string
  /** Before a select is resolved; may declare CTEs in the scope. The result may use other extensions. */
  readonly rewriteSelect?: (
    select: ast.SelectQuery,
    scope: NameScope,
    resolver: Resolver,
  ) => ast.Select | null
  /** Before a table of FROM is resolved. */
  readonly rewriteTable?: (table: ast.TableExpr, namesOf: NamesOf) => ast.SelectQuery | null
  /** After the expressions of a select are resolved. */
  readonly rewriteResolved?: (select: ResolvedSelect, context: CompileContext) => ResolvedSelect
}

/** Adding a line adds a clause. Of those on a select, the first one that it uses is rewritten first. */
export const EXTENSIONS: readonly Extension[] = [
  { clause: 'WITH TOTALS', rewriteSelect: rewriteTotals },
  { clause: 'WITH FILL', rewriteSelect: rewriteWithFill },
  { clause: 'ANY JOIN', rewriteSelect: rewriteAnyJoins },
  {
    clause: 'PIVOT',
    rewriteTable: (table, namesOf) =>
      table.kind === 'PivotExpr' ? rewritePivot(table, namesOf) : null,
  },
  {
    clause: 'UNPIVOT',
    rewriteTable: (table, namesOf) =>
      table.kind === 'UnpivotExpr' ? rewriteUnpivot(table, namesOf) : null,
  },
  { clause: 'GROUPING SETS, ROLLUP, CUBE', rewriteResolved: rewriteSubtotals },
]

/** The select without the first extension that it uses; null when it uses none. */
export function withoutExtension(
  select: ast.SelectQuery,
  scope: NameScope,
  resolver: Resolver,
): ast.Select | null {
  for (const { rewriteSelect } of EXTENSIONS) {
    const rewritten = rewriteSelect?.(select, scope, resolver) ?? null
    if (rewritten !== null) return rewritten
  }
  return null
}

/** The select that a table of an extension stands for; null for other tables. */
export function tableOfExtension(table: ast.TableExpr, namesOf: NamesOf): ast.SelectQuery | null {
  for (const { rewriteTable } of EXTENSIONS) {
    const rewritten = rewriteTable?.(table, namesOf) ?? null
    if (rewritten !== null) return rewritten
  }
  return null
}

/** The resolved select, changed by the extensions that it uses. */
export function withExtensions(select: ResolvedSelect, context: CompileContext): ResolvedSelect {
  return EXTENSIONS.reduce(
    (changed, { rewriteResolved }) => rewriteResolved?.(changed, context) ?? changed,
    select,
  )
}
