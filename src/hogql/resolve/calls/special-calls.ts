/** Special calls: they inspect their unresolved arguments, or change the select around them. */

import { someExpr } from '../../passes/walk.ts'
import type { ResolvedExpr } from '../../sql/ir.ts'
import type * as ast from '../../syntax/ast.ts'
import { elementType } from '../../types/types.ts'
import { resolveIn } from '../collections-and-in.ts'
import { entriesOf } from '../from/table-functions.ts'
import { groupKeyLikeness } from '../grouping.ts'
import { refuse } from '../refusals.ts'
import type { NameScope, Resolver } from '../scope.ts'
import { expandMacro } from './hogql-macros.ts'

type Special = (node: ast.Call, scope: NameScope, resolver: Resolver) => ResolvedExpr | null

const exists: Special = (node, scope, resolver) => {
  const [query] = node.args
  if (query?.kind !== 'SelectQuery' && query?.kind !== 'SelectSetQuery') return null
  const type = { kind: 'truth', nullable: false } as const
  return { kind: 'subquery', form: 'exists', query: resolver.query(query, scope).query, type }
}

const membership =
  (negated: boolean): Special =>
  (node, scope, resolver) => {
    const [left, right] = node.args
    if (left === undefined || right === undefined) return null
    const op = negated ? 'not in' : 'in'
    const compared: ast.CompareOperation = {
      kind: 'CompareOperation',
      op,
      left,
      right,
      is_null_comparison_style: false,
      start: node.start,
      end: node.end,
    }
    return resolveIn(compared, scope, resolver)
  }

/** `position('a' in b)` parses as a call with one IN inside. */
const positionIn: Special = (node, scope, resolver) => {
  const [only] = node.args
  if (node.args.length !== 1 || only?.kind !== 'CompareOperation' || only.op !== 'in') return null
  return resolver.expr({ ...node, args: [only.right, only.left] }, scope)
}

/** Each distinct `arrayJoin` unnests its array into rows of the select once. */
const arrayJoin: Special = (node, scope, resolver) => {
  const [only] = node.args
  if (only === undefined || node.args.length !== 1) return null
  const list = entriesOf(resolver.expr(only, scope))
  const type = elementType(list.type)
  const has_aggregate = someExpr(list, (expr) => expr.kind === 'apply' && expr.aggregate !== null)
  if (has_aggregate)
    throw refuse('arrayJoin over an aggregation needs a sub-select around it', node)
  const key = groupKeyLikeness(list)
  const known = scope.unnests.find((unnest) =>
    unnest.lists.some((other) => groupKeyLikeness(other) === key),
  )
  if (known !== undefined) return { kind: 'column', relation: known.id, name: 'c1', type }
  resolver.next.relation += 1
  const unnest = { kind: 'unnest', id: resolver.next.relation, lists: [list] } as const
  scope.unnests.push(unnest)
  return { kind: 'column', relation: unnest.id, name: 'c1', type }
}

/** `percentile_cont(level) WITHIN GROUP (ORDER BY x)` is a quantile. */
const percentile =
  (name: string): Special =>
  (node, scope, resolver) => {
    const [order] = node.within_group
    if (order === undefined) return null
    const params = node.params ?? node.args
    return resolver.expr({ ...node, name, params, args: [order.expr], within_group: [] }, scope)
  }

/** In the select list its items become columns; anywhere else it is refused. */
const untuple: Special = (node) => {
  throw refuse('untuple can only stand in the select list, around one tuple', node)
}

/** By name. A special call that returns null is an ordinary call. */
const SPECIAL: Readonly<Record<string, Special>> = {
  exists,
  in: membership(false),
  notIn: membership(true),
  position: positionIn,
  arrayJoin,
  untuple,
  percentile_cont: percentile('quantile'),
  percentile_disc: percentile('quantileDisc'),
}

/** Resolves a special call; null for any other. */
export const resolveSpecial: Special = (node, scope, resolver) => {
  const special = Object.hasOwn(SPECIAL, node.name) ? SPECIAL[node.name] : undefined
  if (special !== undefined) return special(node, scope, resolver)
  const expanded = expandMacro(node, resolver)
  return expanded === null ? null : resolver.expr(expanded, scope)
}
