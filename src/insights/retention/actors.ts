/** The actors behind a RetentionQuery: those who start in a period, with the periods in which they return. */
import type { RetentionQuery } from '../../contract/insights/retention.ts'
import { refuseMember } from '../../errors.ts'
import type { SelectQuery } from '../../hogql/syntax/ast.ts'
import { compare, constant, field, integer, order, tuple } from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'
import { type ActorsPoint, NO_OPTIONS, type PointOptions } from '../actors/point.ts'
import type { InsightContext, RunTree } from '../insight.ts'
import { queryBins } from '../members/bins.ts'
import {
  type Breakdowns,
  breakdownText,
  cohortId,
  hasBreakdown,
  OTHER_VALUES,
  readBreakdowns,
} from '../members/breakdown.ts'
import { allOf, eventsOf } from '../members/conditions.ts'
import { planRetention, type RetentionPlan, type RetentionRequest } from './plan.ts'
import { type RetentionSplit, retentionCondition, retentionTree } from './tree.ts'

/**
 * Rows `actor_id`, `event_count` (number of active periods, the first one included), and
 * `appearances`, also called `appearance_intervals` (which ones, 0 being the start). `steps` of the point is the period of the
 * start. Refuses periods that the answer does not have.
 */
export async function retentionActors(
  query: RetentionQuery,
  point: ActorsPoint,
  context: InsightContext,
  run: RunTree,
): Promise<SelectQuery> {
  const plan = planRetention(query, context)
  const start = point.steps ?? 0
  if (start >= plan.starts_us.length) {
    const detail = `There is no interval ${start}.`
    throw refuseMember(detail, 'query__source__interval')
  }
  const breakdowns = readBreakdowns(query.breakdownFilter)
  const request = { query, plan, context, run }
  const tree = isOfColumns(plan, breakdowns, point)
    ? await columnsTree(request, breakdowns, point)
    : retentionTree(query, plan, context, splitOf(breakdowns, point))
  return select`select actor as actor_id, length(offsets) as event_count,
      arraySort(offsets) as appearance_intervals, appearance_intervals as appearances
    from ${tree} where ${expr`start = ${integer(start)}`}`
}

/** The choices of a retention: the period of the start. */
export function retentionOptions(query: RetentionQuery, context: InsightContext): PointOptions {
  const { starts_us, period } = planRetention(query, context)
  return {
    ...NO_OPTIONS,
    interval: starts_us.map((_, value) => ({ label: `${period} ${value}`, value })),
  }
}

type ValueBreakdowns = Extract<Breakdowns, { kind: 'values' }>

/**
 * Whether the value of a point is looked for among the values of all actors, and not by a condition on events: the values
 * beyond the limit, and those of the first event of all, after which events of other values count too.
 */
function isOfColumns(
  { start }: RetentionPlan,
  breakdowns: Breakdowns | null,
  { breakdown }: ActorsPoint,
): breakdowns is ValueBreakdowns {
  if (breakdowns?.kind !== 'values' || breakdown === null) return false
  return start === 'first_ever' || [breakdown].flat().includes(OTHER_VALUES)
}

/** Rows of `retentionTree` of a value, or of those beyond the limit; an actor of several of them has one row per start. */
async function columnsTree(
  { query, plan, context, run }: RetentionRequest,
  { items, limit }: ValueBreakdowns,
  { breakdown }: ActorsPoint,
): Promise<SelectQuery> {
  const condition = retentionCondition(query, plan, context)
  const split = await queryBins(items, { events: eventsOf(query), condition }, run)
  const values = split.map(({ item, edges }) => breakdownText(item, edges))
  const tree = retentionTree(query, plan, context, { values, condition: null })
  const names = items.map((_, index) => field([`value_${index}`]))
  const texts = [breakdown].flat().map(String)
  if (!texts.includes(OTHER_VALUES)) {
    const is_value = names.map((name, index) => compare(name, '==', constant(texts[index] ?? '')))
    return select`select actor, start, offsets from ${tree} where ${allOf(...is_value)}`
  }
  const kept = {
    ...select`select ${names} from ${tree} group by ${names}`,
    order_by: [order(expr`count()`, 'DESC'), ...names.map((name) => order(name))],
    limit: integer(limit),
  }
  const [only = constant('')] = names
  const is_other = compare(names.length === 1 ? only : tuple(names), 'not in', kept)
  return select`select actor, start, arrayDistinct(arrayFlatten(groupArray(offsets))) as offsets
    from ${tree} where ${is_other} group by actor, start`
}

function splitOf(breakdowns: Breakdowns | null, { breakdown }: ActorsPoint): RetentionSplit {
  if (breakdowns === null || breakdown === null) return { values: [], condition: null }
  const input = Array.isArray(breakdown) ? breakdown : [breakdown]
  if (breakdowns.kind === 'cohorts') {
    const id = cohortId(input[0] ?? 'all')
    if (id === 'all') return { values: [], condition: null }
    const condition = compare(field(['person_id']), 'in cohort', integer(id))
    return { values: [], condition }
  }
  const conditions = breakdowns.items.map((item, index) =>
    hasBreakdown(item, String(input[index] ?? '')),
  )
  return { values: [], condition: allOf(...conditions) }
}
