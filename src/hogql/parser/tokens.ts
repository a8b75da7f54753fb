/**
 * HogQL's lexer. It scans one token at any offset, so that the parser can read templates and tags
 * by characters.
 */

import { quotePiece, syntaxError } from '../syntax/syntax-error.ts'

type TokenKind = 'word' | 'quoted' | 'number' | 'string' | 'template' | 'symbol' | 'end'

/** `key` is what the parser compares: the upper-case word, the symbol, or empty for any other token. */
export type HogQLToken = {
  readonly kind: TokenKind
  readonly key: string
  readonly start: number
  readonly end: number
}

/** Longest first within each first character: the lexer takes the first that matches. */
const SYMBOLS =
  '=~* =~ == = !~* !~ != <=> <= <> < >= > ~* ~ -> - :: := : || ?? ?. ? + * / % . , ; # ( ) [ ] { }'.split(
    ' ',
  )

const SYMBOLS_BY_FIRST: ReadonlyMap<string, readonly string[]> = Map.groupBy(SYMBOLS, (symbol) =>
  symbol.charAt(0),
)

/** White space between tokens, besides comments: Unicode's white space and the byte order mark. */
const SPACE = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]+/y
const WORD = /[A-Za-z_$][A-Za-z0-9_$]*/y
const LINE_COMMENT = /[^\n\r]*/y
const NUMBER =
  /0[xX][0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?[pP][+-]?\d+|0[xX][0-9a-fA-F]+|0[bB][01]+(?!\d)|(?:\d+\.\d+|\d+\.(?![A-Za-z_$"`])|\d+\.(?=[eE][+-]?\d)|\.\d+|\d+)(?:[eE][+-]?\d+)?/y
const DIGITS = /\d+/y

/** The end of a match of a sticky pattern at `from`; `from` when there is none. */
function endOf(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from
  return pattern.test(text) ? pattern.lastIndex : from
}

/**
 * The token at or after `from`; kind `end` at the end of the text. Refuses characters and quotes
 * that begin no token.
 */
export function scanToken(text: string, from: number): HogQLToken {
  const start = skipBlanks(text, from)
  if (start >= text.length) return { kind: 'end', key: '', start, end: start }
  const first = text.charAt(start)
  const word_end = endOf(WORD, text, start)
  if (word_end > start) return wordToken(text, start, word_end)
  if (first >= '0' && first <= '9') {
    return { kind: 'number', key: '', start, end: endOf(NUMBER, text, start) }
  }
  if (first === "'") return { kind: 'string', key: '', start, end: endOfQuoted(text, start) }
  if (first === '"' || first === '`') {
    return { kind: 'quoted', key: '', start, end: endOfQuoted(text, start) }
  }
  const symbol = SYMBOLS_BY_FIRST.get(first)?.find((candidate) => text.startsWith(candidate, start))
  if (symbol !== undefined)
    return { kind: 'symbol', key: symbol, start, end: start + symbol.length }
  const character = String.fromCodePoint(text.codePointAt(start) ?? 0)
  const span = { start, end: start + character.length }
  throw syntaxError(text, span, `the character ${quotePiece(text, span)} has no meaning here.`)
}

function wordToken(text: string, start: number, end: number): HogQLToken {
  if (end - start === 1 && text.charAt(start) === 'f' && text.charAt(end) === "'") {
    return { kind: 'template', key: '', start, end: end + 1 }
  }
  return { kind: 'word', key: text.slice(start, end).toUpperCase(), start, end }
}

/** A number that begins with its dot, as in `.5`; null when there is none. */
export function scanFraction(text: string, start: number): HogQLToken | null {
  const end = endOf(NUMBER, text, start)
  return end > start ? { kind: 'number', key: '', start, end } : null
}

/** Only digits, so that `t.1.2` is two steps; null when there are none. */
export function scanIndex(text: string, start: number): HogQLToken | null {
  const end = endOf(DIGITS, text, start)
  return end > start ? { kind: 'number', key: '', start, end } : null
}

function skipBlanks(text: string, from: number): number {
  let at = from
  for (;;) {
    const next = skipComment(text, endOf(SPACE, text, at))
    if (next === at) return at
    at = next
  }
}

/** `--`, `//` and `#` (unless a position such as `#1`) run to the end of the line, `/*` to `*\/`. */
function skipComment(text: string, at: number): number {
  const two = text.slice(at, at + 2)
  if (two === '--' || two === '//') return endOf(LINE_COMMENT, text, at)
  if (two.startsWith('#') && !/\d/.test(two)) return endOf(LINE_COMMENT, text, at)
  if (two !== '/*') return at
  const close = text.indexOf('*/', at + 2)
  if (close >= 0) return close + 2
  throw syntaxError(text, { start: at, end: text.length }, 'the comment opened here has no "*/".')
}

/** The offset after the closing quote; a doubled quote or a backslash continues the text. */
function endOfQuoted(text: string, start: number): number {
  const quote = text.charAt(start)
  for (let at = start + 1; at < text.length; at += 1) {
    const character = text.charAt(at)
    if (character === '\\') at += 1
    else if (character === quote && text.charAt(at + 1) === quote) at += 1
    else if (character === quote) return at + 1
  }
  throw syntaxError(
    text,
    { start, end: text.length },
    `the text opened here has no closing ${quote}.`,
  )
}

const ESCAPES: Readonly<Record<string, string>> = {
  '0': '\0',
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
}

/**
 * The value of a quoted text (a string, a quoted name): quotes removed, escapes resolved. A
 * backslash before any other character is kept, so that LIKE patterns (`'50\%'`) and regular
 * expressions (`'\d'`) need no doubling.
 */
export function unquote(quoted: string): string {
  return unescapeText(quoted.slice(1, -1), quoted.charAt(0))
}

/** Resolves escapes; `quote` may be doubled or after a backslash. */
export function unescapeText(raw: string, quote: string): string {
  if (!raw.includes('\\') && !raw.includes(quote)) return raw
  return raw.replaceAll(
    /\\([^])|(["'`])\2/gu,
    (whole, escaped: string | undefined, doubled: string) => {
      if (escaped === undefined) return doubled === quote ? quote : whole
      return escaped === quote ? quote : (ESCAPES[escaped] ?? whole)
    },
  )
}
