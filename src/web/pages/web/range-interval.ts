/** The interval of the graph of a range. */
import { readProjectTime, type TimeInterval } from '../../parts/format.ts'

type DatedRange = { readonly date_from: string; readonly date_to: string | null }

/** `-30d`, `-24h`, `-1mStart`, `dStart`: number, unit, and its edge. */
const RELATIVE = /^(?:-(\d{1,4}))?([hdwmy])(Start|End)?$/
const UNIT_DAYS: Readonly<Record<string, number>> = { h: 1 / 24, d: 1, w: 7, m: 30, y: 365 }
const DAY_MS = 86_400_000
const HOURS_UNTIL_DAYS = 2
const DAYS_UNTIL_DAYS = 92
const WEEKS_UNTIL_DAYS = 366

/** The interval at which a range has some ten to a hundred buckets. */
export function intervalOf({ date_from, date_to }: DatedRange, now: Date): TimeInterval {
  const days = daysSince(date_from, now) - (date_to === null ? 0 : daysSince(date_to, now))
  if (days <= HOURS_UNTIL_DAYS) return 'hour'
  if (days <= DAYS_UNTIL_DAYS) return 'day'
  return days <= WEEKS_UNTIL_DAYS ? 'week' : 'month'
}

/** Days since a date of a range, about. */
function daysSince(date: string, now: Date): number {
  if (date === 'all') return Number.POSITIVE_INFINITY
  const [, number, unit, edge] = RELATIVE.exec(date) ?? []
  if (unit !== undefined) {
    const count = Number(number ?? (edge === undefined ? 1 : 0))
    // The start of a month is before the part of this one that is over; its end is the start of the next one.
    const units = edge === 'End' ? count - 1 : count
    return units * (UNIT_DAYS[unit] ?? 1) + (edge === undefined ? 0 : daysOver(unit, now))
  }
  const day = readProjectTime(date)
  return day === null ? 0 : Math.max(0, (now.getTime() - day.getTime()) / DAY_MS)
}

/** Days of the current month or year that are over, today included. */
function daysOver(unit: string, now: Date): number {
  if (unit === 'm') return now.getUTCDate()
  if (unit === 'y') return (now.getTime() - Date.UTC(now.getUTCFullYear(), 0, 1)) / DAY_MS
  return 1
}
