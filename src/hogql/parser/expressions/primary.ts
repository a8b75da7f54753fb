/** Operands: the beginnings of an expression, chosen by the first token. */

import type { Expr } from '../../syntax/ast.ts'
import { call, constant } from '../../syntax/nodes.ts'
import {
  advance,
  at,
  type Cursor,
  expect,
  expectName,
  peek,
  peekTwo,
  placeFrom,
  refuseSpan,
  refuseUnexpected,
  take,
} from '../cursor.ts'
import { atTag, readTag } from '../tags.ts'
import { scanIndex, scanToken } from '../tokens.ts'
import { atClause, INTERVAL_UNITS, operandFollows, operandFollowsSurely } from '../words.ts'
import { readBraces, readBrackets, readParentheses } from './brackets.ts'
import {
  readArguments,
  readArgumentsAfter,
  readCall,
  readCallAfter,
  readColumns,
  readStar,
} from './calls.ts'
import { atLambda, readLambda, readLambdaWord } from './lambdas.ts'
import {
  atNumber,
  intervalOf,
  readInterval,
  readNumber,
  readString,
  readTemplate,
  takeUnit,
} from './literals.ts'
import { POWER } from './powers.ts'
import { readTypeName } from './types.ts'

/** Reads the form that the keyword begins; null when the word is only a name here. */
type WordForm = (cursor: Cursor, power: number) => Expr | null

/** Keywords that begin a form. Adding a form means adding a line. */
const WORD_FORMS: ReadonlyMap<string, WordForm> = new Map<string, WordForm>([
  ['NULL', (cursor) => readWordConstant(cursor, null)],
  ['TRUE', (cursor) => (goesOnAsName(cursor) ? null : readWordConstant(cursor, true))],
  ['FALSE', (cursor) => (goesOnAsName(cursor) ? null : readWordConstant(cursor, false))],
  ['INF', (cursor) => readNumber(cursor, 1, cursor.token.start)],
  ['INFINITY', (cursor) => readNumber(cursor, 1, cursor.token.start)],
  ['NAN', (cursor) => readNumber(cursor, 1, cursor.token.start)],
  ['NOT', readNot],
  ['CASE', readCase],
  ['CAST', (cursor) => readCast(cursor, 'TypeCast')],
  ['TRY_CAST', (cursor) => readCast(cursor, 'TryCast')],
  ['INTERVAL', readIntervalWord],
  ['TRIM', readTrim],
  ['COLUMNS', readColumnsWord],
  [
    'LAMBDA',
    (cursor, power) => (isNameToken(peek(cursor).kind) ? readLambdaWord(cursor, power) : null),
  ],
  ['ARRAY', readArrayWord],
  ['DATE', refuseTyped('toDate')],
  ['TIMESTAMP', refuseTyped('toDateTime')],
])

const SYMBOL_FORMS: ReadonlyMap<string, (cursor: Cursor, power: number) => Expr> = new Map([
  ['(', readParentheses],
  ['[', (cursor: Cursor) => readBrackets(cursor, cursor.token.start)],
  ['{', readBraces],
  ['-', readMinus],
  ['+', readPlus],
  ['*', (cursor: Cursor) => readStar(cursor, [], advance(cursor).start)],
  ['#', readPosition],
])

/** The operand at the current token, without postfix operators, in an expression of the given power. */
export function readPrimary(cursor: Cursor, power: number): Expr {
  const { kind, key, start } = cursor.token
  if (kind === 'word') {
    if (atClause(cursor)) throw refuseUnexpected(cursor, 'an expression')
    return WORD_FORMS.get(key)?.(cursor, power) ?? readNamed(cursor, power)
  }
  if (kind === 'quoted') return readNamed(cursor, power)
  if (kind === 'string') return readString(cursor)
  if (kind === 'template') return readTemplate(cursor)
  if (atNumber(cursor, cursor.token)) return readNumber(cursor, 1, start)
  if (atTag(cursor)) return readTag(cursor)
  const form = SYMBOL_FORMS.get(key)
  if (form === undefined) throw refuseUnexpected(cursor, 'an expression')
  return form(cursor, power)
}

function isNameToken(kind: string): boolean {
  return kind === 'word' || kind === 'quoted'
}

/** A lambda, a named argument, a call, or a field with all its parts. */
function readNamed(cursor: Cursor, power: number): Expr {
  if (atLambda(cursor)) return readLambda(cursor, power)
  const { start } = cursor.token
  const name = expectName(cursor, 'a name')
  if (at(cursor, '(')) return readCall(cursor, name, start)
  if (take(cursor, ':=')) {
    const value = cursor.rules.expr(cursor, POWER.any)
    return { kind: 'NamedArgument', ...placeFrom(cursor, start), name, value }
  }
  const chain = [name]
  while (at(cursor, '.') && isNameToken(peek(cursor).kind)) {
    advance(cursor)
    chain.push(expectName(cursor, 'a name after "."'))
    placeFrom(cursor, start)
  }
  if (at(cursor, '.') && peek(cursor).key === '*') {
    advance(cursor)
    advance(cursor)
    return readStar(cursor, chain, start)
  }
  return { kind: 'Field', ...placeFrom(cursor, start), chain }
}

function readWordConstant(cursor: Cursor, value: boolean | null): Expr {
  const { start } = advance(cursor)
  return constant(value, placeFrom(cursor, start))
}

function goesOnAsName(cursor: Cursor): boolean {
  const { key } = peek(cursor)
  if (key === '.') return isNameToken(peekTwo(cursor).kind) || peekTwo(cursor).key === '*'
  return key === '(' || key === '->' || key === ':='
}

/** `not (a)` is a call, `not (SELECT …)` and anything else the operator. */
function readNot(cursor: Cursor): Expr | null {
  const next = peek(cursor)
  const of_select = next.key === '(' && ['SELECT', 'WITH'].includes(peekTwo(cursor).key)
  if (!of_select && (next.key === '(' || !operandFollows(cursor) || next.key === '.')) return null
  if (next.key === '*') return null
  const { start } = advance(cursor)
  const expr = cursor.rules.expr(cursor, POWER.not)
  return { kind: 'Not', ...placeFrom(cursor, start), expr }
}

/** `CASE [x] WHEN … THEN … [ELSE …] END` as a call of the function it abbreviates. */
function readCase(cursor: Cursor): Expr | null {
  const next = peek(cursor)
  const begins = next.key === 'WHEN' || next.key === '(' || next.key === '-'
  if (!begins && !operandFollowsSurely(cursor) && next.key !== '[') return null
  const { start } = advance(cursor)
  const args = at(cursor, 'WHEN') ? [] : [cursor.rules.expr(cursor, POWER.any)]
  const has_subject = args.length > 0
  if (!at(cursor, 'WHEN')) throw refuseUnexpected(cursor, 'WHEN in CASE')
  while (take(cursor, 'WHEN')) {
    args.push(cursor.rules.expr(cursor, POWER.any))
    expect(cursor, 'THEN', 'after WHEN')
    args.push(cursor.rules.expr(cursor, POWER.any))
  }
  const otherwise = take(cursor, 'ELSE') ? cursor.rules.expr(cursor, POWER.any) : null
  expect(cursor, 'END', 'after CASE')
  const place = placeFrom(cursor, start)
  args.push(otherwise ?? constant(null, { start: place.end, end: place.end }))
  if (has_subject) return call('_caseWithExpression', args, place)
  return call(args.length === 3 ? 'if' : 'multiIf', args, place)
}

/** `CAST(x AS T)`; `cast(x, 'T')` is an ordinary call. */
function readCast(cursor: Cursor, kind: 'TypeCast' | 'TryCast'): Expr | null {
  if (peek(cursor).key !== '(') return null
  const { start } = cursor.token
  const name = expectName(cursor, 'a name')
  advance(cursor)
  if (at(cursor, ')')) {
    return readCallAfter(cursor, { name, start, first: readArgumentsAfter(cursor, null) })
  }
  const expr = cursor.rules.expr(cursor, POWER.alias + 1)
  if (!take(cursor, 'AS')) {
    return readCallAfter(cursor, { name, start, first: readArgumentsAfter(cursor, expr) })
  }
  const type_name = readTypeName(cursor)
  expect(cursor, ')', 'after the type')
  return { kind, ...placeFrom(cursor, start), expr, type_name }
}

function readIntervalWord(cursor: Cursor): Expr | null {
  const next = peek(cursor)
  if (next.key === '(') return readIntervalCall(cursor)
  const negative = next.key === '-' && atNumber(cursor, peekTwo(cursor))
  const unit = negative ? scanToken(cursor.text, peekTwo(cursor).end).key : ''
  if (!INTERVAL_UNITS.has(unit) && !operandFollowsSurely(cursor)) return null
  const { start } = advance(cursor)
  return readInterval(cursor, start)
}

/** `interval(1)` is a call, `INTERVAL (1) DAY` an interval: the unit after the brackets decides. */
function readIntervalCall(cursor: Cursor): Expr {
  const { start } = cursor.token
  const name = expectName(cursor, 'a name')
  const first = readArguments(cursor)
  const [count] = first.args
  const unit = first.args.length === 1 ? takeUnit(cursor) : null
  if (unit === null || count === undefined) return readCallAfter(cursor, { name, start, first })
  return intervalOf(cursor, { unit, count, start })
}

const TRIM_FUNCTIONS: ReadonlyMap<string, string> = new Map([
  ['BOTH', 'trim'],
  ['LEADING', 'trimLeft'],
  ['TRAILING', 'trimRight'],
])

/** `TRIM(BOTH 'x' FROM y)`; `trim(y)` is an ordinary call. */
function readTrim(cursor: Cursor): Expr | null {
  const side = peek(cursor).key === '(' ? peekTwo(cursor) : null
  const name = TRIM_FUNCTIONS.get(side?.key ?? '')
  if (side === null || name === undefined) return null
  const { kind } = scanToken(cursor.text, side.end)
  if (kind !== 'string' && kind !== 'template') return null
  const { start } = advance(cursor)
  advance(cursor)
  advance(cursor)
  const characters = kind === 'string' ? readString(cursor) : readTemplate(cursor)
  expect(cursor, 'FROM', 'after the characters to trim')
  const text = cursor.rules.expr(cursor, POWER.any)
  expect(cursor, ')', 'after the text to trim')
  return call(name, [text, characters], placeFrom(cursor, start))
}

function readColumnsWord(cursor: Cursor): Expr | null {
  if (peek(cursor).key !== '(' || peekTwo(cursor).key === ')') return null
  return readColumns(cursor, advance(cursor).start)
}

function readArrayWord(cursor: Cursor): Expr | null {
  return peek(cursor).key === '[' ? readBrackets(cursor, advance(cursor).start) : null
}

function refuseTyped(instead: string): WordForm {
  return (cursor) => {
    if (peek(cursor).kind !== 'string') return null
    const word = cursor.text.slice(cursor.token.start, cursor.token.end)
    throw refuseSpan(
      cursor,
      cursor.token,
      `${word} '…' does not exist in HogQL; use ${instead}('…').`,
    )
  }
}

/** A minus before a number is its sign; before anything else it subtracts from zero. */
function readMinus(cursor: Cursor): Expr {
  const { start } = advance(cursor)
  if (atNumber(cursor, cursor.token)) return readNumber(cursor, -1, start)
  const zero = constant(0n, placeFrom(cursor, start))
  const right = cursor.rules.expr(cursor, POWER.negate)
  const place = placeFrom(cursor, start)
  return { kind: 'ArithmeticOperation', ...place, op: '-', left: zero, right }
}

function readPlus(cursor: Cursor): Expr {
  const { start } = advance(cursor)
  if (!atNumber(cursor, cursor.token)) throw refuseUnexpected(cursor, 'a number after "+"')
  return readNumber(cursor, 1, start)
}

/** `#1`, a column of the select by its position. */
function readPosition(cursor: Cursor): Expr {
  const { start } = advance(cursor)
  const digits = scanIndex(cursor.text, cursor.token.start)
  const text = digits === null ? '' : cursor.text.slice(digits.start, digits.end)
  if (digits === null || digits.end !== cursor.token.end || text.length > 6) {
    throw refuseUnexpected(cursor, 'the position of a column after "#"')
  }
  advance(cursor)
  return { kind: 'PositionalRef', ...placeFrom(cursor, start), index: Number(text) }
}
