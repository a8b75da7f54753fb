/** Pass: lambdas inside of arrays that are opened into rows get the columns they name as a parameter: the engine does not find those there. */

import type { Column, Expr, Local } from '../ir.ts'
import type { Relation, Select, Unnest } from '../ir-queries.ts'
import { sql } from '../spell.ts'
import { type Type, tupleType } from '../types.ts'
import { mapExpr, mapRelation, mapStatement, type Pass, someExpr } from './walk.ts'

/** `[f(x, t.a)]` with a lambda anywhere becomes `list_transform([t.a], lambda y: [f(x, y)])[1]`. */
export const captures: Pass = (statement) =>
  mapStatement(statement, {
    select: (select: Select) =>
      select.from === null ? select : { ...select, from: inRelation(select.from) },
  })

function inRelation(relation: Relation): Relation {
  if (relation.kind === 'unnest')
    return { ...relation, lists: relation.lists.map((list) => handed(list, relation)) }
  return relation.kind === 'join' ? mapRelation(relation, (expr) => expr, inRelation) : relation
}

/** Parameters of other lambdas have smaller numbers. */
const FIRST_ID = 1_000_000

function handed(list: Expr, { id }: Unnest): Expr {
  if (!someExpr(list, hasLambda) || someExpr(list, isQuestion)) return list
  const columns = columnsOf(list)
  const [only] = columns
  if (only === undefined) return list
  const is_one = columns.length === 1
  const type: Type = is_one ? only.type : tupleType(columns.map((column) => column.type))
  const at: Local = { kind: 'local', id: FIRST_ID + id, type }
  const value: Expr = is_one ? only : { kind: 'tuple', items: columns, type }
  const body = mapExpr(list, {
    expr: (expr) => {
      if (expr.kind !== 'column') return expr
      const index = columns.findIndex((column) => isSame(column, expr))
      return is_one ? at : { kind: 'item', of: at, position: index + 1, type: expr.type }
    },
  })
  return sql`list_transform([${value}], lambda ${at}: ${body})[1]`(list.type)
}

/** Written in the question, in the engine's own words, or in a macro. */
function hasLambda(expr: Expr): boolean {
  if (expr.kind === 'lambda') return true
  return expr.kind === 'spelled' && expr.pieces.some((piece) => /\blambda\b|\bch_/.test(piece))
}

const isQuestion = (expr: Expr): boolean => expr.kind === 'subquery'

function columnsOf(list: Expr): readonly Column[] {
  const found: Column[] = []
  mapExpr(list, {
    expr: (expr) => {
      if (expr.kind === 'column' && !found.some((column) => isSame(column, expr))) found.push(expr)
      return expr
    },
  })
  return found
}

function isSame(left: Column, right: Column): boolean {
  return left.relation === right.relation && left.name === right.name
}
