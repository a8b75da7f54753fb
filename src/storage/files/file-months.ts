/** The months that a snapshot file has events of: one, or several that were small enough to share a file. */
import type { FileRow } from '../log/event-log.ts'

type MonthRange = Pick<FileRow, 'min_timestamp' | 'month'>

/** Months that texts compare as they follow each other; events of other ages stay with their own month alone. */
const ORDINARY = /^\d{4}-\d{2}$/

/** The first month of a file; `month` is its last. */
export function firstMonthOf({ min_timestamp, month }: MonthRange): string {
  if (!ORDINARY.test(month)) return month
  const first = monthOf(min_timestamp)
  return ORDINARY.test(first) && first < month ? first : month
}

/** The month of a moment, `2026-11`. */
export function monthOf(at_us: number): string {
  return new Date(at_us / 1000).toISOString().slice(0, 'yyyy-mm'.length)
}

/** Whether several months share the file. */
export function isShared(file: MonthRange): boolean {
  return firstMonthOf(file) !== file.month
}

/** Whether the file may share with others: it is of months that texts compare as they follow each other. */
export function canShareFile({ month }: MonthRange): boolean {
  return ORDINARY.test(month)
}

/** Whether the file may have events of a month. */
export function hasMonth(file: MonthRange, month: string): boolean {
  return file.month === month || (firstMonthOf(file) <= month && month <= file.month)
}
