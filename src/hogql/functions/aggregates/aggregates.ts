/** AGGREGATES: aggregate functions, with ClickHouse's results over no rows. */

import type { Apply, EngineAggregate, ResolvedExpr } from '../../sql/ir.ts'
import {
  aggregateFragment,
  bind,
  bindInt,
  joinFragments,
  NULL_VALUE,
  sql,
} from '../../sql/sql-fragments.ts'
import { asFloat, orDefault } from '../../types/convert.ts'
import {
  arrayType,
  FLOAT64,
  INT64,
  isNumeric,
  STRING,
  TRUTH,
  type Type,
  tupleType,
  UINT64,
  withNull,
} from '../../types/types.ts'
import {
  type FunctionDef,
  isNullable,
  type Lowering,
  nonNull,
  type OverList,
  type TypedCall,
  type TypeRule,
  typeOf,
  typeOfFirst,
} from '../definition.ts'
import { asNumber, numberType } from '../numbers/arithmetic.ts'
import {
  aggregateCall,
  defaultOverNoRows,
  filterAggregate,
  lastCall,
  listOf,
  withoutNulls,
} from './aggregate-helpers.ts'
import { aggregateLine } from './aggregate-line.ts'
import {
  exact,
  lowerMean,
  lowerWeightedMean,
  meanOfList,
  moment,
  moments,
  quantile,
  quantileElement,
  quantileOfList,
  quantiles,
  quantilesOfList,
  quantilesType,
  regression,
  timeOrFloat,
} from './statistics.ts'

/** The engine's aggregate that returns one of the values, or the default of its type over no rows. */
function engine(name: EngineAggregate): Lowering {
  return (call) => orDefault(aggregateCall(name, call, call.args), call.type)
}

const floatOf: TypeRule = ({ args }) => withNull(FLOAT64, args.some(isNullable))

const sumType: TypeRule = ({ args }) => {
  const type = numberType(args[0])
  if (type.kind === 'int') return { ...(type.signed ? INT64 : UINT64), nullable: type.nullable }
  return isNumeric(type) ? type : withNull(FLOAT64, type.nullable)
}

const sum: Lowering = (call) => {
  const [value] = call.args.map(asNumber)
  const total = aggregateCall('sum', call, value === undefined ? [] : [value])
  // The engine sums integers to 128 bits, which would be shown as text.
  const narrow = call.type.kind === 'int' ? sql`(${total})::BIGINT`(call.type) : total
  return call.type.nullable ? narrow : sql`coalesce(${narrow}, ${zero(call.type)})`(call.type)
}

function zero(type: Type): ResolvedExpr {
  return type.kind === 'float' ? bind(0, FLOAT64) : bindInt(0, true)
}

/** Several arguments are compared as one tuple. */
function oneOf(args: readonly ResolvedExpr[]): ResolvedExpr {
  const [only] = args
  if (args.length === 1 && only !== undefined) return only
  return { kind: 'tuple', items: args, type: tupleType(args.map((arg) => arg.type)) }
}

const count: Lowering = (call) => {
  if (call.args.length === 0) return aggregateCall('count', call, [])
  const distinct = call.aggregate?.distinct === true
  return distinct ? distinctCount(call) : aggregateCall('count', call, call.args)
}

/** A tuple with NULL is not NULL itself: such rows are left out. */
function distinctCount(call: Apply): ResolvedExpr {
  const counted = call.args.length > 1 ? withoutNulls(call) : call
  return aggregateFragment('count', [oneOf(call.args)], call.type, {
    ...counted.aggregate,
    distinct: true,
  })
}

const anyLast: Lowering = (call) => orDefault(lastCall(call, call.args[0] ?? NULL_VALUE), call.type)

/** `countIf(condition)` counts rows, `countIf(x, condition)` those where x is not NULL. */
const countIf: Lowering = (call, context) => {
  const condition = call.args.at(-1) ?? NULL_VALUE
  const truth = condition.type.kind === 'int' ? sql`(${condition} <> 0)`(TRUTH) : condition
  return count(filterAggregate({ ...call, args: call.args.slice(0, -1) }, truth), context)
}

const listType: TypeRule = ({ args }) => arrayType(withNull(typeOf(args[0]), false))

const groupArray: Lowering = (call) => {
  const list = listOf(call, call.args[0] ?? NULL_VALUE)
  const [limit] = call.params
  return limit === undefined ? list : sql`(${list})[1:${limit}]`(call.type)
}

const groupUniqArray: Lowering = (call) => {
  const list = sql`list_sort(${listOf(call, call.args[0] ?? NULL_VALUE, true)})`(call.type)
  const [limit] = call.params
  return limit === undefined ? list : sql`(${list})[1:${limit}]`(call.type)
}

const extreme =
  (name: 'arg_max' | 'arg_min'): Lowering =>
  (call) =>
    orDefault(aggregateCall(name, call, call.args), call.type)

const topK: Lowering = (call) => {
  const limit = call.params[0] ?? bindInt(10, true)
  return sql`coalesce(${aggregateCall('approx_top_k', call, [call.args[0] ?? NULL_VALUE, limit])}, [])`(
    call.type,
  )
}

const stringAgg: Lowering = (call) => aggregateCall('string_agg', call, call.args)

const jsonAgg: Lowering = (call) =>
  sql`to_json(${listOf(call, call.args[0] ?? NULL_VALUE)})::VARCHAR`(call.type)

const everyRow: Lowering = (call) =>
  sql`coalesce(${aggregateCall('bool_and', call, call.args)}, true)`(call.type)

/** The engine's numeric aggregate; NaN over no rows. */
function numbers(name: EngineAggregate): Lowering {
  return (call) => {
    const args = call.args.map((arg) => asFloat(asNumber(arg)))
    return defaultOverNoRows(aggregateCall(name, call, args), call.type)
  }
}
const listCall =
  (name: 'list_max' | 'list_min'): OverList =>
  (list, { type }) =>
    defaultOverNoRows(joinFragments([`${name}(`, ', ', ')'], [list], withNull(type)), type)
const keptList: OverList = (list, { type }) =>
  sql`list_filter(${list}, lambda e: e IS NOT NULL)`(type)
const distinctList: OverList = (list, { type }) => sql`list_sort(list_distinct(${list}))`(type)
const anyOfList: OverList = (list, { type }) =>
  defaultOverNoRows(sql`list_filter(${list}, lambda e: e IS NOT NULL)[1]`(withNull(type)), type)
const listSum: OverList = (list, { type }) => {
  const total =
    type.kind === 'int' ? sql`list_sum(${list})::BIGINT`(type) : sql`list_sum(${list})`(type)
  return type.nullable ? total : sql`coalesce(${total}, ${zero(type)})`(type)
}

/** Aggregate functions. Adding one means adding a line. */
export const AGGREGATES: readonly FunctionDef[] = [
  aggregateLine(['~count', '0-1'], nonNull(UINT64), count, {
    over_list: (list, { type }) => sql`len(list_filter(${list}, lambda e: e IS NOT NULL))`(type),
  }),
  aggregateLine(['~countIf', '1-2'], nonNull(UINT64), countIf),
  aggregateLine(
    ['~countDistinct|uniq|uniqExact|uniqCombined|uniqCombined64|uniqTheta', '1+'],
    nonNull(UINT64),
    distinctCount,
    {
      over_list: (list, { type }) => sql`len(list_distinct(${list}))`(type),
      params: '0-1',
    },
  ),
  aggregateLine(['uniqHLL12', '1+'], nonNull(UINT64), (call) =>
    aggregateCall('approx_count_distinct', withoutNulls(call), [oneOf(call.args)]),
  ),
  aggregateLine(['~min', '1'], typeOfFirst, engine('min'), { over_list: listCall('list_min') }),
  aggregateLine(['~max', '1'], typeOfFirst, engine('max'), { over_list: listCall('list_max') }),
  aggregateLine(['~sum|sumWithOverflow', '1'], sumType, sum, { over_list: listSum }),
  aggregateLine(['~avg', '1'], timeOrFloat, lowerMean, { over_list: meanOfList }),
  aggregateLine(['any|any_value', '1'], typeOfFirst, engine('any_value'), { over_list: anyOfList }),
  aggregateLine(['anyRespectNulls', '1'], typeOfFirst, engine('first')),
  aggregateLine(['anyLast|last_value_agg', '1'], typeOfFirst, anyLast),
  aggregateLine(['anyHeavy', '1'], typeOfFirst, engine('mode')),
  aggregateLine(['stddevPop|STDDEV_POP', '1'], floatOf, numbers('stddev_pop')),
  aggregateLine(['stddevSamp|STDDEV_SAMP', '1'], floatOf, numbers('stddev_samp')),
  aggregateLine(['varPop|VAR_POP', '1'], floatOf, numbers('var_pop')),
  aggregateLine(['varSamp|VAR_SAMP', '1'], floatOf, numbers('var_samp')),
  aggregateLine(['covarPop|COVAR_POP', '2'], floatOf, numbers('covar_pop')),
  aggregateLine(['covarSamp|COVAR_SAMP', '2'], floatOf, numbers('covar_samp')),
  aggregateLine(['~corr', '2'], floatOf, numbers('corr')),
  aggregateLine(
    ['skewPop', '1'],
    floatOf,
    moments((v, c) =>
      defaultOverNoRows(sql`(${moment(v, 3, c)} / pow(${moment(v, 2, c)}, 1.5))`(c.type), c.type),
    ),
  ),
  aggregateLine(
    ['skewSamp', '1'],
    floatOf,
    moments((v, c) =>
      defaultOverNoRows(
        sql`(${moment(v, 3, c)} / pow(${aggregateCall('var_samp', c, [v], FLOAT64)}, 1.5))`(c.type),
        c.type,
      ),
    ),
  ),
  aggregateLine(
    ['kurtPop', '1'],
    floatOf,
    moments((v, c) =>
      defaultOverNoRows(
        sql`(${aggregateCall('kurtosis_pop', c, [v], FLOAT64)} + 3)`(c.type),
        c.type,
      ),
    ),
  ),
  aggregateLine(
    ['kurtSamp', '1'],
    floatOf,
    moments((v, c) =>
      defaultOverNoRows(
        sql`(${moment(v, 4, c)} / pow(${aggregateCall('var_samp', c, [v], FLOAT64)}, 2))`(c.type),
        c.type,
      ),
    ),
  ),
  aggregateLine(['groupArray|array_agg', '1'], listType, groupArray, {
    params: '0-1',
    over_list: keptList,
  }),
  aggregateLine(['groupUniqArray', '1'], listType, groupUniqArray, {
    params: '0-1',
    over_list: distinctList,
  }),
  aggregateLine(['json_agg', '1'], nonNull(STRING), jsonAgg),
  aggregateLine(['string_agg|groupConcat', '2'], nonNull(withNull(STRING)), stringAgg),
  aggregateLine(['every', '1'], nonNull(TRUTH), everyRow),
  aggregateLine(['groupBitAnd', '1'], typeOfFirst, engine('bit_and')),
  aggregateLine(['groupBitOr', '1'], typeOfFirst, engine('bit_or')),
  aggregateLine(['groupBitXor', '1'], typeOfFirst, engine('bit_xor')),
  aggregateLine(['groupBitmap', '1'], nonNull(UINT64), distinctCount),
  aggregateLine(['~argMin', '2'], typeOfFirst, extreme('arg_min')),
  aggregateLine(['~argMax', '2'], typeOfFirst, extreme('arg_max')),
  aggregateLine(['avgWeighted', '2'], floatOf, lowerWeightedMean),
  aggregateLine(['topK', '1'], listType, topK, { params: '0-1' }),
  aggregateLine(['~median|medianBFloat16', '1'], timeOrFloat, quantile('quantile_cont', 0.5), {
    over_list: quantileOfList(0.5),
  }),
  aggregateLine(['medianTiming', '1'], floatOf, quantile('quantile_cont', 0.5), {
    over_list: quantileOfList(0.5),
  }),
  aggregateLine(['medianTDigest', '1'], timeOrFloat, quantile('approx_quantile', 0.5)),
  aggregateLine(['medianExact|medianExactHigh', '1'], typeOfFirst, exact(0.5)),
  aggregateLine(['medianExactLow', '1'], typeOfFirst, quantileElement),
  aggregateLine(['~quantile', '1'], timeOrFloat, quantile('quantile_cont', null), {
    params: '0-1',
    over_list: quantileOfList(null),
  }),
  aggregateLine(['quantileTDigest', '1'], timeOrFloat, quantile('approx_quantile', null), {
    params: '0-1',
  }),
  aggregateLine(['quantileExact', '1'], typeOfFirst, exact(null), { params: '0-1' }),
  aggregateLine(['quantiles', '1'], quantilesType, quantiles, {
    params: '1+',
    over_list: quantilesOfList,
  }),
  aggregateLine(
    ['simpleLinearRegression', '2'],
    nonNull(tupleType([FLOAT64, FLOAT64])),
    regression,
  ),
]

/** Aggregates over a list by name, for callers such as `arrayReduce('sum', xs)`. */
export const LIST_AGGREGATES: ReadonlyMap<string, OverList> = new Map(
  AGGREGATES.flatMap((def) =>
    def.over_list === null ? [] : def.names.map((name) => [name, def.over_list] as const),
  ).flatMap(([name, over]) => (over === null ? [] : [[name, over] as const])),
)

/** The type of such an aggregate over elements of a type. */
export function listAggregateType(name: string, call: TypedCall): Type | null {
  const def = AGGREGATES.find((known) => known.names.includes(name))
  return def === undefined || def.over_list === null ? null : def.returns(call)
}
