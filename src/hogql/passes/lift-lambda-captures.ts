/**
 * Pass liftLambdaCaptures (lambda lifting): DuckDB cannot bind outer columns inside lambdas of
 * unnested arrays and of sub-selects, so they become a parameter.
 *
 *   [f(x, t.a)], with a lambda inside
 *   → list_transform([t.a], lambda y: [f(x, y)])[1]
 */

import {
  type ColumnExpr,
  type LocalExpr,
  type Relation,
  type ResolvedExpr,
  type ResolvedQuery,
  type ResolvedSelect,
  relationIds,
} from '../sql/ir.ts'
import { sql } from '../sql/sql-fragments.ts'
import { type Type, tupleType } from '../types/types.ts'
import {
  keepQuery,
  mapChildren,
  mapExpr,
  mapRelation,
  mapSelect,
  mapStatement,
  type Pass,
  someExpr,
} from './walk.ts'

/** Passes outer columns as a lambda parameter, in unnested arrays and in sub-selects. */
export const liftLambdaCaptures: Pass = (statement) =>
  mapStatement(statement, {
    select: (select: ResolvedSelect) =>
      select.from === null ? select : { ...select, from: inRelation(select.from) },
    expr: (expr) =>
      expr.kind === 'subquery' ? { ...expr, query: inSubquery(expr.query, new Set()) } : expr,
  })

function inRelation(relation: Relation): Relation {
  if (relation.kind === 'unnest')
    return {
      ...relation,
      lists: relation.lists.map((list) => liftCaptures(list, relation.id, isAny)),
    }
  return relation.kind === 'join' ? mapRelation(relation, (expr) => expr, inRelation) : relation
}

/** Ids of the parameters made here; those of other lambdas are smaller. */
const FIRST_ID = 1_000_000

type ColumnTest = (column: ColumnExpr) => boolean

const isAny: ColumnTest = () => true

function liftCaptures(list: ResolvedExpr, id: number, isOutside: ColumnTest): ResolvedExpr {
  if (!someExpr(list, hasLambda) || someExpr(list, isSubquery)) return list
  const all = columnsOf(list)
  // One outer column makes DuckDB fail on the others too, so all are passed.
  const columns = all.some(isOutside) ? all : []
  const [first_outer] = columns
  if (first_outer === undefined) return list
  const is_one = columns.length === 1
  const type: Type = is_one ? first_outer.type : tupleType(columns.map((column) => column.type))
  const at: LocalExpr = { kind: 'local', id: FIRST_ID + id, type }
  const value: ResolvedExpr = is_one ? first_outer : { kind: 'tuple', items: columns, type }
  const body = mapExpr(list, {
    expr: (expr) => {
      if (expr.kind !== 'column') return expr
      const index = columns.findIndex((column) => isSame(column, expr))
      return is_one ? at : { kind: 'item', of: at, position: index + 1, type: expr.type }
    },
  })
  return sql`list_transform([${value}], lambda ${at}: ${body})[1]`(list.type)
}

/** A lambda of the query, one in an SQL template, or one inside a macro (`ch_…`). */
function hasLambda(expr: ResolvedExpr): boolean {
  if (expr.kind === 'lambda') return true
  return expr.kind === 'fragment' && expr.pieces.some((piece) => /\blambda\b|\bch_/.test(piece))
}

const isSubquery = (expr: ResolvedExpr): boolean => expr.kind === 'subquery'

function columnsOf(list: ResolvedExpr): readonly ColumnExpr[] {
  const columns: ColumnExpr[] = []
  mapExpr(list, {
    expr: (expr) => {
      if (expr.kind === 'column' && !columns.some((column) => isSame(column, expr)))
        columns.push(expr)
      return expr
    },
  })
  return columns
}

function isSame(left: ColumnExpr, right: ColumnExpr): boolean {
  return left.relation === right.relation && left.name === right.name
}

// ── sub-selects ──────────────────────────────────────────────────────────────────────────────

/**
 * Rewrites the selects of a sub-select; `inside` are the relations of the selects around this one,
 * up to the sub-select.
 */
function inSubquery(query: ResolvedQuery, inside: ReadonlySet<number>): ResolvedQuery {
  if (query.kind === 'set') {
    const rest = query.rest.map((leg) => ({ ...leg, query: inSubquery(leg.query, inside) }))
    return { ...query, first: inSubquery(query.first, inside), rest }
  }
  const inner_relations = new Set([
    ...inside,
    ...(query.from === null ? [] : relationIds(query.from)),
  ])
  const isOutside: ColumnTest = ({ relation }) => relation !== 0 && !inner_relations.has(relation)
  const onExpr = (expr: ResolvedExpr): ResolvedExpr => {
    if (expr.kind !== 'fragment' || !isLambdaCall(expr)) return mapChildren(expr, onExpr, keepQuery)
    // An aggregate cannot be inside a lambda, but its arguments can.
    const is_aggregate = someExpr(expr, (part) => part.kind === 'aggregate')
    return is_aggregate
      ? mapChildren(expr, onExpr, keepQuery)
      : liftCaptures(expr, query.columns[0]?.id ?? 0, isOutside)
  }
  const onRelation = (relation: Relation): Relation => {
    if (relation.kind === 'derived')
      return { ...relation, query: inSubquery(relation.query, inner_relations) }
    return relation.kind === 'unnest' ? relation : mapRelation(relation, onExpr, onRelation)
  }
  return mapSelect(query, onExpr, onRelation)
}

/** Whether this is the outermost call with a lambda. */
function isLambdaCall(expr: ResolvedExpr & { kind: 'fragment' }): boolean {
  return hasLambda(expr) || expr.args.some(hasLambda)
}
