/** Suffixes of aggregates: -If, -OrNull, -OrDefault, -Distinct, -Array, each turning one aggregate into another. */

import { asCondition } from '../convert.ts'
import type { Apply, Expr } from '../ir.ts'
import { NULL_VALUE, spellList, sql } from '../spell.ts'
import { arrayType, elementType, TRUTH, withNull } from '../types.ts'
import type { FunctionDef, TypedCall } from './definition.ts'

type Combinator = {
  readonly suffix: string
  readonly apply: (base: FunctionDef) => FunctionDef | null
}

/** The longest suffixes first; several may follow each other. */
const COMBINATORS: readonly Combinator[] = [
  { suffix: 'OrDefault', apply: orDefault },
  { suffix: 'Distinct', apply: distinct },
  { suffix: 'OrNull', apply: orNull },
  { suffix: 'Array', apply: overArray },
  { suffix: 'If', apply: onlyIf },
]

/** The aggregate a suffixed name means, null when the name is no aggregate with known suffixes. */
export function combined(
  name: string,
  find: (name: string) => FunctionDef | null,
): FunctionDef | null {
  for (const { suffix, apply } of COMBINATORS) {
    if (!name.endsWith(suffix) || name.length === suffix.length) continue
    const base_name = name.slice(0, -suffix.length)
    const base = find(base_name) ?? combined(base_name, find)
    if (base?.role !== 'aggregate') continue
    const def = apply(base)
    if (def !== null) return { ...def, names: [name] }
  }
  return null
}

/** `sumIf(x, condition)`: the last argument says which rows count. */
function onlyIf(base: FunctionDef): FunctionDef {
  return {
    ...base,
    args: { min: base.args.min + 1, max: base.args.max + 1 },
    returns: (call) => base.returns(withArgs(call, call.args.slice(0, -1))),
    lower: (call, context) => {
      const condition = asCondition(call.args.at(-1) ?? NULL_VALUE)
      return base.lower(filtered({ ...call, args: call.args.slice(0, -1) }, condition), context)
    },
  }
}

/** The call with one more condition on the rows it gathers. */
export function filtered(call: Apply, condition: Expr): Apply {
  const { aggregate } = call
  if (aggregate === null) throw new Error(`${call.name} gathers no rows`)
  const filter =
    aggregate.filter === null
      ? condition
      : spellList(['(', ' AND ', ')'], [aggregate.filter, condition], TRUTH)
  return { ...call, aggregate: { ...aggregate, filter } }
}

function withArgs(call: TypedCall, args: readonly Expr[]): TypedCall {
  return { ...call, args }
}

/** NULL when no row counted. */
function orNull(base: FunctionDef): FunctionDef {
  return { ...base, returns: (call) => withNull(base.returns(call)) }
}

/** The type's default when no row counted. */
function orDefault(base: FunctionDef): FunctionDef {
  return { ...base, returns: (call) => withNull(base.returns(call), false) }
}

function distinct(base: FunctionDef): FunctionDef {
  return {
    ...base,
    lower: (call, context) => {
      if (call.aggregate === null) throw new Error(`${call.name} gathers no rows`)
      return base.lower({ ...call, aggregate: { ...call.aggregate, distinct: true } }, context)
    },
  }
}

/** `sumArray(xs)`: over the elements of all arrays. Only for aggregates that can be computed over a list. */
function overArray(base: FunctionDef): FunctionDef | null {
  const { over_list } = base
  if (over_list === null) return null
  return {
    ...base,
    args: { min: 1, max: 1 },
    returns: (call) =>
      base.returns(
        withArgs(
          call,
          call.args.map((arg) => ({ ...arg, type: elementType(arg.type) })),
        ),
      ),
    lower: (call) => {
      const [lists] = call.args
      const { aggregate } = call
      if (lists === undefined || aggregate === null) throw new Error(`${call.name} takes arrays`)
      const all: Expr = {
        kind: 'gather',
        name: 'list',
        args: [lists],
        distinct: false,
        filter: aggregate.filter,
        order_by: aggregate.order_by,
        over: null,
        type: arrayType(lists.type),
      }
      return over_list(sql`flatten(coalesce(${all}, []))`(lists.type), call.type)
    },
    over_list: null,
  }
}
