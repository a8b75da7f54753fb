/** Windows and orders: what a window function runs over. */

import type * as ast from '../ast.ts'
import type * as parts from '../ast-parts.ts'
import type { Frame, FrameBound, OrderBy, Over, Value } from '../ir.ts'
import { bind } from '../spell.ts'
import { FLOAT64, INT64 } from '../types.ts'
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
  return {
    partition_by: window.partition_by.map((key) => resolver.expr(key, scope)),
    order_by: window.order_by.map((order) => resolveOrder(order, scope, resolver)),
    frame: frameOf(window),
  }
}

function frameOf(window: parts.WindowExpr): Frame | null {
  if (window.frame_method === null || window.frame_start === null) return null
  const end = window.frame_end === null ? null : boundOf(window.frame_end)
  return { method: window.frame_method, start: boundOf(window.frame_start), end }
}

function boundOf(bound: parts.WindowFrameExpr): FrameBound {
  return {
    direction: bound.frame_type,
    offset: bound.frame_value === null ? null : frameOffset(bound.frame_value),
  }
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
