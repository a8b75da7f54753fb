/** The parser's place in a text: the token at hand, one token ahead, and the limits it must keep. */

import type { Refusal, Span } from '../../errors.ts'
import type { Expr, OrderExpr, Select, SourceSpan, ValuesQuery, WindowExpr } from '../ast.ts'
import { quotePiece, syntaxError } from '../syntax-error.ts'
import { type HogQLToken, scanToken, unquote } from '../tokens.ts'
import { HINTS } from './hints.ts'

/** How much one text may ask of the parser and of everything after it. */
export type ParserLimits = {
  /** UTF-16 units. */
  readonly text_length_max: number
  /** Nesting of brackets, calls, selects and prefix operators, and links of one chain that is not + - * / %, AND, OR or ||. */
  readonly depth_max: number
  /** What takes the compiler some 150 ms: it works where requests are answered, and they wait. */
  readonly nodes_max: number
  /** Nodes on the longest way from the root to a leaf (a chain of + - * / % counts as one): all walks recurse that deep. */
  readonly height_max: number
}

export const LIMITS: ParserLimits = {
  text_length_max: 1_048_576,
  depth_max: 100,
  nodes_max: 20_000,
  height_max: 1_000,
}

/** The parts of the grammar that call each other in circles; `parser.ts` ties the knot. */
export type GrammarRules = {
  /** An expression whose loosest operator binds at least as tightly as `power`. */
  readonly expr: (cursor: Cursor, power: number) => Expr
  /** A select, or several joined by set operators, without the brackets around it. */
  readonly select: (cursor: Cursor) => Select
  /** Goes on behind a select in brackets that has been read already. */
  readonly selectAfter: (cursor: Cursor, bracketed: Select | ValuesQuery) => Select
  /** What follows ORDER BY. */
  readonly orders: (cursor: Cursor) => OrderExpr[]
  /** What stands in the brackets of a window. */
  readonly window: (cursor: Cursor) => WindowExpr
}

/** Moves forward only; `openCursor` is the one place that makes it. */
export type Cursor = {
  readonly text: string
  readonly limits: ParserLimits
  readonly rules: GrammarRules
  token: HogQLToken
  ahead: HogQLToken | null
  /** Where the last consumed token ended. */
  behind: number
  depth: number
  nodes: number
  /** Name lists that start before this offset were looked at and are no lambda's arguments. */
  lambda_free_until: number
}

/** A cursor before the first token: `resumeAt(cursor, 0)` begins. Refuses texts that are too long or not well-formed Unicode. */
export function openCursor(text: string, limits: ParserLimits, rules: GrammarRules): Cursor {
  if (text.length > limits.text_length_max) {
    const span = { start: limits.text_length_max, end: text.length }
    throw syntaxError('', span, `the query has more than ${limits.text_length_max} characters.`)
  }
  if (!text.isWellFormed()) {
    const start = text.search(/\p{Surrogate}/u)
    throw syntaxError(
      text,
      { start, end: start + 1 },
      'there is half a character (a lone surrogate).',
    )
  }
  return {
    text,
    limits,
    rules,
    token: { kind: 'end', key: '', start: 0, end: 0 },
    ahead: null,
    behind: 0,
    depth: 0,
    nodes: 0,
    lambda_free_until: 0,
  }
}

/** Is this the token at hand: a word in upper case or a symbol? */
export function at(cursor: Cursor, key: string): boolean {
  return cursor.token.key === key
}

/** Is the token at hand this one, and the next one that? */
export function atPair(cursor: Cursor, key: string, next: string): boolean {
  return cursor.token.key === key && peek(cursor).key === next
}

/** The token after the one at hand. */
export function peek(cursor: Cursor): HogQLToken {
  cursor.ahead ??= scanToken(cursor.text, cursor.token.end)
  return cursor.ahead
}

/** The second token after the one at hand. */
export function peekTwo(cursor: Cursor): HogQLToken {
  return scanToken(cursor.text, peek(cursor).end)
}

/** Consumes the token at hand and returns it. */
export function advance(cursor: Cursor): HogQLToken {
  const consumed = cursor.token
  cursor.behind = consumed.end
  cursor.token = cursor.ahead ?? scanToken(cursor.text, consumed.end)
  cursor.ahead = null
  return consumed
}

/** Puts another reading of the text in the place of the token at hand. */
export function replaceToken(cursor: Cursor, token: HogQLToken): void {
  cursor.token = token
  cursor.ahead = null
}

/** Goes on behind `offset`, after the parser has read characters by itself. */
export function resumeAt(cursor: Cursor, offset: number): void {
  cursor.behind = offset
  replaceToken(cursor, scanToken(cursor.text, offset))
}

/** Consumes the token at hand when it is this one. */
export function take(cursor: Cursor, key: string): boolean {
  if (cursor.token.key !== key) return false
  advance(cursor)
  return true
}

/** Consumes two tokens when they are these. */
export function takePair(cursor: Cursor, key: string, next: string): boolean {
  if (!atPair(cursor, key, next)) return false
  advance(cursor)
  advance(cursor)
  return true
}

/** Consumes this token or refuses, saying what was expected and what stands there. */
export function expect(cursor: Cursor, key: string, after: string): HogQLToken {
  if (cursor.token.key === key) return advance(cursor)
  throw expected(cursor, `${/^\w/.test(key) ? key : `"${key}"`} ${after}`)
}

/** The refusal for the token at hand: what was expected there. */
export function expected(cursor: Cursor, what: string): Refusal {
  const hint = HINTS.get(cursor.token.key)
  const message = `expected ${what}, found ${found(cursor)}.${hint === undefined ? '' : ` ${hint}`}`
  return refused(cursor, cursor.token, message)
}

/** The refusal for something that is understood but cannot be. */
export function refused(cursor: Cursor, span: Span, message: string): Refusal {
  return syntaxError(cursor.text, { start: span.start, end: span.end }, message)
}

function found(cursor: Cursor): string {
  return cursor.token.kind === 'end'
    ? 'the end of the query'
    : quotePiece(cursor.text, cursor.token)
}

/** Counts a node against the limit and gives it its place: from `start` to the last consumed token. */
export function placeFrom(cursor: Cursor, start: number): SourceSpan {
  cursor.nodes += 1
  if (cursor.nodes <= cursor.limits.nodes_max) return { start, end: cursor.behind }
  const span = { start, end: cursor.behind }
  throw refused(cursor, span, `the query has more than ${cursor.limits.nodes_max} parts.`)
}

/** Goes one level down. The caller goes up again with `cursor.depth -= 1`; a refusal ends the parse anyway. */
export function descend(cursor: Cursor): void {
  cursor.depth += 1
  requireDepth(cursor, cursor.depth)
}

/** Refuses nesting (or a chain) beyond the limit. */
export function requireDepth(cursor: Cursor, depth: number): void {
  if (depth <= cursor.limits.depth_max) return
  throw refused(
    cursor,
    cursor.token,
    `the query is nested or chained more than ${cursor.limits.depth_max} levels deep.`,
  )
}

/** The name at hand, quotes off; null when no name stands there. Words of the language are names too. */
export function takeName(cursor: Cursor): string | null {
  const { kind, start, end } = cursor.token
  if (kind !== 'word' && kind !== 'quoted') return null
  advance(cursor)
  const text = cursor.text.slice(start, end)
  return kind === 'word' ? text : unquote(text)
}

/** The name at hand, or a refusal that says what it was wanted for. */
export function expectName(cursor: Cursor, what: string): string {
  const name = takeName(cursor)
  if (name === null) throw expected(cursor, what)
  return name
}

/** `read (, read)*` and perhaps a last comma before something that `ends` the list. */
export function commaList<Item>(
  cursor: Cursor,
  read: (cursor: Cursor) => Item,
  ends: (cursor: Cursor) => boolean,
): Item[] {
  const items = [read(cursor)]
  while (at(cursor, ',')) {
    advance(cursor)
    if (ends(cursor)) break
    items.push(read(cursor))
  }
  return items
}
