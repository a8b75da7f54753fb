/** Settings that all queries of the page share: range, filters, comparison; and the interval of its graph. */
import type { DateRangeValue } from '../../parts/fields/date-range.tsx'
import type { PropertyCondition } from '../../parts/filters/conditions.ts'
import { readProjectTime, type TimeInterval } from '../../parts/format.ts'

export type WebQuestion = {
  readonly range: DateRangeValue
  readonly filters: readonly PropertyCondition[]
  readonly has_comparison: boolean
  /** Leaves out test traffic by the project's settings: localhost, addresses of the team. */
  readonly hides_tests: boolean
}

/** The members that every web query takes. */
export function webMembers({ range, filters, has_comparison, hides_tests }: WebQuestion) {
  return {
    dateRange: range,
    properties: filters,
    filterTestAccounts: hides_tests,
    ...(has_comparison ? { compareFilter: { compare: true } } : {}),
  }
}

/** `-30d`, `-24h`, `-12m`: number and unit. */
const RELATIVE = /^-(\d{1,4})([hdwmy])/
const UNIT_DAYS: Readonly<Record<string, number>> = { h: 1 / 24, d: 1, w: 7, m: 30, y: 365 }
const DAY_MS = 86_400_000
const HOURS_UNTIL_DAYS = 2
const DAYS_UNTIL_DAYS = 92
const WEEKS_UNTIL_DAYS = 366

/** The interval at which a range has some ten to a hundred buckets. */
export function intervalOf({ date_from, date_to }: DateRangeValue, now: Date): TimeInterval {
  const days = daysSince(date_from, now) - (date_to === null ? 0 : daysSince(date_to, now))
  if (days <= HOURS_UNTIL_DAYS) return 'hour'
  if (days <= DAYS_UNTIL_DAYS) return 'day'
  return days <= WEEKS_UNTIL_DAYS ? 'week' : 'month'
}

/** Days since a date of a range, about. */
function daysSince(date: string, now: Date): number {
  if (date === 'all') return Number.POSITIVE_INFINITY
  const [, count, unit = 'd'] = RELATIVE.exec(date) ?? []
  if (count !== undefined) return Number(count) * (UNIT_DAYS[unit] ?? 1)
  if (date.startsWith('d')) return 1
  if (date.startsWith('m')) return now.getUTCDate()
  if (date.startsWith('y')) return (now.getTime() - Date.UTC(now.getUTCFullYear(), 0, 1)) / DAY_MS
  const day = readProjectTime(date)
  return day === null ? 0 : Math.max(0, (now.getTime() - day.getTime()) / DAY_MS)
}
