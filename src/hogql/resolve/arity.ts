/** Counting arguments: how a call with too few or too many of them is refused. */

import type * as ast from '../ast.ts'
import type { FunctionDef } from '../functions/definition.ts'
import { refuse } from './refusals.ts'

/** Refuses a call whose count of arguments its function does not take. */
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

/** What a function is called in a refusal. */
export function term(def: Pick<FunctionDef, 'role'>): string {
  return def.role === 'aggregate' ? 'Aggregation' : 'Function'
}
