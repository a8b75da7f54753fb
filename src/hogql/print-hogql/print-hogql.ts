/**
 * Canonical HogQL: a normal form of the text of a syntax tree, as the official printer has it
 * (`plus(1, 2)`, `equals(a, b)`).
 */

import type { Expr, OrderExpr, Select } from '../syntax/ast.ts'
import { printExpression } from './expressions.ts'
import type { HogQLPrinter } from './items.ts'
import { printOrder } from './orders.ts'
import { printSelectPlain } from './selects.ts'

const PRINTER: HogQLPrinter = {
  expr: (expr) => printExpression(expr, PRINTER),
  select: (select) => printSelectPlain(select, PRINTER),
}

/**
 * Prints an expression or a select (without brackets around it) on one line. The text parses to the
 * same tree, with operators replaced by the functions they abbreviate, and brackets around bare
 * selects of a set.
 */
export function printHogQL(node: Expr | Select | OrderExpr): string {
  if (node.kind === 'OrderExpr') return printOrder(node, PRINTER)
  const select = node.kind === 'SelectQuery' || node.kind === 'SelectSetQuery'
  return select ? PRINTER.select(node) : PRINTER.expr(node)
}
