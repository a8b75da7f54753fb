/** The time of an event, from the clocks of client and server. Times are µs since 1970 UTC. */
import { DAY_MS } from '../../time.ts'
import type { WarningType } from '../notes/warnings.ts'

/** Events further ahead of the server's clock get the time of receipt. */
const FUTURE_MAX_US = 23 * 3600 * 1_000_000

const DATE_TIME =
  /^(\d{4})[-/]?(\d{2})[-/]?(\d{2})(?:[Tt ]\s*(\d{2})(?::?(\d{2})(?::?(\d{2})(?:[.,](\d{1,9})\d*)?)?)?)?\s*(Z|z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)?$/
const WEEK_DATE = /^(\d{4})-?W(\d{2})-?([1-7])?(.*)$/
const ORDINAL_DATE = /^(\d{4})-(\d{3})(?!\d)(.*)$/
const MAIL_DATE = /^(?:[A-Za-z]{3},? )?((\d{1,2}) [A-Za-z]{3} \d{4}) \d{2}:\d{2}(.*)$/
/** The zone of a mail date, which a comment may follow; AM and PM are none. */
const ZONE = /[+-]\d{2}:?\d{2}|\b(?:[A-Z]{3,4}|UT|Z)\b/i
const NUMBER = /^-?\d{9,20}(?:\.\d+)?$/

/** The times in an event and its request. */
type TimeClaims = {
  readonly timestamp: unknown
  readonly offset: unknown
  readonly ignores_sent_at: boolean
  /** Time of sending by the client's clock; null if missing. */
  readonly sent_at: number | null
  /** Time of receipt by the server's clock. */
  readonly now: number
}

type ResolvedTime = { readonly timestamp: number; readonly warning: WarningType | null }

/**
 * The time to store: `timestamp` corrected by the skew of the client's clock (`now - sent_at`), never far in the
 * future. An invalid or missing time gives the time of receipt.
 */
export function resolveTimestamp(claims: TimeClaims): ResolvedTime {
  const { now, sent_at } = claims
  let timestamp = now
  let warning: WarningType | null = null
  if (claims.timestamp !== undefined && claims.timestamp !== null && claims.timestamp !== '') {
    const client_time = parseTimestamp(claims.timestamp)
    if (client_time === null) warning = 'ignored_invalid_timestamp'
    else if (sent_at !== null && !claims.ignores_sent_at) timestamp = now + (client_time - sent_at)
    else timestamp = client_time
  }
  if (typeof claims.offset === 'number' && Number.isFinite(claims.offset) && claims.offset !== 0) {
    timestamp = now - Math.round(claims.offset * 1000)
  }
  if (timestamp > now + FUTURE_MAX_US)
    return { timestamp: now, warning: 'event_timestamp_in_future' }
  return { timestamp: Math.max(timestamp, EARLIEST_US), warning }
}

/** The start of year 1, the first date that SQLite, DuckDB and JavaScript can all print. */
const EARLIEST_US = Date.parse('0001-01-01T00:00:00Z') * 1000

/** Reads a time in any accepted form (ISO 8601 with its week and ordinal dates, also with slashes; mail dates, Unix numbers), or null. */
export function parseTimestamp(value: unknown): number | null {
  if (typeof value === 'number') return fromNumber(value)
  if (typeof value !== 'string') return null
  const iso = value.length === 24 ? fromIsoMillis(value) : null
  if (iso !== null) return iso
  const text = value.trim()
  return fromDateTime(text) ?? fromWeekDate(text) ?? fromOrdinalDate(text) ?? fromOther(text)
}

/** Parses `2026-01-02T03:04:05.678Z`, the form that SDKs send, by hand: ten times faster than the pattern. */
function fromIsoMillis(text: string): number | null {
  const year = digits(text, 0, 4)
  const month = digits(text, 5, 2)
  const day = digits(text, 8, 2)
  const hour = digits(text, 11, 2)
  const minute = digits(text, 14, 2)
  const second = digits(text, 17, 2)
  const millisecond = digits(text, 20, 3)
  const is_punctuated =
    text.charCodeAt(4) === DASH &&
    text.charCodeAt(7) === DASH &&
    text.charCodeAt(10) === CAPITAL_T &&
    text.charCodeAt(13) === COLON &&
    text.charCodeAt(16) === COLON &&
    text.charCodeAt(19) === DOT &&
    text.charCodeAt(23) === CAPITAL_Z
  // Leap days, leap seconds and non-digits are left to the pattern.
  const is_plain = year >= 100 && day >= 1 && day <= (MONTH_DAYS[month - 1] ?? 0)
  if (!is_punctuated || !is_plain || hour > 23 || minute > 59 || second > 59) return null
  if (Number.isNaN(hour + minute + second + millisecond)) return null
  return Date.UTC(year, month - 1, day, hour, minute, second, millisecond) * 1000
}

const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

const [DASH, DOT, COLON, CAPITAL_T, CAPITAL_Z] = [45, 46, 58, 84, 90]
const ZERO = 48

/** Parses decimal digits; NaN if a character is not a digit. */
function digits(text: string, start: number, count: number): number {
  let number = 0
  for (let index = start; index < start + count; index += 1) {
    const digit = text.charCodeAt(index) - ZERO
    if (digit < 0 || digit > 9) return Number.NaN
    number = number * 10 + digit
  }
  return number
}

/** Reads a Unix time in seconds, milliseconds, microseconds or, as Go prints it, nanoseconds, distinguished by its size. */
function fromNumber(value: number): number | null {
  if (!Number.isFinite(value)) return null
  const size = Math.abs(value)
  if (size < 1e11) return Math.round(value * 1_000_000)
  if (size < 1e14) return Math.round(value * 1000)
  if (size < 1e17) return Math.round(value)
  return size < 1e20 ? Math.round(value / 1000) : null
}

function fromDateTime(text: string): number | null {
  const parts = DATE_TIME.exec(text)
  if (parts === null) return null
  const [year, month, day] = [Number(parts[1]), Number(parts[2]), Number(parts[3])]
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) {
    return null
  }
  const time = timeOfDay(parts[4], parts[5], parts[6])
  const zone = zoneMinutes(parts[8])
  if (time === null || zone === null) return null
  const fraction_us = Number((parts[7] ?? '').slice(0, 6).padEnd(6, '0'))
  return (date.getTime() + time - zone * 60_000) * 1000 + fraction_us
}

function timeOfDay(hour = '0', minute = '0', second = '0'): number | null {
  const [h, m, s] = [Number(hour), Number(minute), Number(second)]
  // Second 60 is a leap second: it becomes second 0 of the next minute.
  return h > 23 || m > 59 || s > 60 ? null : ((h * 60 + m) * 60 + s) * 1000
}

function zoneMinutes(zone: string | undefined): number | null {
  if (zone === undefined || !/^[+-]/.test(zone)) return 0
  const numbers = zone.slice(1).replace(':', '').padEnd(4, '0')
  const [hours, minutes] = [Number(numbers.slice(0, 2)), Number(numbers.slice(2))]
  if (hours > 23 || minutes > 59) return null
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes)
}

function fromWeekDate(text: string): number | null {
  const parts = WEEK_DATE.exec(text)
  if (parts === null) return null
  const [year, week, day] = [Number(parts[1]), Number(parts[2]), Number(parts[3] ?? '1')]
  if (week < 1 || week > 53) return null
  // By ISO 8601, January 4th is always in week 1.
  const fourth = new Date(0)
  fourth.setUTCFullYear(year, 0, 4)
  const weekday = fourth.getUTCDay() === 0 ? 7 : fourth.getUTCDay()
  const date = fourth.getTime() + ((week - 1) * 7 + day - weekday) * DAY_MS
  return fromDateTime(`${isoDate(date)}${parts[4] ?? ''}`)
}

function fromOrdinalDate(text: string): number | null {
  const parts = ORDINAL_DATE.exec(text)
  if (parts === null) return null
  const [year, day] = [Number(parts[1]), Number(parts[2])]
  const date = new Date(0)
  date.setUTCFullYear(year, 0, day)
  if (day < 1 || date.getUTCFullYear() !== year) return null
  return fromDateTime(`${isoDate(date.getTime())}${parts[3] ?? ''}`)
}

function fromOther(text: string): number | null {
  if (NUMBER.test(text)) return fromNumber(Number(text))
  const [, date, day, rest = ''] = MAIL_DATE.exec(text) ?? []
  // `Date.parse` takes the 31st of February for the 3rd of March.
  if (new Date(`${date} 00:00 GMT`).getUTCDate() !== Number(day)) return null
  // It reads a time without a zone in that of this machine.
  const moment = Date.parse(ZONE.test(rest) ? text : `${text} GMT`)
  return Number.isNaN(moment) ? null : moment * 1000
}

function isoDate(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(0, 10)
}
