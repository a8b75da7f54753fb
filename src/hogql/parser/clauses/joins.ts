/** FROM: tables linked as one chain; each has the kind of join to those before it. */

import type { Expr, JoinConstraint, JoinExpr } from '../../syntax/ast.ts'
import { tuple } from '../../syntax/nodes.ts'
import {
  advance,
  at,
  type Cursor,
  commaList,
  expect,
  peek,
  placeFrom,
  refuseSpan,
  refuseUnexpected,
  requireDepth,
  take,
} from '../cursor.ts'
import { POWER } from '../expressions/powers.ts'
import { readTable } from './tables.ts'

/** Words that choose the rows when several match. */
const STRICTNESS = new Set(['ALL', 'ANTI', 'ANY', 'ASOF', 'SEMI'])
const SIDES = new Set(['LEFT', 'RIGHT', 'FULL', 'INNER', 'CROSS', 'POSITIONAL'])
const JOIN_WORDS = new Set([...STRICTNESS, ...SIDES, 'NATURAL', 'OUTER', 'JOIN'])
/** Without LEFT or RIGHT, strictness makes an inner join, except with these two. */
const SIDELESS = new Set(['ANTI', 'SEMI'])
/** Joins whose right side may be joins in brackets: flattening those does not change the result. */
const FLATTENING = new Set(['CROSS JOIN', 'JOIN', 'INNER JOIN'])

/** The contents of FROM. */
export function readFrom(cursor: Cursor): JoinExpr {
  const [first, ...following] = readJoins(cursor)
  if (first === undefined) throw refuseUnexpected(cursor, 'a table after FROM')
  let next: JoinExpr | null = null
  for (const join of following.toReversed()) next = { ...join, next_join: next }
  return { ...first, next_join: next }
}

/** The tables of a chain of joins, not linked yet. */
function readJoins(cursor: Cursor): readonly JoinExpr[] {
  const joins = [...readTable(cursor, readJoins)]
  for (;;) {
    const operator = takeJoinOperator(cursor)
    if (operator === null) return joins
    joins.push(...readJoined(cursor, operator))
    requireDepth(cursor, joins.length)
  }
}

type JoinOperator = { readonly join_type: string; readonly natural: boolean }

function readJoined(cursor: Cursor, operator: JoinOperator): readonly JoinExpr[] {
  const { start } = cursor.token
  const [table, ...inner] = readTable(cursor, readJoins)
  if (table === undefined) throw refuseUnexpected(cursor, 'a table')
  const span = { start, end: cursor.behind }
  if (inner.length > 0 && !FLATTENING.has(operator.join_type)) {
    const message =
      'joins in brackets can only stand first or behind JOIN; use a select in brackets.'
    throw refuseSpan(cursor, span, message)
  }
  const constraint = operator.join_type === 'CROSS JOIN' ? null : readConstraint(cursor)
  return [{ ...table, ...operator, constraint }, ...inner]
}

/** The keywords of a join in canonical order; null when no join follows. */
function takeJoinOperator(cursor: Cursor): JoinOperator | null {
  if (take(cursor, ',')) return { join_type: 'CROSS JOIN', natural: false }
  if (!JOIN_WORDS.has(cursor.token.key) || peek(cursor).key === 'ARRAY') return null
  const words: string[] = []
  while (!at(cursor, 'JOIN')) {
    const { key } = cursor.token
    if (!JOIN_WORDS.has(key) || words.includes(key)) throw refuseUnexpected(cursor, 'JOIN')
    words.push(advance(cursor).key)
  }
  const sides = words.filter((word) => SIDES.has(word))
  const strict = words.filter((word) => STRICTNESS.has(word))
  if (sides.length > 1 || strict.length > 1) {
    throw refuseUnexpected(cursor, 'one kind of join before JOIN')
  }
  advance(cursor)
  const outer = words.includes('OUTER') ? ['OUTER'] : []
  const join_type = [...orderWords(sides, strict, outer), 'JOIN'].join(' ')
  return { join_type, natural: words.includes('NATURAL') }
}

type JoinWords = readonly string[]

function orderWords(sides: JoinWords, strict: JoinWords, outer: JoinWords): JoinWords {
  if (sides[0] === 'INNER') return [...strict, ...sides, ...outer]
  if (sides.length > 0) return [...sides, ...outer, ...strict]
  return strict.length === 0 || SIDELESS.has(strict[0] ?? '') ? strict : [...strict, 'INNER']
}

function readConstraint(cursor: Cursor): JoinConstraint | null {
  const { start } = cursor.token
  if (take(cursor, 'ON')) {
    const expr = cursor.rules.expr(cursor, POWER.any)
    return { kind: 'JoinConstraint', ...placeFrom(cursor, start), constraint_type: 'ON', expr }
  }
  if (!take(cursor, 'USING')) return null
  const expr = readUsing(cursor)
  return { kind: 'JoinConstraint', ...placeFrom(cursor, start), constraint_type: 'USING', expr }
}

function readColumn(cursor: Cursor): Expr {
  return cursor.rules.expr(cursor, POWER.alias + 1)
}

/** One column as it is, several as a tuple. */
function readUsing(cursor: Cursor): Expr {
  const { start } = cursor.token
  const bracketed = take(cursor, '(')
  const columns = commaList(cursor, readColumn, (inner) => at(inner, ')'))
  if (bracketed) expect(cursor, ')', 'after the columns of USING')
  const [only] = columns
  return only !== undefined && columns.length === 1
    ? only
    : tuple(columns, placeFrom(cursor, start))
}
