/** Expressions that callers write: breakdowns, aggregations and filters in HogQL. */
import { refuseMember } from '../../errors.ts'
import { parseExpr } from '../../hogql/parser/parser.ts'
import type { Expr } from '../../hogql/syntax/ast.ts'
import { visitNodes } from '../../hogql/syntax/walk.ts'

/** An expression is parsed, copied and printed for each series or step that it is about, on the main thread. */
const EXPRESSION_LENGTH_MAX = 4000

/**
 * Parses an expression. Refuses other texts, long ones, and placeholders, which have no values here; `attr`
 * names the member.
 */
export function readExpression(text: string, attr: string): Expr {
  if (text.length > EXPRESSION_LENGTH_MAX) {
    const detail = `An expression has at most ${EXPRESSION_LENGTH_MAX} characters.`
    throw refuseMember(detail, attr)
  }
  const tree = parseExpr(text)
  visitNodes(tree, (node) => {
    if (node.kind !== 'Placeholder') return
    throw refuseMember('Placeholders are not supported in this expression.', attr)
  })
  return tree
}
