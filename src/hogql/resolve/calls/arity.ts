/** Refusals of calls with too few or too many arguments. */

import type { FunctionDef } from '../../functions/definition.ts'
import type * as ast from '../../syntax/ast.ts'
import { refuse } from '../refusals.ts'

/** Refuses a call whose number of arguments its function does not accept. */
export function requireArity(
  def: Pick<FunctionDef, 'args' | 'role'>,
  node: ast.Call | ast.WindowFunction,
  count: number,
): void {
  const { min, max } = def.args
  if (count >= min && count <= max) return
  const expected = min === max ? `${min}` : count < min ? `at least ${min}` : `at most ${max}`
  const bound = count < min ? min : max
  const word = bound === 1 ? 'argument' : 'arguments'
  throw refuse(`${term(def)} '${node.name}' expects ${expected} ${word}, found ${count}`, node)
}

/** The word for a function in refusals: function, aggregate or window function. */
export function term(def: Pick<FunctionDef, 'role'>): string {
  return def.role === 'aggregate' ? 'Aggregation' : 'Function'
}
