/** The names a select list gives to expressions, also deep inside them; sub-selects and lambdas keep theirs. */

import type * as ast from '../ast.ts'
import { childrenOf } from '../walk.ts'

const OPAQUE: ReadonlySet<ast.Node['kind']> = new Set<ast.Node['kind']>([
  'Lambda',
  'SelectQuery',
  'SelectSetQuery',
])

/** Every alias with the expression it names, outermost first. */
export function aliasesIn(list: readonly ast.Expr[]): readonly (readonly [string, ast.Expr])[] {
  const found: (readonly [string, ast.Expr])[] = []
  const waiting: ast.Node[] = list.toReversed()
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (node.kind === 'Alias') found.push([node.alias, node.expr])
    if (!OPAQUE.has(node.kind)) waiting.push(...childrenOf(node).toReversed())
  }
  return found
}
