/**
 * Pass orderInnerNulls: in an order, ClickHouse puts NULL inside tuples and arrays where it puts NULL
 * itself: last in both directions; min, max, argMin and argMax pass it over. DuckDB takes it for the
 * greatest item. Keys say in front of each item whether it is NULL.
 *
 *   ORDER BY (a, b) DESC
 *   → ORDER BY (a IS NOT NULL, a, b IS NOT NULL, b) DESC
 */

import type { Apply, OrderBy, ResolvedExpr } from '../sql/ir.ts'
import { applyFragment, sql } from '../sql/sql-fragments.ts'
import { tupleItem, tupleOf } from '../types/convert.ts'
import { TRUTH, type Type, UNKNOWN } from '../types/types.ts'
import { mapStatement, type Pass } from './walk.ts'

/** Gives every order over tuples or arrays with NULL inside a key. */
export const orderInnerNulls: Pass = (statement) =>
  mapStatement(statement, {
    expr: (expr) => {
      if (expr.kind === 'window')
        return { ...expr, over: { ...expr.over, order_by: expr.over.order_by.map(withKey) } }
      return expr.kind === 'apply' ? inExtreme(expr) : expr
    },
    select: (select) =>
      select.order_by.some(needsKey)
        ? { ...select, order_by: select.order_by.map(withKey) }
        : select,
  })

type Nulls = 'greatest' | 'smallest'

/** As the engine has it already: NULL is the greatest. */
function needsKey({ expr, descending, nulls }: OrderBy): boolean {
  return hasInnerNulls(expr.type) && descending !== (nulls === 'FIRST')
}

function withKey(order: OrderBy): OrderBy {
  return needsKey(order) ? { ...order, expr: keyOf(order.expr, 'smallest') } : order
}

const EXTREMES: ReadonlyMap<string, Nulls> = new Map([
  ['min', 'greatest'],
  ['max', 'smallest'],
  ['minIf', 'greatest'],
  ['maxIf', 'smallest'],
  ['argMin', 'greatest'],
  ['argMax', 'smallest'],
  ['argMinIf', 'greatest'],
  ['argMaxIf', 'smallest'],
])

function inExtreme(call: Apply): ResolvedExpr {
  const nulls = call.aggregate === null ? undefined : EXTREMES.get(call.name)
  const [value, ...rest] = call.args
  if (nulls === undefined || value === undefined) return call
  if (!call.name.startsWith('arg')) {
    if (!hasInnerNulls(value.type)) return call
    const name = `arg${call.name.slice(0, 1).toUpperCase()}${call.name.slice(1)}`
    return { ...call, name, args: [value, keyOf(value, nulls), ...rest] }
  }
  const [by, ...conditions] = rest
  if (by === undefined || !hasInnerNulls(by.type)) return call
  return { ...call, args: [value, keyOf(by, nulls), ...conditions] }
}

function hasInnerNulls(type: Type): boolean {
  if (type.kind === 'array') return type.of.nullable
  return type.kind === 'tuple' && type.items.some((item) => item.nullable || hasInnerNulls(item))
}

/** A value that the engine sorts as the expression, with NULL inside as the greatest or smallest item. */
function keyOf(expr: ResolvedExpr, nulls: Nulls): ResolvedExpr {
  const { type } = expr
  if (type.kind === 'array') {
    return nulls === 'greatest'
      ? sql`list_transform(${expr}, lambda e: {'1': e IS NULL, '2': e})`(UNKNOWN)
      : sql`list_transform(${expr}, lambda e: {'1': e IS NOT NULL, '2': e})`(UNKNOWN)
  }
  if (type.kind !== 'tuple') return expr
  const keys = type.items.flatMap((item, at) => {
    const value = tupleItem(expr, at + 1, item)
    const inner = hasInnerNulls(item) ? keyOf(value, nulls) : value
    if (!item.nullable) return [inner]
    return [applyFragment(nulls === 'greatest' ? 'isNull' : 'isNotNull', [value], TRUTH), inner]
  })
  return tupleOf(keys, {
    kind: 'tuple',
    items: keys.map((key) => key.type),
    nullable: type.nullable,
  })
}
