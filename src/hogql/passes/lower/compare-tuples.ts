/** Comparisons of tuples with items that may be NULL, item by item in three-valued logic. */

import type { Apply, ResolvedExpr } from '../../sql/ir.ts'
import { joinFragments, sql } from '../../sql/sql-fragments.ts'
import { tupleItem } from '../../types/convert.ts'
import { hasNullableItem, TRUTH, type Type, withNull } from '../../types/types.ts'

/** Of an order: the comparison of items before the last, which decides alone when it is true. */
const STRICT: ReadonlyMap<string, string> = new Map([
  ['less', 'less'],
  ['lessOrEquals', 'less'],
  ['greater', 'greater'],
  ['greaterOrEquals', 'greater'],
])

const MAYBE: Type = withNull(TRUTH)

/**
 * The comparison as ClickHouse makes it: NULL where an unknown item decides. Null for calls that are not
 * comparisons of two tuples with such items. The engine would compare NULL as the greatest value.
 *
 *   (a, b) = (c, d)  →  a = c AND b = d
 *   (a, b) < (c, d)  →  a < c OR (a = c AND b < d)
 */
export function compareTuples(call: Apply): ResolvedExpr | null {
  const [left, right] = call.args
  if (left?.type.kind !== 'tuple' || right?.type.kind !== 'tuple') return null
  const [a, b] = [left.type.items, right.type.items]
  if (a.length !== b.length || a.length === 0) return null
  if (left.type.nullable || right.type.nullable) return null
  if (!hasNullableItem(left.type) && !hasNullableItem(right.type)) return null
  const is_order = STRICT.has(call.name)
  if (!is_order && call.name !== 'equals' && call.name !== 'notEquals') return null
  // With NULL as a constant the outcome is NULL, whatever the other items are.
  if (hasNullItem(left.type) || hasNullItem(right.type)) return sql`NULL::BOOLEAN`(MAYBE)
  const pairs = a.map((type, at): readonly [ResolvedExpr, ResolvedExpr] => [
    tupleItem(left, at + 1, type),
    tupleItem(right, at + 1, b[at] ?? type),
  ])
  const compare = (name: string, [one, other]: readonly [ResolvedExpr, ResolvedExpr]) =>
    compareItems({ ...call, name, args: [one, other], type: MAYBE })
  if (is_order) return inOrder(call.name, pairs, compare)
  const between = call.name === 'equals' ? ' AND ' : ' OR '
  return joinFragments(
    ['(', between, ')'],
    pairs.map((pair) => compare(call.name, pair)),
    MAYBE,
  )
}

function compareItems(call: Apply): ResolvedExpr {
  return compareTuples(call) ?? call
}

type Pair = readonly [ResolvedExpr, ResolvedExpr]

/** The lexicographic order, from the last item to the first. */
function inOrder(
  name: string,
  pairs: readonly Pair[],
  compare: (name: string, pair: Pair) => ResolvedExpr,
): ResolvedExpr {
  const strict = STRICT.get(name) ?? name
  const [last, ...before] = pairs.toReversed()
  if (last === undefined) throw new Error('a tuple without items')
  return before.reduce(
    (rest, pair) =>
      sql`(${compare(strict, pair)} OR (${compare('equals', pair)} AND ${rest}))`(MAYBE),
    compare(name, last),
  )
}

function hasNullItem(type: Type): boolean {
  return (
    type.kind === 'tuple' && type.items.some((item) => item.kind === 'null' || hasNullItem(item))
  )
}
