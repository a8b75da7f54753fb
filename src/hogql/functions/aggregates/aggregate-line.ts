/** The builder of an aggregate's table line. */

import {
  type FunctionDef,
  type Lowering,
  type OverList,
  readArity,
  type TypeRule,
} from '../definition.ts'

type AggregateLineOptions = {
  readonly over_list?: OverList
  /** Arity of `f(params)(args)`. */
  readonly params?: string
}

/** One aggregate: names as in `scalar`, arity, type, lowering, and options. */
export function aggregateLine(
  [names, arity]: readonly [string, string],
  returns: TypeRule,
  lower: Lowering,
  extras: AggregateLineOptions = {},
): FunctionDef {
  return {
    names: names.replace('~', '').split('|'),
    any_case: names.startsWith('~'),
    role: 'aggregate',
    args: readArity(arity),
    params: extras.params === undefined ? null : readArity(extras.params),
    returns,
    lower,
    over_list: extras.over_list ?? null,
  }
}
