/** The months of a snapshot file's events: one, or several small ones. */
import type { FileRow } from '../log/event-log.ts'

type MonthRange = Pick<FileRow, 'min_timestamp' | 'month'>

/** Months whose texts sort in time order; other years never share a file. */
const ORDINARY = /^\d{4}-\d{2}$/

/** The first month of a file; `month` is its last. */
export function firstMonthOf({ min_timestamp, month }: MonthRange): string {
  if (!ORDINARY.test(month)) return month
  const first = monthOf(min_timestamp)
  return ORDINARY.test(first) && first < month ? first : month
}

/** Formats the month of a time: `2026-11`. */
export function monthOf(at_us: number): string {
  return new Date(at_us / 1000).toISOString().slice(0, 'yyyy-mm'.length)
}

/** The month a number of months before that of a time: `2026-11`. */
export function monthsBefore(at_us: number, months: number): string {
  const at = new Date(at_us / 1000)
  return monthOf(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() - months) * 1000)
}

/** True when several months share the file. */
export function isShared(file: MonthRange): boolean {
  return firstMonthOf(file) !== file.month
}

/** True when the file's month may share a file with others. */
export function canShareFile({ month }: MonthRange): boolean {
  return ORDINARY.test(month)
}

/** True when the file may contain events of a month. */
export function hasMonth(file: MonthRange, month: string): boolean {
  return file.month === month || (firstMonthOf(file) <= month && month <= file.month)
}
