/** Numbers, durations and times as text. Buckets of charts come in project time without a zone: they are read and shown as UTC. */
import { now } from '../state/clock.ts'

const LOCALE = 'en-GB'
const WHOLE = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 0 })
const FRACTION = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 2 })
const SMALL = new Intl.NumberFormat(LOCALE, { maximumSignificantDigits: 3 })
const COMPACT = new Intl.NumberFormat(LOCALE, { notation: 'compact', maximumFractionDigits: 1 })

/** `1934` → `1,934`; `0.5` → `0.5`; no number → `–`. */
export function formatNumber(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–'
  if (Number.isInteger(value)) return WHOLE.format(value)
  return (Math.abs(value) < 0.1 ? SMALL : FRACTION).format(value)
}

/** For figures and axes: `1,934`, but `12.3K` and `4.5M`. */
export function formatCompact(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–'
  return Math.abs(value) < 10_000 ? formatNumber(value) : COMPACT.format(value).toUpperCase()
}

/** A ratio as percent, with as many digits as its neighbours in a column: `0.4956` → `49.6%`, `0.44` → `44.0%`, but `1` → `100%`. */
export function formatPercent(ratio: number | null | undefined, digits = 1): string {
  if (ratio === null || ratio === undefined || !Number.isFinite(ratio)) return '–'
  const minimumFractionDigits = Number.isInteger(ratio) ? 0 : digits
  const style = { style: 'percent', minimumFractionDigits, maximumFractionDigits: digits } as const
  return new Intl.NumberFormat(LOCALE, style).format(ratio)
}

const MINUTE_S = 60
const HOUR_S = 3600
const DAY_S = 86_400

/** Seconds as the two largest units: `0.35` → `350ms`, `110` → `1m 50s`, `7500` → `2h 5m`, on one line. */
export function formatDuration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return '–'
  if (seconds < 0) return `−${formatDuration(-seconds)}`
  if (seconds === 0) return '0s'
  if (seconds < 1) return `${Math.round(seconds * 1000)}ms`
  if (seconds < 10) return `${FRACTION.format(Math.round(seconds * 10) / 10)}s`
  const whole = Math.round(seconds)
  if (whole < MINUTE_S) return `${whole}s`
  if (whole < HOUR_S) return formatTwoUnits(whole, [MINUTE_S, 'm'], [1, 's'])
  if (whole < DAY_S) return formatTwoUnits(whole, [HOUR_S, 'h'], [MINUTE_S, 'm'])
  return formatTwoUnits(whole, [DAY_S, 'd'], [HOUR_S, 'h'])
}

const NO_BREAK_SPACE = '\u00a0'

type UnitOf = readonly [seconds: number, name: string]

function formatTwoUnits(
  seconds: number,
  [large, name]: UnitOf,
  [small, small_name]: UnitOf,
): string {
  const rest = Math.floor((seconds % large) / small)
  const first = `${Math.floor(seconds / large)}${name}`
  return rest === 0 ? first : `${first}${NO_BREAK_SPACE}${rest}${small_name}`
}

const BACK = /^-(\d+)([hdwmy])$/
const BACK_UNITS: Readonly<Record<string, string>> = {
  h: 'hour',
  d: 'day',
  w: 'week',
  m: 'month',
  y: 'year',
}

/** A time back from now as the API writes it: `-3d` → `3 days`; null for any other text. */
export function formatBack(text: string): string | null {
  const [, count, unit = ''] = BACK.exec(text) ?? []
  return count === undefined ? null : `${count} ${BACK_UNITS[unit]}${count === '1' ? '' : 's'}`
}

export type TimeInterval = 'minute' | 'hour' | 'day' | 'week' | 'month'

/** The format of times that are read as UTC, made once: Chromium takes 160 µs to make one, and 2 µs to format a date. */
export const utcFormat = (options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat(LOCALE, { ...options, timeZone: 'UTC' })

const TIME_OF_DAY = utcFormat({
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
})

const BUCKET: Readonly<Record<TimeInterval, Intl.DateTimeFormat>> = {
  minute: TIME_OF_DAY,
  hour: TIME_OF_DAY,
  day: utcFormat({ weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' }),
  week: utcFormat({ day: 'numeric', month: 'short', year: 'numeric' }),
  month: utcFormat({ month: 'long', year: 'numeric' }),
}

/** The beginning of a bucket in project time: `2026-11-23` by day → `Mon, 23 Nov 2026`. A text that is no date stays. */
export function formatBucket(text: string, interval: TimeInterval): string {
  const date = readProjectTime(text)
  if (date === null) return text
  const shown = BUCKET[interval].format(date)
  return interval === 'week' ? `Week of ${shown}` : shown
}

/** Reads a time without a zone, `2026-11-23` or `2026-11-23 14:00:00`, as if it were UTC; null when it is none. */
export function readProjectTime(text: string): Date | null {
  const [, day, time = '00:00:00'] =
    /^(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2}:\d{2}))?/.exec(text) ?? []
  const date = new Date(`${day}T${time}Z`)
  return Number.isNaN(date.getTime()) ? null : date
}

/** An instant in the project's zone: `23 Nov 2026, 14:05:09`. */
export function formatMoment(iso: string, timezone: string): string {
  const date = new Date(iso)
  if (Number.isNaN(date.getTime())) return iso
  return momentFormat(timezone, MOMENT).format(date)
}

/** The time of day of a moment in a time zone, with seconds. A text that is no date stays. */
export function formatTime(iso: string, timezone: string): string {
  const date = new Date(iso)
  if (Number.isNaN(date.getTime())) return iso
  return momentFormat(timezone, TIME).format(date)
}

/** The day of an instant in a time zone: `2026-11-23`. */
export function projectDay(iso: string, timezone: string): string {
  const parts = momentFormat(timezone, DAY).formatToParts(new Date(iso))
  const partOf = (type: string): string => parts.find((part) => part.type === type)?.value ?? ''
  return `${partOf('year')}-${partOf('month')}-${partOf('day')}`
}

const DAY: Intl.DateTimeFormatOptions = { year: 'numeric', month: '2-digit', day: '2-digit' }
const MOMENT: Intl.DateTimeFormatOptions = { dateStyle: 'medium', timeStyle: 'medium' }
const TIME: Intl.DateTimeFormatOptions = { timeStyle: 'medium' }

function momentFormat(timezone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat(LOCALE, { ...options, timeZone: timezone })
  } catch {
    // The server may know a zone that this browser does not.
    return new Intl.DateTimeFormat(LOCALE, { ...options, timeZone: 'UTC' })
  }
}

const AGO = new Intl.RelativeTimeFormat(LOCALE, { numeric: 'auto', style: 'short' })
/** Of months and years, whose short form is hard to read: `last mo`. */
const LONG_AGO = new Intl.RelativeTimeFormat(LOCALE, { numeric: 'auto' })

const AGO_STEPS: readonly (readonly [
  limit_s: number,
  seconds: number,
  unit: Intl.RelativeTimeFormatUnit,
])[] = [
  [MINUTE_S, 1, 'second'],
  [HOUR_S, MINUTE_S, 'minute'],
  [DAY_S, HOUR_S, 'hour'],
  [30 * DAY_S, DAY_S, 'day'],
  [365 * DAY_S, 30 * DAY_S, 'month'],
  [Number.POSITIVE_INFINITY, 365 * DAY_S, 'year'],
]

/** The server's time is known to the second: an event that has just come in may seem to be ahead. */
const AHEAD_S = 2

/** The time since an instant: `5 min ago`, `yesterday`, `last month`, in units that are over. The time until an instant is rounded: `in 3 days` a second later too. */
export function formatAgo(iso: string, at: Date = now()): string {
  const distance_s = (new Date(iso).getTime() - at.getTime()) / 1000
  const seconds = distance_s > 0 && distance_s < AHEAD_S ? 0 : distance_s
  if (Number.isNaN(seconds)) return iso
  const size = Math.abs(seconds)
  // Half a unit more, then truncated, rounds.
  const rounding = seconds > 0 ? 0.5 : 0
  const [, step, unit] = AGO_STEPS.find(([limit, step_s]) => size + rounding * step_s < limit) ?? [
    0,
    1,
    'second' as const,
  ]
  const format = unit === 'month' || unit === 'year' ? LONG_AGO : AGO
  return format.format(Math.trunc(seconds / step + rounding), unit)
}
