/** Pass: calls of HogQL functions become the engine's own, each by the line of the registry that knows it. */

import type { CompileContext } from '../context.ts'
import { withPlace } from '../functions/argument-errors.ts'
import { findFunction } from '../functions/registry.ts'
import type { Apply, Over, ResolvedExpr, ResolvedQuery } from '../ir.ts'
import { mapChildren, mapStatement, type Pass } from './walk.ts'

/** Lowers every call; windows go to the aggregates their functions became. */
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
  // Digits behind the second are the call's, however it is computed: texts show as many.
  const is_time = lowered.type.kind === 'datetime' && call.type.kind === 'datetime'
  return is_time ? { ...lowered, type: call.type } : lowered
}

/** The window belongs to the aggregate calls inside what a function was lowered to. */
function overWindow(expr: ResolvedExpr, over: Over): ResolvedExpr {
  if (expr.kind === 'aggregate' && expr.over === null) return { ...expr, over }
  return mapChildren(
    expr,
    (child) => (child.kind === 'subquery' ? child : overWindow(child, over)),
    asItIs,
  )
}

function asItIs(query: ResolvedQuery): ResolvedQuery {
  return query
}
