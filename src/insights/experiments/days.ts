/** The days of an experiment in the project's time zone. */
import { bucketsOf } from '../dates/buckets.ts'
import { type InsightDateRange, readRange } from '../dates/date-range.ts'
import type { InsightDates } from '../insight.ts'
import type { ExperimentTrial } from './trees/exposure.ts'

/** The time an experiment ran, to the instant. */
export function rangeOfTrial({ from, to }: ExperimentTrial, dates: InsightDates): InsightDateRange {
  const dateRange = { date_from: from.toISOString(), date_to: to.toISOString(), explicitDate: true }
  return readRange({ dateRange, interval: 'day' }, dates, { is_exact: true })
}

/** Its days; the first and the last may be partial. */
export function daysOf(
  trial: ExperimentTrial,
  dates: InsightDates,
): readonly { readonly day: string; readonly ends_at: Date }[] {
  const buckets = bucketsOf(rangeOfTrial(trial, dates))
  return buckets.map(({ day }, index) => {
    const next = buckets[index + 1]
    return {
      day,
      ends_at: next === undefined ? trial.to : new Date(Number(next.start_us / 1000n) - 1),
    }
  })
}
