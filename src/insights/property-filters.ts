/** OPERATORS: property filters as conditions of a question's tree, never as text (semantics of questions, not of flags). */
import { Refusal } from '../errors.ts'
import type { CompareOperator, Expr } from '../hogql/ast.ts'
import type { PropertyType } from '../hogql/context.ts'
import { and, call, compare, constant, field, or } from '../hogql/nodes.ts'
import { parseExpr } from '../hogql/parser.ts'
import { type DateContext, readDate } from './dates.ts'

/** What conditions are made for. */
export type FilterContext = DateContext & {
  /** What names of the filtered table begin with: its alias, or nothing. */
  readonly prefix: readonly string[]
  readonly property_types: ReadonlyMap<string, PropertyType>
  /** The member of the request at fault when a filter makes no sense. */
  readonly attr: string
}

/** One filter as it was sent; all but the key may be missing. */
type Filter = {
  readonly key: string
  readonly operator: string
  readonly value: unknown
  readonly type: string
  readonly group_type_index: number
}

/** The thing compared, how its property is typed, and where the answer is missing. */
type Side = {
  readonly expr: Expr
  readonly type: PropertyType | null
  readonly context: FilterContext
}

/** All filters of a list, or of a group `{type: AND | OR, values}`, as one condition; null when there are none. */
export function filterCondition(filters: unknown, context: FilterContext): Expr | null {
  if (Array.isArray(filters)) return and(conditions(filters, context))
  if (!isObject(filters)) return null
  const { type, values } = filters
  if (Array.isArray(values) && (type === 'AND' || type === 'OR')) {
    return type === 'AND' ? and(conditions(values, context)) : or(conditions(values, context))
  }
  const filter = readFilter(filters)
  return filter === null ? null : conditionOf(filter, context)
}

function conditions(filters: readonly unknown[], context: FilterContext): readonly Expr[] {
  return filters.flatMap((filter) => filterCondition(filter, context) ?? [])
}

/** Incomplete filters are what editors send while somebody types: they hold for everything. */
function readFilter(sent: Readonly<Record<string, unknown>>): Filter | null {
  const { key, operator, value, type, group_type_index } = sent
  if (typeof key !== 'string' && typeof key !== 'number') return null
  const filter: Filter = {
    key: String(key),
    operator: typeof operator === 'string' ? operator : 'exact',
    value,
    type: typeof type === 'string' ? type : 'event',
    group_type_index: typeof group_type_index === 'number' ? group_type_index : 0,
  }
  const needs_value = !UNARY.has(filter.operator) && filter.type !== 'hogql'
  return needs_value && (value === undefined || value === null) ? null : filter
}

const UNARY: ReadonlySet<string> = new Set(['is_set', 'is_not_set'])

type FilterType = (filter: Filter, context: FilterContext) => Expr

/** How each type of filter finds what it compares. */
const TYPES: Readonly<Record<string, FilterType>> = {
  event: (filter, context) => onProperty(filter, context, 'event', ['properties']),
  feature: (filter, context) => onProperty(filter, context, 'event', ['properties']),
  person: (filter, context) => onProperty(filter, context, 'person', ['person', 'properties']),
  group: (filter, context) => {
    const owner = `group_${filter.group_type_index}`
    return onProperty(filter, context, owner, [owner, 'properties'])
  },
  session: (filter, context) => onProperty(filter, context, 'session', ['session']),
  event_metadata: (filter, context) => onProperty(filter, context, 'metadata', []),
  cohort: (filter, context) => {
    const person = field([...context.prefix, 'person_id'])
    const negated = filter.operator === 'not_in' || filter.operator === 'is_not'
    const id = constant(BigInt(Number(filter.value) || 0))
    return compare(person, negated ? 'not in cohort' : 'in cohort', id)
  },
  hogql: (filter) => parseExpr(filter.key),
  flag: () => constant(true),
  empty: () => constant(true),
}

function conditionOf(filter: Filter, context: FilterContext): Expr {
  const typed = TYPES[filter.type]
  if (typed !== undefined) return typed(filter, context)
  throw refuse(
    `Property filters of type ${JSON.stringify(filter.type)} are not supported.`,
    context,
  )
}

function onProperty(
  filter: Filter,
  context: FilterContext,
  owner: string,
  path: readonly string[],
): Expr {
  const apply = OPERATORS[filter.operator]
  if (apply === undefined) {
    throw refuse(`Unknown property operator: ${JSON.stringify(filter.operator)}`, context)
  }
  const expr = field([...context.prefix, ...path, filter.key])
  const type = context.property_types.get(`${owner}:${filter.key}`) ?? null
  return apply({ expr, type, context }, filter.value)
}

type Operator = (side: Side, value: unknown) => Expr

/** One line per operator. Of several values one is enough, and of a negated operator none may hold. */
const OPERATORS: Readonly<Record<string, Operator>> = {
  exact: anyOf((side, value) => compare(side.expr, '==', literal(side, value))),
  in: anyOf((side, value) => compare(side.expr, '==', literal(side, value))),
  is_not: allOf((side, value) => compare(side.expr, '!=', literal(side, value))),
  not_in: allOf((side, value) => compare(side.expr, '!=', literal(side, value))),
  icontains: anyOf((side, value) => like(side, value, 'ilike')),
  icontains_multi: anyOf((side, value) => like(side, value, 'ilike')),
  not_icontains: allOf((side, value) => like(side, value, 'not ilike')),
  not_icontains_multi: allOf((side, value) => like(side, value, 'not ilike')),
  regex: anyOf((side, value) => ifNull(matches(side, value), false)),
  not_regex: allOf((side, value) => ifNull(call('not', [matches(side, value)]), true)),
  gt: ordered('>'),
  gte: ordered('>='),
  min: ordered('>='),
  lt: ordered('<'),
  lte: ordered('<='),
  max: ordered('<='),
  between: (side, value) => {
    const [low, high] = bounds(side, value)
    return call('and', [inOrder(side, '>=', low), inOrder(side, '<=', high)])
  },
  not_between: (side, value) => {
    const [low, high] = bounds(side, value)
    return call('or', [inOrder(side, '<', low), inOrder(side, '>', high)])
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
}

function anyOf(one: Operator): Operator {
  return (side, value) => or(listOf(value).map((item) => one(side, item))) ?? constant(true)
}

function allOf(one: Operator): Operator {
  return (side, value) => and(listOf(value).map((item) => one(side, item))) ?? constant(true)
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value])

function ordered(op: CompareOperator): Operator {
  return (side, value) => inOrder(side, op, listOf(value)[0])
}

/** A number is compared as a number, also with a property that was not always one. */
function inOrder(side: Side, op: CompareOperator, value: unknown): Expr {
  if (typeof value !== 'number' || side.type === 'Numeric') {
    return compare(side.expr, op, literal(side, value))
  }
  return compare(call('toFloat', [side.expr]), op, constant(value))
}

function bounds(side: Side, value: unknown): readonly [unknown, unknown] {
  if (!Array.isArray(value) || value.length !== 2) {
    throw refuse('between needs a list of two values.', side.context)
  }
  return [value[0], value[1]]
}

function like(side: Side, value: unknown, op: 'ilike' | 'not ilike'): Expr {
  return compare(call('toString', [side.expr]), op, constant(`%${textOf(side, value)}%`))
}

function matches(side: Side, value: unknown): Expr {
  return call('match', [call('toString', [side.expr]), constant(textOf(side, value))])
}

const ifNull = (expr: Expr, instead: boolean): Expr => call('ifNull', [expr, constant(instead)])

function date(side: Side, value: unknown): Expr {
  const { context } = side
  return instant(readDate(textOf(side, listOf(value)[0]), context, context.attr))
}

/** An instant as an expression, whatever the project's zone. */
export function instant(at_us: bigint): Expr {
  const text = new Date(Number(at_us / 1000n)).toISOString().replace('T', ' ').slice(0, 20)
  const micros = String(((at_us % 1_000_000n) + 1_000_000n) % 1_000_000n).padStart(6, '0')
  return call('toDateTime64', [constant(`${text}${micros}`), constant(6n), constant('UTC')])
}

/** The value as a literal of the property's own type; what has no type is text. */
function literal(side: Side, value: unknown): Expr {
  const text = textOf(side, value)
  if (side.type === 'Boolean' && (text === 'true' || text === 'false'))
    return constant(text === 'true')
  const is_number = side.type === 'Numeric' && NUMBER.test(text)
  return constant(is_number ? Number(text) : text)
}

const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i

function textOf({ context }: Side, value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  throw refuse('The value of a property filter must be a string, a number or a boolean.', context)
}

function refuse(detail: string, { attr }: FilterContext): Refusal {
  return new Refusal('invalid_input', detail, { attr })
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
