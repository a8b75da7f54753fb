/** Items of tuples that are keys of GROUP BY: `t.1` beside `GROUP BY t` is an item of the key, not of a row. */

import type { Expr, ItemOf } from '../ir.ts'
import type { GroupBy, Select } from '../ir-queries.ts'
import { mapChildren } from '../passes/walk.ts'
import { identity } from './grouping.ts'

type Items = {
  /** The keys themselves, which stay as they are. */
  readonly keys: ReadonlySet<string>
  readonly items: ReadonlyMap<string, ItemOf>
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
  return items.size === 0 ? null : { keys: known, items }
}

/** From the outside in: what is a key, or gathers rows, is not looked into. */
function readItems(expr: Expr, known: Items): Expr {
  if (expr.kind === 'apply' && expr.aggregate !== null) return expr
  const name = identity(expr)
  if (known.keys.has(name)) return expr
  const item = known.items.get(name)
  if (item !== undefined && expr.kind !== 'value') return item
  return mapChildren(
    expr,
    (child) => readItems(child, known),
    (query) => query,
  )
}
