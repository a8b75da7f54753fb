/** Lists of persons as trees: who is asked for, newest first (wire §4.8). */
import { Refusal } from '../errors.ts'
import type { Expr, Select, SelectQuery } from '../hogql/ast.ts'
import type { PropertyType } from '../hogql/context.ts'
import {
  alias,
  and,
  call,
  compare,
  constant,
  field,
  joinOf,
  or,
  order,
  selectOf,
} from '../hogql/nodes.ts'
import type { DateContext } from '../insights/dates.ts'
import { filterCondition } from '../insights/property-filters.ts'

/** Which persons are asked for; null for all. */
export type WantedPersons = {
  /** Their id. */
  readonly uuid: string | null
  /** The exact value of their property `email`. */
  readonly email: string | null
  readonly distinct_id: string | null
  /** A part of their email or name, or a whole id of theirs. */
  readonly search: string | null
  /** Property filters, all of which hold. */
  readonly properties: unknown
}

export type PersonContext = DateContext & {
  readonly property_types: ReadonlyMap<string, PropertyType>
}

export type Page = { readonly limit: number; readonly offset: number }

type Conditions = (wanted: WantedPersons, context: PersonContext) => Expr | null

/** What narrows a list of persons, one line each. */
const CONDITIONS: readonly Conditions[] = [
  ({ uuid }) => (uuid ? isPerson(uuid) : null),
  ({ email }, context) => (email ? ofTable({ key: 'email', value: email }, context) : null),
  ({ distinct_id }) => (distinct_id ? hasDistinctId(distinct_id) : null),
  ({ search }) => (search ? found(search) : null),
  ({ properties }, context) => filtered(properties, context),
]

/** Rows of id, time of creation, properties as JSON text, and whether identified. One more than the page says there is more. */
export function personsTree(
  wanted: WantedPersons,
  { limit, offset }: Page,
  context: PersonContext,
): Select {
  const names = ['id', 'created_at', 'properties', 'is_identified']
  return {
    ...selectPersons(
      names.map((name) => field([name])),
      wanted,
      context,
    ),
    order_by: [order(field(['created_at']), 'DESC'), order(field(['id']), 'DESC')],
    limit: constant(BigInt(limit + 1)),
    offset: constant(BigInt(offset)),
  }
}

/** One row: how many they are. */
export function personCountTree(wanted: WantedPersons, context: PersonContext): Select {
  return selectPersons([alias(call('count', []), 'count')], wanted, context)
}

function selectPersons(
  exprs: readonly Expr[],
  wanted: WantedPersons,
  context: PersonContext,
): SelectQuery {
  const conditions = CONDITIONS.flatMap((condition) => condition(wanted, context) ?? [])
  return {
    ...selectOf(exprs),
    select_from: joinOf(field(['persons'])),
    where: and(conditions),
  }
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

const isPerson = (uuid: string): Expr =>
  compare(field(['id']), '==', call('toUUID', [constant(uuid.toLowerCase())]))

function hasDistinctId(distinct_id: string): Expr {
  const owners = {
    ...selectOf([field(['person_id'])]),
    select_from: joinOf(field(['person_distinct_ids'])),
    where: compare(field(['distinct_id']), '==', constant(distinct_id)),
  }
  return compare(field(['id']), 'in', owners)
}

function found(search: string): Expr | null {
  const contains = ['email', 'name'].map((name) => {
    const value = call('JSONExtractString', [field(['properties']), constant(name)])
    return compare(value, 'ilike', constant(`%${search.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`))
  })
  const ids = UUID.test(search) ? [isPerson(search)] : []
  return or([...contains, hasDistinctId(search), ...ids])
}

/** Filters of persons: of their properties, and of the cohorts they are in. */
function filtered(filters: unknown, context: PersonContext): Expr | null {
  if (Array.isArray(filters)) return and(filters.flatMap((one) => filtered(one, context) ?? []))
  if (typeof filters !== 'object' || filters === null) return null
  const { type, values, key, value, operator }: Partial<Record<string, unknown>> = { ...filters }
  if (Array.isArray(values)) {
    const all = values.flatMap((one) => filtered(one, context) ?? [])
    return type === 'OR' ? or(all) : and(all)
  }
  switch (type) {
    case undefined:
    case 'person':
      return ofTable({ key, value, operator }, context)
    case 'cohort':
    case 'precalculated-cohort':
    case 'static-cohort': {
      const is_out = operator === 'not_in' || operator === 'is_not'
      const cohort = constant(BigInt(Math.trunc(Number(value)) || 0))
      return compare(field(['id']), is_out ? 'not in cohort' : 'in cohort', cohort)
    }
  }
  const detail = 'Persons are filtered by their properties and cohorts only.'
  throw new Refusal('invalid_input', detail, { attr: 'properties' })
}

/** A filter of the table's own properties: conditions know these as those of events. */
function ofTable(filter: object, { timezone, now, property_types }: PersonContext): Expr | null {
  const own = [...property_types].flatMap(([name, type]) =>
    name.startsWith('person:') ? [[`event:${name.slice('person:'.length)}`, type] as const] : [],
  )
  return filterCondition(
    { ...filter, type: 'event' },
    { prefix: [], timezone, now, attr: 'properties', property_types: new Map(own) },
  )
}
