/** Counting arguments: how a call with too few or too many of them is refused. */

import type * as ast from '../ast.ts'
import type { FunctionDef } from '../functions/definition.ts'
import { refuse } from './refuse.ts'

/** Refuses a call whose count of arguments its function does not take. */
export function requireArity(
  def: Pick<FunctionDef, 'args' | 'role'>,
  node: ast.Call | ast.WindowFunction,
  found: number,
): void {
  const { min, max } = def.args
  if (found >= min && found <= max) return
  const wanted = min === max ? `${min}` : found < min ? `at least ${min}` : `at most ${max}`
  const bound = found < min ? min : max
  const word = bound === 1 ? 'argument' : 'arguments'
  throw refuse(`${term(def)} '${node.name}' expects ${wanted} ${word}, found ${found}`, node)
}

/** What a function is called in a refusal. */
export function term(def: Pick<FunctionDef, 'role'>): string {
  return def.role === 'aggregate' ? 'Aggregation' : 'Function'
}
