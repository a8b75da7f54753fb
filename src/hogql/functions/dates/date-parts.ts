/** Helpers of date functions: units, local times of arguments, format letters of the engine. */

import { DAY_US } from '../../../time.ts'
import type { CompileContext } from '../../context.ts'
import type { ResolvedExpr } from '../../sql/ir.ts'
import { bind, bindInt, bindText, constantText, NULL_VALUE, sql } from '../../sql/sql-fragments.ts'
import { toLocal } from '../../times/local-time.ts'
import { isTimeValue, startOfTime } from '../../times/relative-time.ts'
import { lookUpZone } from '../../times/zones.ts'
import { asInstant } from '../../types/convert.ts'
import { INT64, type IntervalUnit, isText, type Type, withNull } from '../../types/types.ts'
import { refuseArguments, requireConstant } from '../argument-errors.ts'

/** Units in any case, singular or plural. */
const UNITS: Readonly<Record<string, IntervalUnit>> = {
  second: 'Second',
  ss: 'Second',
  s: 'Second',
  minute: 'Minute',
  mi: 'Minute',
  n: 'Minute',
  hour: 'Hour',
  hh: 'Hour',
  h: 'Hour',
  day: 'Day',
  dd: 'Day',
  d: 'Day',
  week: 'Week',
  wk: 'Week',
  ww: 'Week',
  month: 'Month',
  mm: 'Month',
  m: 'Month',
  quarter: 'Quarter',
  qq: 'Quarter',
  q: 'Quarter',
  year: 'Year',
  yyyy: 'Year',
  yy: 'Year',
}

/** The unit of a constant; null when it is not one. */
export function readUnit(expr: ResolvedExpr | undefined): IntervalUnit | null {
  const text = constantText(expr)?.toLowerCase()
  return text === undefined ? null : unitNamed(text)
}

/** The unit of that name; null for an unknown name. */
export function unitNamed(name: string): IntervalUnit | null {
  const lower = name.toLowerCase()
  const known = Object.hasOwn(UNITS, lower) ? UNITS[lower] : undefined
  if (known !== undefined) return known
  const singular = lower.endsWith('s') ? lower.slice(0, -1) : ''
  return (Object.hasOwn(UNITS, singular) ? UNITS[singular] : undefined) ?? null
}

/** A text as the number that it contains: `toIntervalDay('1')` is a day. */
function countOfText(text: ResolvedExpr): ResolvedExpr {
  const constant = constantText(text)
  if (constant !== null && /^[+-]?\d{1,18}$/.test(constant)) return bindInt(BigInt(constant), true)
  return sql`ch_toint(${text})`(withNull(INT64))
}

/** `count` units as the engine's interval. */
export function intervalOf(count: ResolvedExpr, unit: IntervalUnit): ResolvedExpr {
  if (isText(count.type)) return intervalOf(countOfText(count), unit)
  const type: Type = { kind: 'interval', unit, nullable: count.type.nullable }
  if (count.kind === 'value' && typeof count.value === 'bigint') return bind(count.value, type)
  switch (unit) {
    case 'Second':
      return sql`to_seconds((${count})::DOUBLE)`(type)
    case 'Minute':
      return sql`to_minutes(trunc(${count})::BIGINT)`(type)
    case 'Hour':
      return sql`to_hours(trunc(${count})::BIGINT)`(type)
    case 'Day':
      return sql`to_days(trunc(${count})::INTEGER)`(type)
    case 'Week':
      return sql`to_days((7 * trunc(${count}))::INTEGER)`(type)
    case 'Month':
      return sql`to_months(trunc(${count})::INTEGER)`(type)
    case 'Quarter':
      return sql`to_months((3 * trunc(${count}))::INTEGER)`(type)
    case 'Year':
      return sql`to_years(trunc(${count})::INTEGER)`(type)
  }
}

/** The zone that an argument names, by default the project's. Refuses unknown ones and columns. */
export function zoneNamed(arg: ResolvedExpr | undefined, context: CompileContext): string {
  requireConstant(arg, 'The time zone')
  const name = constantText(arg)
  return name === null ? context.timezone : lookUpZone(name, context).name
}

/** The zone an instant is shown in. */
export function zoneOf(expr: ResolvedExpr, context: CompileContext): string {
  return expr.type.kind === 'datetime' ? expr.type.timezone : context.timezone
}

/**
 * The local time of an argument: dates as they are, instants in their zone, text parsed in the
 * project's zone.
 */
export function localOf(expr: ResolvedExpr | undefined, context: CompileContext): ResolvedExpr {
  const value = expr ?? NULL_VALUE
  if (value.type.kind === 'date') return value
  return toLocal(asInstant(value, zoneOf(value, context), context), context)
}

/** ClickHouse's format letters and the engine's; absent ones are equal. */
const LETTERS: Readonly<Record<string, string>> = {
  M: '%B',
  b: '%b',
  i: '%M',
  s: '%S',
  h: '%I',
  k: '%H',
  l: '%I',
  c: '%m',
  e: '%-d',
  D: '%m/%d/%y',
  F: '%Y-%m-%d',
  T: '%H:%M:%S',
  R: '%H:%M',
  r: '%I:%M %p',
  W: '%A',
  f: '%f',
  n: '\n',
  t: '\t',
  '%': '%%',
}

/** Translates a ClickHouse format. Refuses letters that the engine lacks. */
export function engineFormat(format: string): string {
  for (const [, letter = ''] of format.matchAll(/%(.)/gs)) {
    if (letter === 'C' || letter === 'g') {
      return refuseArguments(`The letter %${letter} is not supported in formats`)
    }
  }
  return format.replace(/%(.)/gs, (whole, letter: string) =>
    Object.hasOwn(LETTERS, letter) ? (LETTERS[letter] ?? whole) : whole,
  )
}

/** Truncates a local time or date to a unit; constants at compile time. */
export function truncateLocal(local: ResolvedExpr, unit: IntervalUnit, type: Type): ResolvedExpr {
  const as_date = type.kind === 'date'
  if (local.kind === 'value' && isTimeValue(local.value)) {
    const is_days = local.type.kind === 'date' && typeof local.value === 'bigint'
    const cut = startOfTime(is_days ? local.value * DAY_US : local.value, unit)
    return bind(as_date ? cut / DAY_US : cut, type)
  }
  if (as_date) return firstDay(local, unit, type)
  const name = bindText(unit.toLowerCase())
  if (local.type.kind === 'date') return sql`date_trunc(${name}, ${local}::TIMESTAMP)`(type)
  return sql`date_trunc(${name}, ${local})`(type)
}

/**
 * The first day of a local time's week, month, quarter or year. The engine's `date_trunc` goes through the fields of a
 * timestamp: a month takes 32 ns a row, the difference of two days 6.
 */
function firstDay(local: ResolvedExpr, unit: IntervalUnit, type: Type): ResolvedExpr {
  const day = local.type.kind === 'date' ? local : sql`(${local})::DATE`(type)
  if (unit === 'Week') return sql`(${day} - (isodow(${day}) - 1)::INTEGER)`(type)
  if (unit === 'Month') return sql`(${day} - (day(${day}) - 1)::INTEGER)`(type)
  if (unit === 'Year') return sql`(${day} - (dayofyear(${day}) - 1)::INTEGER)`(type)
  return sql`date_trunc(${bindText(unit.toLowerCase())}, ${local})::DATE`(type)
}

/** Monday 1970-01-05, the origin of weeks, or 1970-01-01 of other buckets, as engine timestamps. */
export function bucketOrigin(unit: IntervalUnit): ResolvedExpr {
  const origin = unit === 'Week' ? sql`TIMESTAMP '1970-01-05'` : sql`TIMESTAMP '1970-01-01'`
  return origin({ kind: 'datetime', precision: 6, timezone: 'UTC', nullable: false })
}

/** The type, nullable if any of the arguments is. */
export function nullableLike(type: Type, args: readonly ResolvedExpr[]): Type {
  return withNull(
    type,
    args.some((arg) => arg.type.nullable),
  )
}
