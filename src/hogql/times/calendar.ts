/** Calendar arithmetic on constants, at compile time, with the engine's results. */

import { Refusal } from '../../errors.ts'
import { END_INSTANT_US, FIRST_INSTANT_US, SECOND_US } from '../../time.ts'
import type { IntervalUnit, Type } from '../types/types.ts'

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

/** The longest interval in each unit: ten thousand years. */
const YEARS_MAX = 10_000n
const DAYS_MAX = (YEARS_MAX * 146_097n) / 400n

/** Refuses a constant time or date that is not of the years 1 to 9999, and an interval that is longer. */
export function requireInRange(value: bigint, type: Type): void {
  if (type.kind === 'interval') {
    const size = value < 0n ? -value : value
    if (size > longestOf(type.unit)) throw outOfRange()
  }
  const us = type.kind === 'date' ? value * WIDTH_US.Day : value
  const is_time = type.kind === 'date' || type.kind === 'datetime'
  if (is_time && (us < FIRST_INSTANT_US || us >= END_INSTANT_US)) throw outOfRange()
}

function longestOf(unit: IntervalUnit): bigint {
  if (unit === 'Month' || unit === 'Quarter' || unit === 'Year') {
    return (YEARS_MAX * 12n) / BigInt(MONTHS[unit])
  }
  return (DAYS_MAX * WIDTH_US.Day) / WIDTH_US[unit]
}

function outOfRange(): Refusal {
  const detail =
    'A time or an interval of the query is out of range: times are of the years 1 to 9999.'
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
