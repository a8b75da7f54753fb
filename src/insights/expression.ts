/** Expressions that callers write themselves: breakdowns, aggregations and filters in HogQL. */
import { Refusal } from '../errors.ts'
import type { Expr } from '../hogql/ast.ts'
import { parseExpr } from '../hogql/parser.ts'
import { visitNodes } from '../hogql/walk.ts'

/** Reads an expression. Refuses texts that are none and placeholders, which nothing fills here; `attr` names the member. */
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
