/** Keyword sets: words that begin a clause, continue an expression, or cannot be names. */

import { at, type Cursor, peek, peekTwo, refuseSpan } from './cursor.ts'
import type { HogQLToken } from './tokens.ts'

function words(list: string): ReadonlySet<string> {
  return new Set(list.trim().split(/\s+/))
}

/** Names that AS cannot give, since they have another meaning wherever they are used. */
const RESERVED_NAMES: ReadonlySet<string> = new Set(['true', 'false', 'null', 'team_id'])

/** Refuses an alias that would hide a keyword or the project's scope. */
export function requireFreeName(cursor: Cursor, span: HogQLToken, name: string): void {
  if (!RESERVED_NAMES.has(name.toLowerCase())) return
  throw refuseSpan(cursor, span, `"${name}" is reserved and cannot be used as an alias.`)
}

/** After an expression or a table these continue the text; any other word is an alias. */
const NOT_ALIASES = words(`
  ALL AND ANTI ANY ARRAY AS ASOF BETWEEN BOTH BY CASE CAST COLLATE COLUMNS CROSS CUBE CURRENT DAY DESC DISTINCT ELSE
  END EXCEPT EXCLUDE EXTRACT FALSE FILL FILTER FOLLOWING FOR FROM FULL GROUP GROUPING HAVING HOUR IF IGNORE ILIKE IN
  INCLUDE INF INFINITY INNER INTERPOLATE INTERSECT INTERVAL IS JOIN LAMBDA LAST LEADING LEFT LIKE LIMIT MINUTE MONTH NAME
  NAN NATURAL NOT NULL NULLS OFFSET ON OR ORDER OUTER OVER PARTITION PIVOT POSITIONAL PRECEDING PREWHERE QUALIFY
  QUARTER RANGE RECURSIVE REPLACE RIGHT ROLLUP ROW ROWS SAMPLE SECOND SELECT SEMI SETS SETTINGS STEP SUBSTRING THEN
  TIES TIMESTAMP TIME LOCAL ZONE TO TRAILING TRIM TRUE TRUNCATE TRY_CAST UNBOUNDED UNION UNPIVOT USING VALUES WEEK WHEN
  WHERE WINDOW WITH WITHIN YEAR YYYY`)

/** No operand begins with these, unless nothing else is possible. */
const NOT_OPERANDS = words(`
  AND AS ASC ASCENDING BETWEEN COLLATE DESC DESCENDING ELSE EXCEPT FOLLOWING FROM GROUP HAVING ILIKE IN INTERSECT IS
  LIKE LIMIT OFFSET ON OR ORDER OVER PRECEDING PREWHERE QUALIFY THEN UNION USING WHEN WHERE WINDOW WITH`)

/** In the place of an expression, these words begin the next clause if the tokens after them match. */
const CLAUSE_WORDS = words(`
  FROM WHERE PREWHERE GROUP HAVING QUALIFY WINDOW ORDER LIMIT OFFSET UNION EXCEPT INTERSECT THEN ELSE WHEN ON USING`)

const OPERAND_SYMBOLS = new Set(['(', '[', '{', '<', '-', '+', '*', '.', '#'])

/** The units of intervals, as they stand in INTERVAL and in the names of the toInterval functions. */
export const INTERVAL_UNITS: ReadonlyMap<string, string> = new Map(
  ['Second', 'Minute', 'Hour', 'Day', 'Week', 'Month', 'Quarter', 'Year'].map((unit) => [
    unit.toUpperCase(),
    unit,
  ]),
)

/** Operators that are also functions: `or(a, b)`. After a keyword, a bracket makes them one. */
const OPERATOR_FUNCTIONS = words('AND OR IN LIKE ILIKE')

/**
 * Whether an operand can begin with the token after the current one. Words that continue an
 * expression cannot.
 */
export function operandFollows(cursor: Cursor): boolean {
  return startsOperand(peek(cursor)) || operatorCallFollows(cursor)
}

/** As operandFollows, for words that are also names: tokens that can follow a name do not count. */
export function operandFollowsSurely(cursor: Cursor): boolean {
  return startsOperandSurely(peek(cursor)) || operatorCallFollows(cursor)
}

function operatorCallFollows(cursor: Cursor): boolean {
  return OPERATOR_FUNCTIONS.has(peek(cursor).key) && peekTwo(cursor).key === '('
}

function startsOperand(token: HogQLToken): boolean {
  if (token.kind === 'word') return !NOT_OPERANDS.has(token.key)
  if (token.kind === 'symbol') return OPERAND_SYMBOLS.has(token.key)
  return token.kind !== 'end'
}

function startsOperandSurely(token: HogQLToken): boolean {
  return token.kind === 'symbol' ? token.key === '{' : startsOperand(token)
}

/** Whether the current token is a word that may be an alias without AS. */
export function atBareAlias(cursor: Cursor): boolean {
  const { kind, key } = cursor.token
  return kind === 'quoted' || (kind === 'word' && !NOT_ALIASES.has(key))
}

/** True when the current token, in the place of an expression, begins the next clause instead. */
export function atClause(cursor: Cursor): boolean {
  const { kind, key } = cursor.token
  if (kind !== 'word' || !CLAUSE_WORDS.has(key)) return false
  const next = peek(cursor)
  if (key === 'GROUP' || key === 'ORDER') return next.key === 'BY'
  if (key === 'UNION' || key === 'EXCEPT' || key === 'INTERSECT') return startsSelectPart(next)
  if (next.key === '(' || next.key === '<') return key === 'FROM' || key === 'WHERE'
  return startsOperandSurely(next)
}

function startsSelectPart(next: HogQLToken): boolean {
  return ['ALL', 'DISTINCT', 'BY', 'SELECT', 'WITH', '('].includes(next.key)
}

/** Whether a select begins at the current token. */
export function atSelect(cursor: Cursor): boolean {
  if (at(cursor, 'SELECT')) return operandFollows(cursor) && !atPairOfNames(cursor)
  return at(cursor, 'WITH') && operandFollows(cursor)
}

/** `select.x` and `select(x)` are a name and a call, but `SELECT (1)` is far more often a select. */
function atPairOfNames(cursor: Cursor): boolean {
  return peek(cursor).key === '.' && peek(cursor).start === cursor.token.end
}

/** True when the current token, in the place of an item, ends the list. */
export function atListEnd(cursor: Cursor): boolean {
  const { kind, key } = cursor.token
  return (
    kind === 'end' || key === ')' || key === ']' || key === '}' || key === ';' || atClause(cursor)
  )
}

/** True at the end of a list in brackets, which an ORDER BY may follow. */
export function atBracketEnd(cursor: Cursor): boolean {
  return at(cursor, ')') || (at(cursor, 'ORDER') && peek(cursor).key === 'BY')
}
