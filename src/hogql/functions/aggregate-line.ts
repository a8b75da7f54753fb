/** The line that declares an aggregate. */

import type { FunctionDef, Lowering, OverList, TypeRule } from './definition.ts'
import { readArity } from './definition.ts'

type Extras = {
  readonly over_list?: OverList
  /** Arity of `f(params)(args)`. */
  readonly params?: string
}

/** One aggregate: names as in `scalar`, arity, type, lowering, and what few have besides. */
export function aggregateLine(
  [names, arity]: readonly [string, string],
  returns: TypeRule,
  lower: Lowering,
  extras: Extras = {},
): FunctionDef {
  return {
    names: names.split('|'),
    any_case: false,
    role: 'aggregate',
    args: readArity(arity),
    params: extras.params === undefined ? null : readArity(extras.params),
    returns,
    lower,
    over_list: extras.over_list ?? null,
  }
}
