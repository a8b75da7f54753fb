/**
 * ANY JOIN, rewritten without ANY: `a LEFT ANY JOIN b ON a.x = b.y` → `a LEFT JOIN (SELECT * FROM b
 * LIMIT 1 BY y) b ON a.x = b.y`.
 */

import { refuse } from '../resolve/refusals.ts'
import type * as ast from '../syntax/ast.ts'
import type { JoinExpr } from '../syntax/ast.ts'
import { and, constant, field, joinOf, selectOf } from '../syntax/nodes.ts'
import { visitNodes } from '../syntax/walk.ts'

/** The select with joins that are not ANY; null when none is. */
export function removeAnyJoins(select: ast.SelectQuery): ast.SelectQuery | null {
  const { select_from } = select
  for (let join = select_from; join !== null; join = join.next_join) {
    if (isAny(join) && select_from !== null)
      return { ...select, select_from: removeAny(select_from) }
  }
  return null
}

/**
 * Rewrites FROM without ANY: LEFT takes one row per key of the right side, RIGHT one of the left,
 * INNER one of each.
 */
function removeAny(first: JoinExpr): JoinExpr {
  const second = first.next_join
  if (second === null) return first
  const lead = isAny(second) && !isLeft(second) ? onePerKey(first, second) : first
  return { ...lead, next_join: joinsWithoutAny(second, true) }
}

function joinsWithoutAny(join: JoinExpr, is_second: boolean): JoinExpr {
  const { next_join } = join
  const next = next_join === null ? null : joinsWithoutAny(next_join, false)
  if (!isAny(join)) return { ...join, next_join: next }
  if (!is_second && !isLeft(join))
    throw refuse('After other joins only LEFT ANY JOIN is known: put them into a sub-select', join)
  const join_type = wordsOf(join)
    .filter((word) => word !== 'ANY')
    .join(' ')
  return { ...(hasSide(join, 'RIGHT') ? join : onePerKey(join, join)), join_type, next_join: next }
}

const wordsOf = ({ join_type }: JoinExpr): readonly string[] => (join_type ?? '').split(' ')
const hasSide = (join: JoinExpr, side: 'LEFT' | 'RIGHT'): boolean => wordsOf(join).includes(side)
const isAny = (join: JoinExpr): boolean => wordsOf(join).includes('ANY')
const isLeft = (join: JoinExpr): boolean => hasSide(join, 'LEFT')

/** One side of a join as a select of one row per key, filtered by the conditions that read only this side. */
function onePerKey(side: JoinExpr, join: JoinExpr): JoinExpr {
  const name = nameOf(side)
  const { keys, conditions } = splitConditions(join, name)
  if (keys.length === 0) throw refuseWithoutKeys(join)
  const { start, end } = join
  const limit_by = { kind: 'LimitByExpr', n: constant(1n), offset_value: null, start, end } as const
  const rows: ast.SelectQuery = {
    ...selectOf([field(['*'])], side),
    select_from: { ...side, ...APART },
    where: and(conditions),
    limit_by: { ...limit_by, exprs: keys },
  }
  const { join_type, natural, constraint, next_join } = side
  return { ...joinOf(rows, side), alias: name, join_type, natural, constraint, next_join }
}

/** The fields of a JoinExpr that is not joined to anything. */
const APART = { join_type: null, natural: false, constraint: null, next_join: null } as const

function nameOf({ alias, table }: JoinExpr): string | null {
  return alias ?? (table.kind === 'Field' ? (table.chain.at(-1) ?? null) : null)
}

type SplitConditions = {
  readonly keys: readonly ast.Expr[]
  readonly conditions: readonly ast.Expr[]
}

function splitConditions(join: JoinExpr, name: string | null): SplitConditions {
  const { constraint } = join
  if (constraint === null) return { keys: [], conditions: [] }
  const { expr, constraint_type } = constraint
  if (constraint_type === 'USING')
    return { keys: expr.kind === 'Tuple' ? expr.exprs : [expr], conditions: [] }
  const parts = (expr.kind === 'And' ? expr.exprs : [expr]).map((part): SplitConditions => {
    const sides =
      part.kind === 'CompareOperation' && part.op === '==' ? [part.left, part.right] : []
    const keys = sides.filter((side) => readsOnly(side, name))
    if (keys.length === 1) return { keys, conditions: [] }
    if (readsOnly(part, name)) return { keys: [], conditions: [part] }
    if (namesOf(part).includes(name ?? '')) throw refuseWithoutKeys(join)
    return { keys: [], conditions: [] }
  })
  return {
    keys: parts.flatMap(({ keys }) => keys),
    conditions: parts.flatMap(({ conditions }) => conditions),
  }
}

function refuseWithoutKeys(join: JoinExpr): Error {
  return refuse('ANY JOIN needs equalities with columns of the joined table', join)
}

/** Whether an expression reads columns of the named table and of no other. */
function readsOnly(expr: ast.Expr, name: string | null): boolean {
  const names = namesOf(expr)
  return names.length > 0 && names.every((known) => known === name)
}

function namesOf(expr: ast.Expr): readonly string[] {
  const names: string[] = []
  visitNodes(expr, (node) => {
    if (node.kind === 'Field') names.push(node.chain.length > 1 ? (node.chain[0] ?? '') : '')
  })
  return names
}
