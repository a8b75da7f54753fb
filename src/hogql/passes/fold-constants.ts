/**
 * Pass foldConstants (constant folding): calls with constant arguments become values, so that time
 * ranges are known before files are chosen.
 *
 *   now() - INTERVAL 7 DAY
 *   → '2024-03-03 12:00:00'
 */

import type { CompileContext } from '../context.ts'
import { withPlace } from '../functions/argument-errors.ts'
import { findFunction } from '../functions/registry.ts'
import type { Apply, ResolvedExpr } from '../sql/ir.ts'
import { mapStatement, type Pass } from './walk.ts'

/** Replaces a call whose arguments are constants by its value, where its function can compute it. */
export const foldConstants: Pass = (statement, context) =>
  mapStatement(statement, {
    expr: (expr) => (expr.kind === 'apply' ? foldCall(expr, context) : expr),
  })

function foldCall(call: Apply, context: CompileContext): ResolvedExpr {
  if (call.aggregate !== null || call.args.some((arg) => arg.kind !== 'value')) return call
  const lowered = withPlace(call.at, () => findFunction(call.name)?.lower(call, context))
  return lowered?.kind === 'value' ? { ...lowered, type: call.type } : call
}
