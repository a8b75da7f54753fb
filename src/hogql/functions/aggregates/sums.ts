/**
 * Addition and multiplication of other than numbers: dates with intervals, intervals, tuples item
 * by item.
 */

import { DAY_US } from '../../../time.ts'
import type { CompileContext } from '../../context.ts'
import type { Apply, ResolvedExpr } from '../../sql/ir.ts'
import { bind, joinFragments, sql } from '../../sql/sql-fragments.ts'
import { addUnits } from '../../times/calendar.ts'
import { fromLocal, startOfDate, toLocal } from '../../times/local-time.ts'
import { addToTime, isTimeValue } from '../../times/relative-time.ts'
import { convert, tupleItem, tupleOf } from '../../types/convert.ts'
import { superType, widerInteger } from '../../types/type-unify.ts'
import {
  DATE,
  dateTimeType,
  duckdbName,
  FLOAT64,
  INT64,
  type IntervalUnit,
  intType,
  isBoolean,
  isNumeric,
  isText,
  type Type,
  tupleType,
  withNull,
} from '../../types/types.ts'
import { refuseArguments } from '../argument-errors.ts'
import { isNullable, type Lowering, type TypeRule, typeOf } from '../definition.ts'

/** Calendar units; shorter ones move an instant by seconds. */
const CALENDAR: ReadonlySet<IntervalUnit> = new Set(['Day', 'Week', 'Month', 'Quarter', 'Year'])

/** The type of a sum or difference. */
export const addTypes: TypeRule = (call) => {
  const [left, right] = [typeOf(call.args[0]), typeOf(call.args[1])]
  const plain = addedType(left, right, call)
  return withNull(plain, call.args.some(isNullable) || plain.nullable)
}

function addedType(
  left: Type,
  right: Type,
  call: { readonly name: string; readonly context: CompileContext },
): Type {
  if (left.kind === 'interval' && right.kind !== 'interval') return addedType(right, left, call)
  if (left.kind === 'tuple' && right.kind === 'tuple') {
    return tupleType(
      left.items.map((item, index) => addedType(item, right.items[index] ?? item, call)),
    )
  }
  if (left.kind === 'datetime') return right.kind === 'datetime' ? distance(left, right) : left
  if (left.kind === 'date') {
    if (right.kind === 'interval' && !CALENDAR.has(right.unit))
      return dateTimeType(call.context.timezone, 0)
    return right.kind === 'date' ? intType(32, true) : DATE
  }
  if (left.kind === 'interval') return left
  if (isText(left) && right.kind === 'interval')
    return withNull(dateTimeType(call.context.timezone))
  if (isTime(right) && isNumeric(left)) return right
  return addedNumbers(left, right, call.name === 'minus')
}

type InstantType = Type & { readonly kind: 'datetime' }

/** Seconds between two instants, with the sub-second digits of the finer one. */
function distance(left: InstantType, right: InstantType): Type {
  const scale = Math.max(left.precision, right.precision)
  return scale === 0
    ? intType(32, true)
    : { kind: 'decimal', precision: 18, scale, nullable: false }
}

function isTime(type: Type): boolean {
  return type.kind === 'date' || type.kind === 'datetime'
}

function addedNumbers(left: Type, right: Type, minus: boolean): Type {
  const numbers = [left, right].map((type) => {
    if (isBoolean(type)) return intType(8, false)
    return isNumeric(type) ? type : withNull(FLOAT64, type.nullable)
  })
  const common = superType(numbers)
  if (common.kind !== 'int') return common
  const bits = Math.max(...numbers.map((type) => (type.kind === 'int' ? type.bits : 8)))
  const signed = minus || numbers.some((type) => type.kind === 'int' && type.signed)
  return widerInteger(bits as 8, signed)
}

/** `plus`, `minus`, `multiply` and the tuple forms. */
export const lowerSum: Lowering = (call, context) => {
  const [left, right] = call.args
  if (left === undefined) throw new Error(`${call.name} without arguments`)
  if (left.type.kind === 'tuple') return itemByItem(call, context)
  if (right === undefined) return refuseArguments(`${call.name} takes a tuple`)
  if (left.type.kind === 'interval' && right.type.kind !== 'interval' && call.name === 'plus') {
    return lowerSum({ ...call, args: [right, left] }, context)
  }
  if (right.type.kind === 'interval' && left.type.kind !== 'interval') {
    return shiftTime(left, right, { minus: call.name === 'minus', context })
  }
  if (isTime(left.type)) return shiftByNumber(call, left, right)
  if (isTime(right.type) && call.name === 'plus') return shiftByNumber(call, right, left)
  if (left.type.kind === 'interval') return operate(call.name, left, right, call.type)
  const [a, b] = [number(left), number(right)]
  return operate(call.name, a, b, call.type)
}

function number(expr: ResolvedExpr): ResolvedExpr {
  if (isNumeric(expr.type)) return expr
  if (isBoolean(expr.type)) return sql`(${expr})::BIGINT`(withNull(INT64, expr.type.nullable))
  return sql`try_cast(${expr} AS DOUBLE)`(withNull(FLOAT64))
}

function operate(name: string, left: ResolvedExpr, right: ResolvedExpr, type: Type): ResolvedExpr {
  switch (name) {
    case 'minus':
      return sql`(${left} - ${right})`(type)
    case 'multiply':
      return sql`(${left} * ${right})`(type)
    case 'divide':
      return sql`ch_divide(${left}, ${right})`(type)
    default:
      return sql`(${left} + ${right})`(type)
  }
}

/** A date plus days, an instant plus seconds, or the difference of two. */
function shiftByNumber(call: Apply, time: ResolvedExpr, other: ResolvedExpr): ResolvedExpr {
  const minus = call.name === 'minus'
  if (time.type.kind === 'date' && other.type.kind === 'date') {
    return sql`(${time} - ${other})`(call.type)
  }
  if (isTime(other.type)) return apart(time, other, call.type)
  if (time.type.kind === 'date') {
    return minus
      ? sql`(${time} - (${other})::INTEGER)`(call.type)
      : sql`(${time} + (${other})::INTEGER)`(call.type)
  }
  return minus
    ? sql`(${time} - to_seconds(${other}))`(call.type)
    : sql`(${time} + to_seconds(${other}))`(call.type)
}

function apart(time: ResolvedExpr, other: ResolvedExpr, type: Type): ResolvedExpr {
  const micros = sql`(epoch_us((${time})::TIMESTAMP) - epoch_us((${other})::TIMESTAMP))`(INT64)
  if (type.kind !== 'decimal') return sql`(${micros} // 1000000)`(type)
  const seconds = sql`((${micros})::DECIMAL(18, 0) * 0.000001)`(type)
  return joinFragments(['', '', `::${duckdbName(type)}`], [seconds], type)
}

/** A date or instant plus an interval: in local time from a day up, by seconds below. */
export function shiftTime(
  time: ResolvedExpr,
  by: ResolvedExpr,
  how: { readonly minus: boolean; readonly context: CompileContext },
): ResolvedExpr {
  const { minus, context } = how
  const calendar = by.type.kind !== 'interval' || CALENDAR.has(by.type.unit)
  const shift = (at: ResolvedExpr, type: Type): ResolvedExpr =>
    minus ? sql`(${at} - ${by})`(type) : sql`(${at} + ${by})`(type)
  const nullable = time.type.nullable || by.type.nullable
  const folded = foldedShift(time, by, how)
  if (folded !== null) return folded
  if (time.type.kind === 'date' && calendar) {
    return sql`(${shift(time, DATE)})::DATE`(withNull(DATE, nullable))
  }
  if (time.type.kind === 'date') {
    const start = startOfDate(time, context.timezone, context)
    return shift(start, withNull(dateTimeType(context.timezone), nullable))
  }
  const instant =
    time.type.kind === 'datetime' ? time : convert(time, dateTimeType(context.timezone), context)
  const timezone = instant.type.kind === 'datetime' ? instant.type.timezone : context.timezone
  const type = withNull(instant.type, instant.type.nullable || nullable)
  if (!calendar) return shift(instant, type)
  return fromLocal(shift(toLocal(instant, context), type), timezone, context)
}

/** Folds a constant time plus a constant interval, so that time ranges are known before files are chosen. */
function foldedShift(
  time: ResolvedExpr,
  by: ResolvedExpr,
  { minus, context }: { readonly minus: boolean; readonly context: CompileContext },
): ResolvedExpr | null {
  if (time.kind !== 'value' || by.kind !== 'value' || by.type.kind !== 'interval') return null
  if (!isTimeValue(time.value) || typeof by.value !== 'bigint') return null
  const { unit } = by.type
  const count = minus ? -by.value : by.value
  if (time.type.kind === 'date') {
    if (!CALENDAR.has(unit) || typeof time.value !== 'bigint') return null
    return bind(addUnits(time.value * DAY_US, count, unit) / DAY_US, time.type)
  }
  if (time.type.kind !== 'datetime') return null
  if (!CALENDAR.has(unit)) return bind(addToTime(time.value, count, unit), time.type)
  const local = toLocal(time, context)
  if (local.kind !== 'value' || !isTimeValue(local.value)) return null
  return fromLocal(
    bind(addToTime(local.value, count, unit), time.type),
    time.type.timezone,
    context,
  )
}

const TUPLE_OPERATION: Readonly<Record<string, string>> = {
  plus: 'plus',
  tuplePlus: 'plus',
  minus: 'minus',
  tupleMinus: 'minus',
  multiply: 'multiply',
  tupleMultiply: 'multiply',
  tupleMultiplyByNumber: 'multiply',
  divide: 'divide',
  tupleDivide: 'divide',
  tupleDivideByNumber: 'divide',
}

function itemByItem(call: Apply, context: CompileContext): ResolvedExpr {
  const [left, right] = call.args
  if (left?.type.kind !== 'tuple') throw new Error(`${call.name} takes a tuple`)
  const items = left.type.items.map((type, index) => {
    const a = tupleItem(left, index + 1, type)
    if (call.name === 'tupleNegate') return sql`(-${a})`(type)
    const b =
      right?.type.kind === 'tuple'
        ? tupleItem(right, index + 1, right.type.items[index] ?? type)
        : right
    if (b === undefined) throw new Error(`${call.name} takes two arguments`)
    const name = TUPLE_OPERATION[call.name] ?? 'plus'
    const itemType = call.type.kind === 'tuple' ? (call.type.items[index] ?? type) : type
    return lowerSum({ ...call, name, args: [a, b], type: itemType }, context)
  })
  return tupleOf(items, call.type)
}
