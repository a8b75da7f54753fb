/** Quantiles, moments, regression: aggregates computed from others. */

import type { Apply, ResolvedExpr } from '../../sql/ir.ts'
import { bind, bindInt, joinFragments, NULL_VALUE, sql } from '../../sql/sql-fragments.ts'
import { asFloat, defaultOf, truncateDigits } from '../../types/convert.ts'
import { arrayType, elementType, FLOAT64, type Type, UINT64, withNull } from '../../types/types.ts'
import { isNullable, type Lowering, type OverList, type TypeRule, typeOf } from '../definition.ts'
import { asNumber } from '../numbers/arithmetic.ts'
import { aggregateCall, defaultOverNoRows, withoutNulls } from './aggregate-helpers.ts'

/** The level of a quantile: the parameter, or the one in its name. */
function level(call: Apply, fixed: number | null): ResolvedExpr {
  return fixed === null ? (call.params[0] ?? bind(0.5, FLOAT64)) : bind(fixed, FLOAT64)
}

const isTime = (type: Type): boolean => type.kind === 'date' || type.kind === 'datetime'

/** A quantile or mean of dates is a date, one of times a time of their precision, any other a float. */
export const timeOrFloat: TypeRule = ({ args }) =>
  withNull(isTime(typeOf(args[0])) ? typeOf(args[0]) : FLOAT64, args.some(isNullable))

export const quantilesType: TypeRule = (call) => arrayType(withNull(timeOrFloat(call), false))

/** The engine's quantile of times, which is between two of them, cut to a whole one of the type. */
function cutTime(between: ResolvedExpr, type: Type): ResolvedExpr {
  if (type.kind === 'date') return sql`(${between})::DATE`(type)
  return truncateDigits({ ...between, type })
}

function cutTimes(between: ResolvedExpr, type: Type): ResolvedExpr {
  const time = elementType(type)
  if (!isTime(time)) return between
  const item: ResolvedExpr = { kind: 'local', id: -66, type: time }
  return sql`list_transform(${between}, lambda ${item}: ${cutTime(item, time)})`(type)
}

/** Values as numbers that have a mean: of dates the days, of times the steps of their precision. */
export function ticksOf(value: ResolvedExpr = NULL_VALUE): ResolvedExpr {
  const { type } = value
  if (type.kind === 'date') return sql`(${value} - DATE '1970-01-01')::DOUBLE`(FLOAT64)
  if (type.kind !== 'datetime') return asFloat(asNumber(value))
  return sql`(epoch_us(${value}) / ${stepOf(type.precision)})`(FLOAT64)
}

/** The mean of ticks as a value of the type. The engine's cast rounds half to even, as ClickHouse does. */
export function fromTicks(mean: ResolvedExpr, type: Type): ResolvedExpr {
  if (type.kind === 'date') return sql`(DATE '1970-01-01' + (${mean})::INTEGER)`(type)
  if (type.kind !== 'datetime') return mean
  return sql`make_timestamp((${mean})::BIGINT * ${stepOf(type.precision)})`(type)
}

/** The microseconds of the last digit. */
const stepOf = (precision: number): ResolvedExpr => bindInt(10 ** (6 - precision), true)

export const lowerMean: Lowering = (call) => {
  const found = aggregateCall('avg', call, [ticksOf(call.args[0])])
  return defaultOverNoRows(fromTicks(found, call.type), call.type)
}

export const meanOfList: OverList = (list, { type }) => {
  const item: ResolvedExpr = { kind: 'local', id: -67, type: withNull(type) }
  const ticks = sql`list_transform(${list}, lambda ${item}: ${ticksOf(item)})`(arrayType(FLOAT64))
  const values = isTime(type) ? ticks : list
  return defaultOverNoRows(fromTicks(sql`list_avg(${values})`(withNull(type)), type), type)
}

export function quantile(
  name: 'approx_quantile' | 'quantile_cont' | 'quantile_disc',
  fixed: number | null,
): Lowering {
  return (call) => {
    const value = quantileValue(call.args[0], call.type)
    const at = level(call, fixed)
    // The engine's t-digest requires a 32-bit level.
    const quantile_level = name === 'approx_quantile' ? sql`(${at})::FLOAT`(FLOAT64) : at
    const found = aggregateCall(name, call, [value, quantile_level])
    return defaultOverNoRows(cutTime(found, call.type), call.type)
  }
}

export function quantileValue(value: ResolvedExpr = NULL_VALUE, type: Type): ResolvedExpr {
  return isTime(type) ? value : asFloat(asNumber(value))
}

/** The same quantile over a list. */
export function quantileOfList(fixed: number | null): OverList {
  return (list, { params, type }) => {
    const at = fixed === null ? (params[0] ?? bind(0.5, FLOAT64)) : bind(fixed, FLOAT64)
    const found = sql`list_aggregate(${list}, 'quantile_cont', ${at})`(withNull(type))
    return defaultOverNoRows(cutTime(found, type), type)
  }
}

/** Several quantiles over a list. */
export const quantilesOfList: OverList = (list, { params, type }) => {
  const levels = joinFragments(['[', ', ', ']'], params, arrayType(FLOAT64))
  const found = sql`list_aggregate(${list}, 'quantile_cont', ${levels})`(type)
  return sql`coalesce(${cutTimes(found, type)}, [])`(type)
}

export const quantiles: Lowering = (call) => {
  const levels = joinFragments(['[', ', ', ']'], call.params, arrayType(FLOAT64))
  const of = elementType(call.type)
  const found = aggregateCall('quantile_cont', call, [quantileValue(call.args[0], of), levels])
  const none = joinFragments(
    ['[', ', ', ']'],
    call.params.map(() => (isTime(of) ? defaultOf(of) : bind(Number.NaN, FLOAT64))),
    call.type,
  )
  return sql`coalesce(${cutTimes(found, call.type)}, ${none})`(call.type)
}

/**
 * An element, not an interpolation: the one at floor(level × n), from 0. The engine's own quantile takes the one before
 * where level × n is whole, so that it is asked for both: a third of the time of sorting a list of the values.
 */
export const exact =
  (fixed: number | null): Lowering =>
  (call) => {
    const value = call.args[0] ?? NULL_VALUE
    const at = level(call, fixed)
    const levels = sql`[${at}, least(${at} + 1e-9, 1)]`(arrayType(FLOAT64))
    const pair = aggregateCall('quantile_disc', call, [value, levels], arrayType(value.type))
    const count = aggregateCall('count', call, [value], UINT64)
    return defaultOverNoRows(
      sql`ch_at_level(${pair}, ${at}, ${count})`(withNull(call.type)),
      call.type,
    )
  }

/** The lower of the two middle elements. */
export function quantileElement(call: Apply): ResolvedExpr {
  return defaultOverNoRows(
    aggregateCall('quantile_disc', call, [call.args[0] ?? NULL_VALUE, bind(0.5, FLOAT64)]),
    call.type,
  )
}

export const moments =
  (text: (value: ResolvedExpr, call: Apply) => ResolvedExpr): Lowering =>
  (call) =>
    text(asFloat(asNumber(call.args[0] ?? NULL_VALUE)), call)

export const lowerWeightedMean: Lowering = (given) => {
  const call = withoutNulls(given)
  const [value, weight] = call.args.map((arg) => asFloat(asNumber(arg)))
  if (value === undefined || weight === undefined) throw new Error('avgWeighted takes two')
  const total = aggregateCall('sum', call, [sql`(${value} * ${weight})`(FLOAT64)], FLOAT64)
  return defaultOverNoRows(
    sql`(${total} / ${aggregateCall('sum', call, [weight], FLOAT64)})`(call.type),
    call.type,
  )
}

export const regression: Lowering = (call) => {
  const [x, y] = call.args.map((arg) => asFloat(asNumber(arg)))
  if (x === undefined || y === undefined) throw new Error('simpleLinearRegression takes two')
  const items = (['regr_slope', 'regr_intercept'] as const).map((name) =>
    defaultOverNoRows(aggregateCall(name, call, [y, x], FLOAT64), FLOAT64),
  )
  return { kind: 'tuple', items, type: call.type }
}

/** The central moment of a float over the rows, from power sums. */
export function moment(value: ResolvedExpr, power: 2 | 3 | 4, call: Apply): ResolvedExpr {
  const mean = (of: ResolvedExpr): ResolvedExpr => aggregateCall('avg', call, [of], FLOAT64)
  const m1 = mean(value)
  const m2 = mean(sql`(${value} * ${value})`(FLOAT64))
  if (power === 2) return sql`(${m2} - ${m1} * ${m1})`(FLOAT64)
  const m3 = mean(sql`(${value} * ${value} * ${value})`(FLOAT64))
  if (power === 3) return sql`(${m3} - 3 * ${m1} * ${m2} + 2 * pow(${m1}, 3))`(FLOAT64)
  const m4 = mean(sql`pow(${value}, 4)`(FLOAT64))
  return sql`(${m4} - 4 * ${m1} * ${m3} + 6 * ${m1} * ${m1} * ${m2} - 3 * pow(${m1}, 4))`(FLOAT64)
}
