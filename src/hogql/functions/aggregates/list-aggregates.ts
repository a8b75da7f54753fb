/**
 * LIST_BASED_AGGREGATES: aggregates computed over the list of a group's values: differences, moving sums,
 * overlaps, contingency, weighted medians.
 */

import type { Apply, LocalExpr, ResolvedExpr } from '../../sql/ir.ts'
import { aggregateFragment, bindInt, NULL_VALUE, sql } from '../../sql/sql-fragments.ts'
import { orDefault } from '../../types/convert.ts'
import {
  arrayType,
  elementType,
  FLOAT64,
  INT64,
  type Type,
  UINT64,
  UNKNOWN,
  withNull,
} from '../../types/types.ts'
import {
  type FunctionDef,
  type Lowering,
  nonNull,
  type TypeRule,
  typeOf,
  typeOfFirst,
} from '../definition.ts'
import { asNumber, numberType } from '../numbers/arithmetic.ts'
import { filterAggregate, listOf } from './aggregate-helpers.ts'
import { aggregateLine } from './aggregate-line.ts'
import { quantileOfList, quantileValue, timeOrFloat } from './statistics.ts'

const ALL: LocalExpr = { kind: 'local', id: -140, type: UNKNOWN }

/** `LET all = list IN body`, by a lambda over a one-element list, so that the list is computed once. */
function withAll(list: ResolvedExpr, body: ResolvedExpr, type: Type): ResolvedExpr {
  return sql`(list_transform([${list}], lambda ${ALL}: ${body}))[1]`(type)
}

/** The rows as structs `{a, b}` of the first two arguments, without NULLs. */
function pairsOf(call: Apply): ResolvedExpr {
  const [a = NULL_VALUE, b = NULL_VALUE] = call.args
  const remaining = filterAggregate(call, sql`(${a} IS NOT NULL AND ${b} IS NOT NULL)`(UNKNOWN))
  const list = aggregateFragment(
    'list',
    [sql`{'a': ${a}, 'b': ${b}}`(UNKNOWN)],
    UNKNOWN,
    remaining.aggregate ?? {},
  )
  return sql`coalesce(${list}, [])`(UNKNOWN)
}

function numbersOf(call: Apply): ResolvedExpr {
  return listOf(call, asNumber(call.args[0] ?? NULL_VALUE))
}

const wideNumber: TypeRule = ({ args }) => {
  const type = withNull(numberType(args[0]), false)
  return type.kind === 'int' ? (type.signed ? INT64 : UINT64) : FLOAT64
}
const sameNumber: TypeRule = ({ args }) => withNull(numberType(args[0]), false)
const wideNumbers: TypeRule = (call) => arrayType(wideNumber(call))

const RISES = sql`coalesce(list_sum(list_transform(range(2, len(${ALL}) + 1), lambda i: greatest(${ALL}[i] - ${ALL}[i - 1], 0))), 0)`

const deltaSum: Lowering = (call) => {
  const rises = withAll(numbersOf(call), RISES(UNKNOWN), call.type)
  return call.type.kind === 'int' ? sql`(${rises})::BIGINT`(call.type) : rises
}

/** deltaSum over the values ordered by their timestamps. */
const deltaSumTimestamp: Lowering = (call) => {
  const [value = NULL_VALUE, at = NULL_VALUE] = call.args
  const ordered_call = { ...call, args: [at, asNumber(value)] }
  const values =
    sql`list_transform(list_sort(${pairsOf(ordered_call)}), lambda e: struct_extract(e, 'b'))`(
      UNKNOWN,
    )
  const rises = withAll(values, RISES(UNKNOWN), call.type)
  return call.type.kind === 'int' ? sql`(${rises})::BIGINT`(call.type) : rises
}

/** Moving sums over a window; without one, running sums. */
function moving(call: Apply): ResolvedExpr {
  const [size] = call.params
  const width = size ?? sql`len(${ALL})`(INT64)
  return sql`list_transform(range(1, len(${ALL}) + 1), lambda i: list_sum(${ALL}[greatest(i - ch_size(${width}, 100000000 // greatest(len(${ALL}), 1)) + 1, 1):i]))`(
    UNKNOWN,
  )
}

const movingSum: Lowering = (call) => {
  const sums = withAll(numbersOf(call), moving(call), call.type)
  const whole = elementType(call.type).kind === 'int'
  return whole ? sql`(${sums})::BIGINT[]`(call.type) : sums
}

const movingAvg: Lowering = (call) => {
  const width = call.params[0] ?? sql`len(${ALL})`(INT64)
  const means = sql`list_transform(${moving(call)}, lambda e: e::DOUBLE / ${width})`(UNKNOWN)
  return withAll(numbersOf(call), means, call.type)
}

/** Any rows are a valid sample: the first ones. */
const sample: Lowering = (call) =>
  sql`(${listOf(call, call.args[0] ?? NULL_VALUE)})[1:${call.params[0] ?? bindInt(1)}]`(call.type)

/** The maximum number of overlapping intervals `[start, end)`, or where it first occurs. */
function overlaps(pick: (tops: ResolvedExpr, type: Type) => ResolvedExpr): Lowering {
  return (call) => {
    const counts =
      sql`list_transform(${ALL}, lambda e: {'n': len(list_filter(${ALL}, lambda f: struct_extract(f, 'a') <= struct_extract(e, 'a') AND struct_extract(f, 'b') > struct_extract(e, 'a'))), 'p': struct_extract(e, 'a')})`(
        UNKNOWN,
      )
    return withAll(sql`ch_few(${pairsOf(call)})`(UNKNOWN), pick(counts, call.type), call.type)
  }
}

const mostOverlaps = overlaps((tops, type) =>
  sql`coalesce(list_max(list_transform(${tops}, lambda e: struct_extract(e, 'n'))), 0)`(type),
)
const placeOfMost = overlaps((tops, type) =>
  sql`coalesce(-((list_max(list_transform(${tops}, lambda e: {'n': struct_extract(e, 'n'), 'p': -(struct_extract(e, 'p'))}))).p), 0)`(
    type,
  ),
)

/** A formula over the frequencies of values and of pairs of values. */
function association(formula: (sums: ResolvedExpr) => ResolvedExpr): Lowering {
  return (call) => {
    const sums = sql`ch_contingency(${ALL})`(UNKNOWN)
    return withAll(
      pairsOf(call),
      sql`(list_transform([${sums}], lambda e: coalesce(${formula(ALL)}, 'nan'::DOUBLE)))[1]`(
        FLOAT64,
      ),
      call.type,
    )
  }
}

/** The element at which half of the total weight is reached. */
const weightedMedian: Lowering = (call) =>
  withAll(
    sql`list_sort(${pairsOf(call)})`(UNKNOWN),
    orDefault(sql`ch_weighted_median(${ALL})`(withNull(call.type)), call.type),
    call.type,
  )

const determined: Lowering = (call) => {
  const value = quantileValue(call.args[0], call.type)
  return quantileOfList(0.5)(listOf(call, value), call)
}

/** Intersection, union and symmetric difference of a list of bitmaps. */
const SETS = {
  groupBitmapAnd: sql`list_filter(${ALL}[1], lambda e: list_bool_and(list_transform(${ALL}, lambda f: list_contains(f, e))))`,
  groupBitmapOr: sql`list_distinct(flatten(${ALL}))`,
  groupBitmapXor: sql`list_filter(list_distinct(flatten(${ALL})), lambda e: len(list_filter(flatten(${ALL}), lambda f: f = e)) % 2 = 1)`,
} as const
type SetName = keyof typeof SETS

/** An aggregate bitmap over the first argument. */
export function mergeBitmaps(name: SetName, call: Apply, bitmap: ResolvedExpr): ResolvedExpr {
  return withAll(listOf(call, bitmap), sql`coalesce(${SETS[name](UNKNOWN)}, [])`(UNKNOWN), UNKNOWN)
}

/** The size of that bitmap. */
export function bitmapSize(name: SetName, call: Apply, bitmap: ResolvedExpr): ResolvedExpr {
  return sql`coalesce(len(${mergeBitmaps(name, call, bitmap)}), 0)`(call.type)
}

function bitmaps(name: SetName): FunctionDef {
  return aggregateLine([name, '1'], nonNull(UINT64), (call) =>
    bitmapSize(name, call, call.args[0] ?? NULL_VALUE),
  )
}

/** Distinct values, counted up to the parameter plus one. */
const uniqUpTo: Lowering = (call) => {
  const counted = aggregateFragment('count', call.args.slice(0, 1), call.type, {
    ...call.aggregate,
    distinct: true,
  })
  return sql`least(${counted}, ${call.params[0] ?? bindInt(10)} + 1)`(call.type)
}

const insertAt: Lowering = (call) => {
  const [fill, size] = call.params
  const of = elementType(call.type)
  const blank = fill ?? (of.kind === 'string' ? sql`''`(of) : sql`0`(of))
  const count =
    size ??
    sql`coalesce(list_max(list_transform(${ALL}, lambda e: struct_extract(e, 'b'))), -1) + 1`(INT64)
  const filled =
    sql`list_transform(range(ch_size(${count}, 10000)), lambda i: coalesce(list_filter(${ALL}, lambda e: struct_extract(e, 'b') = i)[1].a, ${blank}))`(
      call.type,
    )
  return withAll(sql`ch_few(${pairsOf(call)})`(UNKNOWN), filled, call.type)
}

/** List aggregates. Adding one means adding a line. */
export const LIST_BASED_AGGREGATES: readonly FunctionDef[] = [
  aggregateLine(['deltaSum', '1'], sameNumber, deltaSum),
  aggregateLine(['deltaSumTimestamp', '2'], sameNumber, deltaSumTimestamp),
  aggregateLine(['groupArrayMovingSum', '1'], wideNumbers, movingSum, { params: '0-1' }),
  aggregateLine(['groupArrayMovingAvg', '1'], nonNull(arrayType(FLOAT64)), movingAvg, {
    params: '0-1',
  }),
  aggregateLine(
    ['groupArraySample', '1'],
    ({ args }) => arrayType(withNull(typeOf(args[0]), false)),
    sample,
    {
      params: '1-2',
    },
  ),
  aggregateLine(
    ['groupArrayInsertAt', '2'],
    ({ args }) => arrayType(withNull(typeOf(args[0]), false)),
    insertAt,
    {
      params: '0-2',
    },
  ),
  aggregateLine(['maxIntersections', '2'], nonNull(UINT64), mostOverlaps),
  aggregateLine(['maxIntersectionsPosition', '2'], sameNumber, placeOfMost),
  aggregateLine(
    ['cramersV', '2'],
    nonNull(FLOAT64),
    association(() => sql`ch_cramers_v(e)`(FLOAT64)),
  ),
  aggregateLine(
    ['cramersVBiasCorrected', '2'],
    nonNull(FLOAT64),
    association(() => sql`ch_cramers_v_corrected(e)`(FLOAT64)),
  ),
  aggregateLine(
    ['contingency', '2'],
    nonNull(FLOAT64),
    association(() =>
      sql`CASE WHEN least(e.r, e.c) > 1 THEN sqrt(e.phi / (1 + e.phi)) END`(FLOAT64),
    ),
  ),
  aggregateLine(
    ['theilsU', '2'],
    nonNull(FLOAT64),
    association((all) => sql`ch_theils_u(${all})`(FLOAT64)),
  ),
  aggregateLine(
    ['medianExactWeighted|medianTimingWeighted|medianTDigestWeighted', '2'],
    typeOfFirst,
    weightedMedian,
  ),
  aggregateLine(['medianDeterministic', '2'], timeOrFloat, determined),
  bitmaps('groupBitmapAnd'),
  bitmaps('groupBitmapOr'),
  bitmaps('groupBitmapXor'),
  aggregateLine(['uniqUpTo', '1'], nonNull(UINT64), uniqUpTo, { params: '0-1' }),
]
