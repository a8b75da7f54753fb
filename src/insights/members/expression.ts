/** Expressions that callers write: breakdowns, aggregations and filters in HogQL. */
import { Refusal } from '../../errors.ts'
import { parseExpr } from '../../hogql/parser/parser.ts'
import type { Expr } from '../../hogql/syntax/ast.ts'
import { visitNodes } from '../../hogql/syntax/walk.ts'

/**
 * Parses an expression. Refuses other texts and placeholders, which have no values here; `attr`
 * names the member.
 */
export function readExpression(text: string, attr: string): Expr {
  const tree = parseExpr(text)
  visitNodes(tree, (node) => {
    if (node.kind !== 'Placeholder') return
    throw new Refusal('invalid_input', 'Placeholders are not supported in this expression.', {
      attr,
    })
  })
  return tree
}
