/** What lowerings of aggregates share: one engine call, what stands for no rows, all values as a list. */

import { defaultOf } from '../convert.ts'
import type { Apply, EngineAggregate, Expr } from '../ir.ts'
import { bind, gather, spellList, sql } from '../spell.ts'
import { arrayType, FLOAT64, TRUTH, type Type, withNull } from '../types.ts'

/** The engine's aggregate over the rows a call gathers. */
export function gathered(
  name: EngineAggregate,
  call: Apply,
  args: readonly Expr[],
  type = call.type,
): Expr {
  return gather(name, args, type, call.aggregate ?? {})
}

/** What ClickHouse gives for no rows: NULL if the argument may be NULL, else the type's default. */
export function orEmpty(value: Expr, type: Type): Expr {
  if (type.nullable) return value
  const empty = type.kind === 'float' ? bind(Number.NaN, FLOAT64) : defaultOf(type)
  return sql`coalesce(${value}, ${empty})`(type)
}

/** All values as a list, NULLs left out, in the order the call asks for. */
export function listOf(call: Apply, value: Expr, distinct = false): Expr {
  const type = arrayType(withNull(value.type, false))
  const kept = value.type.nullable ? filtered(call, sql`(${value} IS NOT NULL)`(TRUTH)) : call
  const how = kept.aggregate ?? { distinct: false, filter: null, order_by: [] }
  const list = gather('list', [value], type, { ...how, distinct: distinct || how.distinct })
  return sql`coalesce(${list}, [])`(type)
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
