/** The plan of a RetentionQuery, with defaults filled in. */
import type { Interval, Series } from '../../contract/insights/parts.ts'
import {
  RETENTION_INTERVALS_MAX,
  type RetentionEntity,
  type RetentionPeriod,
  type RetentionQuery,
} from '../../contract/insights/retention.ts'
import { type Refusal, refuseMember } from '../../errors.ts'
import { stepAfter, stepStart } from '../dates/buckets.ts'
import { type InsightDateRange, readRange } from '../dates/date-range.ts'
import type { InsightContext, InsightDates, RunTree } from '../insight.ts'

/** Default number of periods. */
const INTERVALS_DEFAULT = 11

const INTERVALS = {
  Hour: 'hour',
  Day: 'day',
  Week: 'week',
  Month: 'month',
} as const satisfies Record<RetentionPeriod, Interval>

/** The periods, and which actors start and return in them. */
export type RetentionPlan = {
  readonly period: RetentionPeriod
  /** From the beginning of the first period to the end of the last one. */
  readonly range: InsightDateRange
  /** The beginnings of the periods in which actors start. */
  readonly starts_us: readonly bigint[]
  /** The last period after a start. */
  readonly ahead_max: number
  /** Lengths of the brackets of returns, in periods; null to count each period. */
  readonly brackets: readonly number[] | null
  readonly target: Series
  readonly returning: Series
  /**
   * The target events that start: each, the first that matches, or the first of its event if that one
   * matches.
   */
  readonly start: 'each' | 'first' | 'first_ever'
  readonly occurrences_min: number
  readonly is_cumulative: boolean
  /** Periods begin at each actor's start instead of the calendar's. */
  readonly is_rolling: boolean
}

/** A query with its plan, and the means to ask about it. */
export type RetentionRequest = {
  readonly query: RetentionQuery
  readonly plan: RetentionPlan
  readonly context: InsightContext
  readonly run: RunTree
}

const STARTS = {
  retention_recurring: 'each',
  retention_first_time: 'first',
  retention_first_ever_occurrence: 'first_ever',
} as const

/** Parses a query. Refuses texts that are not dates, and too many periods. */
export function planRetention(query: RetentionQuery, dates: InsightDates): RetentionPlan {
  const filter = query.retentionFilter ?? {}
  const period = filter.period ?? 'Day'
  const interval = INTERVALS[period]
  const input = readRange({ dateRange: query.dateRange, interval }, dates)
  const starts_us = startsOf(query, input)
  const first_us = starts_us[0] ?? input.from_us
  const brackets = filter.retentionCustomBrackets?.length ? filter.retentionCustomBrackets : null
  const ahead_max =
    brackets === null ? starts_us.length - 1 : brackets.reduce((sum, length) => sum + length, 0)
  const is_rolling = filter.timeWindowMode === '24_hour_windows'
  // Rolling periods extend into the next one of the calendar.
  const steps = starts_us.length + (brackets === null ? 0 : ahead_max) + (is_rolling ? 1 : 0)
  return {
    period,
    range: { ...input, from_us: first_us, to_us: stepAfter(first_us, steps, input) - 1n },
    starts_us,
    ahead_max,
    brackets,
    target: seriesOf(filter.targetEntity),
    returning: seriesOf(filter.returningEntity),
    start: STARTS[filter.retentionType ?? 'retention_recurring'],
    occurrences_min: filter.minimumOccurrences ?? 1,
    is_cumulative: filter.cumulative === true,
    is_rolling,
  }
}

/** The last period contains the range's end. Their number is the query's, or that of the range. */
function startsOf(
  { retentionFilter, dateRange }: RetentionQuery,
  range: InsightDateRange,
): readonly bigint[] {
  const { interval, dates } = range
  const last_us = stepStart(range.to_us, interval, dates)
  const total = retentionFilter?.totalIntervals ?? null
  if (total === null && dateRange?.date_from) {
    const starts = [stepStart(range.from_us, interval, dates)]
    for (let next = starts[0] ?? last_us; next < last_us; ) {
      if (starts.length === RETENTION_INTERVALS_MAX) throw tooMany()
      next = stepAfter(next, 1, range)
      starts.push(next)
    }
    return starts
  }
  const count = total ?? INTERVALS_DEFAULT
  return Array.from({ length: count }, (_, index) => stepAfter(last_us, index - count + 1, range))
}

/** Page views by default. */
function seriesOf(entity: RetentionEntity | null | undefined): Series {
  if (entity === null || entity === undefined) return { kind: 'EventsNode', event: '$pageview' }
  const { id, type, properties = null } = entity
  if (type === 'actions' || entity.kind === 'ActionsNode') {
    return { kind: 'ActionsNode', id: Number(id), properties }
  }
  return {
    kind: 'EventsNode',
    event: id === null || id === undefined ? null : String(id),
    properties,
  }
}

/** Labels of the periods after a start: `Day 0`, `Day 1`, with brackets `Day 2-4`. */
export function stepLabels({ period, brackets, starts_us }: RetentionPlan): readonly string[] {
  if (brackets === null) return starts_us.map((_, index) => `${period} ${index}`)
  let next = 1
  const labels = brackets.map((length) => {
    const first = next
    next += length
    return length === 1 ? `${period} ${first}` : `${period} ${first}-${next - 1}`
  })
  return [`${period} 0`, ...labels]
}

function tooMany(): Refusal {
  const detail = `Retention is counted in at most ${RETENTION_INTERVALS_MAX} intervals.`
  return refuseMember(detail, 'query__dateRange')
}
