/** What was clicked how often, as a tree: chains of elements as they are stored, the most frequent first. */
import type { Expr, Select } from '../../hogql/ast.ts'
import { and, constant } from '../../hogql/nodes.ts'
import { expr, select } from '../../insights/tree.ts'

/** Rows of chain, event and how often. One more than the page says there is more. */
export function clickedTree(
  conditions: readonly Expr[],
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Select {
  const clicked = select`select elements_chain, event, count() as count from events
    group by elements_chain, event order by count desc, elements_chain, event`
  return {
    ...clicked,
    where: and([expr`elements_chain != ''`, ...conditions]),
    limit: constant(BigInt(limit + 1)),
    offset: constant(BigInt(offset)),
  }
}
