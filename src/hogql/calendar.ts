/** Calendar arithmetic on constants, at compile time, with the engine's results. */

import { Refusal } from '../errors.ts'
import { SECOND_US } from '../time.ts'
import type { IntervalUnit, Type } from './types.ts'

const WIDTH_US = {
  Second: SECOND_US,
  Minute: 60n * SECOND_US,
  Hour: 3600n * SECOND_US,
  Day: 86_400n * SECOND_US,
  Week: 604_800n * SECOND_US,
} as const satisfies Partial<Record<IntervalUnit, bigint>>

const MONTHS = { Month: 1, Quarter: 3, Year: 12 } as const
/** 1970-01-05 was a Monday. */
const FIRST_MONDAY_US = 4n * WIDTH_US.Day

/** Times within 275,000 years of 1970, which is also the range of `Date`. */
const INSTANT_MAX_US = 8_640_000_000_000_000_000n
const DAYS_MAX = INSTANT_MAX_US / WIDTH_US.Day
/**
 * Counts of seconds, minutes or hours are limited by width; of days to years by the engine's 32-bit
 * count.
 */
const CLOCK_UNITS: ReadonlySet<IntervalUnit> = new Set(['Second', 'Minute', 'Hour'])
const CALENDAR_UNITS_MAX = 300_000_000n

/** Refuses a constant time, date or interval that the engine cannot represent. */
export function requireInRange(value: bigint, type: Type): void {
  const size = value < 0n ? -value : value
  if (type.kind === 'datetime' && size > INSTANT_MAX_US) throw outOfRange()
  if (type.kind === 'date' && size > DAYS_MAX) throw outOfRange()
  if (type.kind !== 'interval') return
  const max = CLOCK_UNITS.has(type.unit) ? INSTANT_MAX_US / widthOf(type.unit) : CALENDAR_UNITS_MAX
  if (size > max) throw outOfRange()
}

const widthOf = (unit: IntervalUnit): bigint => (unit in WIDTH_US ? WIDTH_US[unit as Fixed] : 1n)

type Fixed = keyof typeof WIDTH_US

function outOfRange(): Refusal {
  const detail = 'A time or an interval of the query is out of range'
  return new Refusal('invalid_input', detail, { attr: 'query' })
}

/** The start of the unit a local time (µs since 1970) lies in; weeks start on Monday. */
export function startOfUnit(local_us: bigint, unit: IntervalUnit): bigint {
  if (unit === 'Month' || unit === 'Quarter' || unit === 'Year') {
    const at = new Date(Number(floorDivide(local_us, 1000n)))
    const months = MONTHS[unit]
    const month = Math.floor(at.getUTCMonth() / months) * months
    return BigInt(utc(at.getUTCFullYear(), month, 1)) * 1000n
  }
  const width = WIDTH_US[unit]
  const origin = unit === 'Week' ? FIRST_MONDAY_US : 0n
  return floorDivide(local_us - origin, width) * width + origin
}

/**
 * A local time plus some units. Adding months clamps the day: January 31st plus one month is
 * February's last day.
 */
export function addUnits(local_us: bigint, count: bigint, unit: IntervalUnit): bigint {
  if (unit !== 'Month' && unit !== 'Quarter' && unit !== 'Year') {
    return local_us + count * WIDTH_US[unit]
  }
  const day = startOfUnit(local_us, 'Day')
  const at = new Date(Number(day / 1000n))
  const month = at.getUTCMonth() + Number(count) * MONTHS[unit]
  const last = new Date(utc(at.getUTCFullYear(), month + 1, 0)).getUTCDate()
  const moved = utc(at.getUTCFullYear(), month, Math.min(at.getUTCDate(), last))
  return BigInt(moved) * 1000n + (local_us - day)
}

/** `Date.UTC` without its reading of years 0 to 99 as 19xx. */
function utc(year: number, month: number, day: number): number {
  const at = new Date(0)
  const time_ms = at.setUTCFullYear(year, month, day)
  if (Number.isNaN(time_ms)) throw outOfRange()
  return time_ms
}

function floorDivide(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor
  return dividend % divisor < 0n ? quotient - 1n : quotient
}
