/** The trees of person lists, newest first. */

import type { KnownPropertyType } from '../../hogql/context.ts'
import type { Expr, Select } from '../../hogql/syntax/ast.ts'
import { and, integer } from '../../hogql/syntax/nodes.ts'
import { select } from '../../hogql/template.ts'
import type { DateContext } from '../../insights/dates/dates.ts'
import {
  type ActorFilterContext,
  hasDistinctId,
  isPerson,
  personCondition,
  searchPersons,
} from '../../insights/filters/person-filters.ts'

/** Filters of a person list; null for none. */
export type PersonListRequest = {
  /** The person's id. */
  readonly uuid: string | null
  /** The exact value of the property `email`. */
  readonly email: string | null
  readonly distinct_id: string | null
  /** A part of the email or name, or an exact id. */
  readonly search: string | null
  /** Property filters, combined with AND. */
  readonly properties: unknown
  /** Only members of this cohort. */
  readonly cohort_id: number | null
}

export type ActorListContext = DateContext & {
  readonly property_types: ReadonlyMap<string, KnownPropertyType>
}

export type PersonPage = { readonly limit: number; readonly offset: number }

type PersonConditions = (request: PersonListRequest, context: ActorListContext) => Expr | null

/** One condition per line. */
const CONDITIONS: readonly PersonConditions[] = [
  ({ uuid }) => (uuid ? isPerson(uuid) : null),
  ({ email }, context) =>
    email ? personCondition({ key: 'email', value: email }, filterContext(context)) : null,
  ({ distinct_id }) => (distinct_id ? hasDistinctId(distinct_id) : null),
  ({ search }) => (search ? searchPersons(search) : null),
  ({ properties }, context) => personCondition(properties, filterContext(context)),
  ({ cohort_id }, context) =>
    cohort_id === null
      ? null
      : personCondition(
          { type: 'cohort', key: 'id', value: cohort_id, operator: 'in' },
          filterContext(context),
        ),
]

/** The context of filters in the parameter `properties`. */
export const filterContext = (context: ActorListContext): ActorFilterContext => ({
  ...context,
  prefix: [],
  attr: 'properties',
})

/** Rows: id, creation time, properties as JSON text, is_identified. One row beyond the limit shows that there are more. */
export function personsTree(
  request: PersonListRequest,
  { limit, offset }: PersonPage,
  context: ActorListContext,
): Select {
  const rows = select`
    select id, created_at, properties, is_identified
    from persons
    order by created_at desc, id desc
    limit ${integer(limit + 1)} offset ${integer(offset)}`
  return { ...rows, where: personConditions(request, context) }
}

/** One row with the number of persons. */
export function personCountTree(request: PersonListRequest, context: ActorListContext): Select {
  return {
    ...select`select count() as count from persons`,
    where: personConditions(request, context),
  }
}

function personConditions(request: PersonListRequest, context: ActorListContext): Expr | null {
  return and(CONDITIONS.flatMap((condition) => condition(request, context) ?? []))
}
