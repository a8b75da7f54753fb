/** When something that comes back happens next: after a day, a week, a month, a year, or as a crontab says. */
import { nextCronTime, parseCron } from './cron.ts'
import type { RecurrenceInterval } from './tables.ts'
import { instantOf, wallClockAt } from './wall-clock.ts'

/** How something comes back; both are null when it does not. */
export type Recurrence = {
  readonly recurrence_interval: RecurrenceInterval | null
  readonly cron_expression: string | null
  /** Null where it goes on for ever. */
  readonly end_date: Date | null
  readonly timezone: string
}

const DAY_MS = 86_400_000

/** The interval as days or months. */
const STEPS: Readonly<Record<RecurrenceInterval, readonly [days: number, months: number]>> = {
  daily: [1, 0],
  weekly: [7, 0],
  monthly: [0, 1],
  yearly: [0, 12],
}

/** The first time after `now` of something that began at `start`; null when it does not happen again. */
export function nextTime(recurrence: Recurrence, start: Date, now: Date): Date | null {
  const next = timeAfter(recurrence, start, now)
  const { end_date } = recurrence
  return next === null || (end_date !== null && next > end_date) ? null : next
}

function timeAfter(
  { recurrence_interval, cron_expression, timezone }: Recurrence,
  start: Date,
  now: Date,
): Date | null {
  if (cron_expression !== null) {
    const cron = parseCron(cron_expression)
    return cron === null ? null : nextCronTime(cron, now, timezone)
  }
  if (recurrence_interval === null) return null
  const wall = wallClockAt(start, timezone)
  const [days, months] = STEPS[recurrence_interval]
  const step_ms = days * DAY_MS + months * 28 * DAY_MS
  // Whatever was missed while nothing ran is not made up for, one by one.
  const most = Math.floor((now.getTime() - start.getTime()) / step_ms) + 2
  const least = Math.max(1, Math.floor((most - 2) * (months > 0 ? 28 / 31 : 1)) - 1)
  for (let count = least; count <= most; count += 1) {
    const later = addMonths(new Date(wall.getTime() + count * days * DAY_MS), count * months)
    const instant = instantOf(later, timezone)
    if (instant > now) return instant
  }
  return null
}

/** The same day of a later month, or that month's last. */
function addMonths(wall: Date, count: number): Date {
  if (count === 0) return wall
  const first = new Date(wall)
  first.setUTCDate(1)
  first.setUTCMonth(first.getUTCMonth() + count)
  const last = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate()
  first.setUTCDate(Math.min(wall.getUTCDate(), last))
  return first
}
