/** Lists of persons as trees: who is asked for, newest first. */
import type { Expr, Select, SelectQuery } from '../../hogql/ast.ts'
import type { KnownPropertyType } from '../../hogql/context.ts'
import { alias, and, call, constant, field, joinOf, order, selectOf } from '../../hogql/nodes.ts'
import type { DateContext } from '../../insights/dates.ts'
import {
  type ActorFilterContext,
  hasDistinctId,
  isPerson,
  personCondition,
  searchPersons,
} from '../../insights/filters/person-filters.ts'

/** Which persons are asked for; null for all. */
export type PersonListRequest = {
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
  readonly property_types: ReadonlyMap<string, KnownPropertyType>
}

export type PersonPage = { readonly limit: number; readonly offset: number }

type PersonConditions = (request: PersonListRequest, context: PersonContext) => Expr | null

/** What narrows a list of persons, one line each. */
const CONDITIONS: readonly PersonConditions[] = [
  ({ uuid }) => (uuid ? isPerson(uuid) : null),
  ({ email }, context) =>
    email ? personCondition({ key: 'email', value: email }, filterContext(context)) : null,
  ({ distinct_id }) => (distinct_id ? hasDistinctId(distinct_id) : null),
  ({ search }) => (search ? searchPersons(search) : null),
  ({ properties }, context) => personCondition(properties, filterContext(context)),
]

const filterContext = (context: PersonContext): ActorFilterContext => ({
  ...context,
  prefix: [],
  attr: 'properties',
})

/** Rows of id, time of creation, properties as JSON text, and whether identified. One more than the page says there is more. */
export function personsTree(
  request: PersonListRequest,
  { limit, offset }: PersonPage,
  context: PersonContext,
): Select {
  const names = ['id', 'created_at', 'properties', 'is_identified']
  return {
    ...selectPersons(
      names.map((name) => field([name])),
      request,
      context,
    ),
    order_by: [order(field(['created_at']), 'DESC'), order(field(['id']), 'DESC')],
    limit: constant(BigInt(limit + 1)),
    offset: constant(BigInt(offset)),
  }
}

/** One row: how many they are. */
export function personCountTree(request: PersonListRequest, context: PersonContext): Select {
  return selectPersons([alias(call('count', []), 'count')], request, context)
}

function selectPersons(
  exprs: readonly Expr[],
  request: PersonListRequest,
  context: PersonContext,
): SelectQuery {
  const conditions = CONDITIONS.flatMap((condition) => condition(request, context) ?? [])
  return {
    ...selectOf(exprs),
    select_from: joinOf(field(['persons'])),
    where: and(conditions),
  }
}
