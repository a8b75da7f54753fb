/** The values of a property, the most frequent first, as trees: what an editor offers while somebody types. */
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

/** Values offered at once. */
const VALUES_MAX = 20n

/** Which values are asked for. */
export type ValueListRequest = {
  /** The property. */
  readonly key: string
  /** What a value has to contain, in upper or lower case; null for all. */
  readonly containing: string | null
  /** What else rows have to fulfil. */
  readonly conditions?: readonly Expr[]
}

/**
 * Rows of a value as JSON text and of how many rows of the table have it. A list counts for each of its elements. What
 * is missing or null is no value.
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
  const each = {
    ...selectOf([alias(call('arrayJoin', [values]), 'value')]),
    select_from: joinOf(field([table])),
    where: and([call('JSONHas', [field(['properties']), constant(key)]), ...conditions]),
  }
  const value = field(['value'])
  const kept = [
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
    select_from: joinOf(each),
    where: and(kept),
    group_by: [value],
    order_by: [order(field(['count']), 'DESC'), order(value)],
    limit: constant(VALUES_MAX),
  }
}

/** The text as it stands inside JSON, in which no sign is a wildcard. */
function pattern(text: string): string {
  return JSON.stringify(text)
    .slice(1, -1)
    .replaceAll(/[\\%_]/g, String.raw`\$&`)
}
