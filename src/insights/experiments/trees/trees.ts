/** Experiment metrics as trees: figures of exposed actors, summed by variant. */

import type { Call, Expr, SelectQuery } from '../../../hogql/syntax/ast.ts'
import { alias, call, constant, field, integer } from '../../../hogql/syntax/nodes.ts'
import { expr, select } from '../../../hogql/template.ts'
import { DAY_S } from '../../../time.ts'
import type { InsightContext } from '../../insight.ts'
import { allOf } from '../../members/conditions.ts'
import type { ExperimentMetric } from '../metric.ts'
import type { StatsSettings } from '../settings.ts'
import type { Outliers } from '../statistics/outliers.ts'
import {
  type ExperimentTrial,
  exposureWindow,
  isActor,
  isShown,
  isWindowOver,
  MULTIPLE,
  shownVariants,
  VARIANTS_MAX,
  variantOf,
} from './exposure.ts'
import { conditionOf, isBefore, measuredActors, personTree } from './person-tree.ts'
import { retentionTree } from './retention-tree.ts'

/** The tree of a metric. Rows begin with variant and actors; `figuresOf` reads the rest. */
export function metricTree(
  metric: ExperimentMetric,
  trial: ExperimentTrial,
  context: InsightContext,
): SelectQuery {
  const { model, retention, in_any_order } = metric
  const effective_trial = hasLookback(metric, trial.settings)
    ? trial
    : { ...trial, settings: { ...trial.settings, lookback_days: null } }
  if (retention !== null) return retentionTree(retention, effective_trial, context)
  if (model !== 'funnel') return meanTree(metric, effective_trial, context)
  return in_any_order
    ? anyOrderTree(metric, effective_trial, context)
    : funnelTree(metric, effective_trial, context)
}

/** Whether rows include figures before exposure; ratios, retentions and unordered funnels do not. */
export function hasLookback(
  { model, in_any_order, threshold }: ExperimentMetric,
  { lookback_days }: StatsSettings,
): boolean {
  const is_of_one = model !== 'ratio' && model !== 'retention' && threshold === null
  return lookback_days !== null && is_of_one && !in_any_order
}

/** Rows: variant, actors, actors who took all steps in order after exposure; sums; actors by step. */
function funnelTree(
  metric: ExperimentMetric,
  trial: ExperimentTrial,
  context: InsightContext,
): SelectQuery {
  const { lookback_days } = trial.settings
  const is_measured = measuredActors(metric, context)
  const steps = metric.series.map((series, index) =>
    conditionOf({ series, index }, metric, context),
  )
  const marks = steps.map((step, index) => alias(step, `step_${index}`))
  const flags = steps.map((_step, index) => field([`step_${index}`]))
  const any = flags.reduce<Expr>((left, right) => expr`${left} or ${right}`, field(['is_shown']))
  const level: Call = {
    ...call('windowFunnel', [field(['timestamp']), field(['is_shown']), ...flags]),
    params: [integer(metric.window_s ?? trialSeconds(trial))],
  }
  const done = expr`level = ${integer(steps.length + 1)}`
  const by_step = steps.map((_step, index) =>
    alias(expr`countIf(level >= ${integer(index + 2)})`, `reached_${index}`),
  )
  const earlier_s = lookback_days === null ? 0 : lookback_days * DAY_S
  return select`
    select variant, count(), countIf(${done}) as done, done,
      0 as no_denominator, 0 as no_squares, 0 as no_product,
      countIf(was_before) as before_total, before_total as before_squares,
      countIf(was_before and ${done}) as before_product, ${by_step}
    from (
      select actor, ${variantOf(trial, field(['is_shown']))} as variant, ${level} as level,
        minIf(timestamp, is_shown) as first_at,
        ${wasBefore(steps.length - 1, lookback_days)} as was_before
      from (
        select ${field([trial.actor])} as actor, timestamp, ${shownVariants(trial)} as shown,
          ${exposureWindow(trial)} and ${isShown(trial, context)} as is_shown,
          ${marks}
        from events
        where ${exposureWindow(trial, metric.window_s ?? 0, earlier_s)} and ${allOf(is_measured, isActor(trial))}
      )
      where ${any}
      group by actor
      having countIf(is_shown) > 0 and ${isWindowOver(trial, expr`minIf(timestamp, is_shown)`, metric.window_s, context)}
    )
    group by variant order by variant limit ${constant(VARIANTS_MAX)}`
}

/** Whether the actor took the last step in the lookback before exposure. */
function wasBefore(last: number, lookback_days: number | null): Expr {
  if (lookback_days === null) return constant(false)
  const is_before = isBefore(field(['moment']), expr`minIf(timestamp, is_shown)`, lookback_days)
  return expr`arrayExists(moment -> ${is_before}, groupArrayIf(timestamp, ${field([`step_${last}`])}))`
}

/** Rows as of ordered funnels: actors who took all steps after exposure, in any order. */
function anyOrderTree(
  metric: ExperimentMetric,
  trial: ExperimentTrial,
  context: InsightContext,
): SelectQuery {
  const measures = metric.series.map((series) => ({ series, math: 'dau', property: null }) as const)
  const level = measures
    .map((_measure, index): Expr => field([`figure_${index}`]))
    .reduce((left, right) => expr`${left} + ${right}`)
  const by_step = measures.map((_measure, index) => alias(tookSteps(index + 1), `reached_${index}`))
  return select`
    select variant, count(), ${tookSteps(measures.length)} as done, done,
      0 as no_denominator, 0 as no_squares, 0 as no_product,
      0 as before_total, 0 as before_squares, 0 as before_product, ${by_step}
    from (
      select variant, ${level} as level from ${personTree(metric, measures, trial, context)}
    )
    group by variant order by variant limit ${constant(VARIANTS_MAX)}`
}

/** Actors who took at least `steps` steps. */
function tookSteps(steps: number): Expr {
  return expr`countIf(level >= ${integer(steps)})`
}

/** Rows: variant, actors, sums of figures and their squares; of a second figure too, and of the products. */
function meanTree(
  metric: ExperimentMetric,
  trial: ExperimentTrial,
  context: InsightContext,
): SelectQuery {
  const { outliers, threshold, measures } = metric
  const people = personTree(metric, measures, trial, context)
  const first = field(['figure_0'])
  const figure =
    threshold === null
      ? first
      : expr`if(${first} >= ${constant(threshold)}, toFloat(1), toFloat(0))`
  const second = measures.length > 1 ? field(['figure_1']) : constant(0n)
  const before = trial.settings.lookback_days === null ? constant(0n) : field(['before_0'])
  return select`
    select variant, count(), sum(own) as total, sum(own * own) as squares,
      sum(second) as second_total, sum(second * second) as second_squares,
      sum(own * second) as products,
      sum(before) as before_total, sum(before * before) as before_squares,
      sum(own * before) as before_products
    from (
      select variant, ${figure} as own, ${second} as second, ${before} as before
      from ${outliers === null ? people : boundedTree(people, outliers, trial)}
    )
    group by variant order by variant limit ${constant(VARIANTS_MAX)}`
}

/** The same actors with figures winsorized at bounds over all variants together. */
function boundedTree(
  people: SelectQuery,
  outliers: Outliers,
  { settings }: ExperimentTrial,
): SelectQuery {
  const { lower, upper, ignores_zeros } = outliers
  const first = field(['figure_0'])
  const bounded = ignores_zeros ? expr`if(${first} != 0, ${first}, null)` : first
  const low = lower === null ? expr`min(${first})` : quantile(lower, first)
  const high = upper === null ? expr`max(${first})` : quantile(upper, bounded)
  const before = settings.lookback_days === null ? constant(0n) : field(['before_0'])
  return select`
    with people as (select * from ${people}),
      bounds as (
        select ${low} as low, ${high} as high from people where variant != ${constant(MULTIPLE)}
      )
    select variant, ifNull(least(greatest(figure_0, low), high), figure_0) as figure_0, ${alias(before, 'before_0')}
    from people cross join bounds`
}

function quantile(share: number, of: Expr): Expr {
  return { ...call('quantile', [of]), params: [constant(share)] }
}

function trialSeconds({ from, to }: ExperimentTrial): number {
  return Math.max(1, Math.ceil((to.getTime() - from.getTime()) / 1000))
}
