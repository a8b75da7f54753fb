/** Experiment figures per actor, after exposure and in the lookback before it, as one row each. */

import type { Expr, SelectQuery } from '../../../hogql/syntax/ast.ts'
import { alias, constant, field, integer } from '../../../hogql/syntax/nodes.ts'
import { expr, select } from '../../../hogql/template.ts'
import { DAY_S } from '../../../time.ts'
import type { InsightContext } from '../../insight.ts'
import { allOf, queryCondition } from '../../members/conditions.ts'
import { type SeriesAt, seriesCondition } from '../../members/series.ts'
import type { ExperimentMetric, MeasureMath, MetricMeasure } from '../metric.ts'
import { type ExperimentTrial, exposures, exposureWindow, isActor } from './exposure.ts'

/** Rows: actor, variant, `figure_0` and on; with a lookback `before_0` too. Every exposed actor has a row. */
export function personTree(
  metric: ExperimentMetric,
  measures: readonly MetricMeasure[],
  trial: ExperimentTrial,
  context: InsightContext,
): SelectQuery {
  const { window_s } = metric
  const { lookback_days } = trial.settings
  const is_measured = measuredActors(metric, context)
  const earlier_s = lookback_days === null ? 0 : lookback_days * DAY_S
  const marks = measures.flatMap((measure, index) => [
    alias(conditionOf({ series: measure.series, index }, metric, context), `is_${index}`),
    alias(valueOf(measure), `value_${index}`),
  ])
  const any = measures
    .map((_measure, index): Expr => field([`is_${index}`]))
    .reduce((left, right) => expr`${left} or ${right}`)
  const figures = measures.map((measure, index) =>
    alias(figureOf(measure, index, isInWindow(window_s)), `figure_${index}`),
  )
  const [first] = measures
  const before =
    lookback_days === null || first === undefined
      ? []
      : [alias(figureOf(first, 0, isInLookback(lookback_days)), 'before_0')]
  return select`
    select shown.actor as actor, any(shown.variant) as variant, ${[...figures, ...before]}
    from ${exposures(trial, is_measured, context, window_s)} as shown
    left join (
      select * from (
        select ${field([trial.actor])} as actor, timestamp, ${marks}
        from events
        where ${exposureWindow(trial, window_s ?? 0, earlier_s)} and ${allOf(is_measured, isActor(trial))}
      )
      where ${any}
    ) as done on done.actor = shown.actor
    group by shown.actor`
}

/** The test account condition on every event, exposures included; null where none applies. */
export function measuredActors(
  { conditions }: ExperimentMetric,
  context: InsightContext,
): Expr | null {
  const { filterTestAccounts } = conditions
  return queryCondition({ filterTestAccounts }, context)
}

/** The condition that an event is of a series of the metric. */
export function conditionOf(
  at: SeriesAt,
  { conditions }: ExperimentMetric,
  context: InsightContext,
): Expr {
  const { properties } = conditions
  const is_of_series = seriesCondition(at, context, 'metrics')
  return expr`ifNull(${allOf(is_of_series, queryCondition({ properties }, context))}, false)`
}

/** The condition that a moment is in the lookback before exposure. */
export function isBefore(moment: Expr, first_at: Expr, lookback_days: number): Expr {
  const days = integer(lookback_days)
  return expr`${moment} < ${first_at} and ${moment} >= ${first_at} - toIntervalDay(${days})`
}

function isInWindow(window_s: number | null): Expr {
  const since = expr`done.timestamp >= shown.first_at`
  if (window_s === null) return since
  const seconds = integer(window_s)
  return expr`${since} and dateDiff('second', shown.first_at, done.timestamp) <= ${seconds}`
}

/** The condition that an event is in the lookback before the actor's exposure. */
function isInLookback(lookback_days: number): Expr {
  return isBefore(field(['done', 'timestamp']), field(['shown', 'first_at']), lookback_days)
}

/** The value of one event for a measure. */
function valueOf({ math, property }: MetricMeasure): Expr {
  if (math === 'unique_session') return expr`ifNull(toString(properties.$session_id), '')`
  if (property === null) return constant(1n)
  return expr`toFloat(${field(['properties', property])})`
}

/** The aggregation of an actor's values, by math. */
const FIGURES = {
  avg: (value, counts) => expr`avgIf(${value}, ${counts})`,
  dau: (_value, counts) => expr`if(countIf(${counts}) > 0, 1, 0)`,
  max: (value, counts) => expr`maxIf(${value}, ${counts})`,
  min: (value, counts) => expr`minIf(${value}, ${counts})`,
  sum: (value, counts) => expr`sumIf(${value}, ${counts})`,
  total: (_value, counts) => expr`countIf(${counts})`,
  unique_session: (value, counts) => expr`uniqExactIf(${value}, ${counts} and ${value} != '')`,
} as const satisfies Record<MeasureMath, (value: Expr, counts: Expr) => Expr>

/** An actor's figure of a measure's events in a period. */
function figureOf(measure: MetricMeasure, index: number, is_time: Expr): Expr {
  const counts = expr`ifNull(${field(['done', `is_${index}`])} and ${is_time}, false)`
  const figure = FIGURES[measure.math](field(['done', `value_${index}`]), counts)
  return expr`ifNull(toFloat(${figure}), 0)`
}
