/** Formatting and parsing of dates, weeks and weekdays by mode, parts by name. */

import type { ResolvedExpr } from '../../sql/ir.ts'
import {
  bindInt,
  bindText,
  constantInt,
  constantText,
  NULL_VALUE,
  sql,
} from '../../sql/sql-fragments.ts'
import { fromLocal, offsetOf } from '../../times/local-time.ts'
import { intType, UINT8, withNull } from '../../types/types.ts'
import { refuseArguments, requireConstant } from '../argument-errors.ts'
import { isNullable, type Lowering, type TypeRule } from '../definition.ts'
import { engineFormat, localOf, readUnit, zoneNamed } from './date-parts.ts'

/** Marks in a format for letters that the engine lacks, the quarter, or writes in UTC, the zone's offset. */
const QUARTER = '\u0001'
const OFFSET = '\u0002'
const MARKS: Readonly<Record<string, string>> = { '%Q': QUARTER, '%z': OFFSET }

/** A constant format is translated at compile time. */
export const formatDateTime: Lowering = (call, context) => {
  const [value = NULL_VALUE, format, zone] = call.args
  requireConstant(zone, 'The time zone')
  const timezone = constantText(zone)
  const instant =
    timezone === null || value.type.kind !== 'datetime'
      ? value
      : { ...value, type: { ...value.type, timezone } }
  const local = localOf(instant, context)
  const letters = constantText(format)
  if (letters === null) return refuseArguments('formatDateTime needs a constant format')
  const marked = letters.replaceAll(/%./gs, (letter) => MARKS[letter] ?? letter)
  const text = sql`strftime(${local}, ${bindText(engineFormat(marked))})`(call.type)
  const with_quarter = marked.includes(QUARTER)
    ? sql`replace(${text}, ${bindText(QUARTER)}, quarter(${local})::VARCHAR)`(call.type)
    : text
  if (!marked.includes(OFFSET)) return with_quarter
  const offset = instant.type.kind === 'datetime' ? offsetOf(instant, context) : bindInt(0)
  return sql`replace(${with_quarter}, ${bindText(OFFSET)}, ch_offset_text(${offset}))`(call.type)
}

export const parseDateTime: Lowering = (call, context) => {
  const [value = NULL_VALUE, format, zone] = call.args
  const letters = constantText(format)
  if (letters === null) return refuseArguments('parseDateTime needs a constant format')
  const local = sql`try_strptime(${value}, ${bindText(engineFormat(letters))})`(call.type)
  return fromLocal(local, zoneNamed(zone, context), context)
}

/** Weekdays by mode: 0 Monday is 1, 1 Monday is 0, 2 Sunday is 0, 3 Sunday is 1. */
export const dayOfWeek: Lowering = (call, context) => {
  const local = localOf(call.args[0], context)
  requireConstant(call.args[1], 'The mode of a week')
  switch (constantInt(call.args[1]) ?? 0n) {
    case 1n:
      return sql`(isodow(${local}) - 1)`(call.type)
    case 2n:
      return sql`dayofweek(${local})`(call.type)
    case 3n:
      return sql`(dayofweek(${local}) + 1)`(call.type)
    default:
      return sql`isodow(${local})`(call.type)
  }
}

/**
 * Weeks by mode: odd ones start on Monday; 0 and 1 count from the year's first week, 2 and 3 have
 * no week 0.
 */
export const week: Lowering = (call, context) => {
  const local = localOf(call.args[0], context)
  switch (weekMode(call.args[1])) {
    case 0:
      return sql`ch_week0(${local})`(call.type)
    case 1:
      return sql`ch_week1(${local})`(call.type)
    case 2:
      return sql`(ch_yearweek0(${local}) % 100)`(call.type)
    default:
      return sql`weekofyear(${local})`(call.type)
  }
}

export const yearWeek: Lowering = (call, context) => {
  const local = localOf(call.args[0], context)
  return weekMode(call.args[1]) % 2 === 1
    ? sql`(isoyear(${local}) * 100 + weekofyear(${local}))`(call.type)
    : sql`ch_yearweek0(${local})`(call.type)
}

function weekMode(mode: ResolvedExpr | undefined): number {
  requireConstant(mode, 'The mode of a week')
  const number = Number(constantInt(mode) ?? 0n)
  return number <= 3 ? number : refuseArguments('Week modes beyond 3 are not supported')
}

const PARTS: Readonly<Record<string, string>> = { dow: 'isodow', doy: 'doy' }

/** ClickHouse's integer width of a part. */
export const partType: TypeRule = ({ args }) => {
  const name = constantText(args[0])?.toLowerCase() ?? ''
  const type = name === 'year' || name === 'doy' ? intType(16, false) : UINT8
  return withNull(type, args.some(isNullable))
}

export const datePart: Lowering = (call, context) => {
  requireConstant(call.args[0], 'The name of a part')
  const name = constantText(call.args[0])?.toLowerCase() ?? ''
  const engine = Object.hasOwn(PARTS, name)
    ? (PARTS[name] ?? name)
    : (readUnit(call.args[0])?.toLowerCase() ?? '')
  if (engine === '') return { ...NULL_VALUE, type: withNull(call.type) }
  return sql`date_part(${bindText(engine)}, ${localOf(call.args[1], context)})`(call.type)
}

export const dateName: Lowering = (call, context) => {
  requireConstant(call.args[0], 'The name of a part')
  const local = localOf(call.args[1], context)
  const name = constantText(call.args[0])?.toLowerCase() ?? ''
  if (name === 'month') return sql`monthname(${local})`(call.type)
  if (name === 'weekday' || name === 'dayofweek') return sql`dayname(${local})`(call.type)
  const unit = name === 'dayofyear' ? 'doy' : (readUnit(call.args[0])?.toLowerCase() ?? 'day')
  return sql`date_part(${bindText(unit)}, ${local})::VARCHAR`(call.type)
}
