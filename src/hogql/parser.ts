/** HogQL's parser: texts in, syntax trees out. Linear in the text, within limits, never anything thrown but a Refusal. */

import type { Expr, Select } from './ast.ts'
import type { OrderExpr } from './ast-parts.ts'
import {
  at,
  type Cursor,
  expected,
  LIMITS,
  type Limits,
  openCursor,
  type Rules,
  resumeAt,
  take,
} from './parser/cursor.ts'
import { readExpr } from './parser/expressions.ts'
import { readWholeTemplate } from './parser/literals.ts'
import { readOrder, readOrders, readWindow } from './parser/orders.ts'
import { POWER } from './parser/powers.ts'
import { readSelect, readSelectAfter } from './parser/select.ts'
import { atTag, readTag } from './parser/tags.ts'

const RULES: Rules = {
  expr: readExpr,
  select: readSelect,
  selectAfter: readSelectAfter,
  orders: readOrders,
  window: readWindow,
}

/**
 * A whole question: a select, several joined by set operators, a placeholder for one, or a tag. One `;` may end it.
 * Refuses (`invalid_input`, attr `query`, with span) whatever is not HogQL or beyond the limits.
 */
export function parseSelect(text: string, limits: Limits = LIMITS): Select {
  const cursor = start(text, limits)
  const select = atTag(cursor) ? readTag(cursor) : readSelect(cursor)
  take(cursor, ';')
  return atEnd(cursor, select)
}

/** One expression. Refuses as parseSelect does. */
export function parseExpr(text: string, limits: Limits = LIMITS): Expr {
  const cursor = start(text, limits)
  return atEnd(cursor, readExpr(cursor, POWER.any))
}

/** One item of an ORDER BY, such as `timestamp DESC`. Refuses as parseSelect does. */
export function parseOrderExpr(text: string, limits: Limits = LIMITS): OrderExpr {
  const cursor = start(text, limits)
  return atEnd(cursor, readOrder(cursor))
}

/** A text with holes, `Hello {name}`, as the expression that fills them. Refuses as parseSelect does. */
export function parseTemplate(text: string, limits: Limits = LIMITS): Expr {
  return readWholeTemplate(openCursor(text, limits, RULES))
}

function start(text: string, limits: Limits): Cursor {
  const cursor = openCursor(text, limits, RULES)
  resumeAt(cursor, 0)
  return cursor
}

function atEnd<Parsed>(cursor: Cursor, parsed: Parsed): Parsed {
  if (cursor.token.kind === 'end') return parsed
  throw expected(cursor, at(cursor, ')') ? 'an opening bracket before it' : 'the end of the query')
}
