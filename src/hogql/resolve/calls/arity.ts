/** Refusals of calls with too few or too many arguments. */

import type * as ast from '../../ast.ts'
import type { FunctionDef } from '../../functions/definition.ts'
import { refuse } from '../refusals.ts'

/** Refuses a call whose number of arguments its function does not accept. */
export function requireArity(
  def: Pick<FunctionDef, 'args' | 'role'>,
  node: ast.Call | ast.WindowFunction,
  member: number,
): void {
  const { min, max } = def.args
  if (member >= min && member <= max) return
  const search_text = min === max ? `${min}` : member < min ? `at least ${min}` : `at most ${max}`
  const bound = member < min ? min : max
  const word = bound === 1 ? 'argument' : 'arguments'
  throw refuse(`${term(def)} '${node.name}' expects ${search_text} ${word}, found ${member}`, node)
}

/** The word for a function in refusals: function, aggregate or window function. */
export function term(def: Pick<FunctionDef, 'role'>): string {
  return def.role === 'aggregate' ? 'Aggregation' : 'Function'
}
