/** Brackets: tuples, selects and parenthesized expressions; arrays; placeholders and dictionaries. */

import type { Expr, Select } from '../../syntax/ast.ts'
import {
  advance,
  at,
  type Cursor,
  commaList,
  placeFrom,
  refuseUnexpected,
  take,
} from '../cursor.ts'
import { atListEnd, atSelect } from '../words.ts'
import { atLambda, readLambda } from './lambdas.ts'
import { readExprs, readItem } from './lists.ts'

/** `(e)`, `(a, b)`, `(a,)`, `(SELECT …)`, `((SELECT …) UNION ALL …)`, or the arguments of a lambda. */
export function readParentheses(cursor: Cursor, power: number): Expr {
  if (atLambda(cursor)) return readLambda(cursor, power)
  const { start } = advance(cursor)
  if (atSelect(cursor)) return close(cursor, cursor.rules.select(cursor), 'after the select')
  const first = readItem(cursor)
  if (isSelect(first) && !at(cursor, ',') && !at(cursor, ')')) {
    return close(cursor, cursor.rules.selectAfter(cursor, first), 'after the select')
  }
  if (!at(cursor, ',')) return close(cursor, first, 'or "," after the expression')
  advance(cursor)
  const rest = at(cursor, ')') ? [] : readExprs(cursor)
  if (!take(cursor, ')')) throw refuseUnexpected(cursor, '")" or "," in the tuple')
  return { kind: 'Tuple', ...placeFrom(cursor, start), exprs: [first, ...rest] }
}

function close(cursor: Cursor, expr: Expr, after: string): Expr {
  if (!take(cursor, ')')) throw refuseUnexpected(cursor, `")" ${after}`)
  return expr
}

function isSelect(expr: Expr): expr is Select & Expr {
  return (
    expr.kind === 'SelectQuery' || expr.kind === 'SelectSetQuery' || expr.kind === 'Placeholder'
  )
}

/** `[a, b]`; the current token is the bracket, the array began at `start`. */
export function readBrackets(cursor: Cursor, start: number): Expr {
  advance(cursor)
  const exprs = at(cursor, ']') ? [] : readExprs(cursor)
  if (!take(cursor, ']')) throw refuseUnexpected(cursor, '"]" or "," in the array')
  return { kind: 'Array', ...placeFrom(cursor, start), exprs }
}

/** `{placeholder}` or `{'key': value, …}`. */
export function readBraces(cursor: Cursor): Expr {
  const { start } = advance(cursor)
  if (take(cursor, '}')) return { kind: 'Dict', ...placeFrom(cursor, start), items: [] }
  const first = readItem(cursor)
  if (take(cursor, '}')) return { kind: 'Placeholder', ...placeFrom(cursor, start), expr: first }
  if (!take(cursor, ':')) throw refuseUnexpected(cursor, '"}" or ":" after the expression')
  const items: (readonly [Expr, Expr])[] = [[first, readItem(cursor)]]
  if (take(cursor, ',') && !at(cursor, '}')) items.push(...commaList(cursor, readPair, atListEnd))
  if (!take(cursor, '}')) throw refuseUnexpected(cursor, '"}" or "," in the dictionary')
  return { kind: 'Dict', ...placeFrom(cursor, start), items }
}

function readPair(cursor: Cursor): readonly [Expr, Expr] {
  const key = readItem(cursor)
  if (!take(cursor, ':')) throw refuseUnexpected(cursor, '":" after the key')
  return [key, readItem(cursor)]
}
