/** Comma-separated lists of expressions and of names, with optional trailing comma. */

import type { Expr } from '../../syntax/ast.ts'
import { at, type Cursor, commaList, expect, expectName } from '../cursor.ts'
import { atListEnd } from '../words.ts'
import { POWER } from './powers.ts'

/** One item of a list of expressions, an alias included. */
export function readItem(cursor: Cursor): Expr {
  return cursor.rules.expr(cursor, POWER.any)
}

/** One expression or more, up to a closing bracket or the next clause. */
export function readExprs(cursor: Cursor): Expr[] {
  return commaList(cursor, readItem, atListEnd)
}

/** `(a, b)`: names of columns. */
export function readColumnNames(cursor: Cursor): string[] {
  expect(cursor, '(', 'before the names of columns')
  const names = commaList(cursor, readColumnName, (inner) => at(inner, ')'))
  expect(cursor, ')', 'after the names of columns')
  return names
}

function readColumnName(cursor: Cursor): string {
  return expectName(cursor, 'the name of a column')
}
