/** Kinds of joins, from the words of the query. */

import type { JoinKind, ResolvedExpr } from '../../sql/ir.ts'
import type * as ast from '../../syntax/ast.ts'
import { refuse } from '../refusals.ts'

/** Refuses a join that lacks its condition, and a condition of a join that takes none. */
export function requireCondition(
  kind: JoinKind,
  on: ResolvedExpr | null,
  node: ast.JoinExpr,
): void {
  const without = kind === 'CROSS' || kind === 'POSITIONAL'
  if (without && on !== null) throw refuse(`${kind} JOIN takes no condition`, node)
  if (!without && on === null) throw refuse('A JOIN needs ON or USING', node)
}

const KINDS: Readonly<Record<string, JoinKind>> = {
  '': 'INNER',
  INNER: 'INNER',
  ALL: 'INNER',
  LEFT: 'LEFT',
  RIGHT: 'RIGHT',
  FULL: 'FULL',
  CROSS: 'CROSS',
  ASOF: 'ASOF',
  'ASOF LEFT': 'ASOF LEFT',
  'LEFT ASOF': 'ASOF LEFT',
  SEMI: 'SEMI',
  'LEFT SEMI': 'SEMI',
  ANTI: 'ANTI',
  'LEFT ANTI': 'ANTI',
  'RIGHT SEMI': 'SEMI',
  'RIGHT ANTI': 'ANTI',
  POSITIONAL: 'POSITIONAL',
}

/** The kind of a join, from its words. */
export function joinKind(node: ast.JoinExpr): JoinKind {
  const words = (node.join_type ?? '')
    .split(' ')
    .filter((word) => !['JOIN', 'OUTER', 'GLOBAL', 'INNER', 'ALL', 'ANY'].includes(word))
  const kind = KINDS[words.join(' ')]
  if (kind === undefined) throw refuse(`Unsupported join: ${node.join_type}`, node)
  return kind
}

/** RIGHT SEMI and RIGHT ANTI keep rows of the right side: they are LEFT joins with swapped sides. */
export function hasSwappedSides({ join_type }: ast.JoinExpr): boolean {
  return /^RIGHT (OUTER )?(SEMI|ANTI)\b/.test(join_type ?? '')
}
