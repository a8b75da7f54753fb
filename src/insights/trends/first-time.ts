/** First-time math: actors per bucket who performed the event for the first time ever. */
import type { Expr, SelectQuery } from '../../hogql/syntax/ast.ts'
import { alias, call, compare, field } from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'
import { bucketOf, inWholeSteps } from '../dates/buckets.ts'
import { instant } from '../filters/filter-operators.ts'
import { filterCondition } from '../filters/property-filters.ts'
import { allOf, eventsOf, queryCondition } from '../members/conditions.ts'
import { seriesCondition } from '../members/series.ts'
import { actorOfSeries } from './math.ts'
import { cohortCondition, splitColumns, splitNames, type TrendsPlan } from './plan.ts'

/**
 * A row per actor whose first event is in the line's range: `first_at` and that event's breakdown
 * values. `event`: the first of its kind, counted if it also has the required properties; `match`:
 * the first that has them.
 */
export function firstTimesTree(plan: TrendsPlan, first: 'event' | 'match'): SelectQuery {
  const { query, context, series } = plan
  const range = inWholeSteps(plan.range)
  const { properties, fixedProperties, ...kind } = series.series
  const of_kind = seriesCondition({ ...series, series: kind }, context)
  const attr = `query__series__${series.index}__properties`
  const matches = allOf(
    queryCondition(query, context),
    filterCondition(properties, { ...context, prefix: [], attr }),
    filterCondition(fixedProperties, { ...context, prefix: [], attr }),
    cohortCondition(plan),
  )
  const until = compare(field(['timestamp']), '<=', instant(range.to_us))
  const where = allOf(until, of_kind, first === 'match' ? matches : null)
  const since = compare(field(['first_at']), '>=', instant(range.from_us))
  const split = splitColumns(plan).map((column, index) => atFirst(column, index))
  const firsts = select`select ${[alias(actorOfSeries(plan.series), 'actor'), ...split]},
      min(timestamp) as first_at, ${isFirst(matches)} as is_wanted
    from ${eventsOf(query)} where ${where} group by actor`
  return select`select * from ${firsts} where ${since} and is_wanted`
}

/** Whether the first event matches. Of events at the same instant one match is enough. */
function isFirst(matches: Expr): Expr {
  return expr`countIf(${matches}) > 0 and minIf(timestamp, ${matches}) = min(timestamp)`
}

/** A value of the actor's first event. */
function atFirst(column: Expr, index: number): Expr {
  const value = column.kind === 'Alias' ? column.expr : column
  return alias(call('argMin', [value, field(['timestamp'])]), `split_${index}`)
}

/** Rows in the form of other maths. */
export function firstTimeTree(plan: TrendsPlan, first: 'event' | 'match'): SelectQuery {
  const step = alias(bucketOf(field(['first_at']), plan.range), 'bucket')
  const names = splitNames(plan)
  const columns = plan.is_total ? names : [step, ...names]
  const tree = select`select ${[...columns, alias(expr`count()`, 'value')]} from ${firstTimesTree(plan, first)}`
  return { ...tree, group_by: plan.is_total ? names : [field(['bucket']), ...names] }
}
