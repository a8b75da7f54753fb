/** Lists of groups as trees, newest first. */
import type { Expr, Select } from '../../hogql/ast.ts'
import { and, compare, constant, field, joinOf, or, order, selectOf } from '../../hogql/nodes.ts'
import { select } from '../../insights/tree.ts'

export type GroupListRequest = {
  readonly group_type_index: number
  /** The whole key of one; null for all. */
  readonly group_key: string | null
  /** A part of the key or of the properties, in upper or lower case; null for all. */
  readonly search: string | null
}

const KEY = field(['key'])
const CREATED_AT = field(['created_at'])
const PROPERTIES = field(['properties'])

/** Rows of key, time of creation, and properties as JSON text. One more than the page says there is more. */
export function groupsTree(
  { group_type_index, group_key, search }: GroupListRequest,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Select {
  const conditions = [
    hasType(group_type_index),
    ...(group_key === null ? [] : [compare(KEY, '==', constant(group_key))]),
    ...(search === null
      ? []
      : [or([contains(KEY, search), contains(PROPERTIES, search)])].flatMap((one) => one ?? [])),
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

/** The condition that a group is of a type. */
export function hasType(group_type_index: number): Expr {
  return compare(field(['index']), '==', constant(BigInt(group_type_index)))
}

/** No sign of the text is a wildcard. */
function contains(expr: Expr, text: string): Expr {
  const pattern = text.replaceAll(/[\\%_]/g, String.raw`\$&`)
  return compare(expr, 'ilike', constant(`%${pattern}%`))
}

/** Types and properties told of: a project has far fewer. */
const PROPERTIES_MAX = 10_000n

/** Rows: type index, name of a property, groups that have it; the most frequent first. */
export function groupPropertiesTree(): Select {
  return select`
    select index, arrayJoin(JSONExtractKeys(toString(properties))) as name, count() as groups_with
    from groups
    group by index, name
    order by groups_with desc, name, index
    limit ${constant(PROPERTIES_MAX)}`
}
