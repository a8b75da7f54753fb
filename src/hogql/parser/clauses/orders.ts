/** ORDER BY, windows and LIMIT: clauses that also occur outside of selects. */

import type {
  Expr,
  InterpolateExpr,
  LimitByExpr,
  OrderExpr,
  WindowExpr,
  WindowFrameExpr,
  WithFillExpr,
} from '../../syntax/ast.ts'
import {
  advance,
  at,
  type Cursor,
  commaList,
  expect,
  placeFrom,
  refuseUnexpected,
  take,
  takePair,
} from '../cursor.ts'
import { readExprs, readItem } from '../expressions/lists.ts'
import { POWER } from '../expressions/powers.ts'
import { unquote } from '../tokens.ts'
import { atBracketEnd, atListEnd } from '../words.ts'

/** The list after ORDER BY. */
export function readOrders(cursor: Cursor): OrderExpr[] {
  return commaList(cursor, readOrder, () => false)
}

/** `expr [ASC|DESC] [NULLS FIRST|LAST] [COLLATE 'x'] [WITH FILL …]`. */
export function readOrder(cursor: Cursor): OrderExpr {
  const { start } = cursor.token
  const expr = cursor.rules.expr(cursor, POWER.any)
  const descending = take(cursor, 'DESC') || take(cursor, 'DESCENDING')
  if (!descending && !take(cursor, 'ASC')) take(cursor, 'ASCENDING')
  const nulls = take(cursor, 'NULLS') ? readNulls(cursor) : null
  const collate = take(cursor, 'COLLATE') ? readCollation(cursor) : null
  const with_fill = takePair(cursor, 'WITH', 'FILL') ? readFill(cursor) : null
  const order = descending ? 'DESC' : 'ASC'
  return { kind: 'OrderExpr', ...placeFrom(cursor, start), expr, order, nulls, collate, with_fill }
}

function readNulls(cursor: Cursor): 'FIRST' | 'LAST' {
  if (take(cursor, 'FIRST')) return 'FIRST'
  expect(cursor, 'LAST', 'or FIRST after NULLS')
  return 'LAST'
}

function readCollation(cursor: Cursor): string {
  if (cursor.token.kind !== 'string')
    throw refuseUnexpected(cursor, "a text such as 'en' after COLLATE")
  const { start, end } = advance(cursor)
  return unquote(cursor.text.slice(start, end))
}

function readFill(cursor: Cursor): WithFillExpr {
  const { start } = cursor.token
  const from_value = readAfter(cursor, 'FROM')
  const to_value = readAfter(cursor, 'TO')
  const step_value = readAfter(cursor, 'STEP')
  return { kind: 'WithFillExpr', ...placeFrom(cursor, start), from_value, to_value, step_value }
}

function readAfter(cursor: Cursor, key: string): Expr | null {
  return take(cursor, key) ? cursor.rules.expr(cursor, POWER.any) : null
}

/** `INTERPOLATE`, alone (all columns) or with `(a, b AS expr)`; the current token is the keyword. */
export function readInterpolate(cursor: Cursor): InterpolateExpr[] {
  advance(cursor)
  if (!take(cursor, '(')) return []
  const exprs = commaList(cursor, readInterpolated, atListEnd)
  expect(cursor, ')', 'after the columns of INTERPOLATE')
  return exprs
}

function readInterpolated(cursor: Cursor): InterpolateExpr {
  const { start } = cursor.token
  const expr = cursor.rules.expr(cursor, POWER.alias + 1)
  const value = readAfter(cursor, 'AS')
  return { kind: 'InterpolateExpr', ...placeFrom(cursor, start), expr, value }
}

/** The contents of a window's brackets. */
export function readWindow(cursor: Cursor): WindowExpr {
  const { start } = cursor.token
  const partitioned = takePair(cursor, 'PARTITION', 'BY')
  const partition_by = partitioned ? commaList(cursor, readItem, atBracketEnd) : []
  const order_by = takePair(cursor, 'ORDER', 'BY') ? readOrders(cursor) : []
  const frame = readFrame(cursor)
  return { kind: 'WindowExpr', ...placeFrom(cursor, start), partition_by, order_by, ...frame }
}

type FrameClause = Pick<WindowExpr, 'frame_method' | 'frame_start' | 'frame_end'>

function readFrame(cursor: Cursor): FrameClause {
  if (!at(cursor, 'ROWS') && !at(cursor, 'RANGE')) {
    return { frame_method: null, frame_start: null, frame_end: null }
  }
  const frame_method = advance(cursor).key === 'ROWS' ? 'ROWS' : 'RANGE'
  if (!take(cursor, 'BETWEEN')) {
    return { frame_method, frame_start: readFrameBound(cursor), frame_end: null }
  }
  const frame_start = readFrameBound(cursor)
  expect(cursor, 'AND', 'between the two bounds of the frame')
  return { frame_method, frame_start, frame_end: readFrameBound(cursor) }
}

function readFrameBound(cursor: Cursor): WindowFrameExpr {
  const { start } = cursor.token
  if (takePair(cursor, 'CURRENT', 'ROW')) {
    const place = placeFrom(cursor, start)
    return { kind: 'WindowFrameExpr', ...place, frame_type: 'CURRENT ROW', frame_value: null }
  }
  const unbounded = take(cursor, 'UNBOUNDED')
  const frame_value = unbounded ? null : cursor.rules.expr(cursor, POWER.between + 1)
  const preceding = take(cursor, 'PRECEDING')
  if (!preceding) expect(cursor, 'FOLLOWING', 'or PRECEDING after the bound of the frame')
  const frame_type = preceding ? 'PRECEDING' : 'FOLLOWING'
  return { kind: 'WindowFrameExpr', ...placeFrom(cursor, start), frame_type, frame_value }
}

/** LIMIT and OFFSET of the text; `by` is null unless BY follows. */
type LimitClause = {
  readonly limit: Expr | null
  readonly limit_percent: boolean
  readonly limit_with_ties: boolean
  readonly offset: Expr | null
}

const NO_LIMIT: LimitClause = {
  limit: null,
  limit_percent: false,
  limit_with_ties: false,
  offset: null,
}

/**
 * `LIMIT n[%] [WITH TIES] [OFFSET m]`, `LIMIT m, n`, `OFFSET m [LIMIT n …]`; the current token is
 * the keyword. `BY` makes it a LimitByExpr.
 */
export function readLimit(cursor: Cursor): LimitClause | LimitByExpr {
  const { start } = cursor.token
  if (take(cursor, 'OFFSET')) {
    const offset = readItem(cursor)
    if (!take(cursor, 'LIMIT')) return { ...NO_LIMIT, offset }
    const limit = readItem(cursor)
    return { limit, ...readLimitMarks(cursor), offset }
  }
  advance(cursor)
  const first = readItem(cursor)
  const second = take(cursor, ',') ? readItem(cursor) : null
  const limit = second ?? first
  const marks = readLimitMarks(cursor)
  const offset = second === null ? readAfter(cursor, 'OFFSET') : first
  if (!take(cursor, 'BY')) return { limit, ...marks, offset }
  const exprs = readExprs(cursor)
  const place = placeFrom(cursor, start)
  return { kind: 'LimitByExpr', ...place, n: limit, offset_value: offset, exprs }
}

function readLimitMarks(cursor: Cursor): Pick<LimitClause, 'limit_percent' | 'limit_with_ties'> {
  const limit_percent = take(cursor, '%')
  return { limit_percent, limit_with_ties: takePair(cursor, 'WITH', 'TIES') }
}
