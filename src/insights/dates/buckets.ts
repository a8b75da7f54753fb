/**
 * Buckets: the intervals of a time axis, minutes to months in the project's time zone, and the
 * bucket of an event.
 */

import type { Interval } from '../../contract/insights/parts.ts'
import { type Refusal, refuseMember } from '../../errors.ts'
import type { Expr } from '../../hogql/syntax/ast.ts'
import { constant } from '../../hogql/syntax/nodes.ts'
import { expr } from '../../hogql/template.ts'
import { Slices } from '../../threads/slices.ts'
import { DAY_MS, HOUR_MS } from '../../time.ts'
import type { InsightDates, InsightRange } from '../insight.ts'
import type { InsightDateRange } from './date-range.ts'
import { instantOf, localDate, readDate } from './dates.ts'

/** Maximum buckets of a series. */
const BUCKETS_MAX = 10_000

/** One bucket. */
export type TimeBucket = {
  readonly start_us: bigint
  /** `2024-03-01`, with the time for hours and minutes. */
  readonly day: string
  /** `1-Mar-2024`. */
  readonly label: string
}

/** The maximum length of a bucket, give or take an hour. */
const LENGTHS_MS: Readonly<Record<Interval, number>> = {
  minute: 60_000,
  hour: HOUR_MS,
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: 31 * DAY_MS,
}

/** All lines of an answer share a range, and its buckets. */
const known = new WeakMap<InsightDateRange, readonly TimeBucket[]>()

/** The buckets of a range, in order. Refuses more than 10,000. */
export function bucketsOf(range: InsightDateRange): readonly TimeBucket[] {
  const before = known.get(range)
  if (before !== undefined) return before
  const buckets = [...listBuckets(range)]
  known.set(range, buckets)
  return buckets
}

/** Makes the buckets that `bucketsOf` returns, in slices: 10,000 days took 60 ms in a zone whose clocks change. */
export async function prepareBuckets(range: InsightDateRange): Promise<void> {
  if (known.has(range)) return
  const slices = new Slices()
  const buckets: TimeBucket[] = []
  for (const bucket of listBuckets(range)) {
    buckets.push(bucket)
    if (slices.isOver()) await slices.end()
  }
  known.set(range, buckets)
}

function* listBuckets(range: InsightDateRange): Generator<TimeBucket, void> {
  const { interval, dates } = range
  const length_us = range.to_us - range.from_us
  if (length_us > BigInt(BUCKETS_MAX * LENGTHS_MS[interval]) * 1000n) throw tooMany(interval)
  let start_us = stepStart(range.from_us, interval, dates)
  for (let count = 0; start_us <= range.to_us; count += 1) {
    if (count === BUCKETS_MAX) throw tooMany(interval)
    const local = localDate(start_us, dates)
    yield { start_us, ...textsOf(local, interval) }
    start_us = nextStart(start_us, local, range)
  }
}

/** The first bucket of a range. Refuses a range without one. */
export function requireFirstBucket(range: InsightDateRange): TimeBucket {
  const [first] = bucketsOf(range)
  if (first !== undefined) return first
  throw refuseMember('The date range ends before it begins.', 'query__dateRange')
}

/** The range from the beginning of its first bucket, where that bucket counts whole. */
export function inWholeSteps(range: InsightDateRange): InsightDateRange {
  if (!range.has_whole_steps) return range
  return { ...range, from_us: stepStart(range.from_us, range.interval, range.dates) }
}

/**
 * The part of a range in the bucket with that `day`. Refuses texts that are not dates, and buckets
 * outside the range.
 */
export function requireStep(range: InsightDateRange, day: string | null): InsightDateRange {
  const attr = 'query__source__day'
  if (day === null) throw refuseMember('A day is needed.', attr)
  const start_us = stepStart(readDate(day, range.dates, attr), range.interval, range.dates)
  const whole = inWholeSteps(range)
  const end_us = stepAfter(start_us, 1, range) - 1n
  if (end_us < whole.from_us || start_us > whole.to_us) {
    throw refuseMember(`${day} is not within the date range.`, attr)
  }
  return {
    ...range,
    from_us: start_us > whole.from_us ? start_us : whole.from_us,
    to_us: end_us < whole.to_us ? end_us : whole.to_us,
  }
}

/** The beginning of the bucket of an instant. */
export function stepStart(at_us: bigint, interval: Interval, dates: InsightDates): bigint {
  const local = localDate(at_us, dates)
  if (interval === 'hour' || interval === 'minute') {
    const within_ms = remainder(local.getTime(), LENGTHS_MS[interval])
    return BigInt(Math.floor(Number(at_us) / 1000) - within_ms) * 1000n
  }
  return instantOf(dateStart(local, interval, dates), dates)
}

/** Whether a range would end in the same bucket if it ended at another time, milliseconds since 1970. */
export function endsInSameStep(
  { interval, ends_at_ms }: InsightRange,
  other_ms: number,
  dates: InsightDates,
): boolean {
  if (interval === null || ends_at_ms === null) return true
  const startOf = (at_ms: number): bigint => stepStart(BigInt(at_ms) * 1000n, interval, dates)
  return startOf(ends_at_ms) === startOf(other_ms)
}

/** The beginning of the bucket `count` after (or, negative, before) the one that begins at an instant. */
export function stepAfter(
  start_us: bigint,
  count: number,
  { interval, dates }: Pick<InsightDateRange, 'dates' | 'interval'>,
): bigint {
  if (interval === 'hour' || interval === 'minute') {
    return start_us + BigInt(count * LENGTHS_MS[interval]) * 1000n
  }
  return instantOf(dateAfter(localDate(start_us, dates), interval, count), dates)
}

/** The beginning of the next bucket; `local` is the local time of this one. */
function nextStart(start_us: bigint, local: Date, { interval, dates }: InsightDateRange): bigint {
  if (interval === 'hour' || interval === 'minute') {
    const length_us = BigInt(LENGTHS_MS[interval]) * 1000n
    const next = stepStart(start_us + length_us, interval, dates)
    // When the zone moves back by half an hour, the next hour would begin at the same local hour.
    return next > start_us ? next : start_us + length_us
  }
  return instantOf(dateAfter(local, interval, 1), dates)
}

function dateStart(local: Date, interval: Interval, { week_start_day }: InsightDates): Date {
  const day = new Date(Math.floor(local.getTime() / DAY_MS) * DAY_MS)
  if (interval === 'month') day.setUTCDate(1)
  if (interval === 'week')
    day.setTime(day.getTime() - ((day.getUTCDay() - week_start_day + 7) % 7) * DAY_MS)
  return day
}

/**
 * Midnight `count` intervals later, also from a day that began at one o'clock because midnight did
 * not exist.
 */
function dateAfter(local: Date, interval: Interval, count: number): Date {
  const moved = new Date(Math.floor(local.getTime() / DAY_MS) * DAY_MS)
  if (interval === 'month') moved.setUTCMonth(moved.getUTCMonth() + count)
  else moved.setUTCDate(moved.getUTCDate() + (interval === 'week' ? 7 : 1) * count)
  return moved
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

function textsOf(local: Date, interval: Interval): Omit<TimeBucket, 'start_us'> {
  const text = local.toISOString()
  const date = text.slice(0, 10)
  const label = `${local.getUTCDate()}-${MONTHS[local.getUTCMonth()]}-${local.getUTCFullYear()}`
  if (interval !== 'hour' && interval !== 'minute') return { day: date, label }
  return { day: `${date} ${text.slice(11, 19)}`, label: `${label} ${text.slice(11, 16)}` }
}

/**
 * The bucket of an instant as an expression: a date, or an instant for hours and minutes. See
 * `bucketFinder`.
 */
export function bucketOf(at: Expr, { interval, dates }: InsightDateRange): Expr {
  switch (interval) {
    case 'minute':
      return expr`toStartOfMinute(${at})`
    case 'hour':
      return expr`toStartOfHour(${at})`
    case 'day':
      return expr`toDate(${at})`
    case 'week':
      return expr`toStartOfWeek(${at}, ${constant(dates.week_start_day === 1 ? 3n : 0n)})`
    case 'month':
      return expr`toStartOfMonth(${at})`
  }
}

/** Maps results of `bucketOf` to the index of the bucket; null outside of all. */
export function bucketFinder(buckets: readonly TimeBucket[]): (value: unknown) => number | null {
  const by_day = new Map(buckets.map(({ day }, index) => [day, index]))
  const starts = buckets.map(({ start_us }) => Number(start_us / 1000n))
  return (value) => {
    if (typeof value !== 'string') return null
    if (value.length === 10) return by_day.get(value) ?? null
    const at_ms = Date.parse(value)
    const index = countUntil(starts, at_ms) - 1
    return index < 0 ? null : index
  }
}

/** Counts the ascending instants at or before another, by binary search: every row looks for its bucket. */
function countUntil(starts: readonly number[], at_ms: number): number {
  let [low, high] = [0, starts.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((starts[middle] ?? 0) <= at_ms) low = middle + 1
    else high = middle
  }
  return low
}

/** A remainder that is not negative, also for times before 1970. */
const remainder = (value: number, length: number): number =>
  value - Math.floor(value / length) * length

function tooMany(interval: Interval): Refusal {
  const detail = `The date range has more than ${BUCKETS_MAX} steps of one ${interval}: choose a shorter range or a longer interval.`
  return refuseMember(detail, 'query__dateRange')
}
