/** What is asked of the events of an experiment: who was shown which variant, and what they did afterwards. */
import type { Series } from '../../contract/insights/parts.ts'
import type { Call, Expr, SelectQuery } from '../../hogql/ast.ts'
import { alias, call, constant, field } from '../../hogql/nodes.ts'
import { allOf } from '../conditions.ts'
import type { InsightContext } from '../insight.ts'
import { seriesCondition } from '../series.ts'
import { expr, select } from '../tree.ts'
import type { Metric } from './metric.ts'

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
    from ${exposures(trial)}
    group by variant order by variant limit ${constant(VARIANTS_MAX)}`
}

/** Rows: variant, people, people who did all steps in order after they were shown the variant. */
export function funnelTree(metric: Metric, trial: Trial, context: InsightContext): SelectQuery {
  const steps = metric.series.map((series, index) => conditionOf(series, index, context))
  const marks = steps.map((step, index) => alias(step, `step_${index}`))
  const flags = steps.map((_step, index) => field([`step_${index}`]))
  const any = flags.reduce<Expr>((left, right) => expr`${left} or ${right}`, field(['is_shown']))
  const level: Call = {
    ...call('windowFunnel', [field(['timestamp']), field(['is_shown']), ...flags]),
    params: [constant(BigInt(metric.window_s ?? secondsOf(trial)))],
  }
  return select`
    select variant, count(), countIf(level = ${constant(BigInt(steps.length + 1))})
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
        where ${within(trial)}
      )
      where ${any}
      group by person_id
      having countIf(is_shown) > 0
    )
    group by variant order by variant limit ${constant(VARIANTS_MAX)}`
}

/** Rows: variant, people, the sum of their figures, the sum of the squares of their figures. */
export function meanTree(metric: Metric, trial: Trial, context: InsightContext): SelectQuery {
  const [series] = metric.series
  if (series === undefined) throw new Error('a metric has a series')
  const value =
    metric.property === null
      ? constant(1n)
      : expr`ifNull(toFloat(${field(['properties', metric.property])}), 0)`
  const soon =
    metric.window_s === null
      ? constant(true)
      : expr`dateDiff('second', shown.first_at, done.timestamp) <= ${constant(BigInt(metric.window_s))}`
  return select`
    select variant, count(), sum(figure), sum(figure * figure)
    from (
      select shown.person_id as person_id, any(shown.variant) as variant,
        ifNull(sumIf(done.value, done.timestamp >= shown.first_at and ${soon}), 0) as figure
      from ${exposures(trial)} as shown
      left join (
        select person_id, timestamp, ${value} as value
        from events
        where ${within(trial)} and ${conditionOf(series, 0, context)}
      ) as done on done.person_id = shown.person_id
      group by shown.person_id
    )
    group by variant order by variant limit ${constant(VARIANTS_MAX)}`
}

/** Rows: person, when they were first shown a variant, and which. */
function exposures(trial: Trial): SelectQuery {
  return select`
    select person_id, min(timestamp) as first_at,
      if(count(distinct shown) > 1, ${constant(MULTIPLE)}, any(shown)) as variant
    from (
      select person_id, timestamp,
        ifNull(toString(properties.$feature_flag_response), '') as shown
      from events
      where ${within(trial)} and ${isShown(trial)}
    )
    group by person_id`
}

function isShown({ flag_key }: Trial): Expr {
  return expr`ifNull(event = '$feature_flag_called' and properties.$feature_flag = ${constant(flag_key)}, false)`
}

function within({ from, to }: Trial): Expr {
  return expr`timestamp >= toDateTime(${constant(from.toISOString())}) and timestamp <= toDateTime(${constant(to.toISOString())})`
}

function conditionOf(series: Series, index: number, context: InsightContext): Expr {
  return expr`ifNull(${allOf(seriesCondition({ series, index }, context, [], 'metrics'))}, false)`
}

function secondsOf({ from, to }: Trial): number {
  return Math.max(1, Math.ceil((to.getTime() - from.getTime()) / 1000))
}
