/** The tree of a list of clicked elements: stored elements chains with counts, the most frequent first. */
import type { Expr, Select } from '../../hogql/syntax/ast.ts'
import { and, integer } from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'

/** Rows: elements chain, event, count. One row beyond the limit shows that there are more. */
export function clickedTree(
  conditions: readonly Expr[],
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Select {
  const elements = select`select elements_chain, event, count() as count from events
    group by elements_chain, event order by count desc, elements_chain, event`
  return {
    ...elements,
    where: and([expr`elements_chain != ''`, ...conditions]),
    limit: integer(limit + 1),
    offset: integer(offset),
  }
}
