/** Windows and orders: what a window function runs over. */

import type * as ast from '../ast.ts'
import type * as parts from '../ast-parts.ts'
import type { Frame, FrameBound, OrderBy, Over, Value } from '../ir.ts'
import { bind } from '../spell.ts'
import { FLOAT64, INT64, isNumeric, NULL, type Type } from '../types.ts'
import { meant, refuse } from './refuse.ts'
import type { Resolver, Scope } from './scope.ts'

/** The window of a call: written there, or the select's one of that name. */
export function windowOf(node: ast.WindowFunction, scope: Scope): parts.WindowExpr {
  if (node.over_expr !== null) return node.over_expr
  const names: string[] = []
  for (let at: Scope | null = scope; at !== null; at = at.parent) {
    names.push(...at.windows.keys())
    const found = node.over_identifier === null ? undefined : at.windows.get(node.over_identifier)
    if (found !== undefined) return found
  }
  const name = node.over_identifier ?? ''
  throw refuse(`Unknown window: ${name}${meant(name, names)}`, node)
}

/** Resolves the parts of a window. */
export function resolveOver(window: parts.WindowExpr, scope: Scope, resolver: Resolver): Over {
  const order_by = window.order_by.map((order) => resolveOrder(order, scope, resolver))
  return {
    partition_by: window.partition_by.map((key) => resolver.expr(key, scope)),
    order_by,
    frame: frameOf(window, order_by),
  }
}

function frameOf(window: parts.WindowExpr, order_by: readonly OrderBy[]): Frame | null {
  const { frame_method: method, frame_start, frame_end } = window
  if (method === null || frame_start === null) return null
  const keys = method === 'RANGE' ? order_by : null
  const end = frame_end === null ? null : boundOf(frame_end, keys)
  return { method, start: boundOf(frame_start, keys), end }
}

function boundOf(bound: parts.WindowFrameExpr, keys: readonly OrderBy[] | null): FrameBound {
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

/** A number beside dates counts days, beside times seconds. */
function distanceOf(offset: Value, { kind }: Type): Value {
  const unit = kind === 'date' ? 'Day' : kind === 'datetime' ? 'Second' : null
  return unit === null ? offset : { ...offset, type: { kind: 'interval', unit, nullable: false } }
}

function frameOffset(node: ast.Expr): Value {
  if (node.kind === 'Constant' && typeof node.value === 'bigint') return bind(node.value, INT64)
  if (node.kind === 'Constant' && typeof node.value === 'number') return bind(node.value, FLOAT64)
  throw refuse('A window frame is bounded by a number', node)
}

/** Resolves one ORDER BY item. */
export function resolveOrder(order: parts.OrderExpr, scope: Scope, resolver: Resolver): OrderBy {
  if (order.collate !== null) throw refuse('COLLATE is not supported', order)
  if (order.with_fill !== null) throw refuse('WITH FILL is not supported yet', order)
  return {
    expr: resolver.expr(order.expr, scope),
    descending: order.order === 'DESC',
    nulls: order.nulls,
  }
}
