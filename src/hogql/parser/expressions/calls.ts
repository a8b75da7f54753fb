/** Calls of functions: arguments, parameters, and what may follow the brackets (FILTER, WITHIN GROUP, OVER). */

import type { Call, Expr, OrderExpr } from '../../syntax/ast.ts'
import { call } from '../../syntax/nodes.ts'
import {
  advance,
  at,
  type Cursor,
  commaList,
  expect,
  expectName,
  placeFrom,
  refuseUnexpected,
  take,
  takePair,
} from '../cursor.ts'
import { atBracketEnd, atSelect } from '../words.ts'
import { readExprs } from './lists.ts'
import { POWER } from './powers.ts'

/** The contents of a call's brackets. */
type Arguments = {
  readonly args: readonly Expr[]
  readonly distinct: boolean
  readonly ignore_nulls: boolean
  readonly order_by: readonly OrderExpr[]
}

/** `(DISTINCT a, b IGNORE NULLS ORDER BY c)`, or one select without brackets of its own. */
export function readArguments(cursor: Cursor): Arguments {
  expect(cursor, '(', 'before the arguments')
  return readArgumentsAfter(cursor, null)
}

/** As readArguments, after the opening bracket and perhaps the first argument have been read. */
export function readArgumentsAfter(cursor: Cursor, first: Expr | null): Arguments {
  let ignore_nulls = false
  const readArgument = (): Expr => {
    const arg = cursor.rules.expr(cursor, POWER.any)
    ignore_nulls = takeIgnoreNulls(cursor) || ignore_nulls
    return arg
  }
  const distinct = first === null && take(cursor, 'DISTINCT')
  const args: Expr[] = first === null ? [] : [first]
  if (first === null && atSelect(cursor)) args.push(cursor.rules.select(cursor))
  else if (first === null && !atBracketEnd(cursor)) {
    args.push(...commaList(cursor, readArgument, atBracketEnd))
  } else if (take(cursor, ',') && !atBracketEnd(cursor)) {
    args.push(...commaList(cursor, readArgument, atBracketEnd))
  }
  const order_by = takePair(cursor, 'ORDER', 'BY') ? cursor.rules.orders(cursor) : []
  if (!at(cursor, ')')) throw refuseUnexpected(cursor, '"," or ")" after the argument')
  advance(cursor)
  return { args, distinct, ignore_nulls, order_by }
}

/** RESPECT NULLS is the default. */
function takeIgnoreNulls(cursor: Cursor): boolean {
  if (takePair(cursor, 'RESPECT', 'NULLS')) return false
  return takePair(cursor, 'IGNORE', 'NULLS')
}

/** The call of the function `name`, already read; the current token is the opening bracket. */
export function readCall(cursor: Cursor, name: string, start: number): Expr {
  return readCallAfter(cursor, { name, start, first: readArguments(cursor) })
}

type OpenCall = { readonly name: string; readonly start: number; readonly first: Arguments }

/**
 * Continues after the first brackets of a call. Before WITHIN GROUP they contain parameters: the
 * arguments are the order.
 */
export function readCallAfter(cursor: Cursor, { name, start, first }: OpenCall): Expr {
  const may_have_params = !first.distinct && first.order_by.length === 0
  const second = may_have_params && at(cursor, '(') ? readArguments(cursor) : null
  const last = second ?? first
  const ignore_nulls = takeIgnoreNulls(cursor) || last.ignore_nulls
  const within_group = takePair(cursor, 'WITHIN', 'GROUP') ? readWithinGroup(cursor) : []
  const filter_expr = readFilter(cursor)
  if (at(cursor, 'OVER') && last.order_by.length === 0 && within_group.length === 0) {
    const window = { name, start, first, second, ignore_nulls, filter_expr }
    if (!last.distinct) return readOver(cursor, window)
    throw refuseUnexpected(cursor, 'no window behind DISTINCT arguments')
  }
  const of_group = second === null && within_group.length > 0
  const params = second === null && !of_group ? null : first.args
  const plain: Call = call(name, of_group ? [] : last.args, placeFrom(cursor, start))
  const { distinct, order_by } = last
  return { ...plain, params, distinct, ignore_nulls, order_by, within_group, filter_expr }
}

function readWithinGroup(cursor: Cursor): OrderExpr[] {
  expect(cursor, '(', 'after WITHIN GROUP')
  expect(cursor, 'ORDER', 'in WITHIN GROUP')
  expect(cursor, 'BY', 'after ORDER')
  const orders = cursor.rules.orders(cursor)
  expect(cursor, ')', 'after the order')
  return orders
}

function readFilter(cursor: Cursor): Expr | null {
  if (!takePair(cursor, 'FILTER', '(')) return null
  expect(cursor, 'WHERE', 'in FILTER')
  const condition = cursor.rules.expr(cursor, POWER.any)
  expect(cursor, ')', 'after the condition')
  return condition
}

type OpenWindow = OpenCall & {
  readonly second: Arguments | null
  readonly ignore_nulls: boolean
  readonly filter_expr: Expr | null
}

/** `OVER (…)` or `OVER name`. */
function readOver(cursor: Cursor, open: OpenWindow): Expr {
  advance(cursor)
  const is_bracketed = take(cursor, '(')
  const over_expr = is_bracketed ? cursor.rules.window(cursor) : null
  if (is_bracketed) expect(cursor, ')', 'after the window')
  const over_identifier = is_bracketed ? null : expectName(cursor, '"(" or the name of a window')
  return {
    kind: 'WindowFunction',
    ...placeFrom(cursor, open.start),
    name: open.name,
    exprs: open.first.args,
    args: open.second?.args ?? null,
    ignore_nulls: open.ignore_nulls,
    filter_expr: open.filter_expr,
    over_expr,
    over_identifier,
  }
}

/**
 * `COLUMNS('re')` or `COLUMNS(a, b.*)`; the word is already read, the current token is the opening
 * bracket.
 */
export function readColumns(cursor: Cursor, start: number): Expr {
  expect(cursor, '(', 'after COLUMNS')
  const exprs = readExprs(cursor)
  expect(cursor, ')', 'after the columns')
  const [only] = exprs
  const regex =
    exprs.length === 1 && only?.kind === 'Constant' && typeof only.value === 'string'
      ? only.value
      : null
  return {
    kind: 'ColumnsExpr',
    ...placeFrom(cursor, start),
    regex,
    columns: regex === null ? exprs : null,
    all_columns: false,
    table: null,
    exclude: [],
  }
}

/** `*` or `t.*`, already read, and an optional EXCLUDE. */
export function readStar(cursor: Cursor, table: readonly string[], start: number): Expr {
  if (!takePair(cursor, 'EXCLUDE', '(')) {
    return { kind: 'Field', ...placeFrom(cursor, start), chain: [...table, '*'] }
  }
  const exclude = commaList(cursor, readExcluded, (inner) => at(inner, ')'))
  expect(cursor, ')', 'after the excluded columns')
  return {
    kind: 'ColumnsExpr',
    ...placeFrom(cursor, start),
    regex: null,
    columns: null,
    all_columns: true,
    table: table.length === 0 ? null : table,
    exclude,
  }
}

function readExcluded(cursor: Cursor): string {
  const parts = [expectName(cursor, 'the name of a column')]
  while (take(cursor, '.')) parts.push(expectName(cursor, 'a name after "."'))
  return parts.join('.')
}
