/** The condition of a funnel's step, also of one that counts first times only. */
import type { FunnelsQuery } from '../../contract/insights/funnels.ts'
import type { Expr } from '../../hogql/syntax/ast.ts'
import { compare, constant, field } from '../../hogql/syntax/nodes.ts'
import { select } from '../../hogql/template.ts'
import type { InsightDateRange } from '../dates/date-range.ts'
import { instant } from '../filters/filter-operators.ts'
import type { InsightContext } from '../insight.ts'
import { allOf, eventsOf } from '../members/conditions.ts'
import { type SeriesAt, seriesCondition } from '../members/series.ts'

/** Maths of steps; a step with any other takes every event of its series. */
const FIRST_TIMES: ReadonlyMap<string, 'event' | 'match'> = new Map([
  ['first_time_for_user', 'event'],
  ['first_time_for_user_with_filters', 'match'],
])

/**
 * The condition that an event is a step. A first time is the first event of a person ever: `event`, of its kind, if it
 * has the required properties; `match`, of those that have them.
 */
export function stepCondition(at: SeriesAt, { query, range, context }: StepsContext): Expr {
  const whole = seriesCondition(at, context)
  const first = FIRST_TIMES.get(at.series.math ?? '')
  if (first === undefined) return whole ?? constant(true)
  const { properties: _, fixedProperties: __, ...kind } = at.series
  const of_kind = first === 'match' ? whole : seriesCondition({ ...at, series: kind }, context)
  const matches = allOf(whole)
  const until = compare(field(['timestamp']), '<=', instant(range.to_us))
  // Of events at the same instant one match is enough.
  const firsts = select`select argMinIf(uuid, timestamp, ${matches}) as first_uuid from ${eventsOf(query)}
    where ${allOf(until, of_kind)} group by person_id
    having countIf(${matches}) > 0 and minIf(timestamp, ${matches}) = min(timestamp)`
  return allOf(whole, compare(field(['uuid']), 'in', firsts))
}

type StepsContext = {
  readonly query: FunnelsQuery
  readonly range: InsightDateRange
  readonly context: InsightContext
}
