/** Date arithmetic with intervals: addDays and its siblings, dateAdd, dateSub. */

import type { CompileContext } from '../../context.ts'
import type { ResolvedExpr } from '../../sql/ir.ts'
import { NULL_VALUE } from '../../sql/sql-fragments.ts'
import { asInstant } from '../../types/convert.ts'
import { DATE, dateTimeType, type IntervalUnit, type Type, withNull } from '../../types/types.ts'
import { shiftTime } from '../aggregates/sums.ts'
import { refuseArguments } from '../argument-errors.ts'
import {
  asDeclared,
  type FunctionDef,
  type Lowering,
  scalar,
  type TypeRule,
  typeOf,
} from '../definition.ts'
import { intervalOf, nullableLike, readUnit } from './date-parts.ts'

function shiftedType(
  value: ResolvedExpr | undefined,
  unit: IntervalUnit,
  context: CompileContext,
): Type {
  const type = typeOf(value)
  const short = unit === 'Second' || unit === 'Minute' || unit === 'Hour'
  if (type.kind === 'date') return short ? dateTimeType(context.timezone, 0) : DATE
  return type.kind === 'datetime' ? type : withNull(dateTimeType(context.timezone))
}

/** `addDays(date, n)` and the functions of other units, and their inverses. */
export function shifts(unit: IntervalUnit): readonly FunctionDef[] {
  const returns: TypeRule = ({ args, context }) =>
    nullableLike(shiftedType(args[0], unit, context), args)
  const lower =
    (minus: boolean): Lowering =>
    (call, context) => {
      const [value = NULL_VALUE, count = NULL_VALUE] = call.args
      return shiftTime(timeOf(value, context), intervalOf(count, unit), { minus, context })
    }
  return [
    scalar(`add${unit}s`, '2', returns, lower(false)),
    scalar(`subtract${unit}s`, '2', returns, lower(true)),
    scalar(
      `toInterval${unit}`,
      '1',
      asDeclared({ kind: 'interval', unit, nullable: false }),
      (call) => intervalOf(call.args[0] ?? NULL_VALUE, unit),
    ),
  ]
}

function timeOf(value: ResolvedExpr, context: CompileContext): ResolvedExpr {
  return value.type.kind === 'date' ? value : asInstant(value, context.timezone, context)
}

/** `dateAdd(unit, n, date)` and `dateAdd(date, interval)`. */
export const dateAddType: TypeRule = ({ args, context }) => {
  const [first, second, third] = args
  const unit =
    third === undefined
      ? second?.type.kind === 'interval'
        ? second.type.unit
        : 'Day'
      : (readUnit(first) ?? 'Day')
  return nullableLike(shiftedType(third ?? first, unit, context), args)
}

export const dateAdd =
  (minus: boolean): Lowering =>
  (call, context) => {
    const [first = NULL_VALUE, second = NULL_VALUE, third] = call.args
    if (third === undefined) return shiftTime(timeOf(first, context), second, { minus, context })
    const unit = readUnit(first)
    if (unit === null) return refuseArguments('dateAdd needs a constant unit')
    return shiftTime(timeOf(third, context), intervalOf(second, unit), { minus, context })
  }
