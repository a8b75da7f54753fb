/** WITH: names for selects (`name AS (SELECT …)`) and for expressions (`expr AS name`). */

import type { CTE, Expr, ValuesQuery } from '../../syntax/ast.ts'
import {
  at,
  atPair,
  type Cursor,
  commaList,
  expect,
  expectName,
  placeFrom,
  refuseSpan,
  refuseUnexpected,
  take,
  takePair,
} from '../cursor.ts'
import { readColumnNames } from '../expressions/lists.ts'
import { POWER } from '../expressions/powers.ts'
import { operandFollowsSurely } from '../words.ts'
import { readValues } from './tables.ts'

/** The list after WITH, up to the select. */
export function readCtes(cursor: Cursor): CTE[] {
  const recursive = at(cursor, 'RECURSIVE') && operandFollowsSurely(cursor)
  if (recursive) take(cursor, 'RECURSIVE')
  return commaList(
    cursor,
    (inner) => readCte(inner, recursive),
    (inner) => at(inner, 'SELECT'),
  )
}

/** Both forms begin like an expression; the token after AS decides which one it is. */
function readCte(cursor: Cursor, recursive: boolean): CTE {
  const { start } = cursor.token
  const head = cursor.rules.expr(cursor, POWER.alias + 1)
  const using_key = takePair(cursor, 'USING', 'KEY') ? readColumnNames(cursor) : null
  if (!take(cursor, 'AS')) throw refuseUnexpected(cursor, 'AS in WITH')
  const materialized = takeMaterialized(cursor)
  if (!at(cursor, '(')) {
    if (using_key !== null || materialized !== null) throw refuseUnexpected(cursor, '"("')
    const name = expectName(cursor, '"(" or a name after AS')
    const unused = { columns: null, using_key, materialized, recursive }
    return {
      kind: 'CTE',
      ...placeFrom(cursor, start),
      name,
      cte_type: 'column',
      expr: head,
      ...unused,
    }
  }
  const { name, columns } = readHead(cursor, head)
  const expr = readBody(cursor)
  const rest = { columns, using_key, materialized, recursive }
  return { kind: 'CTE', ...placeFrom(cursor, start), name, cte_type: 'subquery', expr, ...rest }
}

function takeMaterialized(cursor: Cursor): boolean | null {
  if (takePair(cursor, 'NOT', 'MATERIALIZED')) return false
  return take(cursor, 'MATERIALIZED') ? true : null
}

type CteHead = Pick<CTE, 'name' | 'columns'>

/** `name` or `name(column, …)`, already read as a field or a call. */
function readHead(cursor: Cursor, head: Expr): CteHead {
  const name = plainName(head)
  if (name !== null) return { name, columns: null }
  const columns = head.kind === 'Call' && head.params === null ? head.args.map(plainName) : []
  const names = columns.filter((column) => column !== null)
  if (head.kind === 'Call' && names.length > 0 && names.length === columns.length) {
    return { name: head.name, columns: names }
  }
  throw refuseSpan(cursor, head, 'expected the name of the select that follows AS.')
}

function plainName(expr: Expr): string | null {
  return expr.kind === 'Field' && expr.chain.length === 1 ? (expr.chain[0] ?? null) : null
}

function readBody(cursor: Cursor): Expr | ValuesQuery {
  expect(cursor, '(', 'before the select')
  const values = atPair(cursor, 'VALUES', '(') ? readValues(cursor) : null
  const expr = values === null ? cursor.rules.select(cursor) : readAfterValues(cursor, values)
  expect(cursor, ')', 'after the select')
  return expr
}

function readAfterValues(cursor: Cursor, values: ValuesQuery): Expr | ValuesQuery {
  return at(cursor, ')') ? values : cursor.rules.selectAfter(cursor, values)
}
