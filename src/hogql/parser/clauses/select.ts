/** Selects, single or joined by set operators. */

import type {
  CTE,
  Expr,
  Select,
  SelectQuery,
  SelectSetNode,
  SelectSetQuery,
  SetOperator,
  ValuesQuery,
} from '../../syntax/ast.ts'
import { selectOf, selectSetOf } from '../../syntax/nodes.ts'
import {
  advance,
  at,
  atPair,
  type Cursor,
  commaList,
  descend,
  expect,
  expectName,
  peek,
  placeFrom,
  refuseSpan,
  refuseUnexpected,
  take,
  takePair,
} from '../cursor.ts'
import { readBraces } from '../expressions/brackets.ts'
import { POWER } from '../expressions/powers.ts'
import { atBareAlias, atListEnd, operandFollowsSurely, requireFreeName } from '../words.ts'
import { atLimit, readClauses, type SelectDraft } from './clauses.ts'
import { readCtes } from './ctes.ts'
import { readLimit, readOrders } from './orders.ts'
import { readValues } from './tables.ts'

/** With `is_bracketed`, an ORDER BY or LIMIT after it applies to the whole, not to this select. */
type Operand = { readonly select: Select | ValuesQuery; readonly is_bracketed: boolean }

/** A select, or several joined by set operators, without the brackets around it. */
export function readSelect(cursor: Cursor): Select {
  descend(cursor)
  const { start } = cursor.token
  const select = readSelectFrom(cursor, readOperand(cursor), start)
  cursor.depth -= 1
  return select
}

/** Continues after a select in brackets (or VALUES) that has been read. */
export function readSelectAfter(cursor: Cursor, bracketed: Select | ValuesQuery): Select {
  return readSelectFrom(cursor, { select: bracketed, is_bracketed: true }, bracketed.start)
}

function readSelectFrom(cursor: Cursor, first: Operand, start: number): Select {
  const following: SelectSetNode[] = []
  let last = first
  for (let operator = takeOperator(cursor); operator; operator = takeOperator(cursor)) {
    const { start: from } = cursor.token
    last = readOperand(cursor)
    const place = placeFrom(cursor, from)
    const set_operator = operator
    following.push({ kind: 'SelectSetNode', ...place, set_operator, select_query: last.select })
  }
  const whole = joinSelects(cursor, { first, following, start })
  const has_tail = atPair(cursor, 'ORDER', 'BY') || atLimit(cursor)
  return last.is_bracketed && has_tail ? readTail(cursor, whole, start) : whole
}

type Operands = {
  readonly first: Operand
  readonly following: readonly SelectSetNode[]
  readonly start: number
}

function joinSelects(cursor: Cursor, { first, following, start }: Operands): Select {
  if (following.length > 0) {
    return selectSetOf(first.select, following, placeFrom(cursor, start))
  }
  if (first.select.kind !== 'ValuesQuery') return first.select
  throw refuseUnexpected(cursor, 'a set operator such as UNION ALL behind VALUES')
}

/** `UNION [ALL|DISTINCT] [BY NAME]`, `INTERSECT …`, `EXCEPT …`. */
function takeOperator(cursor: Cursor): SetOperator | null {
  const { key } = cursor.token
  if (key !== 'UNION' && key !== 'INTERSECT' && key !== 'EXCEPT') return null
  advance(cursor)
  const all = take(cursor, 'ALL')
  const distinct = !all && (take(cursor, 'DISTINCT') || key === 'UNION')
  const by_name = takePair(cursor, 'BY', 'NAME')
  const name = key === 'UNION' ? 'UNION DISTINCT' : key
  const operator = all ? (`${key} ALL` as const) : distinct ? (`${key} DISTINCT` as const) : name
  return by_name ? `${operator} BY NAME` : operator
}

function readOperand(cursor: Cursor): Operand {
  if (at(cursor, 'WITH')) return readWithCtes(cursor)
  if (at(cursor, 'SELECT'))
    return { select: readSelectQuery(cursor, [], cursor.token.start), is_bracketed: false }
  if (atPair(cursor, 'VALUES', '(')) return { select: readValues(cursor), is_bracketed: true }
  if (at(cursor, '(')) return { select: readBracketed(cursor), is_bracketed: true }
  if (!at(cursor, '{')) throw refuseUnexpected(cursor, 'SELECT')
  const placeholder = readBraces(cursor)
  if (placeholder.kind !== 'Placeholder') throw refuseSpan(cursor, placeholder, 'expected SELECT.')
  return { select: placeholder, is_bracketed: true }
}

function readBracketed(cursor: Cursor): Select | ValuesQuery {
  advance(cursor)
  const values = atPair(cursor, 'VALUES', '(') ? readValues(cursor) : null
  const select = values === null || !at(cursor, ')') ? readBehind(cursor, values) : values
  expect(cursor, ')', 'after the select')
  return select
}

function readBehind(cursor: Cursor, values: ValuesQuery | null): Select {
  return values === null ? readSelect(cursor) : readSelectAfter(cursor, values)
}

/** `WITH … SELECT …`, or `WITH … (SELECT …)`, where the CTEs belong to the first select. */
function readWithCtes(cursor: Cursor): Operand {
  const { start } = advance(cursor)
  const ctes = readCtes(cursor)
  if (!at(cursor, '(')) return { select: readSelectQuery(cursor, ctes, start), is_bracketed: false }
  const { token } = cursor
  const select = withCtes(readBracketed(cursor), ctes)
  if (select === null) throw refuseSpan(cursor, token, 'expected SELECT after WITH.')
  return { select, is_bracketed: true }
}

/** The select with further CTEs, which its own CTEs may use and shadow. */
function withCtes(
  select: Select | ValuesQuery,
  ctes: readonly CTE[],
): SelectQuery | SelectSetQuery | null {
  if (select.kind === 'SelectQuery') return { ...select, ctes: [...ctes, ...select.ctes] }
  if (select.kind !== 'SelectSetQuery') return null
  const initial_select_query = withCtes(select.initial_select_query, ctes)
  return initial_select_query === null ? null : { ...select, initial_select_query }
}

function readSelectQuery(cursor: Cursor, ctes: readonly CTE[], start: number): SelectQuery {
  expect(cursor, 'SELECT', 'after WITH')
  refuseOtherDialects(cursor)
  const distinct = takeBefore(cursor, 'DISTINCT')
  if (!distinct) takeBefore(cursor, 'ALL')
  const draft: SelectDraft = { ...selectOf([]), ctes, distinct }
  draft.select = commaList(cursor, readSelectItem, atListEnd)
  readClauses(cursor, draft)
  return { ...draft, ...placeFrom(cursor, start) }
}

/** Consumes the word unless the token after it shows that it is a column's name. */
function takeBefore(cursor: Cursor, key: string): boolean {
  const next = peek(cursor)
  const operand = operandFollowsSurely(cursor) || ['*', '(', '[', '-', '<', '#'].includes(next.key)
  if (!at(cursor, key) || !operand || (key === 'ALL' && next.kind === 'symbol')) return false
  advance(cursor)
  return true
}

function refuseOtherDialects(cursor: Cursor): void {
  const { token } = cursor
  if (at(cursor, 'TOP') && peek(cursor).kind === 'number') {
    throw refuseSpan(cursor, token, 'TOP does not exist in HogQL; use LIMIT.')
  }
  if (atPair(cursor, 'DISTINCT', 'ON')) {
    throw refuseSpan(cursor, token, 'DISTINCT ON does not exist in HogQL; use LIMIT 1 BY.')
  }
}

/** `expr`, `expr AS name`, `expr name`, `name: expr`. */
function readSelectItem(cursor: Cursor): Expr {
  const { token } = cursor
  const named = token.kind === 'word' || token.kind === 'quoted'
  if (named && peek(cursor).key === ':') {
    const alias = expectName(cursor, 'a name')
    requireFreeName(cursor, token, alias)
    advance(cursor)
    const expr = cursor.rules.expr(cursor, POWER.any)
    return { kind: 'Alias', ...placeFrom(cursor, token.start), alias, expr }
  }
  const expr = cursor.rules.expr(cursor, POWER.any)
  if (!atBareAlias(cursor)) return expr
  const { token: name_token } = cursor
  const alias = expectName(cursor, 'a name')
  requireFreeName(cursor, name_token, alias)
  return { kind: 'Alias', ...placeFrom(cursor, token.start), alias, expr }
}

/** ORDER BY, LIMIT and OFFSET of the whole, after a bracketed select. */
function readTail(cursor: Cursor, whole: Select, start: number): Select {
  const order_by = takePair(cursor, 'ORDER', 'BY') ? readOrders(cursor) : []
  const { token } = cursor
  const limit = atLimit(cursor) ? readLimit(cursor) : {}
  if ('kind' in limit) throw refuseSpan(cursor, token, 'LIMIT … BY belongs into the brackets.')
  const tail = { ...placeFrom(cursor, start), order_by, ...limit }
  if (whole.kind === 'SelectQuery' && isUnlimited(whole) && whole.limit_by === null) {
    return { ...whole, ...tail }
  }
  if (whole.kind === 'SelectSetQuery' && isUnlimited(whole)) return { ...whole, ...tail }
  return { ...selectSetOf(whole, []), ...tail }
}

/** Whether the select has no ORDER BY or LIMIT that one after the brackets would replace. */
function isUnlimited(select: SelectQuery | SelectSetQuery): boolean {
  return select.order_by.length === 0 && select.limit === null && select.offset === null
}
