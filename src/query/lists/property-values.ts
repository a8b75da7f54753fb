/** The tree of a property's most frequent values, for the suggestions of a filter editor. */

import type { Expr, Select } from '../../hogql/ast.ts'
import {
  alias,
  and,
  call,
  compare,
  constant,
  field,
  joinOf,
  order,
  selectOf,
} from '../../hogql/nodes.ts'
import { escapeLike } from '../../like.ts'

/** Maximum number of suggestions. */
const VALUES_MAX = 20n

/** Filters of a list of values. */
export type ValueListRequest = {
  /** The property's name. */
  readonly key: string
  /** A part of the value, ignoring case; null for all. */
  readonly containing: string | null
  /** Further conditions on rows. */
  readonly conditions?: readonly Expr[]
}

/**
 * Rows: a value as JSON text, the number of rows with it. Each element of a list counts; missing values and null do
 * not.
 */
export function valuesTree(
  table: 'events' | 'groups' | 'persons',
  request: ValueListRequest,
): Select {
  const { key, containing, conditions = [] } = request
  const raw = call('JSONExtractRaw', [field(['properties']), constant(key)])
  const list = call('JSONExtractArrayRaw', [field(['properties']), constant(key)])
  const is_list = compare(
    call('JSONType', [field(['properties']), constant(key)]),
    '==',
    constant('Array'),
  )
  const values = call('if', [is_list, list, { kind: 'Array', start: 0, end: 0, exprs: [raw] }])
  const all_values = {
    ...selectOf([alias(call('arrayJoin', [values]), 'value')]),
    select_from: joinOf(field([table])),
    where: and([call('JSONHas', [field(['properties']), constant(key)]), ...conditions]),
  }
  const value = field(['value'])
  const conditions_on_value = [
    compare(value, 'not in', {
      kind: 'Tuple',
      start: 0,
      end: 0,
      exprs: [constant('null'), constant('')],
    }),
    ...(containing === null ? [] : [compare(value, 'ilike', constant(`%${pattern(containing)}%`))]),
  ]
  return {
    ...selectOf([value, alias(call('count', []), 'count')]),
    select_from: joinOf(all_values),
    where: and(conditions_on_value),
    group_by: [value],
    order_by: [order(field(['count']), 'DESC'), order(value)],
    limit: constant(VALUES_MAX),
  }
}

/** Escapes a text as it appears inside JSON, and its wildcards. */
function pattern(text: string): string {
  return escapeLike(JSON.stringify(text).slice(1, -1))
}
