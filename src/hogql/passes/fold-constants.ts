/** Pass: calls that are constants become them, so that ranges over time are known before the engine looks at its files. */

import type { CompileContext } from '../context.ts'
import { withPlace } from '../functions/argument-errors.ts'
import { findFunction } from '../functions/registry.ts'
import type { Apply, ResolvedExpr } from '../ir.ts'
import { mapStatement, type Pass } from './walk.ts'

/** Replaces `now() - INTERVAL 7 DAY`, `toDate('2024-03-10')` and the like by their values. */
export const foldConstants: Pass = (statement, context) =>
  mapStatement(statement, {
    expr: (expr) => (expr.kind === 'apply' ? folded(expr, context) : expr),
  })

function folded(call: Apply, context: CompileContext): ResolvedExpr {
  if (call.aggregate !== null || call.args.some((arg) => arg.kind !== 'value')) return call
  const lowered = withPlace(call.at, () => findFunction(call.name)?.lower(call, context))
  return lowered?.kind === 'value' ? { ...lowered, type: call.type } : call
}
