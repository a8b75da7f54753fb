/** Recurrence of scheduled changes: the next time, by day, week, month, year or crontab. */
import { Cron } from 'croner'
import type { RecurrenceInterval } from '../tables.ts'

/** A recurrence; interval and cron expression are null without one. */
type Recurrence = {
  readonly recurrence_interval: RecurrenceInterval | null
  readonly cron_expression: string | null
  /** Null for no end. */
  readonly end_date: Date | null
  readonly timezone: string
}

const UNITS = { daily: 'days', weekly: 'weeks', monthly: 'months', yearly: 'years' } as const

/** Real crontab lines are shorter; longer ones take long to parse. */
const CRON_CHARS_MAX = 200

/** Whether a text is a crontab line: minute, hour, day of the month, month, weekday. */
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
 * Returns the first time after `now` of a recurrence that began at `start`, in its time zone; null when it has
 * ended. Missed times are skipped.
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
  const first = inZone(start, timezone)
  const passed = first.until(inZone(now, timezone), { largestUnit: unit })[unit]
  // In a short month the last day can come before a whole month has passed, so one more candidate is tried.
  for (let count = Math.max(1, passed); ; count += 1) {
    const next = new Date(first.add({ [unit]: count }).epochMilliseconds)
    if (next > now) return next
  }
}

function readCron(text: string, timezone: string): Cron {
  return new Cron(text, { timezone, paused: true, mode: '5-part', sloppyRanges: true })
}

function inZone(instant: Date, timezone: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(instant.getTime()).toZonedDateTimeISO(timezone)
}
