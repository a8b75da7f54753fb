/** Pass: nan is no number: no comparison holds of it, it is ordered last both ways, and no extreme is one. The engine takes it for the greatest. */

import type { Apply, ColumnExpr, OrderBy, ResolvedExpr } from '../ir.ts'
import { sql } from '../sql-fragments.ts'
import { withNull } from '../types.ts'
import { mapStatement, type Pass } from './walk.ts'

/** Puts NULL in the place of nan wherever one is compared, ordered by or gathered. */
export const lowerNan: Pass = (statement) =>
  mapStatement(statement, {
    expr: (expr) => {
      if (expr.kind === 'window')
        return { ...expr, over: { ...expr.over, order_by: expr.over.order_by.map(ordered) } }
      return expr.kind === 'apply' ? inCall(expr) : expr
    },
    select: (select) =>
      select.order_by.some(isFirst)
        ? { ...select, order_by: select.order_by.map(ordered) }
        : select,
  })

/** Of two sides that may be none one is enough: nan is not NULL. */
const COMPARED: Readonly<Record<string, 'both' | 'left'>> = {
  less: 'both',
  greater: 'both',
  lessOrEquals: 'both',
  greaterOrEquals: 'both',
  equals: 'left',
  notEquals: 'left',
}
const EXTREMES: ReadonlySet<string> = new Set(['max', 'maxIf', 'min', 'minIf'])
const MIDDLES = /^(?:quantiles?|median)(?:Exact)?(?:If)?$/
const PICKED = /^arg(?:Max|Min)(?:If)?$/

function inCall(call: Apply): ResolvedExpr {
  const [left, right] = call.args
  if (left === undefined || !call.args.some(mayBeNone)) return call
  const compared = Object.hasOwn(COMPARED, call.name) ? COMPARED[call.name] : undefined
  if (compared !== undefined)
    return {
      ...call,
      args: [real(left), ...call.args.slice(1).map(compared === 'both' ? real : same)],
    }
  if (call.aggregate === null) return call
  if (EXTREMES.has(call.name) && mayBeNone(left)) return extreme(call, left)
  // The types stay: of nothing at all the answer is what it was.
  if (MIDDLES.test(call.name))
    return { ...call, args: [{ ...real(left), type: left.type }, ...call.args.slice(1)] }
  if (PICKED.test(call.name) && right !== undefined)
    return { ...call, args: [left, { ...real(right), type: right.type }, ...call.args.slice(2)] }
  return call
}

const same = (expr: ResolvedExpr): ResolvedExpr => expr

/** Only of nothing but nan it is nan. */
function extreme(call: Apply, value: ResolvedExpr): ResolvedExpr {
  const known: Apply = {
    ...call,
    args: [real(value), ...call.args.slice(1)],
    type: withNull(call.type),
  }
  return sql`coalesce(${known}, ${call})`(call.type)
}

function real(expr: ResolvedExpr): ResolvedExpr {
  return mayBeNone(expr) ? sql`ch_real(${expr})`(withNull(expr.type)) : expr
}

/** Going up the engine has it right: numbers, nan, NULL. */
function isFirst({ expr, descending, nulls }: OrderBy): boolean {
  return (descending || nulls === 'FIRST') && mayBeNone(expr)
}

function ordered(order: OrderBy): OrderBy {
  return isFirst(order) ? { ...order, expr: real(order.expr) } : order
}

/** Calls of numbers that give numbers. */
const KEEPING: ReadonlySet<string> = new Set([
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
  'toFloat',
  'toFloat64',
  'trunc',
])

/** Whether a float may be nan: JSON holds none, so properties are numbers. */
function mayBeNone(expr: ResolvedExpr): boolean {
  if (expr.type.kind !== 'float') return false
  if (expr.kind === 'property') return false
  if (expr.kind === 'value') return Number.isNaN(expr.value)
  if (expr.kind === 'column') return !isKept(expr)
  // Text that another pass reads as a number is a property's.
  if (expr.kind === 'fragment') return expr.args.some(mayBeNone)
  if (expr.kind !== 'apply') return true
  return KEEPING.has(expr.name) ? expr.args.some(mayBeNone) : !isByNumber(expr)
}

/** A column of the engine's relations, not of a sub-select. */
function isKept({ name }: ColumnExpr): boolean {
  return !/^[cl]\d+$/.test(name)
}

/** Division by a number that is written, and is not zero. */
function isByNumber({ name, args }: Apply): boolean {
  const [left, right] = args
  if (name !== 'divide' || left === undefined || right?.kind !== 'value') return false
  return Number(right.value) !== 0 && !mayBeNone(left)
}
