/** Helpers of aggregate lowerings: one engine call, defaults over no rows, all values as a list. */

import type { Apply, EngineAggregate, ResolvedExpr } from '../../sql/ir.ts'
import { aggregateFragment, bind, joinFragments, sql } from '../../sql/sql-fragments.ts'
import { defaultOf } from '../../types/convert.ts'
import { arrayType, FLOAT64, TRUTH, type Type, withNull } from '../../types/types.ts'

/** The engine's aggregate over the rows of a call. */
export function aggregateCall(
  name: EngineAggregate,
  call: Apply,
  args: readonly ResolvedExpr[],
  type = call.type,
): ResolvedExpr {
  return aggregateFragment(name, args, type, call.aggregate ?? {})
}

/** ClickHouse's result over no rows: NULL if the argument is nullable, else the type's default. */
export function defaultOverNoRows(value: ResolvedExpr, type: Type): ResolvedExpr {
  if (type.nullable) return value
  const empty = type.kind === 'float' ? bind(Number.NaN, FLOAT64) : defaultOf(type)
  return sql`coalesce(${value}, ${empty})`(type)
}

/** All values as a list, without NULLs, in the call's ORDER BY. */
export function listOf(call: Apply, value: ResolvedExpr, distinct = false): ResolvedExpr {
  const type = arrayType(withNull(value.type, false))
  const remaining = value.type.nullable
    ? filterAggregate(call, sql`(${value} IS NOT NULL)`(TRUTH))
    : call
  const how = remaining.aggregate ?? { distinct: false, filter: null, order_by: [] }
  const list = aggregateFragment('list', [value], type, {
    ...how,
    distinct: distinct || how.distinct,
  })
  return sql`coalesce(${list}, [])`(type)
}

/** The call over the rows in which no argument is NULL, as ClickHouse's aggregates count them. */
export function withoutNulls(call: Apply): Apply {
  return call.args
    .filter((arg) => arg.type.nullable)
    .reduce<Apply>((all, arg) => filterAggregate(all, sql`(${arg} IS NOT NULL)`(TRUTH)), call)
}

/** The last value that is not NULL. */
export function lastCall(call: Apply, value: ResolvedExpr): ResolvedExpr {
  const last = aggregateFragment('last', [value], call.type, call.aggregate ?? {})
  return value.type.nullable ? { ...last, ignores_nulls: true } : last
}

/** The call with one more FILTER condition. */
export function filterAggregate(call: Apply, condition: ResolvedExpr): Apply {
  const { aggregate } = call
  if (aggregate === null) throw new Error(`${call.name} is no aggregate`)
  const filter =
    aggregate.filter === null
      ? condition
      : joinFragments(['(', ' AND ', ')'], [aggregate.filter, condition], TRUTH)
  return { ...call, aggregate: { ...aggregate, filter } }
}
