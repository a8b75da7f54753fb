/** The trees of group lists, newest first. */

import type { Expr, Select } from '../../hogql/ast.ts'
import { and, compare, constant, field, joinOf, or, order, selectOf } from '../../hogql/nodes.ts'
import { select } from '../../insights/tree.ts'
import { escapeLike } from '../../like.ts'

export type GroupListRequest = {
  readonly group_type_index: number
  /** An exact key; null for all. */
  readonly group_key: string | null
  /** A part of the key or the properties, ignoring case; null for all. */
  readonly search: string | null
}

const KEY = field(['key'])
const CREATED_AT = field(['created_at'])
const PROPERTIES = field(['properties'])

/** Rows: key, creation time, properties as JSON text. One row beyond the limit shows that there are more. */
export function groupsTree(
  { group_type_index, group_key, search }: GroupListRequest,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Select {
  const conditions = [
    hasType(group_type_index),
    ...(group_key === null ? [] : [compare(KEY, '==', constant(group_key))]),
    ...(search === null
      ? []
      : [or([contains(KEY, search), contains(PROPERTIES, search)])].flatMap(
          (condition) => condition ?? [],
        )),
  ]
  return {
    ...selectOf([KEY, CREATED_AT, PROPERTIES]),
    select_from: joinOf(field(['groups'])),
    where: and(conditions),
    order_by: [order(CREATED_AT, 'DESC'), order(KEY)],
    limit: constant(BigInt(limit + 1)),
    offset: constant(BigInt(offset)),
  }
}

/** Builds the condition that a group is of a type. */
export function hasType(group_type_index: number): Expr {
  return compare(field(['index']), '==', constant(BigInt(group_type_index)))
}

/** A case-insensitive search; wildcards in the text are escaped. */
function contains(expr: Expr, text: string): Expr {
  const pattern = escapeLike(text)
  return compare(expr, 'ilike', constant(`%${pattern}%`))
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
