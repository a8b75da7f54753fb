/**
 * Step masks: the buckets in which an actor was active, as bits of integers; one pass over the
 * events, a few bytes per actor.
 */
import { refuseMember } from '../../errors.ts'
import type { Expr } from '../../hogql/syntax/ast.ts'
import { alias, call, constant, field, integer } from '../../hogql/syntax/nodes.ts'
import { expr } from '../../hogql/template.ts'
import { bucketOf, type TimeBucket } from '../dates/buckets.ts'
import type { InsightDateRange } from '../dates/date-range.ts'
import { instant } from '../filters/filter-operators.ts'

/** Buckets per integer; one more bit is the bucket before them. */
export const STEPS_PER_MASK = 60
/** Maximum buckets. */
const MASKED_STEPS_MAX = 1500

/**
 * The buckets `first` to `first + count - 1` as bits 1 to `count` of the column; bit 0 is the
 * bucket before.
 */
export type StepMask = {
  readonly column: string
  readonly first: number
  readonly count: number
}

/** The masks for `count` buckets. Refuses more than 1,500. */
export function masksOf(count: number): readonly StepMask[] {
  if (count > MASKED_STEPS_MAX) {
    const detail = `The date range has more than ${MASKED_STEPS_MAX} steps of its interval: choose a shorter range or a longer interval.`
    throw refuseMember(detail, 'query__dateRange')
  }
  return Array.from({ length: Math.ceil(count / STEPS_PER_MASK) }, (_, index) => ({
    column: `active_${index}`,
    first: index * STEPS_PER_MASK,
    count: Math.min(STEPS_PER_MASK, count - index * STEPS_PER_MASK),
  }))
}

/**
 * Aggregates of an actor's events: a column per mask. `index` is an event's bucket, -1 the one
 * before the first.
 */
export function maskColumns(masks: readonly StepMask[], index: Expr): readonly Expr[] {
  return masks.map(({ column, first, count }) => {
    const bit = expr`intExp2(${index} - ${integer(first - 1)})`
    const is_in = expr`${index} >= ${integer(first - 1)} and ${index} < ${integer(first + count)}`
    const active = masks.length === 1 ? bit : expr`if(${is_in}, ${bit}, 0)`
    return alias(call('groupBitOr', [active]), column)
  })
}

/** The number of buckets with activity, without those before the first. */
export function activeSteps(masks: readonly StepMask[]): Expr {
  const [first, ...more] = masks.map(
    ({ column }) => expr`bitCount(bitAnd(${field([column])}, ${constant(-2n)}))`,
  )
  return more.reduce((sum, next) => expr`${sum} + ${next}`, first ?? constant(0n))
}

/** The bucket index of an instant, relative to the range's first one; earlier ones are negative. */
export function stepIndex(at: Expr, range: InsightDateRange, first: TimeBucket): Expr {
  const step = bucketOf(at, range)
  const day = expr`toDate(${constant(first.day.slice(0, 10))})`
  switch (range.interval) {
    case 'minute':
    case 'hour': {
      const length_s = constant(range.interval === 'hour' ? 3600n : 60n)
      const start = expr`toUnixTimestamp(${instant(first.start_us)})`
      return expr`intDiv(toUnixTimestamp(${step}) - ${start}, ${length_s})`
    }
    case 'day':
      return expr`dateDiff('day', ${day}, ${step})`
    case 'week':
      return expr`intDiv(dateDiff('day', ${day}, ${step}), 7)`
    case 'month':
      return expr`dateDiff('month', ${day}, ${step})`
  }
}
