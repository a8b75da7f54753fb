/** The data of charts (buckets, series, marks), and the conversion of an answer's days to buckets. */
import { now } from '../../state/clock.ts'
import { formatBucket, readProjectTime, type TimeInterval, utcFormat } from '../format.ts'

/** One place on the horizontal axis. */
export type ChartBucket = {
  /** In a tooltip: `Mon, 23 Nov 2026`. */
  readonly text: string
  /** Under the axis: `23 Nov`. */
  readonly short: string
}

export type ChartSeries = {
  readonly key: string
  readonly name: string
  /** One per bucket; null where there is none. */
  readonly values: readonly (number | null)[]
  /** The index of its colour; series of one thing share it. */
  readonly colour: number
  /** The period before: faint and dashed, with buckets of its own. */
  readonly is_previous?: boolean
  readonly buckets?: readonly ChartBucket[]
}

/** A note at a bucket. */
export type ChartMark = { readonly key: string; readonly bucket: number; readonly text: string }

const SERIES_COLOURS = 8

/** The token of a series' colour. */
export function seriesColour(index: number): string {
  return `var(--series-${(index % SERIES_COLOURS) + 1})`
}

/** Series from the fourth on are dashed, so that colour is never the only difference. */
export function seriesDash(index: number): readonly number[] {
  return DASHES[index % DASHES.length] ?? []
}

const DASHES: readonly (readonly number[])[] = [
  [],
  [],
  [],
  [8, 4],
  [2, 4],
  [10, 4, 2, 4],
  [14, 5],
  [5, 3],
]

/** Buckets of days as answers write them, in project time. */
export function timeBuckets(
  days: readonly string[],
  interval: TimeInterval,
): readonly ChartBucket[] {
  return days.map((day) => ({
    text: formatBucket(day, interval),
    short: shortBucket(day, interval),
  }))
}

const SHORT_TIME = utcFormat({ hour: '2-digit', minute: '2-digit' })
const SHORT_DAY = utcFormat({ day: 'numeric', month: 'short' })

const SHORT: Readonly<Record<TimeInterval, Intl.DateTimeFormat>> = {
  minute: SHORT_TIME,
  hour: SHORT_TIME,
  day: SHORT_DAY,
  week: SHORT_DAY,
  month: utcFormat({ month: 'short', year: 'numeric' }),
}

/** Within a day, midnight is shown as its date. */
function shortBucket(day: string, interval: TimeInterval): string {
  const date = readProjectTime(day)
  if (date === null) return day
  const is_midnight = date.getUTCHours() === 0 && date.getUTCMinutes() === 0
  const is_time = interval === 'hour' || interval === 'minute'
  return (is_time && is_midnight ? SHORT_DAY : SHORT[interval]).format(date)
}

/**
 * Whether the last bucket is not over yet: it contains the current instant, read in the project's zone.
 */
export function isIncomplete(
  last_day: string | undefined,
  interval: TimeInterval,
  timezone: string,
  at: Date = now(),
): boolean {
  const start = last_day === undefined ? null : readProjectTime(last_day)
  if (start === null) return false
  const end = new Date(start)
  if (interval === 'month') end.setUTCMonth(end.getUTCMonth() + 1)
  else end.setTime(end.getTime() + LENGTH_MS[interval])
  const here = inZone(at, timezone)
  return start <= here && here < end
}

const HOUR_MS = 3_600_000
const LENGTH_MS = {
  minute: HOUR_MS / 60,
  hour: HOUR_MS,
  day: 24 * HOUR_MS,
  week: 7 * 24 * HOUR_MS,
} as const

/** The clock's reading in a zone, as if it were UTC: the form of buckets. */
export function inZone(at: Date, timezone: string): Date {
  try {
    const text = new Intl.DateTimeFormat('sv-SE', {
      timeZone: timezone,
      dateStyle: 'short',
      timeStyle: 'medium',
    }).format(at)
    return readProjectTime(text) ?? at
  } catch {
    // The server may know a zone that this browser does not.
    return at
  }
}

/** Longer names do not fit beside a line. */
export const LONG_NAME = 18
const SAME_MIN = 8
const IN_WORD = /[\p{L}\p{N}]/u

/**
 * Names for narrow places. Long ones that begin alike keep their different ends: `https://shop.example/pricing` →
 * `…/pricing` beside `…/about`.
 */
export function shortNames(names: readonly string[]): readonly string[] {
  const long = [...new Set(names.filter((name) => name.length > LONG_NAME))]
  const [first = '', ...others] = long
  let same = others.length === 0 ? 0 : first.length
  for (const other of others) {
    while (!other.startsWith(first.slice(0, same))) same -= 1
  }
  // Back to the last separator, so that no word is cut.
  let cut = same
  while (cut > 0 && IN_WORD.test(first.charAt(cut - 1))) cut -= 1
  cut = Math.max(0, cut - 1)
  if (cut < SAME_MIN) return names
  return names.map((name) => (name.length > LONG_NAME ? `…${name.slice(cut)}` : name))
}

/** Stacks values: each becomes its upper edge, negative ones their lower edge. */
export function stackValues(
  all: readonly (readonly (number | null)[])[],
): readonly (readonly (number | null)[])[] {
  const above: number[] = []
  const below: number[] = []
  return all.map((values) =>
    values.map((value, index) => {
      if (value === null) return null
      const side = value < 0 ? below : above
      const edge = (side[index] ?? 0) + value
      side[index] = edge
      return edge
    }),
  )
}
