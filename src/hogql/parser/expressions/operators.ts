/** INFIXES: the operators of the grammar, by first token. */

import type { ArithmeticOperator, CompareOperator, Expr } from '../../syntax/ast.ts'
import { call, constant } from '../../syntax/nodes.ts'
import {
  advance,
  type Cursor,
  expect,
  peek,
  peekTwo,
  placeFrom,
  refuseUnexpected,
  take,
  takeName,
} from '../cursor.ts'
import { unquote } from '../tokens.ts'
import { operandFollows, requireFreeName } from '../words.ts'
import { type Infix, POSTFIXES } from './postfix.ts'
import { POWER } from './powers.ts'

const COMPARISONS: ReadonlyMap<string, CompareOperator> = new Map([
  ['=', '=='],
  ['==', '=='],
  ['!=', '!='],
  ['<>', '!='],
  ['<', '<'],
  ['<=', '<='],
  ['>', '>'],
  ['>=', '>='],
  ['~', '=~'],
  ['=~', '=~'],
  ['!~', '!~'],
  ['~*', '=~*'],
  ['=~*', '=~*'],
  ['!~*', '!~*'],
  ['LIKE', 'like'],
  ['ILIKE', 'ilike'],
])

const NEGATED = { LIKE: 'not like', ILIKE: 'not ilike', IN: 'not in' } as const

const ARITHMETIC = {
  '+': POWER.add,
  '-': POWER.add,
  '*': POWER.multiply,
  '/': POWER.multiply,
  '%': POWER.multiply,
} as const satisfies Record<ArithmeticOperator, number>

const COMPARISON: Infix = { power: POWER.compare, read: readComparison }

/**
 * First token → its meanings after an operand; the first that applies is taken. Adding an operator
 * means adding a line.
 */
export const INFIXES: ReadonlyMap<string, readonly Infix[]> = new Map<string, readonly Infix[]>([
  ...POSTFIXES,
  arithmetic('+'),
  arithmetic('-'),
  arithmetic('*'),
  arithmetic('/'),
  arithmetic('%', operandFollows),
  ['||', [{ power: POWER.add, read: readConcat, flat: true }]],
  ...[...COMPARISONS.keys()].map((key) => [key, [COMPARISON]] as const),
  ['IN', [{ power: POWER.compare, read: readIn }]],
  [
    'IS',
    [
      { power: POWER.is_null, read: readNullTest, applies: (cursor) => isTest(cursor) === 'NULL' },
      { power: POWER.distinct, read: readDistinct },
    ],
  ],
  ['<=>', [{ power: POWER.null_safe, read: readNullSafe }]],
  ['??', [{ power: POWER.nullish, read: readNullish }]],
  ['BETWEEN', [{ power: POWER.between, read: readBetween }]],
  [
    'NOT',
    [
      { power: POWER.compare, read: readNegated, applies: (cursor) => peek(cursor).key in NEGATED },
      {
        power: POWER.between,
        read: readBetween,
        applies: (cursor) => peek(cursor).key === 'BETWEEN',
      },
    ],
  ],
  ['AND', [{ power: POWER.and, read: readAnd, flat: true }]],
  ['OR', [{ power: POWER.or, read: readOr, flat: true }]],
  ['?', [{ power: POWER.ternary, read: readTernary }]],
  ['AS', [{ power: POWER.alias, read: readAlias }]],
])

/** `applies` prevents the percent sign of `LIMIT 10 %` from being an operator. */
function arithmetic(
  op: ArithmeticOperator,
  applies?: Infix['applies'],
): readonly [string, readonly Infix[]] {
  const power = ARITHMETIC[op]
  const read: Infix['read'] = (cursor, left, start) => {
    advance(cursor)
    const right = cursor.rules.expr(cursor, power + 1)
    return { kind: 'ArithmeticOperation', ...placeFrom(cursor, start), op, left, right }
  }
  return [op, [{ power, read, flat: true, ...(applies && { applies }) }]]
}

/** `a || b || c` is one call, also where an operand is a concat itself. */
function readConcat(cursor: Cursor, left: Expr, start: number): Expr {
  const parts = [left]
  while (take(cursor, '||')) parts.push(cursor.rules.expr(cursor, POWER.add + 1))
  return call('concat', parts.flatMap(concatParts), placeFrom(cursor, start))
}

function concatParts(expr: Expr): readonly Expr[] {
  const plain = expr.kind === 'Call' && expr.name === 'concat' && expr.params === null
  return plain && !expr.distinct && expr.filter_expr === null ? expr.args : [expr]
}

function readComparison(cursor: Cursor, left: Expr, start: number): Expr {
  const op = COMPARISONS.get(advance(cursor).key)
  if (op === undefined) throw new Error('a comparison without an operator')
  return comparison(cursor, { left, op, start })
}

type HalfComparison = {
  readonly left: Expr
  readonly op: CompareOperator
  readonly start: number
}

function comparison(cursor: Cursor, { left, op, start }: HalfComparison): Expr {
  const right = cursor.rules.expr(cursor, POWER.compare + 1)
  return {
    kind: 'CompareOperation',
    ...placeFrom(cursor, start),
    op,
    left,
    right,
    is_null_comparison_style: false,
  }
}

function readIn(cursor: Cursor, left: Expr, start: number): Expr {
  advance(cursor)
  return comparison(cursor, { left, op: takeCohort(cursor) ? 'in cohort' : 'in', start })
}

/** `NOT IN`, `NOT LIKE`, `NOT ILIKE`. */
function readNegated(cursor: Cursor, left: Expr, start: number): Expr {
  advance(cursor)
  const { key } = advance(cursor)
  if (key !== 'IN' && key !== 'LIKE' && key !== 'ILIKE')
    throw new Error(`NOT ${key} is no operator`)
  const op = key === 'IN' && takeCohort(cursor) ? 'not in cohort' : NEGATED[key]
  return comparison(cursor, { left, op, start })
}

/** COHORT is a keyword only before a cohort; otherwise it is a column. */
function takeCohort(cursor: Cursor): boolean {
  const next = peek(cursor)
  if (cursor.token.key !== 'COHORT' || !operandFollows(cursor)) return false
  if (next.key === '.' || next.key === '*' || next.key === '<') return false
  advance(cursor)
  return true
}

/** The keyword after IS or IS NOT. */
function isTest(cursor: Cursor): string {
  const next = peek(cursor).key
  return next === 'NOT' ? peekTwo(cursor).key : next
}

function readNullTest(cursor: Cursor, left: Expr, start: number): Expr {
  advance(cursor)
  const op = take(cursor, 'NOT') ? '!=' : '=='
  const { start: from } = advance(cursor)
  const right = constant(null, placeFrom(cursor, from))
  return {
    kind: 'CompareOperation',
    ...placeFrom(cursor, start),
    op,
    left,
    right,
    is_null_comparison_style: true,
  }
}

function readDistinct(cursor: Cursor, left: Expr, start: number): Expr {
  advance(cursor)
  const negated = take(cursor, 'NOT')
  if (!take(cursor, 'DISTINCT')) throw refuseUnexpected(cursor, 'NULL or DISTINCT FROM after IS')
  expect(cursor, 'FROM', 'after IS DISTINCT')
  const right = cursor.rules.expr(cursor, POWER.distinct + 1)
  return { kind: 'IsDistinctFrom', ...placeFrom(cursor, start), left, right, negated }
}

function readNullSafe(cursor: Cursor, left: Expr, start: number): Expr {
  advance(cursor)
  const right = cursor.rules.expr(cursor, POWER.null_safe + 1)
  return { kind: 'IsDistinctFrom', ...placeFrom(cursor, start), left, right, negated: true }
}

function readNullish(cursor: Cursor, left: Expr, start: number): Expr {
  advance(cursor)
  const right = cursor.rules.expr(cursor, POWER.nullish + 1)
  return call('ifNull', [left, right], placeFrom(cursor, start))
}

function readBetween(cursor: Cursor, left: Expr, start: number): Expr {
  const negated = take(cursor, 'NOT')
  advance(cursor)
  const low = cursor.rules.expr(cursor, POWER.between + 1)
  expect(cursor, 'AND', 'between the two bounds of BETWEEN')
  const high = cursor.rules.expr(cursor, POWER.between + 1)
  return { kind: 'BetweenExpr', ...placeFrom(cursor, start), expr: left, low, high, negated }
}

/** A chain of ANDs is one node, however its operands are bracketed. */
function readAnd(cursor: Cursor, left: Expr, start: number): Expr {
  const parts = [left]
  while (take(cursor, 'AND')) parts.push(cursor.rules.expr(cursor, POWER.and + 1))
  const exprs = parts.flatMap((part) => (part.kind === 'And' ? part.exprs : [part]))
  return { kind: 'And', ...placeFrom(cursor, start), exprs }
}

/** A chain of ORs is one node, however its operands are bracketed. */
function readOr(cursor: Cursor, left: Expr, start: number): Expr {
  const parts = [left]
  while (take(cursor, 'OR')) parts.push(cursor.rules.expr(cursor, POWER.or + 1))
  const exprs = parts.flatMap((part) => (part.kind === 'Or' ? part.exprs : [part]))
  return { kind: 'Or', ...placeFrom(cursor, start), exprs }
}

function readTernary(cursor: Cursor, left: Expr, start: number): Expr {
  advance(cursor)
  const yes = cursor.rules.expr(cursor, POWER.any)
  expect(cursor, ':', 'between the two results of "?"')
  const no = cursor.rules.expr(cursor, POWER.ternary)
  return call('if', [left, yes, no], placeFrom(cursor, start))
}

function readAlias(cursor: Cursor, left: Expr, start: number): Expr {
  advance(cursor)
  return { kind: 'Alias', alias: readAliasName(cursor), ...placeFrom(cursor, start), expr: left }
}

/** The name after AS: a name or a string. Refuses reserved names. */
function readAliasName(cursor: Cursor): string {
  const { token } = cursor
  const text = token.kind === 'string' ? unquote(cursor.text.slice(token.start, token.end)) : null
  if (text !== null) advance(cursor)
  const name = text ?? takeName(cursor)
  if (name === null) throw refuseUnexpected(cursor, 'a name after AS')
  requireFreeName(cursor, token, name)
  return name
}
