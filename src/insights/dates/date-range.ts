/** Date ranges of queries and their comparison periods, in the project's calendar. */

import type { CompareFilter } from '../../contract/insights/breakdown.ts'
import type { DateRange, Interval } from '../../contract/insights/parts.ts'
import { refuseMember } from '../../errors.ts'
import type { Expr } from '../../hogql/syntax/ast.ts'
import { compare, field } from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../time.ts'
import { instant } from '../filters/filter-operators.ts'
import type { InsightDates, InsightRange, RunTree } from '../insight.ts'
import { instantOf, localDate, readDate, relativeUnit } from './dates.ts'

/** A period of time in intervals. */
export type InsightDateRange = {
  readonly interval: Interval
  /** Microseconds since 1970 UTC, both inclusive. */
  readonly from_us: bigint
  readonly to_us: bigint
  readonly dates: InsightDates
  /** A range of whole weeks until now, `-7d`: the previous period has the same weekdays. */
  readonly is_whole_weeks: boolean
  /** Neither end is moved to the edge of an interval. */
  readonly is_exact: boolean
  /** Whether its first bucket counts from its own beginning, even if `from_us` is later. */
  readonly has_whole_steps: boolean
  /** `date_from` is relative to now. */
  readonly is_start_relative: boolean
}

/** The members of a query that determine its range. */
export type TimedQuery = {
  readonly dateRange?: DateRange | null | undefined
  readonly interval?: Interval | null | undefined
}

type RangeOptions = {
  /** The time of the first event, for ranges that begin there; see `firstEvent`. */
  readonly earliest_us?: bigint | null
  /** Neither end is moved to the edge of its day. */
  readonly is_exact?: boolean
}

const DAYS_DEFAULT = 7
/** A date without a time. */
const DATE_ALONE = /^\s*\d{4}-\d{1,2}(-\d{1,2})?\s*$/

/**
 * Parses the range of a query, by default from the start of the day seven days ago until the end of
 * today. `date_to` extends to the end of its day; relative ones in hourly queries to the end of
 * their hour. Refuses texts that are not dates.
 */
export function readRange(
  input: TimedQuery,
  dates: InsightDates,
  options: RangeOptions = {},
): InsightDateRange {
  const interval = input.interval ?? 'day'
  const from = input.dateRange?.date_from ?? null
  const unit = from === null ? null : relativeUnit(from)
  const is_short = unit === 'h' || unit === 'M' || unit === 's'
  const is_timed = interval === 'hour' || interval === 'minute'
  return {
    interval,
    dates,
    is_exact: options.is_exact === true,
    from_us: startOf(from, dates, options),
    to_us: endOf(input, dates, options),
    is_whole_weeks: isWholeWeeks(input.dateRange),
    is_start_relative: from === null || from === '' || unit !== null,
    has_whole_steps:
      options.is_exact !== true &&
      input.dateRange?.explicitDate !== true &&
      !(unit !== null && (is_timed || (interval === 'day' && is_short))),
  }
}

/** The time of the first event, if the query begins with `all`; null otherwise. */
export async function firstEvent(input: TimedQuery, run: RunTree): Promise<bigint | null> {
  if (input.dateRange?.date_from !== 'all') return null
  const first = select`select toUnixTimestamp64Micro(min(timestamp)), count() from events
    where timestamp > toDateTime('2015-01-01 00:00:00', 'UTC')`
  const [row] = (await run(first)).rows
  return row === undefined || Number(row[1]) === 0 ? null : BigInt(Number(row[0]))
}

/** The query with the first event's time in place of `all`. */
export async function sinceFirstEvent<Query extends TimedQuery>(
  query: Query,
  dates: InsightDates,
  run: RunTree,
): Promise<Query> {
  const earliest_us = await firstEvent(query, run)
  if (earliest_us === null) return query
  const dateRange = { ...query.dateRange, date_from: isoLocal(earliest_us, dates) }
  return { ...query, dateRange }
}

function startOf(from: string | null, dates: InsightDates, options: RangeOptions): bigint {
  if (from === null || from === '') {
    const today = dayStart(localDate(nowUs(dates), dates))
    return instantOf(new Date(today.getTime() - DAYS_DEFAULT * DAY_MS), dates)
  }
  if (from === 'all') return options.earliest_us ?? nowUs(dates)
  const at_us = readDate(from, dates, 'query__dateRange__date_from')
  const unit = relativeUnit(from)
  if (unit === null || options.is_exact === true) return at_us
  if (unit === 's' || unit === 'M') return at_us - (at_us % BigInt(MINUTE_MS * 1000))
  const local = localDate(at_us, dates)
  if (unit === 'h') return at_us - BigInt(local.getTime() % HOUR_MS) * 1000n
  return instantOf(dayStart(local), dates)
}

function endOf(
  { dateRange, interval }: TimedQuery,
  dates: InsightDates,
  options: RangeOptions,
): bigint {
  const to = dateRange?.date_to ?? null
  const at_us =
    to === null || to === '' ? nowUs(dates) : readDate(to, dates, 'query__dateRange__date_to')
  const is_date = DATE_ALONE.test(to ?? '')
  if (dateRange?.explicitDate === true || (options.is_exact === true && !is_date)) return at_us
  if (options.is_exact !== true && (interval === 'hour' || interval === 'minute')) {
    const is_relative = to === null || to === '' || relativeUnit(to) !== null
    if (!is_relative) return at_us
    const step_ms = interval === 'hour' ? HOUR_MS : MINUTE_MS
    const within_ms = localDate(at_us, dates).getTime() % step_ms
    return at_us - (at_us % 1000n) + BigInt(step_ms - within_ms) * 1000n - 1n
  }
  return dayEnd(localDate(at_us, dates), dates)
}

function isWholeWeeks(dateRange: DateRange | null | undefined): boolean {
  if (dateRange?.date_to) return false
  const days = /^-(\d+)d$/.exec(dateRange?.date_from ?? '-7d')?.[1]
  return days !== undefined && Number(days) > 0 && Number(days) % 7 === 0
}

/** The comparison period: just before the range, or `compare_to` (`-1w`) earlier. Refuses other texts. */
export function previousRange(
  range: InsightDateRange,
  compare_to?: string | null,
): InsightDateRange {
  if (compare_to) return movedBack(range, compare_to)
  const { dates, from_us, to_us, interval } = range
  if (range.is_exact || interval === 'minute') {
    const length_us = to_us - from_us + 1n
    return { ...range, from_us: from_us - length_us, to_us: to_us - length_us }
  }
  const from = localDate(from_us, dates)
  const length_ms = localDate(to_us, dates).getTime() - from.getTime()
  const before = dayStart(new Date(from.getTime() - length_ms))
  if (interval === 'hour') {
    // The same hours of earlier days, since activity depends on the time of day.
    const start = new Date(before.getTime() + (from.getTime() % DAY_MS))
    const end = new Date(start.getTime() + length_ms)
    const micros = to_us % 1000n
    return { ...range, from_us: instantOf(start, dates), to_us: instantOf(end, dates) + micros }
  }
  const start = new Date(before.getTime() + (range.is_whole_weeks ? DAY_MS : 0))
  const end = new Date(start.getTime() + length_ms)
  return { ...range, from_us: instantOf(start, dates), to_us: dayEnd(end, dates) }
}

/** The range of a query, or the one that it is compared with; without a label where it is compared with nothing. */
export type ComparedRange = {
  readonly range: InsightDateRange
  readonly compare_label: 'current' | 'previous' | null
}

/** The range, and the one that it is compared with. */
export function comparedRanges(
  { compareFilter }: { readonly compareFilter?: CompareFilter | null | undefined },
  range: InsightDateRange,
): readonly ComparedRange[] {
  if (compareFilter?.compare !== true) return [{ range, compare_label: null }]
  return [
    { range, compare_label: 'current' },
    { range: previousRange(range, compareFilter.compare_to), compare_label: 'previous' },
  ]
}

function movedBack(range: InsightDateRange, compare_to: string): InsightDateRange {
  if (relativeUnit(compare_to) === null) {
    const detail = `Not a time to go back: ${JSON.stringify(compare_to.slice(0, 100))}`
    throw refuseMember(detail, 'query__compareFilter__compare_to')
  }
  const back = (at_us: bigint): bigint => {
    const now = new Date(Number(at_us / 1000n))
    return readDate(compare_to, { ...range.dates, now }, 'query__compareFilter__compare_to')
  }
  // Dates have milliseconds; the microseconds are kept separately.
  const from_us = back(range.from_us) + (range.from_us % 1000n)
  return {
    ...range,
    // A whole day remains one even where its first hour did not exist.
    from_us: isDayStart(range.from_us, range.dates) ? startOfDay(from_us, range.dates) : from_us,
    to_us: back(range.to_us) + (range.to_us % 1000n),
  }
}

/** The range from the beginning of its first day in the project's zone. */
export function sinceDayStart(range: InsightDateRange): InsightDateRange {
  return { ...range, from_us: startOfDay(range.from_us, range.dates) }
}

/** The condition that an event is in the range. */
export function withinRange(range: InsightDateRange): Expr {
  const at = field(['timestamp'])
  return expr`${compare(at, '>=', instant(range.from_us))} and ${compare(at, '<=', instant(range.to_us))}`
}

/** The member `resolved_date_range` of answers: both ends as ISO texts in the project's zone. */
export function resolvedRange({ from_us, to_us, dates }: InsightDateRange): {
  readonly date_from: string
  readonly date_to: string
} {
  return { date_from: isoLocal(from_us, dates), date_to: isoLocal(to_us, dates) }
}

/** An instant as ISO 8601 with the zone's offset. */
export function isoLocal(at_us: bigint, dates: InsightDates): string {
  const local = localDate(at_us, dates)
  const minutes = Math.round((local.getTime() - Number(at_us / 1000n)) / MINUTE_MS)
  const micros = at_us % 1_000_000n
  const fraction = micros === 0n ? '' : `.${String(micros).padStart(6, '0')}`
  const offset = `${two(Math.floor(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`
  return `${local.toISOString().slice(0, 19)}${fraction}${minutes < 0 ? '-' : '+'}${offset}`
}

/** The facts of a range that decide how long its answer is cached. */
export function freshnessOf({
  interval,
  to_us,
  is_start_relative,
}: InsightDateRange): InsightRange {
  return { interval, ends_at_ms: Number(to_us / 1000n), is_start_relative }
}

/** The same, for kinds that read long histories: their clients wait longer before they ask again. */
export function patientFreshnessOf(range: InsightDateRange): InsightRange {
  const days = Number((range.to_us - range.from_us) / 1000n) / DAY_MS
  const is_short = range.interval === 'hour' || Math.ceil(days) <= SHORT_DAYS
  return { ...freshnessOf(range), client_wait_ms: (is_short ? 3 : 15) * MINUTE_MS }
}

/** The most days of a range that clients may ask about again after three minutes. */
const SHORT_DAYS = 7

const two = (value: number): string => String(value).padStart(2, '0')

const nowUs = ({ now }: InsightDates): bigint => BigInt(now.getTime()) * 1000n

const dayStart = (local: Date): Date => new Date(Math.floor(local.getTime() / DAY_MS) * DAY_MS)

const startOfDay = (at_us: bigint, dates: InsightDates): bigint =>
  instantOf(dayStart(localDate(at_us, dates)), dates)

const isDayStart = (at_us: bigint, dates: InsightDates): boolean =>
  startOfDay(at_us, dates) === at_us

/** The last microsecond of a local day. */
function dayEnd(local: Date, dates: InsightDates): bigint {
  return instantOf(new Date(dayStart(local).getTime() + DAY_MS), dates) - 1n
}
