/**
 * Instant ↔ local time of a zone, as expressions: constants are computed here, columns by a CASE
 * over the zone's offsets.
 */

import { DAY_US } from '../../time.ts'
import type { CompileContext } from '../context.ts'
import type { InstantExpr, LocalTimeExpr, ResolvedExpr } from '../sql/ir.ts'
import { bind, bindInt, bindText, caseFragment, sql } from '../sql/sql-fragments.ts'
import { DATE, dateTimeType, INT64, TRUTH, type Type, withNull } from '../types/types.ts'
import { isBefore, isTimeValue, shiftBy, startOfTime, type TimeValue } from './relative-time.ts'
import {
  type Era,
  instantOfTime,
  localStart,
  lookUpZone,
  nowIn,
  offsetAtTime,
  offsetsDivide,
  type Zone,
} from './zones.ts'

/** The local time of an instant in its zone: a naive timestamp that only occurs inside other expressions. */
export function toLocal(instant: ResolvedExpr, context: CompileContext): ResolvedExpr {
  const { type } = instant
  if (type.kind !== 'datetime') return instant
  if (instant.kind === 'instant') return instant.local
  const zone = lookUpZone(type.timezone, context)
  if (isUtc(zone)) return instant
  if (instant.kind === 'value') {
    if (!isTimeValue(instant.value)) return instant
    const offset_s = offsetAtTime(zone, instant.value)
    return bind(shiftBy(instant.value, BigInt(offset_s) * 1_000_000n), type)
  }
  return { kind: 'local_time', of: instant, type }
}

/** The range in which a result must be right; another condition excludes rows outside of it. */
type Within = { readonly from_us: TimeValue | null; readonly until_us: TimeValue | null }

/** Prints a local time: a CASE over offsets around now, the engine's ICU outside of that window. */
export function printLocalTime(
  { of, type }: LocalTimeExpr,
  context: CompileContext,
  within: Within | null = null,
): ResolvedExpr {
  if (type.kind !== 'datetime') throw new Error('a local time is of a datetime')
  const zone = lookUpZone(type.timezone, context)
  const stretch = stretchOf(zone, within ?? { from_us: null, until_us: null })
  return readOnce(of, (at) =>
    zone.is_fixed ? shiftToLocal(at, zone.eras[0]) : addOffset(at, stretch, nowIn(context)),
  )
}

/** The instant of a local time in the zone. */
export function fromLocal(
  local: ResolvedExpr,
  timezone: string,
  context: CompileContext,
): ResolvedExpr {
  const zone = lookUpZone(timezone, context)
  const type = withNull(dateTimeType(timezone), local.type.nullable)
  if (local.kind === 'value' && isTimeValue(local.value)) {
    return bind(instantOfTime(zone, local.value), type)
  }
  if (isUtc(zone)) return { ...local, type }
  return { kind: 'instant', local, type }
}

/** Prints the instant of a local time, by the inverse CASE. */
export function printInstant(instant: InstantExpr, context: CompileContext): ResolvedExpr {
  const { local, type } = instant
  if (type.kind !== 'datetime') throw new Error('an instant is a datetime')
  const zone = lookUpZone(type.timezone, context)
  return readOnce(local, (at) => subtractOffset(at, zone, type, nowIn(context)))
}

/** The zone's offset from UTC at an instant, in seconds. */
export function offsetOf(instant: ResolvedExpr, context: CompileContext): ResolvedExpr {
  const type = withNull(INT64, instant.type.nullable)
  return sql`epoch(${toLocal(instant, context)} - ${instant})::BIGINT`(type)
}

/** Whether truncating UTC time to steps of `step_s` seconds equals truncating the zone's local time. */
export function truncatesInUtc(timezone: string, step_s: number, context: CompileContext): boolean {
  const zone = lookUpZone(timezone, context)
  return isUtc(zone) || (step_s <= 3600 && offsetsDivide(zone, step_s))
}

/** The instant of a date's midnight in a zone. */
export function startOfDate(
  date: ResolvedExpr,
  timezone: string,
  context: CompileContext,
): ResolvedExpr {
  const type = withNull(dateTimeType(timezone), date.type.nullable)
  if (date.kind === 'value' && typeof date.value === 'bigint') {
    return fromLocal(bind(date.value * DAY_US, type), timezone, context)
  }
  return fromLocal(sql`(${date})::TIMESTAMP`(type), timezone, context)
}

/** The local date of an instant. */
export function dateOf(instant: ResolvedExpr, context: CompileContext): ResolvedExpr {
  const local = toLocal(instant, context)
  const type = withNull(DATE, instant.type.nullable)
  if (local.kind === 'value' && isTimeValue(local.value)) {
    return bind(startOfTime(local.value, 'Day') / DAY_US, type)
  }
  return sql`(${local})::DATE`(type)
}

function isUtc(zone: Zone): boolean {
  return zone.is_fixed && zone.eras[0].offset_s === 0
}

/**
 * A CASE reads its argument many times: anything but a column is bound first, as the parameter of a
 * lambda over a one-element list.
 */
function readOnce(expr: ResolvedExpr, build: (at: ResolvedExpr) => ResolvedExpr): ResolvedExpr {
  if (expr.kind === 'column' || expr.kind === 'local') return build(expr)
  // Id 0 is free: parameters of user lambdas count from 1, and these lambdas never nest.
  const at: ResolvedExpr = { kind: 'local', id: 0, type: expr.type }
  const body = build(at)
  return sql`list_transform([${expr}], lambda ${at}: ${body})[1]`(body.type)
}

/** The eras of a zone within a range, and whether instants outside of them can occur. */
type Stretch = {
  readonly zone: Zone
  readonly eras: readonly Era[]
  readonly is_below: boolean
  readonly is_above: boolean
}

function stretchOf(zone: Zone, { from_us, until_us }: Within): Stretch {
  const eras = zone.eras.filter((era, index) => {
    const end_us = zone.eras[index + 1]?.from_us ?? zone.until_us
    return (
      (from_us === null || isBefore(from_us, end_us)) &&
      (until_us === null || isBefore(era.from_us, until_us))
    )
  })
  const is_below = from_us === null || isBefore(from_us, zone.eras[0].from_us)
  const is_above = until_us === null || isBefore(zone.until_us, until_us)
  return { zone, eras, is_below, is_above }
}

/** A value and the instant or local time from which it applies; null for the first. */
type Start = readonly [ResolvedExpr | null, ResolvedExpr]

function addOffset(
  at: ResolvedExpr,
  { zone, eras, is_below, is_above }: Stretch,
  now: TimeValue,
): ResolvedExpr {
  const { type } = at
  const outside = sql`timezone(${bindText(zone.name)}, timezone('UTC', ${at}))`(type)
  const starts = eras.map((era): Start => [bind(era.from_us, type), shiftToLocal(at, era)])
  const to_come = eras.filter((era) => isBefore(now, era.from_us)).length
  const last: readonly Start[] = is_above ? [[bind(zone.until_us, type), outside]] : []
  return splitAtNow(at, [...starts, ...last], {
    to_come: to_come + last.length,
    before: is_below ? outside : null,
  })
}

function subtractOffset(at: ResolvedExpr, zone: Zone, type: Type, now: TimeValue): ResolvedExpr {
  if (zone.is_fixed) return shiftToUtc(at, zone.eras[0], type)
  const outside = sql`timezone('UTC', timezone(${bindText(zone.name)}, ${at}))`(type)
  const starts = zone.eras.map(
    (era, index): Start => [bind(localStart(zone, index), type), shiftToUtc(at, era, type)],
  )
  const to_come = zone.eras.filter((era) => isBefore(now, era.from_us)).length + 1
  const last: Start = [bind(zone.until_us, type), outside]
  return splitAtNow(at, [...starts, last], { to_come, before: outside })
}

/**
 * Binary decision at now, since most rows are of the current era or earlier: one comparison
 * separates the `to_come` last starts.
 */
function splitAtNow(
  at: ResolvedExpr,
  starts: readonly Start[],
  { to_come, before }: { readonly to_come: number; readonly before: ResolvedExpr | null },
): ResolvedExpr {
  const newest_first = starts.toReversed()
  const later = newest_first.slice(0, to_come)
  const split = later.at(-1)?.[0]
  const ahead: readonly Start[] = split === undefined ? [] : [[split, latestOf(at, later)]]
  const eldest: readonly Start[] = before === null ? [] : [[null, before]]
  return latestOf(at, [...ahead, ...newest_first.slice(to_come), ...eldest])
}

/** The value of the last start that is not after `at`; the first start needs no comparison. */
function latestOf(at: ResolvedExpr, starts: readonly Start[]): ResolvedExpr {
  const [, otherwise] = starts.at(-1) ?? [null, at]
  const branches = starts
    .slice(0, -1)
    .flatMap(([from, value]) =>
      from === null ? [] : [[sql`${at} >= ${from}`(TRUTH), value] as const],
    )
  return branches.length === 0 ? otherwise : caseFragment(null, branches, otherwise)
}

function shiftToLocal(at: ResolvedExpr, era: Era): ResolvedExpr {
  return sql`(${at} + to_seconds(${offset(era.offset_s)}))`(at.type)
}

function shiftToUtc(at: ResolvedExpr, era: Era, type: Type): ResolvedExpr {
  return sql`(${at} - to_seconds(${offset(era.offset_s)}))`(type)
}

function offset(offset_s: number): ResolvedExpr {
  return bindInt(offset_s, true)
}
