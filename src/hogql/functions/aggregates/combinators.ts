/**
 * COMBINATORS: suffixes that turn one aggregate into another: -If, -OrNull, -Distinct, -Array,
 * -State and so on.
 */

import { asMerge, asState } from '../../extensions/states.ts'
import type { ResolvedExpr } from '../../sql/ir.ts'
import { NULL_VALUE, sql } from '../../sql/sql-fragments.ts'
import { asCondition, orDefault as defaulted } from '../../types/convert.ts'
import { withNull } from '../../types/types.ts'
import { type FunctionDef, isNullable, type TypedCall } from '../definition.ts'
import { filterAggregate } from './aggregate-helpers.ts'
import { atExtremum, forEach, overArray, perKey } from './list-combinators.ts'

type Combinator = {
  readonly suffix: string
  readonly apply: (base: FunctionDef) => FunctionDef | null
}

/** Longest suffixes first; a name may have several. Adding a combinator means adding a line. */
const COMBINATORS: readonly Combinator[] = [
  { suffix: 'OrDefault', apply: orDefault },
  { suffix: 'ForEach', apply: forEach },
  { suffix: 'Distinct', apply: distinct },
  { suffix: 'ArgMax', apply: atExtremum('list_max') },
  { suffix: 'ArgMin', apply: atExtremum('list_min') },
  { suffix: 'OrNull', apply: orNull },
  { suffix: 'State', apply: asState },
  { suffix: 'Merge', apply: asMerge },
  { suffix: 'Array', apply: overArray },
  { suffix: 'Map', apply: perKey },
  { suffix: 'If', apply: onlyIf },
]

/** Resolves a suffixed name; null when it is not an aggregate with known suffixes. */
export function applyCombinator(
  name: string,
  find: (name: string) => FunctionDef | null,
): FunctionDef | null {
  for (const { suffix, apply } of COMBINATORS) {
    if (!name.endsWith(suffix) || name.length === suffix.length) continue
    const base_name = name.slice(0, -suffix.length)
    const base = find(base_name) ?? applyCombinator(base_name, find)
    if (base?.role !== 'aggregate') continue
    const def = apply(base)
    if (def !== null) return { ...def, names: [name] }
  }
  return null
}

/** `sumIf(x, condition)`: the last argument filters rows. */
function onlyIf(base: FunctionDef): FunctionDef {
  return {
    ...base,
    args: { min: base.args.min + 1, max: base.args.max + 1 },
    returns: (call) => base.returns(withArgs(call, call.args.slice(0, -1))),
    lower: (call, context) => {
      const condition = asCondition(call.args.at(-1) ?? NULL_VALUE)
      return base.lower(
        filterAggregate({ ...call, args: call.args.slice(0, -1) }, condition),
        context,
      )
    },
    // A list has lost the conditions of its rows: sumIfState and the like do not exist, sumStateIf does.
    over_list: null,
  }
}

function withArgs(call: TypedCall, args: readonly ResolvedExpr[]): TypedCall {
  return { ...call, args }
}

const COUNTS = /^(count(?!If)|uniq)(?!\w*(ForEach|Map))/

/** NULL over no rows. */
function orNull(base: FunctionDef): FunctionDef {
  const [name = ''] = base.names
  return {
    ...base,
    returns: (call) => withNull(base.returns(call)),
    lower: (call, context) => {
      const lowered = base.lower(call, context)
      // Counts are never NULL; over no rows they are zero.
      return COUNTS.test(name) ? sql`nullif(${lowered}, 0)`(call.type) : lowered
    },
  }
}

/** The type's default over no rows; NULL for nullable values, as with every other aggregate. */
function orDefault(base: FunctionDef): FunctionDef {
  const [name = ''] = base.names
  const isNull = ({ args }: Pick<TypedCall, 'args'>): boolean =>
    !COUNTS.test(name) && args.some(isNullable)
  return {
    ...base,
    returns: (call) => withNull(base.returns(call), isNull(call)),
    lower: (call, context) => {
      if (isNull(call)) return base.lower(call, context)
      return defaulted(base.lower({ ...call, type: withNull(call.type) }, context), call.type)
    },
  }
}

function distinct(base: FunctionDef): FunctionDef {
  return {
    ...base,
    lower: (call, context) => {
      if (call.aggregate === null) throw new Error(`${call.name} is no aggregate`)
      return base.lower({ ...call, aggregate: { ...call.aggregate, distinct: true } }, context)
    },
  }
}
