/** Postfix operators, which bind most tightly: member access, calls, casts. */

import type { Expr } from '../../syntax/ast.ts'
import { constant } from '../../syntax/nodes.ts'
import {
  advance,
  at,
  type Cursor,
  expect,
  expectName,
  placeFrom,
  refuseSpan,
  refuseUnexpected,
  replaceToken,
  take,
} from '../cursor.ts'
import { scanIndex } from '../tokens.ts'
import { readArguments } from './calls.ts'
import { POWER } from './powers.ts'
import { readTypeName } from './types.ts'

/** An operator after an operand. */
export type Infix = {
  readonly power: number
  /** Whether the tokens after the first match, where that one alone does not decide. */
  readonly applies?: (cursor: Cursor) => boolean
  /** Reads from the operator on; the operand before it began at `start`. */
  readonly read: (cursor: Cursor, left: Expr, start: number) => Expr
  /** A chain of it makes a tree that is no deeper, or that every walk handles iteratively. */
  readonly flat?: true
}

export const POSTFIXES: ReadonlyMap<string, readonly Infix[]> = new Map([
  ['.', [{ power: POWER.postfix, read: readPart }]],
  ['?.', [{ power: POWER.postfix, read: readPart }]],
  ['[', [{ power: POWER.postfix, read: readElement }]],
  ['(', [{ power: POWER.postfix, read: readCallOf }]],
  ['::', [{ power: POWER.postfix, read: readCast }]],
])

/** `.name`, `.1`, and the same behind `?.`, which may also take `[element]`. */
function readPart(cursor: Cursor, left: Expr, start: number): Expr {
  const nullish = advance(cursor).key === '?.'
  if (nullish && take(cursor, '[')) {
    const property = cursor.rules.expr(cursor, POWER.any)
    expect(cursor, ']', 'after the element')
    return { kind: 'ArrayAccess', ...placeFrom(cursor, start), array: left, property, nullish }
  }
  const index = scanIndex(cursor.text, cursor.token.start)
  if (index !== null) {
    replaceToken(cursor, index)
    advance(cursor)
    const position = Number(cursor.text.slice(index.start, index.end))
    if (!Number.isSafeInteger(position))
      throw refuseSpan(cursor, index, 'there is no such element.')
    return {
      kind: 'TupleAccess',
      ...placeFrom(cursor, start),
      tuple: left,
      index: position,
      nullish,
    }
  }
  const { start: name_start } = cursor.token
  const name = expectName(cursor, `a name or a number after "${nullish ? '?.' : '.'}"`)
  const property = constant(name, placeFrom(cursor, name_start))
  return { kind: 'ArrayAccess', ...placeFrom(cursor, start), array: left, property, nullish }
}

/** `[element]`, `[from:to]` with either bound left out. */
function readElement(cursor: Cursor, left: Expr, start: number): Expr {
  advance(cursor)
  const first = at(cursor, ':') ? null : cursor.rules.expr(cursor, POWER.any)
  if (first !== null && take(cursor, ']')) {
    const place = placeFrom(cursor, start)
    return { kind: 'ArrayAccess', ...place, array: left, property: first, nullish: false }
  }
  if (!take(cursor, ':')) throw refuseUnexpected(cursor, '"]" or ":" after the element')
  const last = at(cursor, ']') ? null : cursor.rules.expr(cursor, POWER.any)
  expect(cursor, ']', 'after the slice')
  const place = placeFrom(cursor, start)
  return { kind: 'ArraySlice', ...place, array: left, start_expr: first, end_expr: last }
}

function readCallOf(cursor: Cursor, left: Expr, start: number): Expr {
  const { args } = readArguments(cursor)
  return { kind: 'ExprCall', ...placeFrom(cursor, start), expr: left, args }
}

function readCast(cursor: Cursor, left: Expr, start: number): Expr {
  advance(cursor)
  const type_name = readTypeName(cursor)
  return { kind: 'TypeCast', ...placeFrom(cursor, start), expr: left, type_name }
}
