/** What is asked of the events of an experiment: who was shown which variant, and what they did afterwards. */
import type { Call, Expr, SelectQuery } from '../../hogql/ast.ts'
import { alias, call, constant, field } from '../../hogql/nodes.ts'
import { allOf, questionCondition } from '../conditions.ts'
import type { InsightContext } from '../insight.ts'
import { type SeriesAt, seriesCondition } from '../series.ts'
import { expr, select } from '../tree.ts'
import type { Measure, MeasureMath, Metric } from './metric.ts'

/** Which experiment, and when it ran. */
export type Trial = {
  readonly flag_key: string
  readonly from: Date
  readonly to: Date
}

/** Who was shown several variants is counted under this name, and in none of them. */
export const MULTIPLE = '$multiple'

/** Variants told of: a flag has far fewer. */
const VARIANTS_MAX = 1000n

/** Rows: variant, people. */
export function exposuresTree(trial: Trial): SelectQuery {
  return select`
    select variant, count()
    from ${exposures(trial, null)}
    group by variant order by variant limit ${constant(VARIANTS_MAX)}`
}

/** Rows: variant, people, people who did all steps in order after they were shown the variant; sums; people by step. */
export function funnelTree(metric: Metric, trial: Trial, context: InsightContext): SelectQuery {
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
      select person_id,
        if(uniqExactIf(shown, is_shown) > 1, ${constant(MULTIPLE)}, anyIf(shown, is_shown)) as variant,
        ${level} as level
      from (
        select person_id, timestamp,
          ifNull(toString(properties.$feature_flag_response), '') as shown,
          ${isShown(trial)} as is_shown,
          ${marks}
        from events
        where ${within(trial, meant)}
      )
      where ${any}
      group by person_id
      having countIf(is_shown) > 0
    )
    group by variant order by variant limit ${constant(VARIANTS_MAX)}`
}

/** Rows: variant, people, sums of their figures and of the squares; of a second figure too, and of both's products. */
export function meanTree(metric: Metric, trial: Trial, context: InsightContext): SelectQuery {
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
      select shown.person_id as person_id, any(shown.variant) as variant,
        ${measures.map(({ of }) => of)}
      from ${exposures(trial, meant)} as shown
      left join (
        select * from (
          select person_id, timestamp, ${measures.flatMap(({ is, value }) => [is, value])}
          from events
          where ${within(trial, meant)}
        )
        where ${any}
      ) as done on done.person_id = shown.person_id
      group by shown.person_id
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

/** Rows: person, when they were first shown a variant, and which. */
function exposures(trial: Trial, meant: Expr | null): SelectQuery {
  return select`
    select person_id, min(timestamp) as first_at,
      if(count(distinct shown) > 1, ${constant(MULTIPLE)}, any(shown)) as variant
    from (
      select person_id, timestamp,
        ifNull(toString(properties.$feature_flag_response), '') as shown
      from events
      where ${within(trial, meant)} and ${isShown(trial)}
    )
    group by person_id`
}

function isShown({ flag_key }: Trial): Expr {
  return expr`ifNull(event = '$feature_flag_called' and properties.$feature_flag = ${constant(flag_key)}, false)`
}

function within({ from, to }: Trial, meant: Expr | null): Expr {
  const while_it_ran = expr`timestamp >= toDateTime(${constant(from.toISOString())}) and timestamp <= toDateTime(${constant(to.toISOString())})`
  return allOf(while_it_ran, meant)
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
