/**
 * The Pratt loop (operator precedence parsing): an operand, then every operator after it that binds
 * tightly enough.
 */

import type { Expr } from '../../syntax/ast.ts'
import { type Cursor, descend, refuseUnexpected, requireDepth } from '../cursor.ts'
import { INFIXES } from './operators.ts'
import type { Infix } from './postfix.ts'
import { POWER } from './powers.ts'
import { readPrimary } from './primary.ts'

/**
 * An expression whose loosest operator binds at least as tightly as `power`. Refuses nesting and chains beyond the
 * limit of depth, except chains of + - * / %, AND, OR and ||, which may be as long as the limit of nodes allows.
 */
export function readExpr(cursor: Cursor, power: number): Expr {
  descend(cursor)
  const { start } = cursor.token
  let left = readPrimary(cursor, power)
  let links = 0
  // Behind an alias only operators that bind no tighter than AND may follow: `x AS a and y`, not `x AS a + y`.
  let tightest: number = POWER.postfix
  for (let infix = infixAt(cursor, power); infix; infix = infixAt(cursor, power)) {
    if (infix.power > tightest)
      throw refuseUnexpected(cursor, 'AND, OR, "?" or the end of the expression behind its alias')
    if (infix.power === POWER.alias) tightest = POWER.and
    if (infix.flat !== true) {
      links += 1
      requireDepth(cursor, links)
    }
    left = infix.read(cursor, left, start)
  }
  cursor.depth -= 1
  return left
}

function infixAt(cursor: Cursor, power: number): Infix | null {
  const meanings = INFIXES.get(cursor.token.key)
  if (meanings === undefined) return null
  for (const infix of meanings) {
    if (infix.power >= power && infix.applies?.(cursor) !== false) return infix
  }
  return null
}
