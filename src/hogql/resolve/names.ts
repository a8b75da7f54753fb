/** Default names of result columns. */

import type { Expr } from '../ast.ts'
import { printHogQL } from '../print-hogql.ts'

/** The alias, the last part of a field, or the canonical text of the expression. */
export function columnName(node: Expr): string {
  if (node.kind === 'Alias') return node.alias
  if (node.kind === 'Field') return node.chain.at(-1) ?? ''
  return printHogQL(node)
}
