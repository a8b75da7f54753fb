/**
 * Pass lowerNan: ClickHouse compares false with NaN, sorts it last and ignores it in min and max;
 * DuckDB treats it as the greatest number. NaN becomes NULL there.
 *
 *   x > 1
 *   → ch_real(x) > 1
 */

import type { Apply, ColumnExpr, OrderBy, ResolvedExpr } from '../../sql/ir.ts'
import { applyFragment, bind, sql } from '../../sql/sql-fragments.ts'
import { FLOAT64, isText, withNull } from '../../types/types.ts'
import { keepExpr, keepQuery, mapChildren, mapStatement, type Pass } from '../walk.ts'

/** Maps NaN to NULL in comparisons, order keys and aggregates, where an operand may be NaN. */
export const lowerNan: Pass = (statement) =>
  mapStatement(statement, {
    expr: (expr) => {
      if (expr.kind === 'window')
        return {
          ...expr,
          over: { ...expr.over, order_by: expr.over.order_by.map(orderWithoutNan) },
        }
      if (expr.kind !== 'apply') return expr
      if (expr.aggregate === null) return lowerCall(expr)
      return lowerCall({ ...expr, args: expr.args.map(convertBounded) })
    },
    select: (select) =>
      select.order_by.some(sortsNanFirst)
        ? { ...select, order_by: select.order_by.map(orderWithoutNan) }
        : select,
  })

/** The sides of each comparison that are mapped. For equality one side is enough: NaN is not NULL. */
const COMPARED: Readonly<Record<string, 'both' | 'left'>> = {
  less: 'both',
  greater: 'both',
  lessOrEquals: 'both',
  greaterOrEquals: 'both',
  equals: 'left',
  notEquals: 'left',
}
/** Names of aggregates, with the suffixes behind which the first arguments are still the same. */
const EXTREMES = /^(?:max|min)(?:If|OrNull|OrDefault|Distinct)*$/
const QUANTILES = /^(?:quantiles?|median)(?:Exact)?(?:If|OrNull|OrDefault|Distinct)*$/
const ARG_EXTREMES = /^arg(?:Max|Min)(?:If|OrNull|OrDefault|Distinct)*$/

function lowerCall(call: Apply): ResolvedExpr {
  const [left, right] = call.args
  if (left === undefined || !call.args.some(mayBeNan)) return call
  const sides = Object.hasOwn(COMPARED, call.name) ? COMPARED[call.name] : undefined
  if (sides !== undefined)
    return boundProperty({
      ...call,
      args: [
        comparedWith(left),
        ...call.args.slice(1).map(sides === 'both' ? comparedWith : keepExpr),
      ],
    })
  if (call.aggregate === null) return call
  if (EXTREMES.test(call.name) && mayBeNan(left)) return extreme(call, left)
  // The type does not change: the result over no rows stays the same.
  if (QUANTILES.test(call.name))
    return { ...call, args: [{ ...nanToNull(left), type: left.type }, ...call.args.slice(1)] }
  if (ARG_EXTREMES.test(call.name) && right !== undefined)
    return {
      ...call,
      args: [left, { ...nanToNull(right), type: right.type }, ...call.args.slice(2)],
    }
  return call
}

const comparedWith = (expr: ResolvedExpr): ResolvedExpr =>
  isPropertyNumber(expr) ? expr : nanToNull(expr)

/** The argument of a comparison that NaN, the engine's greatest number, would pass. */
const GREATER: Readonly<Record<string, 0 | 1>> = {
  greater: 0,
  greaterOrEquals: 0,
  less: 1,
  lessOrEquals: 1,
}

/**
 * A property that must be greater must also be at most infinite, a second bound that the scan of a file takes like the
 * first: `ch_real` around the property would keep both from it.
 */
function boundProperty(call: Apply): Apply {
  const position = Object.hasOwn(GREATER, call.name) ? GREATER[call.name] : undefined
  const greater = position === undefined ? undefined : call.args[position]
  if (greater === undefined || !isPropertyNumber(greater)) return call
  const { type } = call
  const bound =
    position === 0
      ? applyFragment('lessOrEquals', [greater, INFINITE], type)
      : applyFragment('greaterOrEquals', [INFINITE, greater], type)
  return applyFragment('and', [call, bound], type)
}

/** The constant of these bounds, by which `readWholeNumbers` finds them again. */
export const INFINITE = bind(Number.POSITIVE_INFINITY, FLOAT64)

/** Within an aggregate no bound reaches a scan, and converting NaN takes half the time of a second bound (`countIf`). */
function convertBounded(expr: ResolvedExpr): ResolvedExpr {
  const [compared, bound] = expr.kind === 'apply' && expr.name === 'and' ? expr.args : []
  if (compared?.kind !== 'apply' || bound?.kind !== 'apply' || !bound.args.includes(INFINITE))
    return mapChildren(expr, convertBounded, keepQuery)
  return {
    ...compared,
    args: compared.args.map((side) => (isPropertyNumber(side) ? nanToNull(side) : side)),
  }
}

/** A property that is a number, converted or not. JSON has no NaN, but the property may be its text. */
function isPropertyNumber(expr: ResolvedExpr): boolean {
  if (expr.kind === 'apply' && FLOAT_CASTS.has(expr.name)) return expr.args.some(isPropertyNumber)
  return expr.kind === 'property' && expr.type.kind === 'float'
}

/** NaN only when all values are NaN; NULL then of a property. NaN is never the least. */
function extreme(call: Apply, value: ResolvedExpr): ResolvedExpr {
  if (isPropertyNumber(value))
    return call.name.startsWith('min')
      ? call
      : { ...call, args: [nanToNull(value), ...call.args.slice(1)] }
  const call_without_nan: Apply = {
    ...call,
    args: [nanToNull(value), ...call.args.slice(1)],
    type: withNull(call.type),
  }
  return sql`coalesce(${call_without_nan}, ${call})`(call.type)
}

function nanToNull(expr: ResolvedExpr): ResolvedExpr {
  if (!mayBeNan(expr)) return expr
  if (expr.kind === 'property') return { ...expr, is_real: true }
  if (expr.kind === 'apply' && isPropertyNumber(expr))
    return { ...expr, args: expr.args.map(nanToNull) }
  return sql`ch_real(${expr})`(withNull(expr.type))
}

/** Ascending order needs no change: numbers, NaN, NULL. */
function sortsNanFirst({ expr, descending, nulls }: OrderBy): boolean {
  return (descending || nulls === 'FIRST') && mayBeNan(expr)
}

function orderWithoutNan(order: OrderBy): OrderBy {
  return sortsNanFirst(order) ? { ...order, expr: nanToNull(order.expr) } : order
}

/** Functions that return no NaN for arguments without NaN. */
const NAN_FREE: ReadonlySet<string> = new Set([
  'abs',
  'ceil',
  'coalesce',
  'count',
  'floor',
  'ifNull',
  'max',
  'min',
  'minus',
  'multiply',
  'negate',
  'plus',
  'round',
  'sum',
  'trunc',
])

/** Functions that return no NaN for numbers, but for texts, as `toFloat('nan')`. */
const FLOAT_CASTS: ReadonlySet<string> = new Set(['toFloat', 'toFloat64'])

/** Whether a float may be NaN. */
function mayBeNan(expr: ResolvedExpr): boolean {
  if (expr.type.kind !== 'float') return false
  if (expr.kind === 'value') return Number.isNaN(expr.value)
  if (expr.kind === 'column') return !isPhysical(expr)
  // A fragment here is text that another pass reads as a number.
  if (expr.kind === 'fragment') return expr.args.some(isOfNan)
  if (expr.kind !== 'apply') return true
  if (FLOAT_CASTS.has(expr.name)) return expr.args.some(isOfNan)
  return NAN_FREE.has(expr.name) ? expr.args.some(mayBeNan) : !isDivisionByConstant(expr)
}

/** Whether a conversion to a float may give NaN. */
function isOfNan(converted: ResolvedExpr): boolean {
  return isText(converted.type) || mayBeNan(converted)
}

/** A column of the engine's relations, not of a sub-select. */
function isPhysical({ name }: ColumnExpr): boolean {
  return !/^[cl]\d+$/.test(name)
}

/** Division by a nonzero constant. */
function isDivisionByConstant({ name, args }: Apply): boolean {
  const [left, right] = args
  if (name !== 'divide' || left === undefined || right?.kind !== 'value') return false
  return Number(right.value) !== 0 && !mayBeNan(left)
}
