/** What is asked of the events of an experiment: what people did after they were shown a variant. */
import type { Call, Expr, SelectQuery } from '../../hogql/ast.ts'
import { alias, call, constant, field } from '../../hogql/nodes.ts'
import { allOf, questionCondition } from '../conditions.ts'
import type { InsightContext } from '../insight.ts'
import { type SeriesAt, seriesCondition } from '../series.ts'
import { expr, select } from '../tree.ts'
import {
  exposures,
  isActor,
  isShown,
  shownOf,
  type Trial,
  VARIANTS_MAX,
  variantOf,
  within,
} from './exposure.ts'
import type { Measure, MeasureMath, Metric } from './metric.ts'
import { retentionTree } from './retention-tree.ts'

/** The question about a metric. Rows begin with variant and people; `figuresOf` knows the rest. */
export function metricTree(metric: Metric, trial: Trial, context: InsightContext): SelectQuery {
  const { model, retention } = metric
  if (retention !== null) return retentionTree(retention, trial, context)
  return model === 'funnel' ? funnelTree(metric, trial, context) : meanTree(metric, trial, context)
}

/** Rows: variant, people, people who did all steps in order after they were shown the variant; sums; people by step. */
function funnelTree(metric: Metric, trial: Trial, context: InsightContext): SelectQuery {
  const meant = meantPeople(metric, context)
  const steps = metric.series.map((series, index) =>
    conditionOf({ series, index }, metric, context),
  )
  const marks = steps.map((step, index) => alias(step, `step_${index}`))
  const flags = steps.map((_step, index) => field([`step_${index}`]))
  const any = flags.reduce<Expr>((left, right) => expr`${left} or ${right}`, field(['is_shown']))
  const level: Call = {
    ...call('windowFunnel', [field(['timestamp']), field(['is_shown']), ...flags]),
    params: [constant(BigInt(metric.window_s ?? secondsOf(trial)))],
  }
  const by_step = steps.map((_step, index) =>
    alias(expr`countIf(level >= ${constant(BigInt(index + 2))})`, `reached_${index}`),
  )
  return select`
    select variant, count(), countIf(level = ${constant(BigInt(steps.length + 1))}) as done, done,
      0 as no_denominator, 0 as no_squares, 0 as no_product, ${by_step}
    from (
      select actor, ${variantOf(trial, field(['is_shown']))} as variant, ${level} as level
      from (
        select ${field([trial.actor])} as actor, timestamp, ${shownOf(trial)} as shown,
          ${within(trial)} and ${isShown(trial, context)} as is_shown,
          ${marks}
        from events
        where ${within(trial, metric.window_s ?? 0)} and ${allOf(meant, isActor(trial))}
      )
      where ${any}
      group by actor
      having countIf(is_shown) > 0
    )
    group by variant order by variant limit ${constant(VARIANTS_MAX)}`
}

/** Rows: variant, people, sums of their figures and of the squares; of a second figure too, and of both's products. */
function meanTree(metric: Metric, trial: Trial, context: InsightContext): SelectQuery {
  const meant = meantPeople(metric, context)
  const measures = metric.measures.map((measure, index) => ({
    figure: field([`figure_${index}`]),
    of: alias(figureOf(measure, index, metric.window_s), `figure_${index}`),
    is: alias(conditionOf({ series: measure.series, index }, metric, context), `is_${index}`),
    value: alias(valueOf(measure), `value_${index}`),
  }))
  const any = measures
    .map((_measure, index): Expr => field([`is_${index}`]))
    .reduce((left, right) => expr`${left} or ${right}`)
  return select`
    select variant, count(), ${sumsOf(measures.map(({ figure }) => figure))}
    from (
      select shown.actor as actor, any(shown.variant) as variant,
        ${measures.map(({ of }) => of)}
      from ${exposures(trial, meant, context)} as shown
      left join (
        select * from (
          select ${field([trial.actor])} as actor, timestamp,
            ${measures.flatMap(({ is, value }) => [is, value])}
          from events
          where ${within(trial, metric.window_s ?? 0)} and ${allOf(meant, isActor(trial))}
        )
        where ${any}
      ) as done on done.actor = shown.actor
      group by shown.actor
    )
    group by variant order by variant limit ${constant(VARIANTS_MAX)}`
}

function sumsOf(figures: readonly Expr[]): readonly Expr[] {
  const [first = constant(0n), second] = figures
  return [
    expr`sum(${first}) as total`,
    expr`sum(${first} * ${first}) as squares`,
    ...(second === undefined
      ? []
      : [
          expr`sum(${second}) as second_total`,
          expr`sum(${second} * ${second}) as second_squares`,
          expr`sum(${first} * ${second}) as products`,
        ]),
  ]
}

/** What a person's figure is worked out of, event by event. */
function valueOf({ math, property }: Measure): Expr {
  if (math === 'unique_session') return expr`ifNull(toString(properties.$session_id), '')`
  if (property === null) return constant(1n)
  return expr`toFloat(${field(['properties', property])})`
}

/** How that becomes one figure of a person, by math. */
const FIGURES = {
  avg: (value, counts) => expr`avgIf(${value}, ${counts})`,
  dau: (_value, counts) => expr`if(countIf(${counts}) > 0, 1, 0)`,
  max: (value, counts) => expr`maxIf(${value}, ${counts})`,
  min: (value, counts) => expr`minIf(${value}, ${counts})`,
  sum: (value, counts) => expr`sumIf(${value}, ${counts})`,
  total: (_value, counts) => expr`countIf(${counts})`,
  unique_session: (value, counts) => expr`uniqExactIf(${value}, ${counts} and ${value} != '')`,
} as const satisfies Record<MeasureMath, (value: Expr, counts: Expr) => Expr>

/** A person's figure: of the events after they were first shown their variant, as long as those count. */
function figureOf(measure: Measure, index: number, window_s: number | null): Expr {
  const soon =
    window_s === null
      ? constant(true)
      : expr`dateDiff('second', shown.first_at, done.timestamp) <= ${constant(BigInt(window_s))}`
  const counts = expr`ifNull(${field(['done', `is_${index}`])} and done.timestamp >= shown.first_at and ${soon}, false)`
  const figure = FIGURES[measure.math](field(['done', `value_${index}`]), counts)
  return expr`ifNull(toFloat(${figure}), 0)`
}

/** The condition on every event, exposures too, that leaves test accounts out; null where nobody is left out. */
function meantPeople({ narrowed }: Metric, context: InsightContext): Expr | null {
  const { filterTestAccounts } = narrowed
  return questionCondition({ filterTestAccounts }, context)
}

/** The condition that an event is of a series of the metric. */
function conditionOf(at: SeriesAt, { narrowed }: Metric, context: InsightContext): Expr {
  const { properties } = narrowed
  const is_of_series = seriesCondition(at, context, [], 'metrics')
  return expr`ifNull(${allOf(is_of_series, questionCondition({ properties }, context))}, false)`
}

function secondsOf({ from, to }: Trial): number {
  return Math.max(1, Math.ceil((to.getTime() - from.getTime()) / 1000))
}
