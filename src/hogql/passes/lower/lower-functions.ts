/**
 * Pass lowerFunctions: HogQL calls become calls of the engine, each by its line of the registry.
 *
 *   toStartOfMonth(d)
 *   → date_trunc('month', d)::DATE
 */

import type { CompileContext } from '../../context.ts'
import { withPlace } from '../../functions/argument-errors.ts'
import { findFunction } from '../../functions/registry.ts'
import type { Apply, OrderBy, Over, ResolvedExpr } from '../../sql/ir.ts'
import { NULL_VALUE } from '../../sql/sql-fragments.ts'
import { keepQuery, mapChildren, mapStatement, type Pass } from '../walk.ts'

/** Lowers every call. An OVER moves to the aggregates that its function was lowered to. */
export const lowerFunctions: Pass = (statement, context) =>
  mapStatement(statement, { expr: (expr) => lower(expr, context) })

function lower(expr: ResolvedExpr, context: CompileContext): ResolvedExpr {
  if (expr.kind === 'apply') return lowerCall(expr, context)
  if (expr.kind === 'window') return overWindow(expr.call, expr.over)
  return expr
}

function lowerCall(call: Apply, context: CompileContext): ResolvedExpr {
  const def = findFunction(call.name)
  if (def === null) throw new Error(`the registry lost ${call.name}`)
  const lowered = withPlace(call.at, () => def.lower(call, context))
  // The type of the call decides the sub-second digits, since text shows them.
  const is_time = lowered.type.kind === 'datetime' && call.type.kind === 'datetime'
  return is_time ? { ...lowered, type: call.type } : lowered
}

/** Attaches the window to the aggregates inside a lowered function. */
function overWindow(expr: ResolvedExpr, over: Over): ResolvedExpr {
  if (expr.kind === 'aggregate' && expr.over === null)
    return expr.is_in_frame === true
      ? { ...expr, over, order_by: orderInFrame(over) }
      : { ...expr, over }
  return mapChildren(
    expr,
    (child) => (child.kind === 'subquery' ? child : overWindow(child, over)),
    keepQuery,
  )
}

/** The engine's `lag` and `lead` keep to the frame if they are ordered, be it by a constant. */
function orderInFrame({ order_by, frame }: Over): readonly OrderBy[] {
  return order_by.length === 0 && frame !== null ? [BY_NOTHING] : order_by
}

const BY_NOTHING: OrderBy = { expr: NULL_VALUE, descending: false, nulls: null }
