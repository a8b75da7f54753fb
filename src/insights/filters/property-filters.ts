/** TYPES: property filters as conditions of a tree, never as text. Queries and flags differ in details. */

import { refuseMember } from '../../errors.ts'
import type { KnownPropertyType } from '../../hogql/context.ts'
import type { Expr } from '../../hogql/syntax/ast.ts'
import { and, call, compare, constant, field, or } from '../../hogql/syntax/nodes.ts'
import { numberOf } from '../../json.ts'
import { readExpression } from '../members/expression.ts'
import { behavioralCondition } from './behavioral-filters.ts'
import { elementCondition } from './element-filters.ts'
import { applyOperator, listOf, type OperatorContext, UNARY } from './filter-operators.ts'

/** The context of conditions. */
export type PropertyFilterContext = OperatorContext & {
  /** The filtered table's alias, or nothing. */
  readonly prefix: readonly string[]
  readonly property_types: ReadonlyMap<string, KnownPropertyType>
}

/** One filter as sent; all members but the key are optional. */
type ParsedPropertyFilter = {
  readonly key: string
  readonly operator: string
  readonly value: unknown
  readonly type: string
  readonly group_type_index: number
  /** All members as sent. */
  readonly sent: Readonly<Record<string, unknown>>
}

/** Maximum nesting of groups. */
const DEPTH_MAX = 20
/** Maximum lists, groups, filters and values: each is compiled on the thread that serves all requests. */
const PARTS_MAX = 3000

/**
 * The conjunction of a list of filters, or of a group `{type: AND | OR, values}`; null when there
 * are none. Refuses (`invalid_input`) invalid filters.
 */
export function filterCondition(filters: unknown, context: PropertyFilterContext): Expr | null {
  requireFew(filters, context)
  return groupCondition(filters, context)
}

function groupCondition(filters: unknown, context: PropertyFilterContext): Expr | null {
  if (Array.isArray(filters)) return and(conditions(filters, context))
  if (!isObject(filters)) return null
  const { type, values } = filters
  if (Array.isArray(values) && (type === 'AND' || type === 'OR')) {
    const exprs = conditions(values, context)
    return type === 'AND' ? and(exprs) : or(exprs)
  }
  const filter = readFilter(filters)
  return filter === null ? null : conditionOf(filter, context)
}

function conditions(filters: readonly unknown[], context: PropertyFilterContext): readonly Expr[] {
  return filters.flatMap((filter) => groupCondition(filter, context) ?? [])
}

/** Counts all members of filters and values level by level, before anything recurses over them. */
function requireFew(filters: unknown, context: PropertyFilterContext): void {
  let count = 0
  let level: readonly unknown[] = [filters]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > DEPTH_MAX) throw refuseMember('Property filters are nested too deep.', context.attr)
    count += level.length
    if (count > PARTS_MAX) {
      throw refuseMember(`Property filters have more than ${PARTS_MAX} parts.`, context.attr)
    }
    level = level.flatMap((part) =>
      Array.isArray(part)
        ? part
        : isObject(part) && Array.isArray(part['values'])
          ? part['values']
          : isObject(part)
            ? listOf(part['value'] ?? [])
            : [],
    )
  }
}

/** Incomplete filters, which editors send while a user types, match everything. */
function readFilter(input: Readonly<Record<string, unknown>>): ParsedPropertyFilter | null {
  const { key, operator, value, type, group_type_index } = input
  if (typeof key !== 'string' && typeof key !== 'number') return null
  const filter: ParsedPropertyFilter = {
    key: String(key),
    operator: typeof operator === 'string' ? operator : 'exact',
    value,
    type: typeof type === 'string' ? type : 'event',
    group_type_index: typeof group_type_index === 'number' ? group_type_index : 0,
    sent: input,
  }
  const needs_value = !UNARY.has(filter.operator) && filter.type !== 'hogql'
  return needs_value && (value === undefined || value === null) ? null : filter
}

type PropertyFilterType = (filter: ParsedPropertyFilter, context: PropertyFilterContext) => Expr

/** A line per filter type: how it finds its operand. Adding a type means adding a line. */
const TYPES: Readonly<Record<string, PropertyFilterType>> = {
  event: (filter, context) =>
    filter.key === '$elements_chain'
      ? onElementsChain(filter, context)
      : onProperty(filter, context, 'event', ['properties']),
  feature: (filter, context) => onProperty(filter, context, 'event', ['properties']),
  person: (filter, context) => onProperty(filter, context, 'person', ['person', 'properties']),
  group: (filter, context) => {
    const owner = `group_${filter.group_type_index}`
    // Also groups of which nothing but the key is known.
    if (filter.key === '$group_key') {
      return onColumn(filter, context, [...context.prefix, 'properties', `$${owner}`])
    }
    return onProperty(filter, context, owner, [owner, 'properties'])
  },
  session: (filter, context) => onProperty(filter, context, 'session', ['session']),
  event_metadata: (filter, context) => onProperty(filter, context, 'metadata', []),
  element: (filter, context) => elementCondition(filter, context.prefix, context),
  behavioral: ({ sent: input }, context) => {
    const readFilters = (filters: readonly unknown[]) =>
      filterCondition(filters, { ...context, prefix: [] })
    return behavioralCondition(input, context.prefix, { ...context, readFilters })
  },
  cohort: inCohorts,
  // Recordings and console logs are not stored: such filters match nothing.
  recording: onNothing,
  log_entry: onNothing,
  // A column of another table of the same query, `persons.created_at`; the compiler checks that it
  // exists.
  data_warehouse: (filter, context) => onColumn(filter, context, filter.key.split('.')),
  data_warehouse_person_property: (filter, context) =>
    onColumn(filter, context, [...context.prefix, 'person', ...filter.key.split('.')]),
  hogql: (filter, context) => readExpression(filter.key, context.attr),
  flag: () => constant(true),
  empty: () => constant(true),
}

function conditionOf(filter: ParsedPropertyFilter, context: PropertyFilterContext): Expr {
  const typed = Object.hasOwn(TYPES, filter.type) ? TYPES[filter.type] : undefined
  if (typed !== undefined) return typed(filter, context)
  const name = JSON.stringify(filter.type)
  throw refuseMember(`Property filters of type ${name} are not supported.`, context.attr)
}

function onProperty(
  filter: ParsedPropertyFilter,
  context: PropertyFilterContext,
  owner: string,
  path: readonly string[],
): Expr {
  const expr = field([...context.prefix, ...path, filter.key])
  const type = context.property_types.get(`${owner}:${filter.key}`) ?? null
  return applyOperator(filter.operator, { expr, type, context }, filter.value)
}

/** Whether a filter leaves out the members of its cohorts: by its operator, or by `negation`, as older clients send it. */
export function isOutOfCohorts({
  operator,
  negation,
}: Readonly<Partial<Record<string, unknown>>>): boolean {
  return operator === 'not_in' || operator === 'is_not' || negation === true
}

/** In any of the cohorts, or with a negated operator in none; texts that are not ids match nothing. */
function inCohorts({ value, sent }: ParsedPropertyFilter, { prefix }: PropertyFilterContext): Expr {
  const negated = isOutOfCohorts(sent)
  const person = field([...prefix, 'person_id'])
  const op = negated ? 'not in cohort' : 'in cohort'
  const tests = listOf(value).map((id) => {
    const number = numberOf(id)
    return compare(person, op, constant(Number.isSafeInteger(number) ? BigInt(number) : 0n))
  })
  return (negated ? and(tests) : or(tests)) ?? constant(true)
}

function onColumn(
  filter: ParsedPropertyFilter,
  context: PropertyFilterContext,
  chain: readonly string[],
): Expr {
  const side = { expr: field(chain), type: null, context }
  return applyOperator(filter.operator, side, filter.value)
}

/** Sent as a property, but stored as a column, which is empty where nothing was sent. */
function onElementsChain(filter: ParsedPropertyFilter, context: PropertyFilterContext): Expr {
  const chain = call('nullIf', [field([...context.prefix, 'elements_chain']), constant('')])
  return applyOperator(filter.operator, { expr: chain, type: null, context }, filter.value)
}

function onNothing(
  { operator, value }: ParsedPropertyFilter,
  context: PropertyFilterContext,
): Expr {
  return applyOperator(operator, { expr: constant(null), type: null, context }, value)
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
