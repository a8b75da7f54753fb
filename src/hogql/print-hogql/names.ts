/** Canonical spelling of names and literals, so that they parse to the same value. */

import type { ConstantValue } from '../syntax/ast.ts'

const PLAIN = /^[A-Za-z_$][\w$]*$/

function words(list: string): ReadonlySet<string> {
  return new Set(list.trim().split(/\s+/))
}

/** Words that would not be read as a name. */
const QUOTED_NAMES = words(`
  ALL AND ARRAY AS BETWEEN CASE COLUMNS DISTINCT ELSE END EXCEPT FALSE FROM GROUP HAVING IN INF INFINITY INTERSECT
  INTERVAL IS LAMBDA LIMIT MATERIALIZED NAN NOT NULL OFFSET ON OR ORDER PREWHERE QUALIFY RECURSIVE SELECT TEAM_ID THEN
  TOP TRUE UNBOUNDED UNION USING VALUES WHEN WHERE WINDOW WITH`)

/** The same for function names, many of which are keywords: `not(a)`, `and(a, b)`, `if(a, b, c)`. */
const QUOTED_FUNCTIONS = words(`
  AS ASC ASCENDING BETWEEN CASE CAST COLLATE COLUMNS DESC DESCENDING DISTINCT ELSE EXCEPT FOLLOWING FROM GROUP HAVING INF
  INFINITY INTERSECT INTERVAL IS LIMIT NAN NULL OFFSET ON ORDER OVER PRECEDING PREWHERE QUALIFY SELECT THEN TRIM TRY_CAST
  UNION USING WHEN WHERE WINDOW WITH`)

/** After a dot only these are not names. */
const QUOTED_PARTS = words('INF INFINITY NAN NULL')

/** A name of one part. */
export function printName(name: string): string {
  return PLAIN.test(name) && !QUOTED_NAMES.has(name.toUpperCase()) ? name : quoteName(name)
}

/** The name of a function. */
export function printFunction(name: string): string {
  return PLAIN.test(name) && !QUOTED_FUNCTIONS.has(name.toUpperCase()) ? name : quoteName(name)
}

/** A dotted name; a last `*` stays a star. */
export function printChain(chain: readonly string[]): string {
  const parts = chain.map((part, index) => {
    if (part === '*' && index === chain.length - 1) return part
    if (index === 0) return printName(part)
    return PLAIN.test(part) && !QUOTED_PARTS.has(part.toUpperCase()) ? part : quoteName(part)
  })
  return parts.join('.')
}

function quoteName(name: string): string {
  return `\`${escapeText(name, '`')}\``
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\0': '\\0',
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
}

function escapeText(text: string, quote: string): string {
  let escaped = ''
  for (const char of text) escaped += char === quote ? `\\${quote}` : (ESCAPES[char] ?? char)
  return escaped
}

/** A text in single quotes. */
export function printText(text: string): string {
  return `'${escapeText(text, "'")}'`
}

/** A literal. Floats keep a dot, an exponent or a name, since integers are another type. */
export function printValue(value: ConstantValue): string {
  if (value === null) return 'NULL'
  if (typeof value === 'string') return printText(value)
  if (typeof value === 'number') return spellFloat(value)
  return String(value)
}

function spellFloat(value: number): string {
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value < 0 ? '-inf' : 'inf'
  const digits = Object.is(value, -0) ? '-0' : String(value)
  return /[.e]/.test(digits) ? digits : `${digits}.0`
}
