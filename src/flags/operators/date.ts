/** Dates in flag filters: ISO dates and date-times, and ages such as `-7d`. All in UTC. */
import { DAY_MS, HOUR_MS } from '../../time.ts'
import { asNumber, memoizeLast } from './value.ts'

type RelativeDate = { readonly amount: number; readonly unit: 'd' | 'h' | 'm' | 'w' | 'y' }

/** The bound of a date filter: a moment (milliseconds since 1970) or an age. */
type DateBound = { readonly kind: 'moment'; readonly ms: number } | RelativeBound
type RelativeBound = { readonly kind: 'relative'; readonly date: RelativeDate }

const AMOUNT_MAX = 10_000

const RELATIVE = /^-?(\d{1,9})([hdwmy])$/
/** Ruby writes UTC behind its times. */
const ISO =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s?(Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)?)?$/i

/** Parses a date filter's value; null if it is neither relative nor ISO. */
export function parseDateBound(value: unknown): DateBound | null {
  if (typeof value !== 'string') return null
  const relative = RELATIVE.exec(value)
  if (relative) {
    const amount = Number(relative[1])
    const unit = relative[2] as RelativeDate['unit']
    return amount < AMOUNT_MAX ? { kind: 'relative', date: { amount, unit } } : null
  }
  const ms = parseMoment(value)
  return ms === null ? null : { kind: 'moment', ms }
}

/** The bound in milliseconds since 1970; `now` likewise. */
export function boundAt(bound: DateBound, now: number): number {
  return bound.kind === 'moment' ? bound.ms : before(now, bound.date)
}

const parseMomentOnce = memoizeLast(parseMoment)

/** A property's moment in milliseconds: ISO text, or seconds since 1970 as a number or text; else null. */
export function parseDate(value: unknown): number | null {
  if (typeof value === 'string' && value[4] === '-') return parseMomentOnce(value)
  const seconds = asNumber(value)
  return seconds === null ? null : seconds * 1000
}

/** An ISO date or date-time as milliseconds since 1970 (with a fraction for finer digits); no zone means UTC. */
function parseMoment(text: string): number | null {
  const parts = ISO.exec(text)
  if (!parts) return null
  const [year, month, day] = [Number(parts[1]), Number(parts[2]), Number(parts[3])]
  const [hour, minute, second] = [
    Number(parts[4] ?? 0),
    Number(parts[5] ?? 0),
    Number(parts[6] ?? 0),
  ]
  const is_time = hour < 24 && minute < 60 && second < 60
  if (!is_time || month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return null
  // Date.UTC reads years below 100 as 19xx, so 400 years (146,097 days) are added before and subtracted after.
  const ms = Date.UTC(year + 400, month - 1, day, hour, minute, second) - 146_097 * DAY_MS
  const fraction_ms = parts[7] === undefined ? 0 : Number(`0.${parts[7]}`) * 1000
  return ms + fraction_ms - zoneMinutes(parts[8]) * 60_000
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

function zoneMinutes(zone: string | undefined): number {
  if (zone === undefined || /^[a-z]/i.test(zone)) return 0
  const digits = zone.replace(':', '')
  const minutes = Number(digits.slice(1, 3)) * 60 + Number(digits.slice(3, 5) || 0)
  return digits.startsWith('-') ? -minutes : minutes
}

function before(now: number, date: RelativeDate): number {
  const age_ms = fixedAge(date)
  if (age_ms !== null) return now - age_ms
  return date.unit === 'm' ? monthsBefore(now, date.amount) : yearsBefore(now, date.amount)
}

/** The age in milliseconds; null for months and years, which depend on the calendar. */
export function fixedAge({ amount, unit }: RelativeDate): number | null {
  switch (unit) {
    case 'h':
      return amount * HOUR_MS
    case 'd':
      return amount * DAY_MS
    case 'w':
      return amount * 7 * DAY_MS
    case 'm':
    case 'y':
      return null
  }
}

/**
 * Subtracts months one at a time and clamps the day after each, as the SDKs do:
 * March 31 minus two months is January 28, because of February in between.
 */
function monthsBefore(now: number, months: number): number {
  const date = new Date(now)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  let day = date.getUTCDate()
  for (let step = 1; step <= months && day > 28; step += 1) {
    day = Math.min(day, new Date(Date.UTC(year, month - step + 1, 0)).getUTCDate())
  }
  return date.setUTCFullYear(year, month - months, day)
}

function yearsBefore(now: number, years: number): number {
  const date = new Date(now)
  const is_leap_day = date.getUTCMonth() === 1 && date.getUTCDate() === 29
  const day = years > 0 && is_leap_day ? 28 : date.getUTCDate()
  return date.setUTCFullYear(date.getUTCFullYear() - years, date.getUTCMonth(), day)
}
