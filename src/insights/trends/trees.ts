/** Trends as trees: one pass over the events per line, for all breakdown values. */
import type { Expr, JoinExpr, SelectQuery } from '../../hogql/syntax/ast.ts'
import {
  alias,
  call,
  compare,
  constant,
  field,
  integer,
  joinOf,
  or,
  order,
  tuple,
} from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'
import { NO_VALUE, OTHER_VALUES } from '../members/breakdown.ts'
import { allOf, eventsOf } from '../members/conditions.ts'
import { firstTimeTree } from './first-time.ts'
import { actorOfSeries, mathOf, type SeriesAggregate } from './math.ts'
import {
  bucketColumn,
  eventsCondition,
  isCumulative,
  splitColumns,
  splitNames,
  type TrendsPlan,
} from './plan.ts'
import { recentActorsTree, windowEndingAt } from './recent.ts'

/**
 * Rows of `bucket` (not for totals), the breakdown values (`split_0`, …) and the `value`. Values
 * beyond the limit are summed as one.
 */
export function trendsTree(plan: TrendsPlan): SelectQuery {
  const values = valuesTree(plan)
  return plan.split.length === 0 ? values : rankedTree(plan, values)
}

/** The numbers of all values, without a limit. */
function valuesTree(plan: TrendsPlan): SelectQuery {
  const math = mathOf(plan.series, plan.range.interval)
  switch (math.kind) {
    case 'events':
      return eventsTree(plan, math.value)
    case 'actors':
      if (isCumulative(plan.query)) return newActorsTree(plan)
      return distinctActorsTree(plan)
    case 'recent_actors':
      if (plan.is_total)
        return distinctActorsTree({ ...plan, range: windowEndingAt(plan, math.days) })
      return recentActorsTree(plan, math.days)
    case 'per_actor':
      return perActorTree(plan, math.aggregate)
    case 'per_session':
      return perSessionTree(plan, math)
    case 'first_time':
      return firstTimeTree(plan, math.first)
  }
}

function distinctActorsTree(plan: TrendsPlan): SelectQuery {
  return eventsTree(plan, expr`count(distinct ${actorOfSeries(plan.series)})`)
}

function eventsTree(plan: TrendsPlan, value: Expr): SelectQuery {
  const tree = select`select ${[...keyColumns(plan), alias(value, 'value')]}
    from ${eventsOf(plan.query)} where ${eventsCondition(plan)}`
  return { ...tree, group_by: keyNames(plan) }
}

function perActorTree(plan: TrendsPlan, aggregate: SeriesAggregate): SelectQuery {
  const keys = keyNames(plan)
  const actor = alias(actorOfSeries(plan.series), 'actor')
  const counts = select`select ${[...keyColumns(plan), actor]}, count() as events
    from ${eventsOf(plan.query)} where ${eventsCondition(plan)}
    group by ${[...keys, field(['actor'])]}`
  return groupBy(keys, aggregate(field(['events'])), counts)
}

function perSessionTree(
  plan: TrendsPlan,
  { of, aggregate }: { readonly of: Expr; readonly aggregate: SeriesAggregate },
): SelectQuery {
  const keys = keyNames(plan)
  const counts = select`select ${[...keyColumns(plan), expr`$session_id`]}, any(${of}) as number
    from ${eventsOf(plan.query)} where ${eventsCondition(plan)} and $session_id != ''
    group by ${[...keys, expr`$session_id`]}`
  return groupBy(keys, aggregate(field(['number'])), counts)
}

/** Each actor in the bucket of their first event; the running sum is the cumulative number of actors. */
function newActorsTree(plan: TrendsPlan): SelectQuery {
  const names = splitNames(plan)
  const first = alias(call('min', [field(['bucket'])]), 'first_bucket')
  const seen = select`select ${[...keyColumns(plan), alias(actorOfSeries(plan.series), 'actor')]}
    from ${eventsOf(plan.query)} where ${eventsCondition(plan)}
    group by ${[...keyNames(plan), field(['actor'])]}`
  const firsts = select`select ${[...names, field(['actor']), first]} from ${seen}
    group by ${[...names, field(['actor'])]}`
  const columns = [alias(field(['first_bucket']), 'bucket'), ...names]
  const tree = select`select ${columns}, count() as value from ${firsts}`
  return { ...tree, group_by: [field(['first_bucket']), ...names] }
}

/** `select keys, value from rows group by keys`, also without keys. */
function groupBy(keys: readonly Expr[], value: Expr, rows: SelectQuery): SelectQuery {
  const columns = [...keys, alias(expr`ifNull(${value}, 0)`, 'value')]
  return { ...select`select ${columns} from ${rows}`, group_by: keys }
}

/** The bucket of an event, unless totals, and its breakdown values. */
function keyColumns(plan: TrendsPlan): readonly Expr[] {
  return plan.is_total ? splitColumns(plan) : [bucketColumn(plan), ...splitColumns(plan)]
}

function keyNames(plan: TrendsPlan): readonly Expr[] {
  return plan.is_total ? splitNames(plan) : [field(['bucket']), ...splitNames(plan)]
}

/** The values within the limit, as rows of `split_0`, … and `total`, from rows of `valuesTree`. */
function rankingTree(plan: TrendsPlan, values: JoinExpr | SelectQuery): SelectQuery {
  const names = splitNames(plan)
  const nones = names.map((name) => compare(name, '==', constant(NO_VALUE)))
  const ranking = select`select ${names}, sum(value) as total from ${values} group by ${names}
    limit ${integer(plan.values_max)}`
  return {
    ...ranking,
    order_by: [
      // Events without a value rank last.
      order(or(nones) ?? constant(false)),
      order(field(['total']), 'DESC'),
      ...names.map((name) => order(name)),
    ],
  }
}

/** The condition that breakdown values are beyond the limit. */
export function isAmongOthers(plan: TrendsPlan, texts: readonly Expr[]): Expr {
  const [only] = texts
  if (only === undefined) return constant(false)
  const within_limit = select`select ${splitNames(plan)} from ${rankingTree(plan, valuesTree(plan))}`
  return compare(texts.length === 1 ? only : tuple(texts), 'not in', within_limit)
}

/** The values with the largest sums, and the rest as one. */
function rankedTree(plan: TrendsPlan, values: SelectQuery): SelectQuery {
  const value_fields = plan.split.map((_, index) => field(['series_values', `split_${index}`]))
  const is_largest = allOf(
    ...value_fields.map((name, index) =>
      compare(field(['largest_values', `split_${index}`]), '==', name),
    ),
  )
  const shown_fields = value_fields.map((_, index) => field([`shown_${index}`]))
  const columns = value_fields.map((name, index) =>
    alias(
      expr`if(isNull(largest_values.total), ${constant(OTHER_VALUES)}, ${name})`,
      `shown_${index}`,
    ),
  )
  const bucket = plan.is_total ? [] : [field(['series_values', 'bucket'])]
  const tree = select`with series_values as (select 1), largest_values as (select 1)
    select ${[...bucket, ...columns]}, sum(series_values.value) as value
    from series_values left join largest_values on ${is_largest}
    group by ${[...bucket, ...shown_fields]}`
  const largest_values = rankingTree(plan, joinOf(field(['series_values'])))
  return {
    ...tree,
    ctes: tree.ctes.map((cte) => ({
      ...cte,
      expr: cte.name === 'series_values' ? values : largest_values,
    })),
  }
}
