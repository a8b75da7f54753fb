/** Default names of result columns. */

import { printHogQL } from '../print-hogql/print-hogql.ts'
import type { Expr } from '../syntax/ast.ts'

/** The alias, the last part of a field, or the canonical text of the expression. */
export function columnName(node: Expr): string {
  if (node.kind === 'Alias') return node.alias
  if (node.kind === 'Field') return node.chain.at(-1) ?? ''
  return printHogQL(node)
}
