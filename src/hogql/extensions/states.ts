/** -State and -Merge: partial aggregates as values of the engine, and the aggregate over several of them. */

import {
  aggregateCall,
  defaultOverNoRows,
  lastCall,
  withoutNulls,
} from '../functions/aggregates/aggregate-helpers.ts'
import { bitmapSize, mergeBitmaps } from '../functions/aggregates/list-aggregates.ts'
import { mapOf } from '../functions/aggregates/list-combinators.ts'
import { fromTicks, ticksOf } from '../functions/aggregates/statistics.ts'
import type { FunctionDef, TypedCall } from '../functions/definition.ts'
import { asNumber } from '../functions/numbers/arithmetic.ts'
import type { Apply, ResolvedExpr } from '../sql/ir.ts'
import {
  aggregateFragment,
  applyFragment,
  bind,
  bindInt,
  NULL_VALUE,
  sql,
} from '../sql/sql-fragments.ts'
import { arrayType, FLOAT64, type Type, UNKNOWN, withNull } from '../types/types.ts'

/**
 * The two parts of an aggregate: the computation of a partial value (`state`), and of the result from
 * partial values (`merge`).
 */
type AggregateHalves = {
  readonly state: (call: Apply) => ResolvedExpr
  readonly merge: (call: Apply, state: ResolvedExpr) => ResolvedExpr
}

const argument = (call: Apply): ResolvedExpr => call.args[0] ?? NULL_VALUE
const listAll = (call: Apply, value: ResolvedExpr): ResolvedExpr =>
  sql`coalesce(${aggregateCall('list', call, [value], arrayType(value.type))}, [])`(UNKNOWN)
const joinStates = (call: Apply, state: ResolvedExpr): ResolvedExpr =>
  sql`flatten(coalesce(${aggregateCall('list', call, [state], UNKNOWN)}, []))`(UNKNOWN)

/** Aggregates that merge by themselves: extremes, sums, bits. */
function selfMergingHalves(name: 'any_value' | 'max' | 'min'): AggregateHalves {
  return {
    state: (call) => aggregateCall(name, call, [argument(call)]),
    merge: (call, state) => defaultOverNoRows(aggregateCall(name, call, [state]), call.type),
  }
}

/** The last value, or partial value, that is not NULL. */
const lastHalves: AggregateHalves = {
  state: (call) => lastCall(call, argument(call)),
  merge: (call, state) => {
    const partial = { ...state, type: withNull(UNKNOWN) }
    return defaultOverNoRows(lastCall(call, partial), call.type)
  },
}

const countHalves: AggregateHalves = {
  state: (call) => aggregateCall('count', call, call.args),
  merge: (call, state) =>
    sql`coalesce((${aggregateCall('sum', call, [state])})::BIGINT, 0)`(call.type),
}

const sumHalves: AggregateHalves = {
  state: (call) => aggregateCall('sum', call, [asNumber(argument(call))]),
  merge: (call, state) => {
    const total = aggregateCall('sum', call, [state])
    const narrow = call.type.kind === 'int' ? sql`(${total})::BIGINT`(call.type) : total
    const zero = call.type.kind === 'int' ? bindInt(0, true) : bind(0, FLOAT64)
    return call.type.nullable ? narrow : sql`coalesce(${narrow}, ${zero})`(call.type)
  },
}

/** An item of a partial value that is a tuple; `position` counts from 1. */
const itemOf = (of: ResolvedExpr, position: number, type: Type): ResolvedExpr => ({
  kind: 'item',
  of,
  position,
  type,
})

const meanHalves: AggregateHalves = {
  state: (call) => {
    const value = ticksOf(argument(call))
    const items = [
      aggregateCall('sum', call, [value], FLOAT64),
      aggregateCall('count', call, [value], UNKNOWN),
    ]
    return { kind: 'tuple', items, type: UNKNOWN }
  },
  merge: (call, state) => {
    const [total, count] = [
      aggregateCall('sum', call, [itemOf(state, 1, FLOAT64)]),
      aggregateCall('sum', call, [itemOf(state, 2, FLOAT64)]),
    ]
    const mean = sql`(${total} / nullif(${count}, 0))`(call.type)
    return defaultOverNoRows(fromTicks(mean, call.type), call.type)
  },
}

const distinctHalves: AggregateHalves = {
  state: (call) => {
    const [only = NULL_VALUE] = call.args
    const value: ResolvedExpr =
      call.args.length === 1 ? only : { kind: 'tuple', items: call.args, type: UNKNOWN }
    const { aggregate } = call.args.length > 1 ? withoutNulls(call) : call
    const how = { ...aggregate, distinct: true }
    return sql`coalesce(${aggregateFragment('list', [value], UNKNOWN, how)}, [])`(UNKNOWN)
  },
  merge: (call, state) => sql`len(list_distinct(${joinStates(call, state)}))`(call.type),
}

function extremeHalves(name: 'arg_max' | 'arg_min', by: 'max' | 'min'): AggregateHalves {
  return {
    state: (call) => {
      const [value = NULL_VALUE, key = NULL_VALUE] = call.args
      const items = [
        aggregateCall(name, call, [value, key]),
        aggregateCall(by, call, [key], key.type),
      ]
      return { kind: 'tuple', items, type: UNKNOWN }
    },
    merge: (call, state) => {
      const [value, key] = [itemOf(state, 1, UNKNOWN), itemOf(state, 2, UNKNOWN)]
      return defaultOverNoRows(aggregateCall(name, call, [value, key]), call.type)
    },
  }
}

/** A bitmap of bitmaps is a bitmap. */
function bitmapHalves(name: Parameters<typeof mergeBitmaps>[0]): AggregateHalves {
  return {
    state: (call) => mergeBitmaps(name, call, argument(call)),
    merge: (call, state) => bitmapSize(name, call, state),
  }
}

/** The contribution of one row to a list: its argument, or its keys and values as a map. */
function rowOf(call: Apply): ResolvedExpr {
  return call.args.length === 2 ? mapOf(call.args) : argument(call)
}

/** The row type of a state. */
function rowsType(state: Type): Type {
  if (state.kind !== 'state') return UNKNOWN
  return arrayType(rowOf({ ...EMPTY_CALL, args: nullsOf(state.args) }).type)
}

const nullsOf = (types: readonly Type[]): readonly ResolvedExpr[] =>
  types.map((type) => ({ ...NULL_VALUE, type }))

const EMPTY_CALL = applyFragment('', [], UNKNOWN)

/** The state is the list of all values, and the merge the base aggregate over them. */
function listHalves(base: FunctionDef): AggregateHalves | null {
  const { over_list } = base
  if (over_list === null) return null
  return {
    state: (call) => listAll(call, rowOf(call)),
    merge: (call, state) => {
      const rows = { ...joinStates(call, state), type: rowsType(state.type) }
      return over_list(rows, call)
    },
  }
}

const HALVES: Readonly<Record<string, AggregateHalves>> = {
  count: countHalves,
  sum: sumHalves,
  sumWithOverflow: sumHalves,
  avg: meanHalves,
  min: selfMergingHalves('min'),
  max: selfMergingHalves('max'),
  any: selfMergingHalves('any_value'),
  anyLast: lastHalves,
  uniq: distinctHalves,
  uniqExact: distinctHalves,
  countDistinct: distinctHalves,
  uniqCombined: distinctHalves,
  uniqCombined64: distinctHalves,
  uniqTheta: distinctHalves,
  uniqHLL12: distinctHalves,
  groupBitmap: distinctHalves,
  groupBitmapAnd: bitmapHalves('groupBitmapAnd'),
  groupBitmapOr: bitmapHalves('groupBitmapOr'),
  groupBitmapXor: bitmapHalves('groupBitmapXor'),
  uniqUpTo: {
    ...distinctHalves,
    merge: (call, state) =>
      sql`least(${distinctHalves.merge(call, state)}, ${call.params[0] ?? bindInt(10)} + 1)`(
        call.type,
      ),
  },
  argMax: extremeHalves('arg_max', 'max'),
  argMin: extremeHalves('arg_min', 'min'),
}

function halvesOf(base: FunctionDef): AggregateHalves | null {
  const name = base.names.find((known) => Object.hasOwn(HALVES, known))
  return (name === undefined ? null : HALVES[name]) ?? listHalves(base)
}

/** `sumState(x)`: a partial value for `sumMerge`. */
export function asState(base: FunctionDef): FunctionDef | null {
  const halves = halvesOf(base)
  if (halves === null) return null
  return {
    ...base,
    returns: (call): Type => ({
      kind: 'state',
      aggregate: base.names[0] ?? '',
      args: call.args.map((arg) => arg.type),
      nullable: false,
    }),
    lower: (call) => halves.state(call),
    over_list: null,
  }
}

/** `sumMerge(state)`. */
export function asMerge(base: FunctionDef): FunctionDef | null {
  const halves = halvesOf(base)
  if (halves === null) return null
  return {
    ...base,
    args: { min: 1, max: 1 },
    returns: (call) => base.returns({ ...call, args: stateArguments(call) }),
    lower: (call) => halves.merge(call, argument(call)),
    over_list: null,
  }
}

function stateArguments(call: TypedCall): readonly ResolvedExpr[] {
  const type = call.args[0]?.type
  return type?.kind === 'state' ? nullsOf(type.args) : call.args
}
