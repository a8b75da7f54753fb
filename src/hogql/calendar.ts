/** Calendar arithmetic on constants: what the engine would do with them, done while the text is compiled. */

import type { IntervalUnit } from './types.ts'

const SECOND_US = 1_000_000n
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

/** A local time moved by some units; the last days of longer months end up on the last day of shorter ones. */
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
  return at.setUTCFullYear(year, month, day)
}

function floorDivide(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor
  return dividend % divisor < 0n ? quotient - 1n : quotient
}
