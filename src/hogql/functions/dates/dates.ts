/**
 * DATES: functions of dates and instants: parts, truncation, arithmetic, distances, formats, in the
 * zone of the value.
 */

import type { ResolvedExpr } from '../../sql/ir.ts'
import { bind, bindText, constantText, NULL_VALUE, sql } from '../../sql/sql-fragments.ts'
import { dateOf, fromLocal, offsetOf, truncatesInUtc } from '../../times/local-time.ts'
import { nowIn } from '../../times/zones.ts'
import { asDate, asInstant, convert, instantOfSeconds } from '../../types/convert.ts'
import {
  DATE,
  dateTimeType,
  FLOAT64,
  INT64,
  intType,
  STRING,
  type Type,
  UINT8,
  UINT64,
  withNull,
} from '../../types/types.ts'
import { refuseArguments, requireConstant } from '../argument-errors.ts'
import {
  asDeclared,
  type FunctionDef,
  type Lowering,
  nonNull,
  printedAs,
  scalar,
  type TypeRule,
} from '../definition.ts'
import {
  dateName,
  datePart,
  dayOfWeek,
  formatDateTime,
  parseDateTime,
  partType,
  week,
  yearWeek,
} from './date-names.ts'
import { localOf, nullableLike, readUnit, zoneNamed, zoneOf } from './date-parts.ts'
import { dateAdd, dateAddType, shifts } from './date-shifts.ts'
import {
  clampDate,
  dateLike,
  dateTrunc,
  instantLike,
  intervalType,
  lastDayOfWeek,
  startDate,
  startOfDay,
  startOfInterval,
  startOfMinutes,
  startOfSecondType,
  startOfStep,
  startOfWeek,
  truncType,
} from './date-starts.ts'
import { withSubsecondUnits } from './subsecond-units.ts'

const UINT16 = intType(16, false)
const UINT32 = intType(32, false)

/** A part of the local time. */
function part(names: string, type: Type, text: string): FunctionDef {
  const print = printedAs(text)
  return scalar(names, '1-2', asDeclared(type), (call, context) =>
    print({ ...call, args: [localOf(call.args[0], context)] }, context),
  )
}

/** The first or last day of a span of local time. */
function boundaryDay(names: string, text: string): FunctionDef {
  const print = printedAs(text)
  return scalar(names, '1-2', asDeclared(DATE), (call, context) =>
    clampDate(print({ ...call, args: [localOf(call.args[0], context)] }, context), call.type),
  )
}

/** Lengths of the units below a day. */
const UNIT_SECONDS = { Second: 1, Minute: 60, Hour: 3600 } as const

/** Counts boundaries between two times: of local time from days up, of instants below. */
const dateDiff: Lowering = (call, context) => {
  const [name, from = NULL_VALUE, to = NULL_VALUE] = call.args
  const unit = readUnit(name)
  const local = [from, to].map((value) => localOf(value, context))
  const [a = NULL_VALUE, b = NULL_VALUE] = local
  if (unit === 'Week') {
    return sql`(date_diff('day', date_trunc('week', ${a}), date_trunc('week', ${b})) // 7)`(
      call.type,
    )
  }
  if (unit === 'Hour' || unit === 'Minute' || unit === 'Second') {
    const [x = NULL_VALUE, y = NULL_VALUE] = [from, to].map((value) => {
      const instant = asInstant(value, context.timezone, context)
      const whole = truncatesInUtc(zoneOf(instant, context), UNIT_SECONDS[unit], context)
      return whole ? instant : localOf(instant, context)
    })
    return sql`date_diff(${bindText(unit.toLowerCase())}, ${x}, ${y})`(call.type)
  }
  if (unit === null) return refuseArguments('dateDiff needs a constant unit')
  return sql`date_diff(${bindText(unit.toLowerCase())}, ${a}, ${b})`(call.type)
}

/** Counts whole units between two times; a month is whole when day and time of day are reached again. */
const age: Lowering = (call, context) => {
  const [name, ...times] = call.args
  const unit = readUnit(name)
  if (unit === null) return refuseArguments('age needs a constant unit')
  const exact = unit === 'Hour' || unit === 'Minute' || unit === 'Second'
  const [from = NULL_VALUE, to = NULL_VALUE] = times.map((time) =>
    exact ? asInstant(time, context.timezone, context) : localOf(time, context),
  )
  if (unit === 'Month') return sql`ch_age_months(${from}, ${to})`(call.type)
  if (unit === 'Quarter') return sql`(ch_age_months(${from}, ${to}) // 3)`(call.type)
  if (unit === 'Year') return sql`(ch_age_months(${from}, ${to}) // 12)`(call.type)
  return sql`date_sub(${bindText(unit.toLowerCase())}, ${from}, ${to})`(call.type)
}

const instantOfProject: TypeRule = ({ context }) => dateTimeType(context.timezone)
/** An instant with `precision` sub-second digits, in the zone that the second argument names. */
const instantWith =
  (precision: 0 | 3): TypeRule =>
  ({ args, context }) =>
    nullableLike(dateTimeType(zoneNamed(args[1], context), precision), args)
const now: Lowering = (call, context) => bind(nowIn(context), call.type)
const today =
  (days: bigint): Lowering =>
  (call, context) => {
    const date = dateOf(bind(nowIn(context), dateTimeType(context.timezone)), context)
    return date.kind === 'value' && typeof date.value === 'bigint'
      ? bind(date.value + days, call.type)
      : date
  }

const unixSeconds: Lowering = (call, context) => {
  requireConstant(call.args[1], 'The time zone')
  const instant = asInstant(
    call.args[0] ?? NULL_VALUE,
    constantText(call.args[1]) ?? context.timezone,
    context,
  )
  return sql`floor(epoch(${instant}))::BIGINT`(call.type)
}

const fromSeconds: Lowering = (call) =>
  instantOfSeconds(sql`(${call.args[0] ?? NULL_VALUE})::DOUBLE`(FLOAT64), call.type)

const timestampIn: TypeRule = ({ args, context }) =>
  nullableLike(dateTimeType(zoneNamed(args[6], context)), args)

const timestampOf: Lowering = (call, context) => {
  const local = clockTime(call.args, withNull(call.type))
  const instant = fromLocal(local, zoneNamed(call.args[6], context), context)
  return sql`coalesce(${instant}, TIMESTAMP '1970-01-01')`(call.type)
}

/** Floats lose their fractions, but the seconds of a time keep them. */
const clockTime = (args: readonly ResolvedExpr[], type: Type): ResolvedExpr => {
  const [y, mo, d, h, mi] = args.map(truncated)
  return sql`ch_make_time(${y ?? NULL_VALUE}, ${mo ?? NULL_VALUE}, ${d ?? NULL_VALUE}, ${h ?? NULL_VALUE}, ${mi ?? NULL_VALUE}, ${args[5] ?? NULL_VALUE})`(
    type,
  )
}

const truncated = (arg: ResolvedExpr): ResolvedExpr =>
  arg.type.kind === 'float' ? sql`trunc(${arg})`(arg.type) : arg

const makeDate: Lowering = (call) => {
  const [y, mo, d] = call.args.map(truncated)
  return sql`coalesce(ch_make_date(${y ?? NULL_VALUE}, ${mo ?? NULL_VALUE}, ${d ?? NULL_VALUE}), DATE '1970-01-01')`(
    call.type,
  )
}

const toTime: Lowering = (call, context) => {
  const at = localOf(call.args[0], context)
  return fromLocal(
    sql`(TIMESTAMP '1970-01-02' + (${at} - date_trunc('day', ${at})))`(call.type),
    zoneOf(call.args[0] ?? NULL_VALUE, context),
    context,
  )
}

/** Date functions. Adding one means adding a line. */
export const DATES: readonly FunctionDef[] = [
  part('~toYear|year', UINT16, 'year($1)'),
  part('~toQuarter|quarter', UINT8, 'quarter($1)'),
  part('~toMonth|month', UINT8, 'month($1)'),
  part('toDayOfYear|dayofyear', UINT16, 'dayofyear($1)'),
  part('~toDayOfMonth|day|dayofmonth', UINT8, 'day($1)'),
  scalar('toDayOfWeek|dayofweek', '1-3', asDeclared(UINT8), dayOfWeek),
  part('~toHour|hour', UINT8, 'hour(($1)::TIMESTAMP)'),
  part('~toMinute|minute', UINT8, 'minute(($1)::TIMESTAMP)'),
  part('~toSecond|second', UINT8, 'second(($1)::TIMESTAMP)'),
  part('toISOYear', UINT16, 'isoyear($1)'),
  part('toISOWeek', UINT8, 'weekofyear($1)'),
  part('toYYYYMM', UINT32, '(year($1) * 100 + month($1))'),
  part('toYYYYMMDD', UINT32, '(year($1) * 10000 + month($1) * 100 + day($1))'),
  part('toYYYYMMDDhhmmss', UINT64, "strftime($1, '%Y%m%d%H%M%S')::BIGINT"),
  part('monthName', STRING, 'monthname($1)'),
  boundaryDay('toStartOfISOYear', 'ch_start_of_isoyear($1)'),
  boundaryDay('toLastDayOfMonth|last_day', 'last_day($1)'),
  scalar('toWeek|week', '1-3', asDeclared(UINT8), week),
  scalar('toYearWeek|yearweek', '1-3', asDeclared(UINT32), yearWeek),
  scalar('toUnixTimestamp', '1-2', asDeclared(UINT32), unixSeconds),
  scalar('toUnixTimestamp64Milli', '1', asDeclared(INT64), 'epoch_ms($1)'),
  scalar('toUnixTimestamp64Micro', '1', asDeclared(INT64), 'epoch_us($1)'),
  scalar('fromUnixTimestamp64Milli', '1-2', instantWith(3), 'ch_milli_instant($1)'),
  scalar('fromUnixTimestamp|to_timestamp', '1-2', instantWith(0), fromSeconds),
  scalar('toStartOfInterval', '2-3', intervalType, startOfInterval),
  scalar('toStartOfYear', '1', dateLike, startDate('Year')),
  scalar('toStartOfQuarter', '1', dateLike, startDate('Quarter')),
  scalar('toStartOfMonth', '1', dateLike, startDate('Month')),
  scalar('toMonday', '1', dateLike, startDate('Week')),
  scalar('toStartOfWeek', '1-3', dateLike, startOfWeek),
  scalar('toLastDayOfWeek', '1-3', dateLike, lastDayOfWeek),
  scalar('toStartOfDay', '1-2', instantLike, startOfDay),
  scalar('toStartOfHour', '1', instantLike, startOfStep('Hour', 3600)),
  scalar('toStartOfMinute', '1', instantLike, startOfStep('Minute', 60)),
  scalar('toStartOfSecond', '1', startOfSecondType, startOfStep('Second', 1)),
  scalar('toStartOfFiveMinutes|toStartOfFiveMinute', '1', instantLike, startOfMinutes(5)),
  scalar('toStartOfTenMinutes', '1', instantLike, startOfMinutes(10)),
  scalar('toStartOfFifteenMinutes', '1', instantLike, startOfMinutes(15)),
  scalar('timeSlot', '1', instantLike, startOfMinutes(30)),
  scalar('toTime', '1', instantLike, toTime),
  scalar(
    '~dateDiff|date_diff|TIMESTAMPDIFF',
    '3-4',
    asDeclared(INT64),
    withSubsecondUnits('date_diff', dateDiff),
  ),
  scalar('age', '3', asDeclared(INT64), withSubsecondUnits('date_sub', age)),
  scalar('~dateTrunc|date_trunc', '2-3', truncType, dateTrunc),
  scalar('~dateAdd|date_add|timeStampAdd|timestamp_add', '2-3', dateAddType, dateAdd(false)),
  scalar(
    '~dateSub|date_sub|date_subtract|timeStampSub|timestamp_sub',
    '2-3',
    dateAddType,
    dateAdd(true),
  ),
  scalar('~date_part', '2', partType, datePart),
  scalar('dateName', '2', asDeclared(STRING), dateName),
  scalar('~formatDateTime|to_char|date_format', '2-3', asDeclared(STRING), formatDateTime),
  scalar(
    '~parseDateTime|parseDateTimeOrNull',
    '2-3',
    ({ args, context }) => withNull(dateTimeType(zoneNamed(args[2], context))),
    parseDateTime,
  ),
  scalar('~now|current_timestamp|nowInBlock|now64', '0-2', instantOfProject, now),
  scalar('~today|current_date', '0', nonNull(DATE), today(0n)),
  scalar('yesterday', '0', nonNull(DATE), today(-1n)),
  scalar('timeZoneOffset', '1', asDeclared(intType(32, true)), (call, context) =>
    offsetOf(call.args[0] ?? NULL_VALUE, context),
  ),
  scalar('timeZoneOf', '1', nonNull(STRING), (call, context) =>
    bindText(zoneOf(call.args[0] ?? NULL_VALUE, context)),
  ),
  scalar('~make_date|makeDate', '3', asDeclared(DATE), makeDate),
  scalar('~make_timestamp|makeDateTime', '6-7', timestampIn, timestampOf),
  scalar('~make_timestamptz', '7', timestampIn, timestampOf),
  scalar('toModifiedJulianDay', '1', asDeclared(intType(32, true)), (call, context) =>
    sql`date_diff('day', DATE '1858-11-17', ${asDate(call.args[0] ?? NULL_VALUE, context.timezone, context)})`(
      call.type,
    ),
  ),
  scalar('fromModifiedJulianDay', '1', asDeclared(STRING), (call, context) =>
    sql`(DATE '1858-11-17' + (${convert(call.args[0] ?? NULL_VALUE, INT64, context)})::INTEGER)::VARCHAR`(
      call.type,
    ),
  ),
  ...(['Second', 'Minute', 'Hour', 'Day', 'Week', 'Month', 'Quarter', 'Year'] as const).flatMap(
    shifts,
  ),
]
