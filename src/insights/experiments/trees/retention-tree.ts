/**
 * Retention metrics of experiments: of actors who started after exposure, those who returned within
 * the window.
 */
import type { Expr, SelectQuery } from '../../../hogql/syntax/ast.ts'
import { constant, field, integer } from '../../../hogql/syntax/nodes.ts'
import { expr, select } from '../../../hogql/template.ts'
import type { InsightContext } from '../../insight.ts'
import { allOf } from '../../members/conditions.ts'
import { seriesCondition } from '../../members/series.ts'
import { type MetricRetention, UNIT_SECONDS } from '../metric.ts'
import {
  type ExperimentTrial,
  exposures,
  exposureWindow,
  isActor,
  isWindowOver,
  VARIANTS_MAX,
} from './exposure.ts'

/** Rows: variant, actors who started, those who returned, the latter again as the sum of squares. */
export function retentionTree(
  retention: MetricRetention,
  trial: ExperimentTrial,
  context: InsightContext,
): SelectQuery {
  const { start, completion, window_s, takes_last } = retention
  const window_end_s = (retention.to + 1) * UNIT_SECONDS[retention.unit]
  const is_over = isWindowOver(trial, field(['done', 'began_at']), window_end_s, context)
  // Months may have 31 days, and the last day counts whole.
  const reach_s = Math.ceil(window_end_s * 1.04)
  const isOf = (series: MetricRetention['start'], index: number): Expr =>
    expr`ifNull(${allOf(seriesCondition({ series, index }, context, 'metric'))}, false)`
  const began_at = takes_last ? expr`maxIf(timestamp, is_start)` : expr`minIf(timestamp, is_start)`
  const is_in_time =
    window_s === null
      ? constant(true)
      : expr`dateDiff('second', shown.first_at, done.began_at) <= ${integer(window_s)}`
  return select`
    select variant, count(), countIf(is_back) as came_back, came_back
    from (
      select shown.variant as variant, ${isBack(retention)} as is_back
      from ${exposures(trial, null, context)} as shown
      inner join (
        select actor, ${began_at} as began_at, groupArrayIf(timestamp, is_completion) as moments
        from (
          select ${field([trial.actor])} as actor, timestamp,
            ${exposureWindow(trial, window_s ?? 0)} and ${isOf(start, 0)} as is_start,
            ${isOf(completion, 1)} as is_completion
          from events
          where ${exposureWindow(trial, (window_s ?? 0) + reach_s)} and ${allOf(isActor(trial))}
        )
        where is_start or is_completion
        group by actor
        having countIf(is_start) > 0
      ) as done on done.actor = shown.actor
      where done.began_at >= shown.first_at and ${is_in_time} and ${is_over}
    )
    group by variant order by variant limit ${constant(VARIANTS_MAX)}`
}

/** Days and hours are calendar units: the seventh day after is any time on that day. */
const STARTS: Partial<Record<MetricRetention['unit'], (at: Expr) => Expr>> = {
  day: (at) => expr`toStartOfDay(${at})`,
  hour: (at) => expr`toStartOfHour(${at})`,
}

const INTERVALS = {
  second: (count) => expr`toIntervalSecond(${count})`,
  minute: (count) => expr`toIntervalMinute(${count})`,
  hour: (count) => expr`toIntervalHour(${count})`,
  day: (count) => expr`toIntervalDay(${count})`,
  week: (count) => expr`toIntervalWeek(${count})`,
  month: (count) => expr`toIntervalMonth(${count})`,
} as const satisfies Record<MetricRetention['unit'], (count: Expr) => Expr>

/** Whether any of the moments is within the return window. */
function isBack({ from, to, unit }: MetricRetention): Expr {
  const startOfUnit = STARTS[unit] ?? ((at: Expr) => at)
  const began = field(['done', 'began_at'])
  const unitsAfter = (count: number): Expr =>
    expr`${startOfUnit(began)} + ${INTERVALS[unit](integer(count))}`
  const unit_start = startOfUnit(field(['moment']))
  return expr`arrayExists(moment -> moment >= ${began} and ${unit_start} >= ${unitsAfter(from)} and ${unit_start} <= ${unitsAfter(to)}, done.moments)`
}
