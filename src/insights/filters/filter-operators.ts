/**
 * OPERATORS: how property filters compare, as conditions of a tree. Queries and flags differ:
 * flags/operators has theirs.
 */
import { refuseMember } from '../../errors.ts'
import type { KnownPropertyType } from '../../hogql/context.ts'
import type { CompareOperator, Constant, Expr } from '../../hogql/syntax/ast.ts'
import { and, call, compare, constant, or, tuple } from '../../hogql/syntax/nodes.ts'
import { saturateInstant } from '../../time.ts'
import { type DateContext, readDate } from '../dates/dates.ts'
import { cleanPath } from './path-cleaning.ts'
import { versionIn, versionIs } from './versions.ts'

/** The left side of a filter: the operand, its property type, and the context of dates and refusals. */
type OperandSide = {
  readonly expr: Expr
  readonly type: KnownPropertyType | null
  readonly context: OperatorContext
}

export type OperatorContext = DateContext & {
  /** The member named in refusals. */
  readonly attr: string
  /** The project's path cleaning rules, as stored. */
  readonly path_cleaning_filters?: unknown
}

type InsightOperator = (side: OperandSide, value: unknown) => Expr

/** The condition of an operator. Refuses unknown operators, and values it cannot compare. */
export function applyOperator(operator: string, side: OperandSide, value: unknown): Expr {
  const apply = Object.hasOwn(OPERATORS, operator) ? OPERATORS[operator] : undefined
  if (apply !== undefined) return apply(side, value)
  throw refuseMember(`Unknown property operator: ${JSON.stringify(operator)}`, side.context.attr)
}

/** Operators without a value. */
export const UNARY: ReadonlySet<string> = new Set(['is_set', 'is_not_set'])

/** Negated operators and what they negate; they also match when the property is missing. */
export const NEGATIONS: ReadonlyMap<string, string> = new Map([
  ['is_not', 'exact'],
  ['not_in', 'in'],
  ['not_icontains', 'icontains'],
  ['not_icontains_multi', 'icontains_multi'],
  ['not_regex', 'regex'],
  ['is_not_set', 'is_set'],
])

/**
 * A line per operator. One of several values is enough; of a negated operator none may match.
 * Adding an operator means adding a line.
 */
const OPERATORS: Readonly<Record<string, InsightOperator>> = {
  exact: isAny,
  in: isAny,
  is_not: isNone,
  not_in: isNone,
  icontains: anyOf((side, value) => like(side, value, 'ilike')),
  icontains_multi: anyOf((side, value) => like(side, value, 'ilike')),
  not_icontains: allOf((side, value) => like(side, value, 'not ilike')),
  not_icontains_multi: allOf((side, value) => like(side, value, 'not ilike')),
  regex: anyOf((side, value) => ifNull(matches(side, value), false)),
  not_regex: allOf((side, value) => ifNull(call('not', [matches(side, value)]), true)),
  gt: orderOperator('>'),
  gte: orderOperator('>='),
  min: orderOperator('>='),
  lt: orderOperator('<'),
  lte: orderOperator('<='),
  max: orderOperator('<='),
  between: (side, value) => {
    const [low, high] = bounds(side, value)
    return call('and', [compareOrdered(side, '>=', low), compareOrdered(side, '<=', high)])
  },
  not_between: (side, value) => {
    const [low, high] = bounds(side, value)
    return call('or', [compareOrdered(side, '<', low), compareOrdered(side, '>', high)])
  },
  is_set: ({ expr }) => call('isNotNull', [expr]),
  is_not_set: ({ expr }) => call('isNull', [expr]),
  is_date_exact: (side, value) =>
    compare(
      call('toDate', [call('toDateTime', [side.expr])]),
      '==',
      call('toDate', [date(side, value)]),
    ),
  is_date_before: (side, value) => compare(call('toDateTime', [side.expr]), '<', date(side, value)),
  is_date_after: (side, value) => compare(call('toDateTime', [side.expr]), '>', date(side, value)),
  is_cleaned_path_exact: anyOf(({ expr, context }, value) => {
    const clean = (path: Expr): Expr => cleanPath(path, context.path_cleaning_filters, context.attr)
    return compare(clean(expr), '==', clean(constant(operandText(context, value))))
  }),
  semver_eq: version('=='),
  semver_neq: (side, value) => ifNull(call('not', [version('==')(side, value)]), true),
  semver_gt: version('>'),
  semver_gte: version('>='),
  semver_lt: version('<'),
  semver_lte: version('<='),
  semver_tilde: versionRange('tilde'),
  semver_caret: versionRange('caret'),
  semver_wildcard: versionRange('wildcard'),
}

function isAny(side: OperandSide, value: unknown): Expr {
  const list = longList(side, value)
  if (list !== null) return compare(side.expr, 'in', list)
  return anyOf((one, item) => compare(one.expr, '==', literal(one, item)))(side, value)
}

function isNone(side: OperandSide, value: unknown): Expr {
  const list = longList(side, value)
  if (list !== null) return compare(side.expr, 'not in', list)
  return allOf((one, item) => compare(one.expr, '!=', literal(one, item)))(side, value)
}

/** Shorter lists are compared value by value, which reads better in the shown query. */
const LONG_LIST = 20

/** Many values of one type as one IN, which costs a hundredth; null for any other list. */
function longList(side: OperandSide, value: unknown): Expr | null {
  const literals = listOf(value).map((item) => literal(side, item))
  const types = new Set(literals.map((item) => typeof item.value))
  return literals.length < LONG_LIST || types.size > 1 ? null : tuple(literals)
}

function anyOf(one: InsightOperator): InsightOperator {
  return (side, value) => or(listOf(value).map((item) => one(side, item))) ?? constant(true)
}

function allOf(one: InsightOperator): InsightOperator {
  return (side, value) => and(listOf(value).map((item) => one(side, item))) ?? constant(true)
}

export const listOf = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value : [value]

function orderOperator(op: CompareOperator): InsightOperator {
  return (side, value) => compareOrdered(side, op, listOf(value)[0])
}

/** Compares numbers as numbers, also where the property's type is text. */
function compareOrdered(side: OperandSide, op: CompareOperator, value: unknown): Expr {
  if (typeof value !== 'number' || side.type === 'Numeric') {
    return compare(side.expr, op, literal(side, value))
  }
  return compare(call('toFloat', [side.expr]), op, constant(value))
}

function version(op: '<' | '<=' | '==' | '>' | '>='): InsightOperator {
  return ({ expr, context }, value) =>
    versionIs(expr, op, operandText(context, listOf(value)[0]), context.attr)
}

function versionRange(range: 'caret' | 'tilde' | 'wildcard'): InsightOperator {
  return ({ expr, context }, value) =>
    versionIn(expr, range, operandText(context, listOf(value)[0]), context.attr)
}

function bounds(side: OperandSide, value: unknown): readonly [unknown, unknown] {
  if (!Array.isArray(value) || value.length !== 2) {
    throw refuseMember('between needs a list of two values.', side.context.attr)
  }
  return [value[0], value[1]]
}

function like({ expr, context }: OperandSide, value: unknown, op: 'ilike' | 'not ilike'): Expr {
  return compare(call('toString', [expr]), op, constant(`%${operandText(context, value)}%`))
}

function matches({ expr, context }: OperandSide, value: unknown): Expr {
  return call('match', [call('toString', [expr]), constant(operandText(context, value))])
}

const ifNull = (expr: Expr, instead: boolean): Expr => call('ifNull', [expr, constant(instead)])

function date({ context }: OperandSide, value: unknown): Expr {
  return instant(readDate(operandText(context, listOf(value)[0]), context, context.attr))
}

/** An instant as an expression, independent of the project's zone; the nearest one of the years 1 to 9999. */
export function instant(exact_us: bigint): Expr {
  // The last day of the year 9999 ends later in zones west of Greenwich.
  const at_us = saturateInstant(exact_us)
  const text = new Date(Number(at_us / 1000n)).toISOString().replace('T', ' ').slice(0, 20)
  const micros = String(((at_us % 1_000_000n) + 1_000_000n) % 1_000_000n).padStart(6, '0')
  return call('toDateTime64', [constant(`${text}${micros}`), constant(6n), constant('UTC')])
}

/** The value as a literal of the property's type; text without one. */
function literal({ type, context }: OperandSide, value: unknown): Constant {
  const text = operandText(context, value)
  if (type === 'Boolean' && (text === 'true' || text === 'false')) return constant(text === 'true')
  const is_number = type === 'Numeric' && NUMBER.test(text)
  return constant(is_number ? Number(text) : text)
}

const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i

/** A value as text. Refuses others, naming the member. */
export function operandText(context: OperatorContext, value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  throw refuseMember(
    'The value of a property filter must be a string, a number or a boolean.',
    context.attr,
  )
}
