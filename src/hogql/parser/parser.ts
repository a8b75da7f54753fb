/** The HogQL parser: text → syntax tree. Linear time, within limits; throws nothing but a Refusal. */

import type { Expr, Node, OrderExpr, Select } from '../syntax/ast.ts'
import { heightOf } from '../syntax/walk.ts'
import { readOrder, readOrders, readWindow } from './clauses/orders.ts'
import { readSelect, readSelectAfter } from './clauses/select.ts'
import {
  at,
  type Cursor,
  type GrammarRules,
  LIMITS,
  openCursor,
  type ParserLimits,
  refuseSpan,
  refuseUnexpected,
  resumeAt,
  take,
} from './cursor.ts'
import { readExpr } from './expressions/expressions.ts'
import { readWholeTemplate } from './expressions/literals.ts'
import { POWER } from './expressions/powers.ts'
import { atTag, readTag } from './tags.ts'

const RULES: GrammarRules = {
  expr: readExpr,
  select: readSelect,
  selectAfter: readSelectAfter,
  orders: readOrders,
  window: readWindow,
}

/**
 * Parses a whole query: a select, several joined by set operators, a placeholder, or a tag. One `;`
 * may end it. Refuses (`invalid_input`, attr `query`, with span) text that is not HogQL or is
 * beyond the limits.
 */
export function parseSelect(text: string, limits: ParserLimits = LIMITS): Select {
  const cursor = start(text, limits)
  const select = atTag(cursor) ? readTag(cursor) : readSelect(cursor)
  take(cursor, ';')
  return requireEnd(cursor, select)
}

/** Parses one expression. Refuses as parseSelect does. */
export function parseExpr(text: string, limits: ParserLimits = LIMITS): Expr {
  const cursor = start(text, limits)
  return requireEnd(cursor, readExpr(cursor, POWER.any))
}

/** Parses one item of an ORDER BY, such as `timestamp DESC`. Refuses as parseSelect does. */
export function parseOrderExpr(text: string, limits: ParserLimits = LIMITS): OrderExpr {
  const cursor = start(text, limits)
  return requireEnd(cursor, readOrder(cursor))
}

/** Parses a text with holes, `Hello {name}`, as one expression. Refuses as parseSelect does. */
export function parseTemplate(text: string): Expr {
  const cursor = openCursor(text, LIMITS, RULES)
  return requireEnd(cursor, readWholeTemplate(cursor))
}

function start(text: string, limits: ParserLimits): Cursor {
  const cursor = openCursor(text, limits, RULES)
  resumeAt(cursor, 0)
  return cursor
}

/** Returns the tree. Refuses text after its end, and a tree that is too deep for recursive walks. */
function requireEnd<Parsed extends Node>(cursor: Cursor, parsed: Parsed): Parsed {
  if (cursor.token.kind !== 'end') {
    throw refuseUnexpected(
      cursor,
      at(cursor, ')') ? 'an opening bracket before it' : 'the end of the query',
    )
  }
  const { height_max } = cursor.limits
  if (heightOf(parsed) <= height_max) return parsed
  throw refuseSpan(cursor, parsed, `the query is nested more than ${height_max} levels deep.`)
}
