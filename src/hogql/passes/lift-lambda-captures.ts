/** Pass: lambdas in arrays that are opened into rows, or in sub-selects, get columns from outside as a parameter: the engine does not find those there. */

import type {
  ColumnExpr,
  LocalExpr,
  Relation,
  ResolvedExpr,
  ResolvedQuery,
  ResolvedSelect,
} from '../ir.ts'
import { sql } from '../sql-fragments.ts'
import { type Type, tupleType } from '../types.ts'
import {
  mapChildren,
  mapExpr,
  mapRelation,
  mapSelect,
  mapStatement,
  type Pass,
  someExpr,
} from './walk.ts'

/** `[f(x, t.a)]` with a lambda anywhere becomes `list_transform([t.a], lambda y: [f(x, y)])[1]`. */
export const liftLambdaCaptures: Pass = (statement) =>
  mapStatement(statement, {
    select: (select: ResolvedSelect) =>
      select.from === null ? select : { ...select, from: inRelation(select.from) },
    expr: (expr) =>
      expr.kind === 'subquery' ? { ...expr, query: inSubquery(expr.query, new Set()) } : expr,
  })

function inRelation(relation: Relation): Relation {
  if (relation.kind === 'unnest')
    return { ...relation, lists: relation.lists.map((list) => handed(list, relation.id, isAny)) }
  return relation.kind === 'join' ? mapRelation(relation, (expr) => expr, inRelation) : relation
}

/** Parameters of other lambdas have smaller numbers. */
const FIRST_ID = 1_000_000

type Which = (column: ColumnExpr) => boolean

const isAny: Which = () => true

function handed(list: ResolvedExpr, id: number, isOutside: Which): ResolvedExpr {
  if (!someExpr(list, hasLambda) || someExpr(list, isQuestion)) return list
  const all = columnsOf(list)
  // One from outside hides the others too.
  const columns = all.some(isOutside) ? all : []
  const [only] = columns
  if (only === undefined) return list
  const is_one = columns.length === 1
  const type: Type = is_one ? only.type : tupleType(columns.map((column) => column.type))
  const at: LocalExpr = { kind: 'local', id: FIRST_ID + id, type }
  const value: ResolvedExpr = is_one ? only : { kind: 'tuple', items: columns, type }
  const body = mapExpr(list, {
    expr: (expr) => {
      if (expr.kind !== 'column') return expr
      const index = columns.findIndex((column) => isSame(column, expr))
      return is_one ? at : { kind: 'item', of: at, position: index + 1, type: expr.type }
    },
  })
  return sql`list_transform([${value}], lambda ${at}: ${body})[1]`(list.type)
}

/** Written in the query, in the engine's own words, or in a macro. */
function hasLambda(expr: ResolvedExpr): boolean {
  if (expr.kind === 'lambda') return true
  return expr.kind === 'fragment' && expr.pieces.some((piece) => /\blambda\b|\bch_/.test(piece))
}

const isQuestion = (expr: ResolvedExpr): boolean => expr.kind === 'subquery'

function columnsOf(list: ResolvedExpr): readonly ColumnExpr[] {
  const found: ColumnExpr[] = []
  mapExpr(list, {
    expr: (expr) => {
      if (expr.kind === 'column' && !found.some((column) => isSame(column, expr))) found.push(expr)
      return expr
    },
  })
  return found
}

function isSame(left: ColumnExpr, right: ColumnExpr): boolean {
  return left.relation === right.relation && left.name === right.name
}

// ── sub-selects ──────────────────────────────────────────────────────────────────────────────

/** Selects inside a sub-select; `inside` are the relations of the selects around this one, up to the sub-select. */
function inSubquery(query: ResolvedQuery, inside: ReadonlySet<number>): ResolvedQuery {
  if (query.kind === 'set') {
    const rest = query.rest.map((leg) => ({ ...leg, query: inSubquery(leg.query, inside) }))
    return { ...query, first: inSubquery(query.first, inside), rest }
  }
  const own = new Set([...inside, ...(query.from === null ? [] : relationsIn(query.from))])
  const isOutside: Which = ({ relation }) => relation !== 0 && !own.has(relation)
  const onExpr = (expr: ResolvedExpr): ResolvedExpr => {
    if (expr.kind !== 'fragment' || !isList(expr)) return mapChildren(expr, onExpr, asItIs)
    // What gathers rows cannot be handed into a lambda: its parts may be.
    const gathers = someExpr(expr, (part) => part.kind === 'aggregate')
    return gathers
      ? mapChildren(expr, onExpr, asItIs)
      : handed(expr, query.columns[0]?.id ?? 0, isOutside)
  }
  const onRelation = (relation: Relation): Relation => {
    if (relation.kind === 'derived') return { ...relation, query: inSubquery(relation.query, own) }
    return relation.kind === 'unnest' ? relation : mapRelation(relation, onExpr, onRelation)
  }
  return mapSelect(query, onExpr, onRelation)
}

/** The outermost call with a lambda. */
function isList(expr: ResolvedExpr & { kind: 'fragment' }): boolean {
  return hasLambda(expr) || expr.args.some(hasLambda)
}

const asItIs = (query: ResolvedQuery): ResolvedQuery => query

function relationsIn(relation: Relation): readonly number[] {
  return relation.kind === 'join'
    ? [...relationsIn(relation.left), ...relationsIn(relation.right)]
    : [relation.id]
}
