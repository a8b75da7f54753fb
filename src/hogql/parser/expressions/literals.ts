/** Literals: numbers, strings, templates with holes, intervals. */

import type { Constant, Expr } from '../../syntax/ast.ts'
import { call, constant } from '../../syntax/nodes.ts'
import { syntaxError } from '../../syntax/syntax-error.ts'
import {
  advance,
  at,
  type Cursor,
  placeFrom,
  refuseSpan,
  refuseUnexpected,
  replaceToken,
  resumeAt,
} from '../cursor.ts'
import { type HogQLToken, scanFraction, unescapeText, unquote } from '../tokens.ts'
import { INTERVAL_UNITS } from '../words.ts'
import { POWER } from './powers.ts'

/** A 256-bit integer is shorter; longer numbers only cost time. */
const NUMBER_LENGTH_MAX = 330

const NAMED_NUMBERS: ReadonlyMap<string, number> = new Map([
  ['INF', Infinity],
  ['INFINITY', Infinity],
  ['NAN', Number.NaN],
])

/** Whether the current token is a number, including names such as `inf` and numbers that begin with a dot. */
export function atNumber(cursor: Cursor, token: HogQLToken): boolean {
  if (token.kind === 'number') return true
  if (token.key === '.') return scanFraction(cursor.text, token.start) !== null
  return token.kind === 'word' && NAMED_NUMBERS.has(token.key)
}

/** The number at the current token; `start` is the offset of its sign. Integers are exact at any width. */
export function readNumber(cursor: Cursor, sign: 1 | -1, start: number): Constant {
  const fraction = at(cursor, '.') ? scanFraction(cursor.text, cursor.token.start) : null
  if (fraction !== null) replaceToken(cursor, fraction)
  const token = advance(cursor)
  const named = NAMED_NUMBERS.get(token.key)
  const value = named ?? numberOf(cursor, token)
  const signed = typeof value === 'bigint' ? BigInt(sign) * value : sign * value
  return constant(signed, placeFrom(cursor, start))
}

function numberOf(cursor: Cursor, token: HogQLToken): bigint | number {
  const text = cursor.text.slice(token.start, token.end)
  if (text.length > NUMBER_LENGTH_MAX) throw refuseSpan(cursor, token, 'the number is too long.')
  if (/^0[xX].*[pP]/.test(text)) return hexFloat(text)
  if (/^0[xXbB]/.test(text)) return BigInt(text)
  if (/[.eE]/.test(text)) return Number(text)
  if (text === '0' && /^[oObBxX]\w/.test(cursor.text.slice(token.end, token.end + 2))) {
    throw refuseSpan(cursor, token, 'the number is malformed; write it in decimal digits.')
  }
  return BigInt(text)
}

/** `0x1.8p1` = 1.5 · 2¹ = 3. */
function hexFloat(text: string): number {
  const [mantissa = '', exponent = '0'] = text.slice(2).split(/[pP]/)
  const [whole = '', fraction = ''] = mantissa.split('.')
  const digits = Number(BigInt(`0x${whole}${fraction}`))
  return digits * 2 ** (Number(exponent) - 4 * fraction.length)
}

/** `'text'`. */
export function readString(cursor: Cursor): Constant {
  const { start, end } = advance(cursor)
  return constant(unquote(cursor.text.slice(start, end)), placeFrom(cursor, start))
}

/** `f'text {expr} text'`; the current token is the `f'`. */
export function readTemplate(cursor: Cursor): Expr {
  const { start, end } = cursor.token
  const { parts, stop } = readTemplateParts(cursor, end, "'")
  resumeAt(cursor, stop + 1)
  return joinParts(cursor, parts, start)
}

/** A whole text as a template: quotes need no escape, only the end of the text ends it. */
export function readWholeTemplate(cursor: Cursor): Expr {
  const { parts, stop } = readTemplateParts(cursor, 0, null)
  resumeAt(cursor, stop)
  return joinParts(cursor, parts, 0)
}

function joinParts(cursor: Cursor, parts: readonly Expr[], start: number): Expr {
  const [only] = parts
  if (only === undefined) return constant('', placeFrom(cursor, start))
  return parts.length === 1 ? only : call('concat', parts, placeFrom(cursor, start))
}

type TemplatePieces = { readonly parts: readonly Expr[]; readonly stop: number }

/** Alternating texts and expressions, up to the closing quote (or the end of the text when there is none). */
function readTemplateParts(cursor: Cursor, from: number, quote: "'" | null): TemplatePieces {
  const parts: Expr[] = []
  let offset = from
  for (;;) {
    const stop = endOfText(cursor.text, offset, quote)
    if (stop > offset) {
      cursor.behind = stop
      const raw = cursor.text.slice(offset, stop).replaceAll(/\\([{\\])/g, unescapeBrace)
      parts.push(constant(unescapeText(raw, quote ?? ''), placeFrom(cursor, offset)))
    }
    if (cursor.text.charAt(stop) !== '{') return { parts, stop }
    resumeAt(cursor, stop + 1)
    parts.push(cursor.rules.expr(cursor, POWER.any))
    if (!at(cursor, '}')) throw refuseUnexpected(cursor, '"}" after the expression in the text')
    offset = cursor.token.end
  }
}

/** `\{` is a brace; an escaped backslash is resolved later. */
function unescapeBrace(whole: string, escaped: string): string {
  return escaped === '{' ? '{' : whole
}

/** The end of a text part: a brace, the closing quote, or the end of a whole template. */
function endOfText(text: string, from: number, quote: "'" | null): number {
  for (let offset = from; offset < text.length; offset += 1) {
    const character = text.charAt(offset)
    if (character === '{') return offset
    if (character === '\\') offset += 1
    else if (character === quote && text.charAt(offset + 1) === quote) offset += 1
    else if (character === quote) return offset
  }
  if (quote === null) return text.length
  const span = { start: from, end: text.length }
  throw syntaxError(text, span, "the text opened here has no closing '.")
}

/** `INTERVAL 7 DAY`, `INTERVAL '7 days'`; the keyword is already read. */
export function readInterval(cursor: Cursor, start: number): Expr {
  const { token } = cursor
  const count = cursor.rules.expr(cursor, POWER.alias + 1)
  const unit = takeUnit(cursor)
  if (unit !== null) return intervalOf(cursor, { unit, count, start })
  if (token.kind === 'string' && count.kind === 'Constant' && typeof count.value === 'string') {
    return readIntervalText(cursor, count, start)
  }
  throw refuseUnexpected(cursor, 'a unit such as DAY after INTERVAL')
}

/** The interval unit at the current token, or null. */
export function takeUnit(cursor: Cursor): string | null {
  const unit = INTERVAL_UNITS.get(cursor.token.key)
  if (unit === undefined) return null
  advance(cursor)
  return unit
}

type IntervalLiteral = { readonly unit: string; readonly count: Expr; readonly start: number }

/** The call that makes an interval: `toIntervalDay(count)`. */
export function intervalOf(cursor: Cursor, { unit, count, start }: IntervalLiteral): Expr {
  return call(`toInterval${unit}`, [count], placeFrom(cursor, start))
}

function readIntervalText(cursor: Cursor, text: Constant, start: number): Expr {
  const match = /^\s*(-?\d{1,18})\s+([a-z]+?)s?\s*$/i.exec(String(text.value))
  const unit = INTERVAL_UNITS.get(match?.[2]?.toUpperCase() ?? '')
  if (match === null || unit === undefined) {
    throw refuseSpan(cursor, text, "an interval in quotes reads like '7 days'.")
  }
  return intervalOf(cursor, { unit, count: constant(BigInt(match[1] ?? '0'), text), start })
}
