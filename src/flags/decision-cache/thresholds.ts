/** Filters that only ask on which side of a bound a value lies: its place among all the bounds answers them together. */
import { fixedAge, parseDate, parseDateBound } from '../date.ts'
import type { PropertyFilter } from '../filter.ts'
import { asNumber } from '../value.ts'

/** Bounds of one kind, in order. */
export type Thresholds = {
  /** Where a value stands: values of one place are answered alike by every filter of the scale. */
  readonly placeOf: (value: unknown, now: number) => number
}

/** What bounds of one kind are counted in. */
type OperatorScale = {
  readonly operators: ReadonlySet<string>
  /** The filter's bound; null when it is none of this kind. */
  readonly boundOf: (filter_value: unknown) => number | null
  /** A value on the same line; null when it is nowhere on it. */
  readonly read: (value: unknown) => number | null
  /** Whether bounds are counted from now on. */
  readonly is_from_now: boolean
}

const NUMBER_OPERATORS = new Set(['gt', 'gte', 'lt', 'lte'])
const DATE_OPERATORS = new Set(['is_date_exact', 'is_date_before', 'is_date_after'])

/** Adding a kind means adding a line: its operators must ask for nothing but less, equal or more. */
const LINES: readonly OperatorScale[] = [
  { operators: NUMBER_OPERATORS, boundOf: asNumber, read: asNumber, is_from_now: false },
  { operators: DATE_OPERATORS, boundOf: momentBound, read: parseDate, is_from_now: false },
  { operators: DATE_OPERATORS, boundOf: ageBound, read: parseDate, is_from_now: true },
]

/** Values that are nowhere on the line. */
const NOWHERE = 0

/** Tells filters of one property apart: those that scales answer, and the others, in their order. */
export function buildThresholds(filters: readonly PropertyFilter[]): {
  readonly scales: readonly Thresholds[]
  readonly others: readonly PropertyFilter[]
} {
  const scales: Thresholds[] = []
  let others = filters
  for (const line of LINES) {
    const bounds = others.flatMap((filter) => boundIn(line, filter) ?? [])
    if (bounds.length === 0) continue
    scales.push(newScale(line, bounds))
    others = others.filter((filter) => boundIn(line, filter) === null)
  }
  return { scales, others }
}

function boundIn({ operators, boundOf }: OperatorScale, filter: PropertyFilter): number | null {
  return operators.has(filter.operator) ? boundOf(filter.value) : null
}

function newScale({ read, is_from_now }: OperatorScale, unsorted: readonly number[]): Thresholds {
  const bounds = Float64Array.from(new Set(unsorted)).toSorted()
  return {
    placeOf(value, now) {
      const own = read(value)
      return own === null ? NOWHERE : 1 + placeAmong(bounds, own, is_from_now ? now : 0)
    },
  }
}

/** Two places per bound: below it, and on it. */
function placeAmong(bounds: Float64Array, own: number, origin: number): number {
  let low = 0
  let high = bounds.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (origin + (bounds[middle] ?? 0) < own) low = middle + 1
    else high = middle
  }
  const bound = bounds[low]
  return 2 * low + Number(bound !== undefined && origin + bound === own)
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
