/** The trees of group lists, newest first. */

import type { Expr, Select } from '../../hogql/syntax/ast.ts'
import { and, constant, integer } from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'
import { groupCondition } from '../../insights/filters/person-filters.ts'
import { escapeLike } from '../../like.ts'
import { type ActorListContext, filterContext } from './persons.ts'

export type GroupListRequest = {
  readonly group_type_index: number
  /** An exact key; null for all. */
  readonly group_key: string | null
  /** A part of the key or the properties, ignoring case; null for all. */
  readonly search: string | null
  /** Property filters, combined with AND; null for none. */
  readonly properties: unknown
}

/** Rows: key, creation time, properties as JSON text. One row beyond the limit shows that there are more. */
export function groupsTree(
  { group_type_index, group_key, search, properties }: GroupListRequest,
  { limit, offset }: { readonly limit: number; readonly offset: number },
  context: ActorListContext,
): Select {
  const conditions = [
    hasType(group_type_index),
    group_key === null ? null : expr`key = ${constant(group_key)}`,
    search === null ? null : hasText(search),
    groupCondition(properties, filterContext(context)),
  ]
  const rows = select`
    select key, created_at, properties
    from groups
    order by created_at desc, key
    limit ${integer(limit + 1)} offset ${integer(offset)}`
  return { ...rows, where: and(conditions) }
}

/** Builds the condition that a group is of a type. */
export function hasType(group_type_index: number): Expr {
  return expr`index = ${integer(group_type_index)}`
}

/** A case-insensitive search; wildcards in the text are escaped. */
function hasText(text: string): Expr {
  const pattern = constant(`%${escapeLike(text)}%`)
  return expr`key ilike ${pattern} or properties ilike ${pattern}`
}

/** Maximum number of rows; projects have far fewer. */
const PROPERTIES_MAX = 10_000n

/** Rows: group type index, property name, number of groups with it; the most frequent first. */
export function groupPropertiesTree(): Select {
  return select`
    select index, arrayJoin(JSONExtractKeys(toString(properties))) as name, count() as groups_with
    from groups
    group by index, name
    order by groups_with desc, name, index
    limit ${constant(PROPERTIES_MAX)}`
}
