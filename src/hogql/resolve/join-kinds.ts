/** Kinds of joins: what the words of a question mean, and ANY, which takes one row per key. */

import type * as ast from '../ast.ts'
import type * as parts from '../ast-parts.ts'
import type { Expr } from '../ir.ts'
import type { JoinKind } from '../ir-queries.ts'
import { refuse } from './refuse.ts'
import { selectStarFrom } from './written.ts'

/** Refuses a join without its condition, or with one it cannot have. */
export function requireCondition(kind: JoinKind, on: Expr | null, node: parts.JoinExpr): void {
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
export function joinKind(node: parts.JoinExpr): JoinKind {
  const words = (node.join_type ?? '')
    .split(' ')
    .filter((word) => !['JOIN', 'OUTER', 'GLOBAL', 'INNER', 'ALL', 'ANY'].includes(word))
  const kind = KINDS[words.join(' ')]
  if (kind === undefined) throw refuse(`Unsupported join: ${node.join_type}`, node)
  return kind
}

/** RIGHT SEMI and RIGHT ANTI keep rows of the right side: LEFT ones of the sides changed about. */
export function isTurned({ join_type }: parts.JoinExpr): boolean {
  return /^RIGHT (OUTER )?(SEMI|ANTI)\b/.test(join_type ?? '')
}

/** Whether a join takes one row per key only. */
export function isAny(node: parts.JoinExpr): boolean {
  return (node.join_type ?? '').split(' ').includes('ANY')
}

/** ANY JOIN takes one row per key: the right side becomes a select with LIMIT 1 BY its columns of the condition. */
export function firstPerKey(
  node: parts.JoinExpr,
  table: ast.Field | ast.SelectQuery | ast.SelectSetQuery,
): ast.SelectQuery {
  const name = node.alias ?? (table.kind === 'Field' ? table.chain.at(-1) : undefined)
  const keys =
    node.constraint === null
      ? []
      : keysOf(node.constraint.expr, name, node.constraint.constraint_type)
  if (keys.length === 0)
    throw refuse('ANY JOIN needs equalities with columns of the joined table', node)
  const place = { start: node.start, end: node.end }
  const one: ast.Constant = { kind: 'Constant', value: 1n, ...place }
  const limit_by = {
    kind: 'LimitByExpr',
    n: one,
    offset_value: null,
    exprs: keys,
    ...place,
  } as const
  return { ...selectStarFrom(table, name ?? null), limit_by }
}

function keysOf(
  expr: ast.Expr,
  name: string | undefined,
  constraint: 'ON' | 'USING',
): readonly ast.Expr[] {
  if (constraint === 'USING') return expr.kind === 'Tuple' ? expr.exprs : [expr]
  if (expr.kind === 'And') return expr.exprs.flatMap((part) => keysOf(part, name, constraint))
  if (expr.kind !== 'CompareOperation' || expr.op !== '==') return []
  return [expr.left, expr.right].filter((side) => side.kind === 'Field' && side.chain[0] === name)
}
