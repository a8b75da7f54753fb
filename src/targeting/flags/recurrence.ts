/** When something that comes back happens next: after a day, a week, a month, a year, or as a crontab says. */
import { Cron } from 'croner'
import type { RecurrenceInterval } from '../tables.ts'

/** How something comes back; both are null when it does not. */
export type Recurrence = {
  readonly recurrence_interval: RecurrenceInterval | null
  readonly cron_expression: string | null
  /** Null where it goes on for ever. */
  readonly end_date: Date | null
  readonly timezone: string
}

const UNITS = { daily: 'days', weekly: 'weeks', monthly: 'months', yearly: 'years' } as const

/** Longer lines say no more than shorter ones could, and take long to be read. */
const CRON_CHARS_MAX = 200

/** Whether a text is a line of a crontab: minute, hour, day of the month, month, weekday. */
export function isCron(text: string): boolean {
  if (text.length > CRON_CHARS_MAX) return false
  try {
    readCron(text, 'UTC')
    return true
  } catch {
    return false
  }
}

/**
 * The first time after `now` of something that began at `start`, by the clocks of its zone; null when it does not happen
 * again. Whatever was missed in between is not made up for, one by one.
 */
export function nextTime(recurrence: Recurrence, start: Date, now: Date): Date | null {
  const next = timeAfter(recurrence, start, now)
  const { end_date } = recurrence
  return next === null || (end_date !== null && next > end_date) ? null : next
}

function timeAfter(recurrence: Recurrence, start: Date, now: Date): Date | null {
  const { recurrence_interval, cron_expression, timezone } = recurrence
  if (cron_expression !== null) {
    return isCron(cron_expression) ? readCron(cron_expression, timezone).nextRun(now) : null
  }
  if (recurrence_interval === null) return null
  const unit = UNITS[recurrence_interval]
  const first = zoned(start, timezone)
  const passed = first.until(zoned(now, timezone), { largestUnit: unit })[unit]
  // A month that ends early is not counted as passed on its last day.
  for (let count = Math.max(1, passed); ; count += 1) {
    const next = new Date(first.add({ [unit]: count }).epochMilliseconds)
    if (next > now) return next
  }
}

function readCron(text: string, timezone: string): Cron {
  return new Cron(text, { timezone, paused: true, mode: '5-part', sloppyRanges: true })
}

function zoned(instant: Date, timezone: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(instant.getTime()).toZonedDateTimeISO(timezone)
}
