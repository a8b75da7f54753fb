/** Window definitions and their ORDER BY. */

import type { FrameBound, OrderBy, Over, ValueExpr, WindowFrame } from '../sql/ir.ts'
import { bind } from '../sql/sql-fragments.ts'
import type * as ast from '../syntax/ast.ts'
import { FLOAT64, INT64, isNumeric, NULL, type Type } from '../types/types.ts'
import { refuse, suggestName } from './refusals.ts'
import type { NameScope, Resolver } from './scope.ts'

/** The window of a call: inline, or the select's window of that name. */
export function windowOf(node: ast.WindowFunction, scope: NameScope): ast.WindowExpr {
  if (node.over_expr !== null) return node.over_expr
  const names: string[] = []
  for (let at: NameScope | null = scope; at !== null; at = at.parent) {
    names.push(...at.windows.keys())
    const window = node.over_identifier === null ? undefined : at.windows.get(node.over_identifier)
    if (window !== undefined) return window
  }
  const name = node.over_identifier ?? ''
  throw refuse(`Unknown window: ${name}${suggestName(name, names)}`, node)
}

/** Resolves the parts of a window. */
export function resolveOver(window: ast.WindowExpr, scope: NameScope, resolver: Resolver): Over {
  const order_by = window.order_by.map((order) => resolveOrder(order, scope, resolver))
  return {
    partition_by: window.partition_by.map((key) => resolver.expr(key, scope)),
    order_by,
    frame: frameOf(window, order_by),
  }
}

function frameOf(window: ast.WindowExpr, order_by: readonly OrderBy[]): WindowFrame | null {
  const { frame_method: method, frame_start, frame_end } = window
  if (method === null || frame_start === null) return null
  const keys = method === 'RANGE' ? order_by : null
  const end = frame_end === null ? null : boundOf(frame_end, keys)
  return { method, start: boundOf(frame_start, keys), end }
}

function boundOf(bound: ast.WindowFrameExpr, keys: readonly OrderBy[] | null): FrameBound {
  if (bound.frame_value === null) return { direction: bound.frame_type, offset: null }
  const offset = frameOffset(bound.frame_value)
  if (keys === null) return { direction: bound.frame_type, offset }
  const [key, ...others] = keys
  const type = key?.expr.type ?? NULL
  const is_time = type.kind === 'date' || type.kind === 'datetime'
  if (others.length > 0 || !(isNumeric(type) || is_time))
    throw refuse('RANGE with numbers needs one key: a number, a date or a time', bound)
  if (is_time && typeof offset.value !== 'bigint')
    throw refuse('RANGE counts whole days or seconds', bound)
  return { direction: bound.frame_type, offset: distanceOf(offset, type) }
}

/** A frame distance: days for dates, seconds for instants. */
function distanceOf(offset: ValueExpr, { kind }: Type): ValueExpr {
  const unit = kind === 'date' ? 'Day' : kind === 'datetime' ? 'Second' : null
  return unit === null ? offset : { ...offset, type: { kind: 'interval', unit, nullable: false } }
}

function frameOffset(node: ast.Expr): ValueExpr {
  if (node.kind === 'Constant' && typeof node.value === 'bigint') return bind(node.value, INT64)
  if (node.kind === 'Constant' && typeof node.value === 'number') return bind(node.value, FLOAT64)
  throw refuse('A window frame is bounded by a number', node)
}

/** Resolves one ORDER BY item. */
export function resolveOrder(order: ast.OrderExpr, scope: NameScope, resolver: Resolver): OrderBy {
  if (order.collate !== null) throw refuse('COLLATE is not supported', order)
  if (order.with_fill !== null) throw refuse('WITH FILL is not supported yet', order)
  return {
    expr: resolver.expr(order.expr, scope),
    descending: order.order === 'DESC',
    nulls: order.nulls,
  }
}
