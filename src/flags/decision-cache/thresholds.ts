/**
 * Filters that compare a value with a bound (numbers, dates, ages): one binary search among all bounds answers them
 * all.
 */

import type { PropertyFilter } from '../filter.ts'
import { fixedAge, parseDate, parseDateBound } from '../operators/date.ts'
import { asNumber } from '../operators/value.ts'

/** The sorted bounds of one kind. */
export type Thresholds = {
  /** The interval of a value: every filter of this kind answers alike for all values of an interval. */
  readonly intervalOf: (value: unknown, now: number) => number
}

/** A kind of bounds. */
type OperatorScale = {
  readonly operators: ReadonlySet<string>
  /** The filter's bound; null if the filter is not of this kind. */
  readonly boundOf: (filter_value: unknown) => number | null
  /** A value on the same scale; null if it cannot be compared. */
  readonly read: (value: unknown) => number | null
  /** Whether bounds are relative to now. */
  readonly is_from_now: boolean
}

const NUMBER_OPERATORS = new Set(['gt', 'gte', 'lt', 'lte'])
const DATE_OPERATORS = new Set(['is_date_exact', 'is_date_before', 'is_date_after'])

/**
 * Kinds of bounds. The operators of a new line may only depend on whether a value is less than, equal to or above the
 * bound.
 */
const SCALES: readonly OperatorScale[] = [
  { operators: NUMBER_OPERATORS, boundOf: asNumber, read: asNumber, is_from_now: false },
  { operators: DATE_OPERATORS, boundOf: momentBound, read: parseDate, is_from_now: false },
  { operators: DATE_OPERATORS, boundOf: ageBound, read: parseDate, is_from_now: true },
]

/** The interval of values that cannot be compared. */
const INCOMPARABLE = 0

/** Splits the filters of one property into scales, and the others in their order. */
export function buildThresholds(filters: readonly PropertyFilter[]): {
  readonly scales: readonly Thresholds[]
  readonly others: readonly PropertyFilter[]
} {
  const scales: Thresholds[] = []
  let others = filters
  for (const scale of SCALES) {
    const bounds = others.flatMap((filter) => boundIn(scale, filter) ?? [])
    if (bounds.length === 0) continue
    scales.push(sortBounds(scale, bounds))
    others = others.filter((filter) => boundIn(scale, filter) === null)
  }
  return { scales, others }
}

function boundIn({ operators, boundOf }: OperatorScale, filter: PropertyFilter): number | null {
  return operators.has(filter.operator) ? boundOf(filter.value) : null
}

function sortBounds({ read, is_from_now }: OperatorScale, unsorted: readonly number[]): Thresholds {
  const bounds = Float64Array.from(new Set(unsorted)).toSorted()
  return {
    intervalOf(value, now) {
      const number = read(value)
      return number === null
        ? INCOMPARABLE
        : 1 + findInterval(bounds, number, is_from_now ? now : 0)
    },
  }
}

/** Binary search. Each bound has two intervals: below it (and above the one before), and equal to it. */
function findInterval(bounds: Float64Array, value: number, origin: number): number {
  let low = 0
  let high = bounds.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (origin + (bounds[middle] ?? 0) < value) low = middle + 1
    else high = middle
  }
  const bound = bounds[low]
  return 2 * low + Number(bound !== undefined && origin + bound === value)
}

function momentBound(filter_value: unknown): number | null {
  const bound = parseDateBound(filter_value)
  return bound?.kind === 'moment' ? bound.ms : null
}

function ageBound(filter_value: unknown): number | null {
  const bound = parseDateBound(filter_value)
  const age_ms = bound?.kind === 'relative' ? fixedAge(bound.date) : null
  return age_ms === null ? null : -age_ms
}
