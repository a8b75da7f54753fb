/** Keys of GROUP BY in what a select shows: `t.1` beside `GROUP BY t` is an item of the key, `x -> x` the key that says `y -> y`. */

import type { Expr, ItemOf } from '../ir.ts'
import type { GroupBy, Select } from '../ir-queries.ts'
import { mapChildren, someExpr } from '../passes/walk.ts'
import { identity, likeness } from './grouping.ts'

type Items = {
  /** The keys themselves, which stay as they are. */
  readonly keys: ReadonlySet<string>
  readonly items: ReadonlyMap<string, ItemOf>
  /** Keys with lambdas, whose parameters are others wherever they are written. */
  readonly alike: ReadonlyMap<string, Expr>
}

/** The select with what it shows, orders and keeps read off its keys where they hold it. */
export function throughKeys(select: Select): Select {
  const known = itemsOf(select.group_by)
  if (known === null) return select
  const read = (expr: Expr): Expr => readItems(expr, known)
  const optional = (expr: Expr | null): Expr | null => (expr === null ? null : read(expr))
  return {
    ...select,
    columns: select.columns.map((column) => ({ ...column, expr: read(column.expr) })),
    having: optional(select.having),
    qualify: optional(select.qualify),
    order_by: select.order_by.map((order) => ({ ...order, expr: read(order.expr) })),
  }
}

function itemsOf(group_by: GroupBy | null): Items | null {
  const keys = group_by?.sets.flat() ?? []
  const known = new Set(keys.map(identity))
  const items = new Map<string, ItemOf>()
  for (const key of keys) {
    if (key.kind !== 'tuple') continue
    for (const [index, item] of key.items.entries()) {
      const name = identity(item)
      if (known.has(name)) continue
      items.set(name, { kind: 'item', of: key, position: index + 1, type: item.type })
    }
  }
  const alike = new Map(
    keys
      .filter((key) => someExpr(key, ({ kind }) => kind === 'lambda'))
      .map((key) => [likeness(key), key]),
  )
  return items.size + alike.size === 0 ? null : { keys: known, items, alike }
}

/** From the outside in: what is a key, or gathers rows, is not looked into. */
function readItems(expr: Expr, known: Items): Expr {
  if (expr.kind === 'apply' && expr.aggregate !== null) return expr
  const name = identity(expr)
  if (known.keys.has(name)) return expr
  const key = known.alike.size === 0 ? undefined : known.alike.get(likeness(expr))
  if (key !== undefined) return key
  const item = known.items.get(name)
  if (item !== undefined && expr.kind !== 'value') return item
  return mapChildren(
    expr,
    (child) => readItems(child, known),
    (query) => query,
  )
}
