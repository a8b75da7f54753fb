/**
 * Pass lowerNullSafety: comparisons with NULL return true or false. A filter, where NULL counts as
 * false, keeps the plain operator.
 *
 *   SELECT a = b WHERE a = b
 *   → SELECT a IS NOT DISTINCT FROM b WHERE a = b
 */

import { findFunction } from '../../functions/registry.ts'
import {
  type Apply,
  queryColumns,
  type Relation,
  type ResolvedExpr,
  type ResolvedQuery,
  type ResolvedSelect,
} from '../../sql/ir.ts'
import { bind, joinFragments, NULL_VALUE, sql } from '../../sql/sql-fragments.ts'
import { tupleItem } from '../../types/convert.ts'
import { TRUTH } from '../../types/types.ts'
import { mapChildren, mapRelation, mapSelect, type Pass } from '../walk.ts'
import { compareTuples } from './compare-tuples.ts'

/** `value`: the outcome is visible. `filter`: NULL counts as false. `join`: ON, left to the engine. */
type Position = 'filter' | 'join' | 'value'

/** Makes every comparison null-safe except in ON, where only IN is. */
export const lowerNullSafety: Pass = (statement) => ({
  ctes: statement.ctes.map((cte) => ({ ...cte, query: inQuery(cte.query) })),
  query: inQuery(statement.query),
})

function inQuery(query: ResolvedQuery): ResolvedQuery {
  if (query.kind === 'select') return inSelect(query)
  return {
    ...query,
    first: inQuery(query.first),
    rest: query.rest.map((leg) => ({ ...leg, query: inQuery(leg.query) })),
  }
}

function inSelect(select: ResolvedSelect): ResolvedSelect {
  const { where, having, qualify } = select
  // A key that is itself a comparison must be printed matchNullSafe in GROUP BY and HAVING.
  const is_key_shared =
    select.group_by?.sets.some((keys) => keys.some((key) => key.type.kind === 'truth')) ?? false
  const having_position: Position = is_key_shared ? 'value' : 'filter'
  const rewritten = mapSelect(
    { ...select, where: null, having: null, qualify: null },
    (expr) => rewriteAt(expr, 'value'),
    inRelation,
  )
  return {
    ...rewritten,
    where: where === null ? null : rewriteAt(where, 'filter'),
    having: having === null ? null : rewriteAt(having, having_position),
    qualify: qualify === null ? null : rewriteAt(qualify, having_position),
  }
}

function inRelation(relation: Relation): Relation {
  if (relation.kind === 'derived') return { ...relation, query: inQuery(relation.query) }
  if (relation.kind !== 'join')
    return mapRelation(relation, (expr) => rewriteAt(expr, 'value'), inRelation)
  const { on } = relation
  return {
    ...relation,
    left: inRelation(relation.left),
    right: inRelation(relation.right),
    on: on === null ? null : rewriteAt(on, 'join'),
  }
}

/** Rewrites an expression in a position. */
function rewriteAt(expr: ResolvedExpr, position: Position): ResolvedExpr {
  if (expr.kind !== 'apply') {
    return mapChildren(
      expr,
      (child) => rewriteAt(child, position === 'join' ? 'join' : 'value'),
      inQuery,
    )
  }
  const positionOf = positionsOf(expr, position)
  const args = expr.args.map((arg, index) => rewriteAt(arg, positionOf(index)))
  const { aggregate } = expr
  const call: Apply = {
    ...expr,
    args,
    params: expr.params.map((param) => rewriteAt(param, 'value')),
    aggregate:
      aggregate === null
        ? null
        : {
            ...aggregate,
            filter: aggregate.filter === null ? null : rewriteAt(aggregate.filter, 'filter'),
            order_by: aggregate.order_by.map((order) => ({
              ...order,
              expr: rewriteAt(order.expr, 'value'),
            })),
          },
  }
  if (position !== 'join') return makeNullSafe(call, position)
  return call.name === 'in' || call.name === 'notIn' ? makeNullSafe(call, 'value') : call
}

/** Positions of a call's arguments: conditions filter, the rest are values. */
function positionsOf(call: Apply, position: Position): (index: number) => Position {
  if (position === 'join') return () => 'join'
  const last = call.args.length - 1
  switch (call.name) {
    case 'and':
    case 'or':
      return () => position
    case 'if':
      return (index) => (index === 0 ? 'filter' : 'value')
    case 'multiIf':
      return (index) => (index % 2 === 0 && index !== last ? 'filter' : 'value')
    default:
      break
  }
  const conditional =
    call.aggregate !== null &&
    call.name.endsWith('If') &&
    findFunction(call.name)?.role === 'aggregate'
  return (index) => (conditional && index === last ? 'filter' : 'value')
}

function makeNullSafe(call: Apply, position: Position): ResolvedExpr {
  const tuples = compareTuples(call)
  if (tuples !== null) return tuples
  const [left = NULL_VALUE, right = NULL_VALUE] = call.args
  const rule = Object.hasOwn(RULES, call.name) ? RULES[call.name] : undefined
  if (rule === undefined) return call
  if (call.name === 'in' || call.name === 'notIn') return rule(call, left, right, position)
  if (left.type.kind === 'null' || right.type.kind === 'null')
    return withNullConstant(call, left, right)
  return mayBeNull(left) || mayBeNull(right) ? rule(call, left, right, position) : call
}

/** A constant's value says whether it is NULL, whatever its type. */
function mayBeNull(expr: ResolvedExpr): boolean {
  return expr.type.nullable && (expr.kind !== 'value' || expr.value === null)
}

/** `x = NULL` is `x IS NULL`, with patterns too; order comparisons with NULL are false. */
function withNullConstant(call: Apply, left: ResolvedExpr, right: ResolvedExpr): ResolvedExpr {
  const other = left.type.kind === 'null' ? right : left
  switch (call.name) {
    case 'equals':
    case 'like':
    case 'ilike':
    case 'matches':
    case 'matchCaseInsensitive':
      return sql`(${other} IS NULL)`(TRUTH)
    case 'notEquals':
    case 'notLike':
    case 'notILike':
    case 'notMatch':
    case 'notMatchCaseInsensitive':
      return sql`(${other} IS NOT NULL)`(TRUTH)
    default:
      return bind(false, TRUTH)
  }
}

type NullRule = (
  call: Apply,
  left: ResolvedExpr,
  right: ResolvedExpr,
  position: Position,
) => ResolvedExpr

/** NULL becomes false; in a filter it already is. */
const orFalse: NullRule = (call, _left, _right, position) =>
  position === 'filter' ? call : sql`coalesce(${call}, false)`(TRUTH)

const equals: NullRule = (call, left, right, position) => {
  const both =
    left.type.nullable && right.type.nullable && left.kind !== 'value' && right.kind !== 'value'
  if (position === 'filter' && !both) return call
  return { ...call, name: 'isNotDistinctFrom' }
}

const notEquals: NullRule = (call) => ({ ...call, name: 'isDistinctFrom' })

const matchNullSafe: NullRule = (call, left, right, position) => {
  if (!left.type.nullable || !right.type.nullable) return orFalse(call, left, right, position)
  return sql`coalesce(${call}, ${left} IS NULL AND ${right} IS NULL)`(TRUTH)
}

const notMatchNullSafe: NullRule = (call, left, right) => {
  if (!left.type.nullable || !right.type.nullable) return sql`coalesce(${call}, true)`(TRUTH)
  return sql`coalesce(${call}, ${left} IS NOT NULL OR ${right} IS NOT NULL)`(TRUTH)
}

// ── IN, where NULL is a value like any other ─────────────────────────────────────────────────

const isIn: NullRule = (call, left, right, position) => {
  if (right.kind === 'subquery') return inRows(left, right, position)
  const items = call.args.slice(1).filter((item) => item.type.kind !== 'null')
  const nullable = items.filter(mayBeNull)
  const found = inList(items, left)
  const is_sure = !left.type.nullable && nullable.length === 0
  const has_null = left.type.nullable && items.length < call.args.length - 1
  const nulls = has_null ? [] : nullable.map((item) => sql`${item} IS NULL`(TRUTH))
  if (has_null) return sql`(coalesce(${found}, false) OR ${left} IS NULL)`(TRUTH)
  if (left.type.nullable && nulls.length > 0) {
    const any_null = joinFragments(['(', ' OR ', ')'], nulls, TRUTH)
    return sql`(coalesce(${found}, false) OR (${left} IS NULL AND ${any_null}))`(TRUTH)
  }
  return position === 'filter' || is_sure ? found : sql`coalesce(${found}, false)`(TRUTH)
}

const isNotIn: NullRule = (call, left, right) => {
  if (right.kind === 'subquery') return sql`(NOT ${inRows(left, right, 'value')})`(TRUTH)
  const inside = isIn(call, left, right, 'value')
  return sql`(NOT ${inside})`(TRUTH)
}

function inList(items: readonly ResolvedExpr[], left: ResolvedExpr): ResolvedExpr {
  if (items.length === 0) return bind(false, TRUTH)
  return sql`(${left} IN ${joinFragments(['(', ', ', ')'], items, TRUTH)})`(TRUTH)
}

/** Rows of several columns are compared with a row, not with a struct. */
function rowOf(left: ResolvedExpr, rows: ResolvedExpr & { kind: 'subquery' }): ResolvedExpr {
  if (left.type.kind !== 'tuple' || queryColumns(rows.query).length === 1) return left
  const items = left.type.items.map((type, index) => tupleItem(left, index + 1, type))
  return joinFragments(['(', ', ', ')'], items, left.type)
}

/** With NULL among the rows the engine returns NULL instead of false, so that case is counted. */
function inRows(
  left: ResolvedExpr,
  rows: ResolvedExpr & { kind: 'subquery' },
  position: Position,
): ResolvedExpr {
  const found = sql`(${rowOf(left, rows)} IN ${rows})`(TRUTH)
  const nullable = left.type.nullable || rows.type.nullable
  if (!nullable) return found
  const plain = position === 'filter' ? found : sql`coalesce(${found}, false)`(TRUTH)
  if (!left.type.nullable || !rows.type.nullable) return plain
  const [column] = queryColumns(rows.query)
  if (column === undefined) throw new Error('a query without columns')
  const first: ResolvedExpr = {
    kind: 'column',
    relation: 0,
    name: `c${column.id}`,
    type: column.type,
  }
  const has_null_row = sql`(SELECT count(*) > count(${first}) FROM ${rows} AS r)`(TRUTH)
  return sql`(coalesce(${found}, false) OR (${left} IS NULL AND ${has_null_row}))`(TRUTH)
}

const RULES: Readonly<Record<string, NullRule>> = {
  equals,
  notEquals,
  less: orFalse,
  greater: orFalse,
  lessOrEquals: orFalse,
  greaterOrEquals: orFalse,
  like: matchNullSafe,
  ilike: matchNullSafe,
  matches: matchNullSafe,
  matchCaseInsensitive: matchNullSafe,
  notLike: notMatchNullSafe,
  notILike: notMatchNullSafe,
  notMatch: notMatchNullSafe,
  notMatchCaseInsensitive: notMatchNullSafe,
  in: isIn,
  notIn: isNotIn,
}
