/** The parser's cursor: the current token, lookahead, and the limits. */

import type { Refusal, Span } from '../../errors.ts'
import type { Expr, OrderExpr, Select, SourceSpan, ValuesQuery, WindowExpr } from '../syntax/ast.ts'
import { quotePiece, syntaxError } from '../syntax/syntax-error.ts'
import { type HogQLToken, scanToken, unquote } from './tokens.ts'

/** Limits of one text. */
export type ParserLimits = {
  /** UTF-16 units. */
  readonly text_length_max: number
  /**
   * Maximum nesting of brackets, calls, selects and prefix operators, and links of a chain other
   * than + - * / %, AND, OR or ||.
   */
  readonly depth_max: number
  /** About 150 ms of compilation, which runs on the thread that serves requests. */
  readonly nodes_max: number
  /**
   * Maximum nodes on the path from the root to a leaf (a chain of + - * / % counts as one): all
   * walks recurse that deep.
   */
  readonly height_max: number
}

export const LIMITS: ParserLimits = {
  text_length_max: 1_048_576,
  depth_max: 100,
  nodes_max: 20_000,
  height_max: 1_000,
}

/** The mutually recursive parts of the grammar; `parser.ts` connects them. */
export type GrammarRules = {
  /** An expression whose loosest operator binds at least as tightly as `power`. */
  readonly expr: (cursor: Cursor, power: number) => Expr
  /** A select, or several joined by set operators, without the brackets around it. */
  readonly select: (cursor: Cursor) => Select
  /** Continues after a select in brackets that has been read. */
  readonly selectAfter: (cursor: Cursor, bracketed: Select | ValuesQuery) => Select
  /** The list after ORDER BY. */
  readonly orders: (cursor: Cursor) => OrderExpr[]
  /** The contents of a window's brackets. */
  readonly window: (cursor: Cursor) => WindowExpr
}

/** Moves forward only; `openCursor` alone makes it. */
export type Cursor = {
  readonly text: string
  readonly limits: ParserLimits
  readonly rules: GrammarRules
  token: HogQLToken
  ahead: HogQLToken | null
  /** End of the last consumed token. */
  behind: number
  depth: number
  nodes: number
  /**
   * Lists of names that start before this offset are known not to be lambda arguments (memoized
   * lookahead).
   */
  lambda_free_until: number
}

/**
 * A cursor before the first token; `resumeAt(cursor, 0)` starts it. Refuses texts that are too long
 * or not well-formed Unicode.
 */
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

/** Whether the current token is this keyword (upper case) or symbol. */
export function at(cursor: Cursor, key: string): boolean {
  return cursor.token.key === key
}

/** Whether the current token and the next one are these. */
export function atPair(cursor: Cursor, key: string, next: string): boolean {
  return cursor.token.key === key && peek(cursor).key === next
}

/** The token after the current one. */
export function peek(cursor: Cursor): HogQLToken {
  cursor.ahead ??= scanToken(cursor.text, cursor.token.end)
  return cursor.ahead
}

/** The second token after the current one. */
export function peekTwo(cursor: Cursor): HogQLToken {
  return scanToken(cursor.text, peek(cursor).end)
}

/** Consumes the current token and returns it. */
export function advance(cursor: Cursor): HogQLToken {
  const consumed = cursor.token
  cursor.behind = consumed.end
  cursor.token = cursor.ahead ?? scanToken(cursor.text, consumed.end)
  cursor.ahead = null
  return consumed
}

/** Replaces the current token by another reading of the text. */
export function replaceToken(cursor: Cursor, token: HogQLToken): void {
  cursor.token = token
  cursor.ahead = null
}

/** Continues at `offset`, after the parser has read characters itself. */
export function resumeAt(cursor: Cursor, offset: number): void {
  cursor.behind = offset
  replaceToken(cursor, scanToken(cursor.text, offset))
}

/** Consumes the current token if it is this one. */
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

/** Consumes this token, or refuses with the expected and the found one. */
export function expect(cursor: Cursor, key: string, after: string): HogQLToken {
  if (cursor.token.key === key) return advance(cursor)
  throw refuseUnexpected(cursor, `${/^\w/.test(key) ? key : `"${key}"`} ${after}`)
}

/**
 * HINTS: keywords of other SQL dialects that HogQL lacks, with advice in place of "unexpected …". Adding a hint means adding
 * a line.
 */
const HINTS: ReadonlyMap<string, string> = new Map([
  ['AT', 'AT TIME ZONE does not exist in HogQL; use toTimeZone(time, zone).'],
  ['DIV', 'There is no operator DIV; use intDiv(a, b).'],
  ['FETCH', 'FETCH FIRST does not exist in HogQL; use LIMIT.'],
  ['FORMAT', 'FORMAT does not exist in HogQL; answers are JSON.'],
  ['ISNULL', 'Use IS NULL.'],
  ['MOD', 'There is no operator MOD; use a % b.'],
  ['NOTNULL', 'Use IS NOT NULL.'],
  ['REPLACE', '* REPLACE does not exist in HogQL; name the columns.'],
  ['SETTINGS', 'SETTINGS cannot be given in a query.'],
  [';', 'Only one query can be asked at a time.'],
])

/** The refusal of the current token, which names the expected one. */
export function refuseUnexpected(cursor: Cursor, what: string): Refusal {
  const hint = HINTS.get(cursor.token.key)
  const message = `expected ${what}, found ${currentText(cursor)}.${hint === undefined ? '' : ` ${hint}`}`
  return refuseSpan(cursor, cursor.token, message)
}

/** The refusal of something that parses but is not allowed. */
export function refuseSpan(cursor: Cursor, span: Span, message: string): Refusal {
  return syntaxError(cursor.text, { start: span.start, end: span.end }, message)
}

function currentText(cursor: Cursor): string {
  return cursor.token.kind === 'end'
    ? 'the end of the query'
    : quotePiece(cursor.text, cursor.token)
}

/** Counts a node against the limit and returns its span: from `start` to the last consumed token. */
export function placeFrom(cursor: Cursor, start: number): SourceSpan {
  cursor.nodes += 1
  if (cursor.nodes <= cursor.limits.nodes_max) return { start, end: cursor.behind }
  const span = { start, end: cursor.behind }
  throw refuseSpan(cursor, span, `the query has more than ${cursor.limits.nodes_max} parts.`)
}

/** Enters one level. The caller leaves it with `cursor.depth -= 1`; a refusal ends the parse anyway. */
export function descend(cursor: Cursor): void {
  cursor.depth += 1
  requireDepth(cursor, cursor.depth)
}

/** Refuses nesting (or a chain) beyond the limit. */
export function requireDepth(cursor: Cursor, depth: number): void {
  if (depth <= cursor.limits.depth_max) return
  throw refuseSpan(
    cursor,
    cursor.token,
    `the query is nested or chained more than ${cursor.limits.depth_max} levels deep.`,
  )
}

/** The name at the current token, unquoted; null when there is none. Keywords are names too. */
export function takeName(cursor: Cursor): string | null {
  const { kind, start, end } = cursor.token
  if (kind !== 'word' && kind !== 'quoted') return null
  advance(cursor)
  const text = cursor.text.slice(start, end)
  return kind === 'word' ? text : unquote(text)
}

/** The name at the current token, or a refusal that says where the name belongs. */
export function expectName(cursor: Cursor, what: string): string {
  const name = takeName(cursor)
  if (name === null) throw refuseUnexpected(cursor, what)
  return name
}

/** `read (, read)*` and optionally a trailing comma before a token that `ends` the list. */
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
