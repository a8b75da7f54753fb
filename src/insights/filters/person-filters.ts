/** Conditions on tables of persons and groups: properties, cohorts, and search. */

import { refuseMember } from '../../errors.ts'
import type { KnownPropertyType } from '../../hogql/context.ts'
import type { Expr } from '../../hogql/syntax/ast.ts'
import { and, call, compare, constant, field, or } from '../../hogql/syntax/nodes.ts'
import { select } from '../../hogql/template.ts'
import { numberOf } from '../../json.ts'
import { escapeLike } from '../../like.ts'
import { isUuid } from '../../uuid.ts'
import type { DateContext } from '../dates/dates.ts'
import { readExpression } from '../members/expression.ts'
import { listOf } from './filter-operators.ts'
import { filterCondition, isOutOfCohorts } from './property-filters.ts'

/** The context of conditions on a table of actors. */
export type ActorFilterContext = DateContext & {
  /** The table's alias, or nothing. */
  readonly prefix: readonly string[]
  readonly property_types: ReadonlyMap<string, KnownPropertyType>
  /** The member named in refusals. */
  readonly attr: string
}

/** The condition on a person's id, in upper or lower case. */
export function isPerson(uuid: string, prefix: readonly string[] = []): Expr {
  return compare(field([...prefix, 'id']), '==', call('toUUID', [constant(uuid.toLowerCase())]))
}

/** The condition that a person has a distinct id. */
export function hasDistinctId(distinct_id: string, prefix: readonly string[] = []): Expr {
  const owners = select`
    select person_id from person_distinct_ids where distinct_id = ${constant(distinct_id)}`
  return compare(field([...prefix, 'id']), 'in', owners)
}

/** Persons with the text in their email or name, or as a whole id. */
export function searchPersons(search: string, prefix: readonly string[] = []): Expr | null {
  const ids = isUuid(search) ? [isPerson(search, prefix)] : []
  return or([
    ...searchTexts(['email', 'name'], search, prefix),
    hasDistinctId(search, prefix),
    ...ids,
  ])
}

/** Groups with the text in their name or key. */
export function searchGroups(search: string, prefix: readonly string[] = []): Expr | null {
  return or([
    ...searchTexts(['name'], search, prefix),
    compare(field([...prefix, 'key']), 'ilike', constant(`%${escapeLike(search)}%`)),
  ])
}

function searchTexts(
  names: readonly string[],
  search: string,
  prefix: readonly string[],
): readonly Expr[] {
  return names.map((name) => {
    const value = call('JSONExtractString', [field([...prefix, 'properties']), constant(name)])
    return compare(value, 'ilike', constant(`%${escapeLike(search)}%`))
  })
}

/** Filters of persons: properties, cohorts and HogQL. Refuses other filters. */
export function personCondition(filters: unknown, context: ActorFilterContext): Expr | null {
  return condition(filters, { one: (filter) => onPerson(filter, context), context, depth: 0 })
}

/** Filters of groups: properties and HogQL. Refuses other filters. */
export function groupCondition(filters: unknown, context: ActorFilterContext): Expr | null {
  const one = (filter: PersonFilter): Expr | null => {
    const { type, group_type_index } = filter
    if (type === 'hogql') return asExpression(filter, context)
    if (type !== undefined && type !== 'group') {
      throw refuseMember('Groups are filtered by their properties and HogQL only.', context.attr)
    }
    return asTableFilter(filter, `group_${numberOf(group_type_index ?? 0)}`, context)
  }
  return condition(filters, { one, context, depth: 0 })
}

type PersonFilter = Readonly<Partial<Record<string, unknown>>>

type FilterReader = {
  readonly one: (filter: PersonFilter) => Expr | null
  readonly context: ActorFilterContext
  readonly depth: number
}

/** Maximum nesting of groups. */
const DEPTH_MAX = 10

function condition(filters: unknown, reading: FilterReader): Expr | null {
  const { one, context, depth } = reading
  if (depth > DEPTH_MAX) throw refuseMember('Property filters are nested too deep.', context.attr)
  const all = (parts: readonly unknown[]) =>
    parts.flatMap((part) => condition(part, { ...reading, depth: depth + 1 }) ?? [])
  if (Array.isArray(filters)) return and(all(filters))
  if (typeof filters !== 'object' || filters === null) return null
  const filter: PersonFilter = { ...filters }
  if (!Array.isArray(filter['values'])) return one(filter)
  const parts = all(filter['values'])
  return filter['type'] === 'OR' ? or(parts) : and(parts)
}

function onPerson(filter: PersonFilter, context: ActorFilterContext): Expr | null {
  const { type, value } = filter
  switch (type) {
    case undefined:
    case 'person':
      return asTableFilter(filter, 'person', context)
    case 'hogql':
      return asExpression(filter, context)
    case 'cohort':
    case 'precalculated-cohort':
    case 'static-cohort': {
      const [only, ...others] = listOf(value)
      const number = others.length > 0 ? Number.NaN : Math.trunc(numberOf(only))
      const cohort = Number.isSafeInteger(number) ? BigInt(number) : 0n
      const id = field([...context.prefix, 'id'])
      return compare(id, isOutOfCohorts(filter) ? 'not in cohort' : 'in cohort', constant(cohort))
    }
  }
  throw refuseMember(
    'Persons are filtered by their properties, cohorts and HogQL only.',
    context.attr,
  )
}

/** A filter in HogQL: an expression over the table of actors. */
const asExpression = ({ key }: PersonFilter, { attr }: ActorFilterContext): Expr | null =>
  typeof key === 'string' ? readExpression(key, attr) : null

/** A filter on the table's own properties, expressed as one on an event's. */
function asTableFilter(
  filter: PersonFilter,
  owner: string,
  context: ActorFilterContext,
): Expr | null {
  const { key, value, operator } = filter
  const name = typeof key === 'string' || typeof key === 'number' ? String(key) : ''
  const type = context.property_types.get(`${owner}:${name}`)
  const property_types = new Map(type === undefined ? [] : [[`event:${name}`, type]])
  return filterCondition({ key, value, operator, type: 'event' }, { ...context, property_types })
}
