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
  readArity,
  type TypedCall,
  type TypeRule,
  typeOf,
} from '../definition.ts'
import { asNumber, numberType } from '../numbers/arithmetic.ts'
import {
  aggregateCall,
  filterAggregate,
  lastCall,
  listOf,
  orEmpty,
  withoutNulls,
} from './aggregate-helpers.ts'
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

type AggregateOptions = {
  readonly over_list?: OverList
  /** Arity of `f(params)(args)`. */
  readonly params?: string
}

/** One line: names as in `scalar`, arity, type, lowering, and options. */
function aggregate(
  [names, arity]: readonly [string, string],
  returns: TypeRule,
  lower: Lowering,
  extras: AggregateOptions = {},
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

/** The engine's aggregate that returns one of the values, or the default of its type over no rows. */
function engine(name: EngineAggregate): Lowering {
  return (call) => orDefault(aggregateCall(name, call, call.args), call.type)
}

const first: TypeRule = ({ args }) => typeOf(args[0])
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
    return orEmpty(aggregateCall(name, call, args), call.type)
  }
}
const listCall =
  (name: 'list_max' | 'list_min'): OverList =>
  (list, { type }) =>
    orEmpty(joinFragments([`${name}(`, ', ', ')'], [list], withNull(type)), type)
const keptList: OverList = (list, { type }) =>
  sql`list_filter(${list}, lambda e: e IS NOT NULL)`(type)
const distinctList: OverList = (list, { type }) => sql`list_sort(list_distinct(${list}))`(type)
const anyOfList: OverList = (list, { type }) =>
  orEmpty(sql`list_filter(${list}, lambda e: e IS NOT NULL)[1]`(withNull(type)), type)
const listSum: OverList = (list, { type }) => {
  const total =
    type.kind === 'int' ? sql`list_sum(${list})::BIGINT`(type) : sql`list_sum(${list})`(type)
  return type.nullable ? total : sql`coalesce(${total}, ${zero(type)})`(type)
}

/** Aggregate functions. Adding one means adding a line. */
export const AGGREGATES: readonly FunctionDef[] = [
  aggregate(['~count', '0-1'], nonNull(UINT64), count, {
    over_list: (list, { type }) => sql`len(list_filter(${list}, lambda e: e IS NOT NULL))`(type),
  }),
  aggregate(['~countIf', '1-2'], nonNull(UINT64), countIf),
  aggregate(
    ['~countDistinct|uniq|uniqExact|uniqCombined|uniqCombined64|uniqTheta', '1+'],
    nonNull(UINT64),
    distinctCount,
    {
      over_list: (list, { type }) => sql`len(list_distinct(${list}))`(type),
      params: '0-1',
    },
  ),
  aggregate(['uniqHLL12', '1+'], nonNull(UINT64), (call) =>
    aggregateCall('approx_count_distinct', withoutNulls(call), [oneOf(call.args)]),
  ),
  aggregate(['~min', '1'], first, engine('min'), { over_list: listCall('list_min') }),
  aggregate(['~max', '1'], first, engine('max'), { over_list: listCall('list_max') }),
  aggregate(['~sum|sumWithOverflow', '1'], sumType, sum, { over_list: listSum }),
  aggregate(['~avg', '1'], timeOrFloat, lowerMean, { over_list: meanOfList }),
  aggregate(['any|any_value', '1'], first, engine('any_value'), { over_list: anyOfList }),
  aggregate(['anyRespectNulls', '1'], first, engine('first')),
  aggregate(['anyLast|last_value_agg', '1'], first, anyLast),
  aggregate(['anyHeavy', '1'], first, engine('mode')),
  aggregate(['stddevPop|STDDEV_POP', '1'], floatOf, numbers('stddev_pop')),
  aggregate(['stddevSamp|STDDEV_SAMP', '1'], floatOf, numbers('stddev_samp')),
  aggregate(['varPop|VAR_POP', '1'], floatOf, numbers('var_pop')),
  aggregate(['varSamp|VAR_SAMP', '1'], floatOf, numbers('var_samp')),
  aggregate(['covarPop|COVAR_POP', '2'], floatOf, numbers('covar_pop')),
  aggregate(['covarSamp|COVAR_SAMP', '2'], floatOf, numbers('covar_samp')),
  aggregate(['~corr', '2'], floatOf, numbers('corr')),
  aggregate(
    ['skewPop', '1'],
    floatOf,
    moments((v, c) =>
      orEmpty(sql`(${moment(v, 3, c)} / pow(${moment(v, 2, c)}, 1.5))`(c.type), c.type),
    ),
  ),
  aggregate(
    ['skewSamp', '1'],
    floatOf,
    moments((v, c) =>
      orEmpty(
        sql`(${moment(v, 3, c)} / pow(${aggregateCall('var_samp', c, [v], FLOAT64)}, 1.5))`(c.type),
        c.type,
      ),
    ),
  ),
  aggregate(
    ['kurtPop', '1'],
    floatOf,
    moments((v, c) =>
      orEmpty(sql`(${aggregateCall('kurtosis_pop', c, [v], FLOAT64)} + 3)`(c.type), c.type),
    ),
  ),
  aggregate(
    ['kurtSamp', '1'],
    floatOf,
    moments((v, c) =>
      orEmpty(
        sql`(${moment(v, 4, c)} / pow(${aggregateCall('var_samp', c, [v], FLOAT64)}, 2))`(c.type),
        c.type,
      ),
    ),
  ),
  aggregate(['groupArray|array_agg', '1'], listType, groupArray, {
    params: '0-1',
    over_list: keptList,
  }),
  aggregate(['groupUniqArray', '1'], listType, groupUniqArray, {
    params: '0-1',
    over_list: distinctList,
  }),
  aggregate(['json_agg', '1'], nonNull(STRING), jsonAgg),
  aggregate(['string_agg|groupConcat', '2'], nonNull(withNull(STRING)), stringAgg),
  aggregate(['every', '1'], nonNull(TRUTH), everyRow),
  aggregate(['groupBitAnd', '1'], first, engine('bit_and')),
  aggregate(['groupBitOr', '1'], first, engine('bit_or')),
  aggregate(['groupBitXor', '1'], first, engine('bit_xor')),
  aggregate(['groupBitmap', '1'], nonNull(UINT64), distinctCount),
  aggregate(['~argMin', '2'], first, extreme('arg_min')),
  aggregate(['~argMax', '2'], first, extreme('arg_max')),
  aggregate(['avgWeighted', '2'], floatOf, lowerWeightedMean),
  aggregate(['topK', '1'], listType, topK, { params: '0-1' }),
  aggregate(['~median|medianBFloat16', '1'], timeOrFloat, quantile('quantile_cont', 0.5), {
    over_list: quantileOfList(0.5),
  }),
  aggregate(['medianTiming', '1'], floatOf, quantile('quantile_cont', 0.5), {
    over_list: quantileOfList(0.5),
  }),
  aggregate(['medianTDigest', '1'], timeOrFloat, quantile('approx_quantile', 0.5)),
  aggregate(['medianExact|medianExactHigh', '1'], first, exact(0.5)),
  aggregate(['medianExactLow', '1'], first, quantileElement),
  aggregate(['~quantile', '1'], timeOrFloat, quantile('quantile_cont', null), {
    params: '0-1',
    over_list: quantileOfList(null),
  }),
  aggregate(['quantileTDigest', '1'], timeOrFloat, quantile('approx_quantile', null), {
    params: '0-1',
  }),
  aggregate(['quantileExact', '1'], first, exact(null), { params: '0-1' }),
  aggregate(['quantiles', '1'], quantilesType, quantiles, {
    params: '1+',
    over_list: quantilesOfList,
  }),
  aggregate(['simpleLinearRegression', '2'], nonNull(tupleType([FLOAT64, FLOAT64])), regression),
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
