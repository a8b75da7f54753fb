/** Lambdas: `x -> e`, `x, y -> e`, `(x, y) -> e`, `lambda x, y: e`. */

import type { Expr } from '../../syntax/ast.ts'
import { advance, at, type Cursor, expect, expectName, peek, placeFrom, take } from '../cursor.ts'
import { type HogQLToken, scanToken } from '../tokens.ts'
import { POWER } from './powers.ts'

/** Whether a lambda begins at the current name or opening bracket. */
export function atLambda(cursor: Cursor): boolean {
  if (isName(cursor.token)) {
    const next = peek(cursor).key
    return next === '->' || (next === ',' && namesLeadToArrow(cursor, cursor.token, '->'))
  }
  if (!at(cursor, '(')) return false
  const inner = peek(cursor)
  return inner.key === ')' || (isName(inner) && namesLeadToArrow(cursor, inner, ')'))
}

function isName(token: HogQLToken): boolean {
  return token.kind === 'word' || token.kind === 'quoted'
}

/**
 * Whether this is `name, name, …` followed by the arrow (after the closing bracket, if any). Each
 * list is scanned once: a list without an arrow is remembered, so that its later names are not
 * scanned again.
 */
function namesLeadToArrow(cursor: Cursor, first: HogQLToken, stop: '->' | ')'): boolean {
  if (first.start < cursor.lambda_free_until) return false
  let token = scanToken(cursor.text, first.end)
  while (token.key === ',') {
    const name = scanToken(cursor.text, token.end)
    token = isName(name) ? scanToken(cursor.text, name.end) : name
    if (!isName(name)) break
  }
  const fits =
    token.key === stop && (stop === '->' || scanToken(cursor.text, token.end).key === '->')
  if (!fits && token.key !== '->') cursor.lambda_free_until = token.start
  return fits
}

/** The lambda at the current token, recognized by `atLambda`, in an expression of the given power. */
export function readLambda(cursor: Cursor, power: number): Expr {
  const { start } = cursor.token
  const is_bracketed = take(cursor, '(')
  const args: string[] = []
  while (!at(cursor, '->') && !at(cursor, ')')) {
    args.push(expectName(cursor, 'the name of an argument'))
    take(cursor, ',')
  }
  if (is_bracketed) expect(cursor, ')', 'after the arguments of the lambda')
  expect(cursor, '->', 'after the arguments of the lambda')
  return readBody(cursor, { args, start, power })
}

/** `lambda x, y: e`; the current token is the keyword. */
export function readLambdaWord(cursor: Cursor, power: number): Expr {
  const { start } = advance(cursor)
  const args = [expectName(cursor, 'the name of an argument')]
  while (take(cursor, ',')) args.push(expectName(cursor, 'the name of an argument'))
  expect(cursor, ':', 'after the arguments of the lambda')
  return readBody(cursor, { args, start, power })
}

type OpenLambda = {
  readonly args: readonly string[]
  readonly start: number
  readonly power: number
}

/**
 * The body extends as far as possible, except over an alias where AS belongs to CAST or WITH. In
 * `f(x -> a, b -> c)` the comma ends the first body: two arguments, not a lambda of two parameters.
 */
function readBody(cursor: Cursor, { args, start, power }: OpenLambda): Expr {
  cursor.lambda_free_until = Math.max(cursor.lambda_free_until, cursor.token.end)
  const body_power = power === POWER.alias + 1 ? power : POWER.any
  const expr = cursor.rules.expr(cursor, body_power)
  return { kind: 'Lambda', ...placeFrom(cursor, start), args, expr }
}
