/** Parses dates: absolute (`2024-01-31`, ISO 8601) or relative (`-7d`, `-1mStart`), in a project's zone. */

import { refuseMember } from '../../errors.ts'
import { findZone, instantOfLocal, offsetAtInstant } from '../../hogql/times/zones.ts'
import { DAY_MS, END_INSTANT_US, FIRST_INSTANT_US, HOUR_MS } from '../../time.ts'

/** The zone and clock, on which relative dates and local times depend. */
export type DateContext = {
  /** IANA name. */
  readonly timezone: string
  readonly now: Date
}

/** `-7d`, `14d`, `dStart`, `-1mEnd`; the sign has no meaning, as in clients. */
const RELATIVE = /^-?(\d{1,4})?([hdwmqyMs])(Start|End)?$/

/** Matches a relative date; `today`, which agents write, is `-0d`: this moment, or the whole day in ranges. */
const matchRelative = (text: string): RegExpExecArray | null => {
  const trimmed = text.trim()
  return RELATIVE.exec(trimmed === 'today' ? '-0d' : trimmed)
}
const ABSOLUTE =
  /^(\d{4})-(\d{1,2})(?:-(\d{1,2}))?(?:[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?)?(Z|[+-]\d{2}:?\d{2})?$/

/** Parses an instant of the years 1 to 9999, µs since 1970; `attr` names the member in refusals. */
export function readDate(text: string, context: DateContext, attr: string): bigint {
  const instant_us = readAbsolute(text, context) ?? readRelative(text, context)
  if (instant_us !== null && isInRange(instant_us)) return instant_us
  throw refuseMember(`Not a date: ${JSON.stringify(text.slice(0, 100))}`, attr)
}

/** Whether an instant can be written as a text in queries: `-9999y` cannot. */
const isInRange = (at_us: bigint): boolean => FIRST_INSTANT_US <= at_us && at_us < END_INSTANT_US

function readAbsolute(text: string, context: DateContext): bigint | null {
  const match = ABSOLUTE.exec(text.trim())
  if (match === null) return null
  const [year, month, day, hour, minute, second] = match
    .slice(1, 7)
    .map((part) => Number(part ?? 0))
  const date = new Date(0)
  date.setUTCFullYear(year ?? 0, (month ?? 1) - 1, match[3] === undefined ? 1 : day)
  if (date.getUTCMonth() + 1 !== month || (hour ?? 0) > 24) return null
  if ((minute ?? 0) > 59 || (second ?? 0) > 60) return null
  const clock_ms = (((hour ?? 0) * 60 + (minute ?? 0)) * 60 + (second ?? 0)) * 1000
  const micros = BigInt((match[7] ?? '').slice(0, 6).padEnd(6, '0'))
  const local_us = BigInt(date.getTime() + clock_ms) * 1000n + micros
  const zone = match[8]
  return zone === undefined ? fromLocal(local_us, context) : local_us - offsetUs(zone)
}

/** `+02:00` in microseconds. */
function offsetUs(zone: string): bigint {
  if (zone === 'Z') return 0n
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(-2))
  return BigInt(zone.startsWith('-') ? -minutes : minutes) * 60_000_000n
}

/** Days, hours, months, minutes, quarters, seconds, weeks, years. */
export type Unit = 'd' | 'h' | 'm' | 'M' | 'q' | 's' | 'w' | 'y'

/** The length of each unit, in months or milliseconds. A quarter is thirteen weeks. */
const STEPS = {
  s: { ms: 1000 },
  M: { ms: 60_000 },
  h: { ms: HOUR_MS },
  d: { ms: DAY_MS },
  w: { ms: 7 * DAY_MS },
  q: { ms: 91 * DAY_MS },
  m: { months: 1 },
  y: { months: 12 },
} as const satisfies Record<Unit, { readonly ms: number } | { readonly months: number }>

const isUnit = (text: string): text is Unit => Object.hasOwn(STEPS, text)

/** The unit of a relative date, `d` of `-7d`; null for other texts. */
export function relativeUnit(text: string): Unit | null {
  const unit = matchRelative(text)?.[2] ?? ''
  return isUnit(unit) ? unit : null
}

function readRelative(text: string, context: DateContext): bigint | null {
  const [, count, unit = '', position] = matchRelative(text) ?? []
  if (!isUnit(unit)) return null
  // A unit without a count means the current one: `mStart` is the first of this month.
  const steps = Number(count ?? (position === undefined ? 1 : 0))
  const now_us = BigInt(context.now.getTime()) * 1000n
  const step = STEPS[unit]
  // Hours and shorter are durations; days and longer are dates of the zone's calendar.
  if ('ms' in step && step.ms < DAY_MS) {
    const at_us = now_us - BigInt(steps * step.ms) * 1000n
    return position === undefined ? at_us : atEdge(at_us, unit, position, context)
  }
  const local = localDate(now_us, context)
  const moved =
    'ms' in step
      ? new Date(local.getTime() - steps * step.ms)
      : monthsBefore(local, steps * step.months)
  const at_us = instantOf(moved, context)
  return position === undefined ? at_us : atEdge(at_us, unit, position, context)
}

/** The first or last microsecond of the day, month or year of an instant. */
function atEdge(at_us: bigint, unit: Unit, position: string, context: DateContext): bigint {
  const local = localDate(at_us, context)
  const [year, month] = [local.getUTCFullYear(), local.getUTCMonth()]
  const edges: Partial<Record<Unit, readonly [start: number, end: number]>> = {
    h: [floor(local, HOUR_MS), floor(local, HOUR_MS) + HOUR_MS],
    m: [Date.UTC(year, month), Date.UTC(year, month + 1)],
    y: [Date.UTC(year, 0), Date.UTC(year + 1, 0)],
  }
  const [start, end] = edges[unit] ?? [floor(local, DAY_MS), floor(local, DAY_MS) + DAY_MS]
  if (position === 'Start') return fromLocal(BigInt(start) * 1000n, context)
  return fromLocal(BigInt(end) * 1000n, context) - 1n
}

const floor = (date: Date, step_ms: number): number =>
  Math.floor(date.getTime() / step_ms) * step_ms

/** The same day of an earlier month, clamped to that month's last day. */
function monthsBefore(date: Date, months: number): Date {
  const moved = new Date(date)
  moved.setUTCDate(1)
  moved.setUTCMonth(moved.getUTCMonth() - months)
  const last = new Date(Date.UTC(moved.getUTCFullYear(), moved.getUTCMonth() + 1, 0)).getUTCDate()
  moved.setUTCDate(Math.min(date.getUTCDate(), last))
  return moved
}

/** The zone's local time as a UTC Date; millisecond precision. */
export function localDate(at_us: bigint, { timezone, now }: DateContext): Date {
  const zone = findZone(timezone, BigInt(now.getTime()) * 1000n)
  return new Date(Number(at_us / 1000n) + offsetAtInstant(zone, at_us) * 1000)
}

/**
 * The instant of a local time: the first of two for an ambiguous one, the moment of the jump for
 * one that does not exist.
 */
function fromLocal(local_us: bigint, { timezone, now }: DateContext): bigint {
  return instantOfLocal(findZone(timezone, BigInt(now.getTime()) * 1000n), local_us)
}

/** The instant of a local time that `localDate` gives. */
export function instantOf(local: Date, context: DateContext): bigint {
  return fromLocal(BigInt(local.getTime()) * 1000n, context)
}
