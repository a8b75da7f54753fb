/** Truncation of times to hours, days, weeks…, in the zone of the value. */

import { DAY_S, DAY_US } from '../../../time.ts'
import type { CompileContext } from '../../context.ts'
import type { Apply, ResolvedExpr } from '../../sql/ir.ts'
import { bind, bindInt, constantInt, NULL_VALUE, sql } from '../../sql/sql-fragments.ts'
import { fromLocal, toLocal, truncatesInUtc } from '../../times/local-time.ts'
import { isTimeValue, shiftBy } from '../../times/relative-time.ts'
import { asInstant } from '../../types/convert.ts'
import { DATE, dateTimeType, type IntervalUnit, type Type } from '../../types/types.ts'
import { refuseArguments, requireConstant } from '../argument-errors.ts'
import { type Lowering, type TypeRule, typeOf } from '../definition.ts'
import {
  bucketOrigin,
  intervalOf,
  localOf,
  nullableLike,
  readUnit,
  truncateLocal,
  zoneOf,
} from './date-parts.ts'

export const instantLike: TypeRule = ({ args, context }) =>
  nullableLike(dateTimeType(zoneOf(args[0] ?? NULL_VALUE, context), 0), args)

/** The type keeps its sub-second digits, which are zero. */
export const startOfSecondType: TypeRule = (call) => {
  const type = instantLike(call)
  return type.kind === 'datetime' ? { ...type, precision: precisionOf(call.args[0]) } : type
}

function precisionOf(value: ResolvedExpr | undefined): number {
  const type = typeOf(value)
  return type.kind === 'datetime' ? type.precision : 6
}

/** Truncates to an hour or shorter: in UTC where the zone's offsets allow it, otherwise in local time. */
export function startOfStep(unit: 'Hour' | 'Minute' | 'Second', step_s: number): Lowering {
  return (call, context) => {
    const value = asInstant(call.args[0] ?? NULL_VALUE, context.timezone, context)
    const timezone = zoneOf(value, context)
    if (truncatesInUtc(timezone, step_s, context)) return truncateLocal(value, unit, call.type)
    return fromLocal(truncateLocal(toLocal(value, context), unit, call.type), timezone, context)
  }
}

export function startOfMinutes(minutes: 5 | 10 | 15 | 30): Lowering {
  return (call, context) => {
    const value = asInstant(call.args[0] ?? NULL_VALUE, context.timezone, context)
    const width = intervalOf(bindInt(minutes), 'Minute')
    const bucket = (at: ResolvedExpr): ResolvedExpr =>
      sql`time_bucket(${width}, ${at}, ${bucketOrigin('Minute')})`(call.type)
    const timezone = zoneOf(value, context)
    if (truncatesInUtc(timezone, minutes * 60, context)) return bucket(value)
    return fromLocal(bucket(toLocal(value, context)), timezone, context)
  }
}

export const startOfDay: Lowering = (call, context) => {
  const value = call.args[0] ?? NULL_VALUE
  const local = truncateLocal(localOf(value, context), 'Day', call.type)
  return fromLocal(local, zoneOf(value, context), context)
}

/** The last day that ClickHouse's Date holds: 2149-06-06. */
const LAST_DAY = 65535n

/** ClickHouse's Date begins in 1970: the Monday of 1970-01-01 is that day itself. Its Date32 holds all days. */
export function clampDate(date: ResolvedExpr, type: Type): ResolvedExpr {
  if (type.kind !== 'date' || type.wide === true) return date
  if (date.kind === 'value' && typeof date.value === 'bigint') {
    const day = date.value < 0n ? 0n : date.value
    return bind(day > LAST_DAY ? LAST_DAY : day, type)
  }
  const clamped = sql`least(greatest(${date}, DATE '1970-01-01'), DATE '2149-06-06')`(type)
  return type.nullable ? sql`CASE WHEN ${date} IS NOT NULL THEN ${clamped} END`(type) : clamped
}

/** Clamps the result of a call to the range of Date, unless the call is known to be within it. */
function clampStart(start: ResolvedExpr, { is_within_date, type }: Apply): ResolvedExpr {
  return is_within_date === true ? start : clampDate(start, type)
}

/** Truncates to a week or longer; the result is a date. */
export function startDate(unit: 'Month' | 'Quarter' | 'Week' | 'Year'): Lowering {
  return (call, context) =>
    clampStart(truncateLocal(localOf(call.args[0], context), unit, call.type), call)
}

/** Mode 0 and other even modes start weeks on Sunday; without a mode the project's setting applies. */
function weekStartsMonday(mode: ResolvedExpr | undefined, context: CompileContext): boolean {
  requireConstant(mode, 'The mode of a week')
  const number = constantInt(mode)
  return number === null ? context.week_start_day === 1 : number % 2n === 1n
}

export const startOfWeek: Lowering = (call, context) => clampStart(weekStart(call, context), call)

const weekStart: Lowering = (call, context) => {
  const local = localOf(call.args[0], context)
  if (weekStartsMonday(call.args[1], context)) return truncateLocal(local, 'Week', call.type)
  if (local.kind === 'value' && isTimeValue(local.value)) {
    const day = local.type.kind === 'date' ? 1n : DAY_US
    const monday = truncateLocal({ ...local, value: shiftBy(local.value, day) }, 'Week', call.type)
    if (monday.kind === 'value' && typeof monday.value === 'bigint') {
      return bind(monday.value - 1n, call.type)
    }
  }
  return sql`(${local}::DATE - dayofweek(${local}::DATE)::INTEGER)`(call.type)
}

export const lastDayOfWeek: Lowering = (call, context) => {
  const [value, mode = bindInt(0)] = call.args
  const start = weekStart({ ...call, args: [value ?? NULL_VALUE, mode] }, context)
  return clampDate(sql`(${start} + 6)::DATE`(call.type), call.type)
}

export const dateLike: TypeRule = ({ args }) => nullableLike(DATE, args)

/** Weeks and longer units give dates, shorter ones instants. */
function truncatedType(
  unit: IntervalUnit | null,
  args: readonly ResolvedExpr[],
  context: CompileContext,
): Type {
  const long = unit === 'Week' || unit === 'Month' || unit === 'Quarter' || unit === 'Year'
  const value = args.find((arg) => arg.type.kind === 'datetime' || arg.type.kind === 'date')
  return nullableLike(long ? DATE : dateTimeType(zoneOf(value ?? NULL_VALUE, context), 0), args)
}

/** A truncated instant has the wide type of its kind. */
export const truncType: TypeRule = ({ args, context }) => {
  const type = truncatedType(readUnit(args[0]), args, context)
  const cut = typeOf(args[1])
  const is_narrow = cut.kind === 'datetime' && cut.precision === 0 && cut.wide !== true
  if (cut.kind === 'date' || is_narrow) return type
  return type.kind === 'date' || type.kind === 'datetime' ? { ...type, wide: true } : type
}

export const dateTrunc: Lowering = (call, context) => {
  const [name, value = NULL_VALUE] = call.args
  const unit = readUnit(name)
  const rest = { ...call, args: [value] }
  switch (unit) {
    case 'Second':
      return startOfStep('Second', 1)(rest, context)
    case 'Minute':
      return startOfStep('Minute', 60)(rest, context)
    case 'Hour':
      return startOfStep('Hour', 3600)(rest, context)
    case 'Day':
      return startOfDay(rest, context)
    case 'Week':
      return startDate('Week')(rest, context)
    case 'Month':
      return startDate('Month')(rest, context)
    case 'Quarter':
      return startDate('Quarter')(rest, context)
    case 'Year':
      return startDate('Year')(rest, context)
    case null:
      return refuseArguments('date_trunc needs a constant unit')
  }
}

const unitOfWidth = ({ type }: ResolvedExpr): IntervalUnit =>
  type.kind === 'interval' ? type.unit : 'Day'

/** Intervals from an origin begin at its time of day: what they give has the type of the times, also for weeks and longer. */
export const intervalType: TypeRule = ({ args, context }) => {
  const [value = NULL_VALUE, width = NULL_VALUE, origin] = args
  const unit = unitOfWidth(width)
  if (origin === undefined) return truncatedType(unit, args, context)
  const of_days = value.type.kind === 'date' && !(unit in HOURS_OR_LESS)
  const type = value.type.kind === 'datetime' ? value.type : dateTimeType(context.timezone, 0)
  return nullableLike(of_days ? DATE : type, args)
}

const HOURS_OR_LESS: Partial<Record<IntervalUnit, true>> = {
  Second: true,
  Minute: true,
  Hour: true,
}

/** Units of the calendar, whose lengths vary. */
const MONTHS_OR_MORE: Partial<Record<IntervalUnit, true>> = {
  Month: true,
  Quarter: true,
  Year: true,
}

/** Counts intervals from an origin: hours and shorter ones as they pass, longer ones by the calendar of the zone. */
function startFromOrigin(
  call: Apply,
  [value, width, origin]: readonly [ResolvedExpr, ResolvedExpr, ResolvedExpr],
  context: CompileContext,
): ResolvedExpr {
  const unit = unitOfWidth(width)
  if (unit in HOURS_OR_LESS) {
    const instant = (of: ResolvedExpr) => asInstant(of, context.timezone, context)
    return sql`time_bucket(${width}, ${instant(value)}, ${instant(origin)})`(call.type)
  }
  const local = (of: ResolvedExpr) => sql`(${localOf(of, context)})::TIMESTAMP`(call.type)
  const start =
    unit in MONTHS_OR_MORE
      ? sql`ch_start_of_months(${width}, ${local(value)}, ${local(origin)})`(call.type)
      : sql`time_bucket(${width}, ${local(value)}, ${local(origin)})`(call.type)
  if (call.type.kind === 'date') return clampDate(sql`${start}::DATE`(call.type), call.type)
  return fromLocal(start, zoneOf(value, context), context)
}

export const startOfInterval: Lowering = (call, context) => {
  const [value = NULL_VALUE, width = NULL_VALUE, from] = call.args
  if (from !== undefined) return startFromOrigin(call, [value, width, from], context)
  const unit = unitOfWidth(width)
  const step_s = stepSeconds(width, unit)
  // Hours are counted from midnight, and the last step of a day may be shorter.
  const is_cut_by_day = unit === 'Hour' && (step_s === null || DAY_S % step_s !== 0)
  if (step_s !== null && !is_cut_by_day && value.type.kind !== 'date') {
    const instant = asInstant(value, context.timezone, context)
    if (unit !== 'Hour' || truncatesInUtc(zoneOf(instant, context), step_s, context))
      return sql`time_bucket(${width}, ${instant}, ${bucketOrigin(unit)})`(call.type)
  }
  const local = sql`(${localOf(value, context)})::TIMESTAMP`(call.type)
  const origin = is_cut_by_day ? sql`date_trunc('day', ${local})`(call.type) : bucketOrigin(unit)
  const bucket = sql`time_bucket(${width}, ${local}, ${origin})`(call.type)
  if (call.type.kind === 'date') return clampDate(sql`${bucket}::DATE`(call.type), call.type)
  return fromLocal(bucket, zoneOf(value, context), context)
}

/** The seconds of a constant width up to hours; null for others. Zones differ by whole minutes. */
function stepSeconds(width: ResolvedExpr, unit: IntervalUnit): number | null {
  if (width.kind !== 'value' || width.value === null) return null
  const count = Number(width.value)
  if (unit === 'Hour') return count * 3600
  if (unit === 'Minute') return count * 60
  return unit === 'Second' ? count : null
}
