/** WINDOWS: functions that require OVER. */

import type { EngineAggregate, ResolvedExpr } from '../../sql/ir.ts'
import { aggregateFragment, bindInt, NULL_VALUE } from '../../sql/sql-fragments.ts'
import { defaultOf, orDefault } from '../../types/convert.ts'
import { FLOAT64, type Type, UINT64, withNull } from '../../types/types.ts'
import {
  type FunctionDef,
  isNullable,
  type Lowering,
  nonNull,
  readArity,
  type TypeRule,
  typeOf,
  typeOfFirst,
} from '../definition.ts'

function window(names: string, arity: string, returns: TypeRule, lower: Lowering): FunctionDef {
  return {
    names: names.split('|'),
    any_case: true,
    role: 'window',
    args: readArity(arity),
    params: null,
    returns,
    lower,
    over_list: null,
  }
}

const lowerToAggregate =
  (name: EngineAggregate): Lowering =>
  (call) =>
    aggregateFragment(name, call.args, call.type)

const maybeFirst: TypeRule = ({ args }) => {
  const type = typeOf(args[0])
  return args.length < 3 ? withNull(type) : type
}

/** ClickHouse's frame-bound forms return the type's default where the frame has no such row; without a frame it ends at the current row. */
const inFrame =
  (name: 'lag' | 'lead'): Lowering =>
  (call) => {
    const [value = NULL_VALUE, offset = bindInt(1), otherwise = missingValue(value.type)] =
      call.args
    return {
      ...aggregateFragment(name, [value, offset, otherwise], call.type),
      is_in_frame: true,
    }
  }

const missingValue = (type: Type): ResolvedExpr => (type.nullable ? NULL_VALUE : defaultOf(type))

/** A row of the frame, which may be missing. */
const ofFrame =
  (name: EngineAggregate, { ignores_nulls = false } = {}): Lowering =>
  (call) => {
    const row = aggregateFragment(name, call.args, call.type)
    const ignores = ignores_nulls && call.args.some(isNullable)
    return orDefault(ignores ? { ...row, ignores_nulls } : row, call.type)
  }

/** The first or last value of a frame that is not NULL, as ClickHouse's aggregates `any` and `anyLast`. */
const valueOfFrame = (name: EngineAggregate): Lowering => ofFrame(name, { ignores_nulls: true })

/** Window functions. Aggregates with OVER are in AGGREGATES. */
export const WINDOWS: readonly FunctionDef[] = [
  window('row_number|rowNumber', '0', nonNull(UINT64), lowerToAggregate('row_number')),
  window('rank', '0', nonNull(UINT64), lowerToAggregate('rank')),
  window('dense_rank|denseRank', '0', nonNull(UINT64), lowerToAggregate('dense_rank')),
  window('percent_rank|percentRank', '0', nonNull(FLOAT64), lowerToAggregate('percent_rank')),
  window('cume_dist', '0', nonNull(FLOAT64), lowerToAggregate('cume_dist')),
  window('ntile', '1', nonNull(UINT64), lowerToAggregate('ntile')),
  window('first_value|firstValue', '1', typeOfFirst, valueOfFrame('first_value')),
  window('last_value|lastValue', '1', typeOfFirst, valueOfFrame('last_value')),
  window('nth_value|nthValue', '2', typeOfFirst, ofFrame('nth_value')),
  window('lag', '1-3', maybeFirst, lowerToAggregate('lag')),
  window('lead', '1-3', maybeFirst, lowerToAggregate('lead')),
  window('lagInFrame', '1-3', typeOfFirst, inFrame('lag')),
  window('leadInFrame', '1-3', typeOfFirst, inFrame('lead')),
]
