/** Kinds of joins: what the words of a query mean. */

import type * as ast from '../ast.ts'
import type { JoinKind, ResolvedExpr } from '../ir.ts'
import { refuse } from './refusals.ts'

/** Refuses a join without its condition, or with one it cannot have. */
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

/** The kind a join's words mean. */
export function joinKind(node: ast.JoinExpr): JoinKind {
  const words = (node.join_type ?? '')
    .split(' ')
    .filter((word) => !['JOIN', 'OUTER', 'GLOBAL', 'INNER', 'ALL', 'ANY'].includes(word))
  const kind = KINDS[words.join(' ')]
  if (kind === undefined) throw refuse(`Unsupported join: ${node.join_type}`, node)
  return kind
}

/** RIGHT SEMI and RIGHT ANTI keep rows of the right side: LEFT ones of the sides changed about. */
export function isTurned({ join_type }: ast.JoinExpr): boolean {
  return /^RIGHT (OUTER )?(SEMI|ANTI)\b/.test(join_type ?? '')
}
